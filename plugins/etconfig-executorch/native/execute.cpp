// Running a loaded method.
#include <cstring>

#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/log.h>

#include "abort_guard.h"
#include "log_capture.h"
#include "method.h"

namespace etconfig {

// `Method::step` runs one instruction, but the runtime offers no way to begin anew before the last one, does not tell
// which one is next, and leaves the counters of loops where they are. An explicit instantiation may name private members.
template <auto StepState, auto ChainCount, auto Values, auto ValueCount>
struct Internals {
  friend std::pair<size_t, size_t> next_instruction(const rt::Method& method) {
    return {(method.*StepState).chain_idx, (method.*StepState).instr_idx};
  }
  friend bool is_at_end(const rt::Method& method) { return (method.*StepState).chain_idx == method.*ChainCount; }
  friend void begin_anew(rt::Method& method) {
    (method.*StepState).chain_idx = 0;
    (method.*StepState).instr_idx = 0;
  }
  friend rt::Span<rt::EValue> values_of(rt::Method& method) { return {method.*Values, method.*ValueCount}; }
};
std::pair<size_t, size_t> next_instruction(const rt::Method& method);
bool is_at_end(const rt::Method& method);
void begin_anew(rt::Method& method);
rt::Span<rt::EValue> values_of(rt::Method& method);
template struct Internals<&rt::Method::step_state_, &rt::Method::n_chains_, &rt::Method::values_,
                          &rt::Method::n_value_>;

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

// As many as `Method::execute` runs.
constexpr size_t kMaxInstructions = 10'000'000;

// How often handlers of signals run during an execute that can be stopped.
constexpr int64_t kSignalIntervalNs = 1'000'000;

}  // namespace

nb::list Method::execute(nb::object given) {
  if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) {
    throw InputMismatchError("expected a list of inputs");
  }
  const auto inputs = nb::borrow<nb::sequence>(given);
  LogCapture capture;  // ends after the turn: the receiver of the lines may use the method
  Turn turn(is_busy_);
  AbortGuard guard;
  // The runtime reads inputs without planned memory from the caller's memory: keep that until the end.
  std::vector<std::unique_ptr<InputTensor>> keep;
  if (!are_outputs_placed_) {
    place_outputs(kNoneGiven);
  }
  set_inputs(inputs, keep, false);
  rt::Error error;
  {
    nb::gil_scoped_release no_gil;
    error = run_survived(&rt::Method::execute);
  }
  if (error != rt::Error::Ok) {
    restore_numbers();
  }
  check("execute", error);
  return results(kNoneGiven);
}

nb::list Method::execute_into(nb::sequence inputs, nb::sequence outputs) {
  return run_into(inputs, outputs, nullptr);
}

nb::list Method::execute_until(nb::sequence inputs, nb::sequence outputs, nb::handle flag, int64_t deadline_ns) {
  const Bytes bytes(flag);
  const StopRequest stop(static_cast<const uint8_t*>(bytes.data()), deadline_ns);
  return run_into(inputs, outputs, &stop);
}

nb::list Method::run_into(nb::sequence inputs, nb::sequence outputs, const StopRequest* stop) {
  LogCapture capture;  // ends after the turn: the receiver of the lines may use the method
  Turn turn(is_busy_);
  AbortGuard guard;
  std::vector<std::unique_ptr<InputTensor>> keep;
  std::vector<std::optional<WritableBytes>> given(nb::len(outputs));
  for (size_t i = 0; i < given.size(); ++i) {
    if (!outputs[i].is_none()) {
      given[i].emplace(outputs[i]);
    }
  }
  // Before the inputs: an input that is an output, too, is read from where the caller has it.
  place_outputs(given);
  set_inputs(inputs, keep, true);
  rt::Error error;
  {
    nb::gil_scoped_release no_gil;
    const StopScope scope(stop);
    error = stop == nullptr ? run_survived(&rt::Method::execute) : run_until(*stop);
  }
  if (error != rt::Error::Ok) {
    restore_numbers();
  }
  check("execute", error);
  return results(given);
}

rt::Error Method::run_survived(rt::Error (rt::Method::*call)()) {
  if (is_broken_) {
    return rt::Error::InvalidState;
  }
  return survived([&] { return ((*method_).*call)(); },
                  [&] {
                    is_broken_ = true;
                    return rt::Error::Internal;
                  });
}

// Run instruction by instruction. Leaves the method as a new execute needs it, also by an exception.
rt::Error Method::run_until(const StopRequest& stop) {
  rt::EventTracer* tracer = method_->get_event_tracer();
  const auto event = rt::internal::event_tracer_begin_profiling_event(tracer, "Method::execute");
  int64_t signals_ns = monotonic_ns();
  rt::Error error = rt::Error::Ok;
  for (size_t count = 0; error == rt::Error::Ok && !is_at_end(*method_); ++count) {
    position_ = next_instruction(*method_);
    if (stop.is_due()) {
      end_early();
    }
    if (monotonic_ns() - signals_ns > kSignalIntervalNs) {
      signals_ns = monotonic_ns();
      nb::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) {
        begin_anew(*method_);
        restore_numbers();
        throw nb::python_error();
      }
    }
    if (count < kMaxInstructions) {
      error = run_survived(&rt::Method::step);
      if (stop.was_due()) {  // a delegate has seen it
        end_early();
      }
    } else {  // in the words of `Method::execute`
      ET_LOG(Error, "Instruction execution limit (%zu) exceeded at chain %zu, instruction %zu.", kMaxInstructions,
             position_.first, position_.second);
      error = rt::Error::InvalidProgram;
    }
  }
  begin_anew(*method_);
  if (error == rt::Error::Ok) {  // as in `Method::execute`: a run that fails does not end its event
    rt::internal::event_tracer_end_profiling_event(tracer, event);
  }
  return error;
}

void Method::end_early() {
  LogCapture::drop_lines();  // those about a delegate that ended early
  begin_anew(*method_);
  restore_numbers();
  throw StoppedError("stopped");
}

void Method::keep_numbers() {
  const auto values = values_of(*method_);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isInt() || values[i].isDouble() || values[i].isBool()) {
      numbers_.emplace_back(static_cast<uint32_t>(i), values[i]);
    }
  }
}

// A loop resets its counter at its end only, so a run that ended early would leave it in the middle.
void Method::restore_numbers() {
  const auto values = values_of(*method_);
  for (const auto& [index, number] : numbers_) {
    values[index] = number;
  }
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
