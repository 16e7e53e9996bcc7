// Running a loaded method.
#include <cstring>

#include "abort_guard.h"
#include "log_capture.h"
#include "method.h"

namespace etconfig {

namespace {

const std::vector<std::optional<WritableBytes>> kNoneGiven;

bool is_given(const std::vector<std::optional<WritableBytes>>& given, size_t index) {
  return index < given.size() && given[index].has_value();
}

nb::object shape_of(const aten::Tensor& tensor) {
  nb::list sizes;
  for (const auto size : tensor.sizes()) {
    sizes.append(size);
  }
  return nb::tuple(sizes);
}

}  // namespace

nb::list Method::execute(nb::sequence inputs) {
  Turn turn(is_busy_);
  LogCapture capture;
  // The runtime reads inputs without planned memory from the caller's memory: keep that until the end.
  std::vector<std::unique_ptr<InputTensor>> keep;
  if (!are_outputs_placed_) {
    place_outputs(kNoneGiven);
  }
  set_inputs(inputs, keep);
  run();
  return results(kNoneGiven);
}

nb::list Method::execute_into(nb::sequence inputs, nb::sequence outputs) {
  Turn turn(is_busy_);
  LogCapture capture;
  std::vector<std::unique_ptr<InputTensor>> keep;
  std::vector<std::optional<WritableBytes>> given(nb::len(outputs));
  for (size_t i = 0; i < given.size(); ++i) {
    if (!outputs[i].is_none()) {
      given[i].emplace(outputs[i]);
    }
  }
  // Before the inputs: an input that is an output, too, is read from where the caller has it.
  place_outputs(given);
  set_inputs(inputs, keep);
  run();
  return results(given);
}

rt::Error Method::run_guarded() {
  if (is_broken_) {
    return rt::Error::InvalidState;
  }
  return guarded([&] { return method_->execute(); },
                 [&] {
                   is_broken_ = true;
                   return rt::Error::Internal;
                 });
}

void Method::run() {
  rt::Error error;
  {
    nb::gil_scoped_release no_gil;
    error = run_guarded();
  }
  check("execute", error);
}

void Method::find_own_outputs(const rt::MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    if (take("output_tag", meta.output_tag(i)) != rt::Tag::Tensor) {
      continue;
    }
    const auto info = take("output_tensor_meta", meta.output_tensor_meta(i));
    if (!info.is_memory_planned()) {
      own_outputs_.push_back({i, info.nbytes(), std::nullopt});
    }
  }
}

// Let the runtime write outputs without planned memory into the caller's memory, or else into our own, which is
// allocated when it is first needed.
void Method::place_outputs(const std::vector<std::optional<WritableBytes>>& given) {
  are_outputs_placed_ = false;
  for (auto& output : own_outputs_) {
    if (is_given(given, output.index)) {
      const auto& bytes = *given[output.index];
      check("set_output_data_ptr", method_->set_output_data_ptr(bytes.data(), bytes.size(), output.index));
      continue;
    }
    if (!output.buffer.has_value()) {
      output.buffer.emplace(output.size);
    }
    check("set_output_data_ptr",
          method_->set_output_data_ptr(output.buffer->memory.get(), output.size, output.index));
  }
  are_outputs_placed_ = given.empty();
}

nb::list Method::results(const std::vector<std::optional<WritableBytes>>& given) {
  nb::list results;
  for (size_t i = 0; i < method_->outputs_size(); ++i) {
    const auto& value = method_->get_output(i);
    if (!is_given(given, i)) {
      results.append(to_python(value));
      continue;
    }
    const auto& tensor = value.toTensor();
    // Planned memory is copied; so is an output that is at the same time an input, or another output.
    if (tensor.const_data_ptr() != given[i]->data() && tensor.nbytes() > 0) {
      std::memcpy(given[i]->data(), tensor.const_data_ptr(), tensor.nbytes());
    }
    results.append(shape_of(tensor));
  }
  return results;
}

}  // namespace etconfig
