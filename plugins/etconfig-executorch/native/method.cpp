#include "method.h"

#include <executorch/extension/threadpool/threadpool_guard.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "abort_guard.h"
#include "kernel_guards.h"
#include "log_capture.h"

namespace etconfig {

namespace {

constexpr size_t kAlignment = 64;

// Only of Python's own type: a boolean is an integer, too, but not for a program.
template <typename T>
T scalar(nb::handle given, const PyTypeObject& type) {
  T value{};
  if (Py_TYPE(given.ptr()) != &type || !nb::try_cast(given, value, false)) {
    throw InputMismatchError("kind of value");
  }
  return value;
}

}  // namespace

Method::Buffer::Buffer(size_t size) : memory(nullptr, &std::free), size(size) {
  const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  memory.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  if (memory == nullptr && rounded > 0) {
    throw std::bad_alloc();
  }
  // State without an initial value starts at zero, not with the previous contents of the memory.
  std::memset(memory.get(), 0, rounded);
}

Method::Method(std::shared_ptr<Program> program, const std::string& name,
               const std::vector<std::pair<std::string, WireOptions>>& options,
               bool single_threaded, const std::vector<nb::object>& memory,
               std::shared_ptr<EventRecorder> recorder, size_t num_threads)
    : program_(std::move(program)), options_(options), recorder_(std::move(recorder)) {
  for (const auto& each : memory) {
    given_.push_back(each.is_none() ? nullptr : std::make_unique<Bytes>(each, true));
  }
  LogCapture capture;
  nb::gil_scoped_release no_gil;
  if (num_threads > 0) {
    pool_ = thread_pool(num_threads);
  }
  PoolForLoading pool(pool_);
  std::optional<executorch::extension::threadpool::NoThreadPoolGuard> no_pool;
  if (single_threaded) {
    no_pool.emplace();
  }
  load(name);
}

Method::~Method() {
  // Destroy delegates first, since they may use everything else. Python backends acquire the GIL themselves.
  nb::gil_scoped_release no_gil;
  method_.reset();
}

void Method::load(const std::string& name) {
  const auto meta = take("method_meta", program_->program().method_meta(name.c_str()));
  plan_memory(meta);
  memory_.emplace(&method_memory_, &*planned_memory_, &temporary_memory_);
  guard_kernels();
  method_.emplace(take("load_method", guarded(
                                          [&] {
                                            return program_->program().load_method(
                                                name.c_str(), &*memory_, recorder_.get(), program_->external_data(),
                                                options_.get());
                                          },
                                          [] { return rt::Result<rt::Method>(rt::Error::Internal); })));
  find_own_outputs(meta);
  keep_numbers();
}

void Method::plan_memory(const rt::MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = static_cast<size_t>(take("memory_planned_buffer_size", meta.memory_planned_buffer_size(i)));
    if (i < given_.size() && given_[i] != nullptr) {
      if (given_[i]->size() < size) {
        throw std::length_error("a buffer of the caller is smaller than planned");
      }
      spans_.emplace_back(given_[i]->writable(), size);
      continue;
    }
    buffers_.emplace_back(size);
    spans_.emplace_back(buffers_.back().memory.get(), size);
  }
  planned_memory_.emplace(rt::Span<rt::Span<uint8_t>>(spans_.data(), spans_.size()));
}

void Method::set_inputs(nb::sequence inputs, std::vector<std::unique_ptr<InputTensor>>& keep, bool are_checked) {
  if (nb::len(inputs) != method_->inputs_size()) {
    throw InputMismatchError("number of inputs");
  }
  for (size_t i = 0; i < method_->inputs_size(); ++i) {
    const rt::EValue value = input_value(i, inputs[i], keep, are_checked);
    if (survived([&] { return method_->set_input(value, i); }, [] { return rt::Error::Internal; }) != rt::Error::Ok) {
      LogCapture::drop_lines();  // the caller reports it in its own words
      throw InputMismatchError("shape or value");
    }
  }
}

rt::EValue Method::input_value(size_t index, nb::handle given, std::vector<std::unique_ptr<InputTensor>>& keep,
                               bool is_checked) {
  const auto meta = method_->method_meta();
  switch (take("input_tag", meta.input_tag(index))) {
    case rt::Tag::Tensor: {
      const auto info = take("input_tensor_meta", meta.input_tensor_meta(index));
      keep.push_back(std::make_unique<InputTensor>(given, info.scalar_type(), info.dim_order(), is_checked));
      return keep.back()->value();
    }
    case rt::Tag::Int:
      return rt::EValue(scalar<int64_t>(given, PyLong_Type));
    case rt::Tag::Double:
      return rt::EValue(scalar<double>(given, PyFloat_Type));
    case rt::Tag::Bool:
      return rt::EValue(scalar<bool>(given, PyBool_Type));
    default:
      if (given.is_none()) {
        return rt::EValue();
      }
      throw InputMismatchError("kind of value");
  }
}

void bind_method(nb::module_& module) {
  nb::class_<Method>(module, "Method")
      .def(nb::init<std::shared_ptr<Program>, const std::string&,
                    const std::vector<std::pair<std::string, WireOptions>>&, bool, const std::vector<nb::object>&,
                    std::shared_ptr<EventRecorder>, size_t>(),
           nb::arg("program"), nb::arg("name"), nb::arg("options"),
           nb::arg("single_threaded"), nb::arg("memory") = std::vector<nb::object>(), nb::arg("recorder") = nb::none(),
           nb::arg("num_threads") = 0)
      .def_prop_ro("num_threads", &Method::num_threads)
      .def("execute", &Method::execute, nb::arg("inputs").none())
      .def("execute_into", &Method::execute_into, nb::arg("inputs"), nb::arg("outputs"))
      .def("execute_until", &Method::execute_until, nb::arg("inputs"), nb::arg("outputs"), nb::arg("flag"),
           nb::arg("deadline_ns"))
      .def_prop_ro("position", &Method::position);
}

}  // namespace etconfig
