#include "python_backend.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/log.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <variant>

#include "c_delegate.h"
#include "event_recorder.h"
#include "log_capture.h"
#include "options.h"
#include "resizing.h"
#include "tensors.h"

namespace etconfig {

namespace {

// Keeps the exception of a backend until the runtime returns an error from our call, in the same thread.
thread_local PyObject* pending = nullptr;

// Return the runtime's code for an exception: the one that etconfig's error names, or Internal.
rt::Error code_of(nb::handle exception) {
  uint32_t code = 0;
  // SystemExit and errors of other libraries have a `code`, too, but no `code_name`.
  const bool is_named = nb::hasattr(exception, "code") && nb::hasattr(exception, "code_name");
  const bool is_code = is_named && nb::try_cast(exception.attr("code"), code, false);
  return is_code && code != 0 ? static_cast<rt::Error>(code) : rt::Error::Internal;
}

// An argument of a delegate call, cached between calls: planned tensors keep their address and shape.
class Argument {
 public:
  nb::object to_python(const rt::EValue& value) {
    if (!value.isTensor()) {
      return etconfig::to_python(value);
    }
    const auto& tensor = value.toTensor();
    if (!is_same(tensor)) {
      array_ = numpy().view_of(tensor);
      data_ = tensor.const_data_ptr();
      sizes_.assign(tensor.sizes().begin(), tensor.sizes().end());
    }
    return array_;
  }

 private:
  bool is_same(const aten::Tensor& tensor) const {
    const auto sizes = tensor.sizes();
    return array_.is_valid() && data_ == tensor.const_data_ptr() && sizes.size() == sizes_.size() &&
           std::equal(sizes.begin(), sizes.end(), sizes_.begin());
  }

  nb::object array_;
  const void* data_ = nullptr;
  std::vector<aten::SizesType> sizes_;
};

// A delegate's own state: the function that executes it, and the arrays of its arguments.
class PythonDelegate {
 public:
  explicit PythonDelegate(nb::object run)
      : run_(std::move(run)),
        resize_(nb::cpp_function([this](size_t index, const std::vector<aten::SizesType>& sizes) {
          return resize(index, sizes);
        })) {}

  void run(rt::Span<rt::EValue*> values) {
    values_ = values;
    arguments_.resize(values.size());
    args_ = nb::list();
    for (size_t i = 0; i < values.size(); ++i) {
      args_.append(arguments_[i].to_python(*values[i]));
    }
    run_(args_, resize_);
  }

 private:
  nb::object resize(size_t index, const std::vector<aten::SizesType>& sizes) {
    if (index >= values_.size() || !values_[index]->isTensor()) {
      throw nb::value_error(("argument " + std::to_string(index) + " is not a tensor").c_str());
    }
    const std::string problem = etconfig::resize(values_[index]->toTensor(), sizes.data(), sizes.size());
    if (!problem.empty()) {
      throw nb::value_error(problem.c_str());
    }
    nb::object array = arguments_[index].to_python(*values_[index]);
    args_[index] = array;
    return array;
  }

  nb::object run_;
  nb::object resize_;
  std::vector<Argument> arguments_;
  rt::Span<rt::EValue*> values_{nullptr, static_cast<size_t>(0)};
  nb::list args_;
};

// A delegate, run by Python or, if its backend can, without it.
using Delegate = std::variant<PythonDelegate, CDelegate>;

// Registered for the life of the process, as the registry requires: `callbacks` is never released.
class PythonBackend final : public rt::BackendInterface {
 public:
  explicit PythonBackend(nb::object callbacks) : callbacks_(std::move(callbacks)) {}

  bool is_available() const override {
    nb::gil_scoped_acquire gil;
    try {
      return nb::cast<bool>(callbacks_.attr("is_available")());
    } catch (nb::python_error& error) {
      keep_pending_exception(error);
      return false;
    }
  }

  // The payload is not passed on: the Python side has it already, verified.
  rt::Result<rt::DelegateHandle*> init(rt::BackendInitContext& context, rt::FreeableBuffer*,
                                       rt::ArrayRef<rt::CompileSpec>) const override {
    nb::gil_scoped_acquire gil;
    try {
      nb::object run = callbacks_.attr("init")(from_backend_options(context.runtime_specs()));
      if (nb::hasattr(run, "function")) {
        return new Delegate(std::in_place_type<CDelegate>, std::move(run));
      }
      return new Delegate(std::in_place_type<PythonDelegate>, std::move(run));
    } catch (nb::python_error& error) {
      return keep_pending_exception(error);
    }
  }

  rt::Error execute(rt::BackendExecutionContext& context, rt::DelegateHandle* opaque,
                    rt::Span<rt::EValue*> arguments) const override {
    if (auto* native = std::get_if<CDelegate>(static_cast<Delegate*>(opaque))) {
      return native->run(arguments);
    }
    nb::gil_scoped_acquire gil;
    try {
      // The tracer of a method that ExecuTorch's own bindings have loaded is not ours.
      if (auto* recorder = dynamic_cast<EventRecorder*>(context.event_tracer())) {
        recorder->at_delegate();
      }
      std::get<PythonDelegate>(*static_cast<Delegate*>(opaque)).run(arguments);
      return rt::Error::Ok;
    } catch (nb::python_error& error) {
      return keep_pending_exception(error);
    }
  }

  // The Python side destroys its delegates when the method is closed, in its own order and with its own errors.
  void destroy(rt::DelegateHandle* opaque) const override {
    nb::gil_scoped_acquire gil;
    delete static_cast<Delegate*>(opaque);
  }

 private:
  nb::object callbacks_;
};

void register_python_backend(const std::string& id, nb::object callbacks) {
  LogCapture capture;
  auto* name = new std::string(id);  // the registry keeps the pointer
  auto* backend = new PythonBackend(std::move(callbacks));
  check("register_backend", rt::register_backend({name->c_str(), backend}));
}

std::vector<std::string> registered_backends() {
  std::vector<std::string> names;
  for (size_t i = 0; i < rt::get_num_registered_backends(); ++i) {
    names.emplace_back(take("get_backend_name", rt::get_backend_name(i)));
  }
  return names;
}

std::vector<std::string> registered_operators() {
  std::vector<std::string> names;
  for (const auto& kernel : rt::get_registered_kernels()) {
    names.emplace_back(kernel.name_);
  }
  return names;
}

// The backend's own answer, and the lines that it logs about it. It may look for drivers, which takes time.
std::pair<bool, std::vector<std::string>> ask_availability(const std::string& id) {
  LogCapture capture;
  auto* backend = rt::get_backend_class(id.c_str());
  if (backend == nullptr) {
    throw nb::key_error(id.c_str());
  }
  bool is_available;
  {
    nb::gil_scoped_release no_gil;
    is_available = backend->is_available();
  }
  auto lines = LogCapture::take_lines();
  LogCapture::drop_lines();  // the caller reports them if a program needs the backend
  return {is_available, std::move(lines)};
}

}  // namespace

rt::Error keep_pending_exception(nb::python_error& error) {
  ET_LOG(Error, "%s", error.what());
  Py_XDECREF(pending);
  pending = nb::borrow(error.value()).release().ptr();
  return code_of(pending);
}

void raise_pending_exception() {
  if (pending != nullptr) {
    nb::object exception = nb::steal(std::exchange(pending, nullptr));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
  }
}

void bind_python_backend(nb::module_& module) {
  module.def("register_python_backend", &register_python_backend, nb::arg("backend"), nb::arg("callbacks"));
  module.def("registered_backends", &registered_backends);
  module.def("registered_operators", &registered_operators);
  module.def("ask_availability", &ask_availability, nb::arg("backend"));
}

}  // namespace etconfig
