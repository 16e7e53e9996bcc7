#include "event_recorder.h"

#include <executorch/runtime/platform/platform.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "text.h"

namespace etconfig {

namespace {

// The clock of Python's time.perf_counter_ns on Linux.
int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

int64_t ns_between(et_timestamp_t start, et_timestamp_t end) {
  const auto ratio = executorch::runtime::pal_ticks_to_ns_multiplier();
  const auto ticks = static_cast<int64_t>(end - start);
  return ticks * static_cast<int64_t>(ratio.numerator) / static_cast<int64_t>(ratio.denominator);
}

// Events that etconfig has itself, those of instructions that call nothing, and those that repeat OPERATOR_CALL.
bool is_unused(const char* name) {
  constexpr const char* kUnused[] = {"Program::load_method", "Method::step", "JF_CALL", "MOVE_CALL",
                                      "FREE_CALL"};
  const auto is_name = [name](const char* each) { return std::strcmp(name, each) == 0; };
  return std::any_of(std::begin(kUnused), std::end(kUnused), is_name) || std::strncmp(name, "native_call_", 12) == 0;
}

std::string text_of(const void* metadata, size_t size) {
  return metadata == nullptr ? std::string() : readable({static_cast<const char*>(metadata), size});
}

}  // namespace

void EventRecorder::begin(size_t limit) {
  std::lock_guard<std::mutex> lock(mutex_);
  open_.clear();
  done_.clear();
  limit_ = limit;
  lost_ = 0;
}

nb::list EventRecorder::take() {
  std::vector<Event> taken;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    limit_ -= done_.size();
    taken = std::exchange(done_, {});
  }
  nb::list events;
  for (const auto& each : taken) {
    events.append(nb::make_tuple(each.name, each.is_backends, each.start_ns, each.end_ns, each.chain,
                                 each.instruction, each.debug_id));
  }
  return events;
}

void EventRecorder::at_delegate() {
  const auto chain = chain_id_;
  const auto instruction = static_cast<int32_t>(debug_handle_);
  at_delegate_(take(), chain, instruction);
}

size_t EventRecorder::take_lost() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(lost_, 0);
}

rt::EventTracerEntry EventRecorder::start_profiling(const char* name, rt::ChainID chain, rt::DebugHandle handle) {
  if (is_unused(name)) {
    rt::EventTracerEntry none{};
    none.event_id = -1;
    return none;
  }
  Event event = new_event(name, false, -1);
  if (chain != rt::kUnsetChainId) {
    event.chain = chain;
    event.instruction = static_cast<int32_t>(handle);
  }
  return open(std::move(event));
}

void EventRecorder::end_profiling(rt::EventTracerEntry entry) { close(entry.event_id, {}); }

rt::EventTracerEntry EventRecorder::start_profiling_delegate(const char* name, rt::DelegateDebugIntId id) {
  return open(new_event(name, true, id));
}

void EventRecorder::end_profiling_delegate(rt::EventTracerEntry entry, const void* metadata, size_t size) {
  close(entry.event_id, text_of(metadata, size));
}

void EventRecorder::log_profiling_delegate(const char* name, rt::DelegateDebugIntId id, et_timestamp_t start,
                                           et_timestamp_t end, const void* metadata, size_t size) {
  Event event = new_event(name, true, id);
  if (event.name.empty()) {
    event.name = text_of(metadata, size);
  }
  // The backend read the runtime's clock, which may have another origin than ours.
  event.start_ns = now_ns() - ns_between(start, executorch::runtime::pal_current_ticks());
  event.end_ns = event.start_ns + ns_between(start, end);
  std::lock_guard<std::mutex> lock(mutex_);
  keep(std::move(event));
}

EventRecorder::Event EventRecorder::new_event(const char* name, bool is_backends, int32_t debug_id) const {
  const bool is_inside = chain_id_ != rt::kUnsetChainId;
  const auto instruction = is_inside ? static_cast<int32_t>(debug_handle_) : -1;
  return {name == nullptr ? std::string() : readable(name), is_backends, now_ns(), 0, chain_id_, instruction, debug_id};
}

rt::EventTracerEntry EventRecorder::open(Event event) {
  std::lock_guard<std::mutex> lock(mutex_);
  rt::EventTracerEntry entry{};
  entry.event_id = next_id_++;
  open_.emplace(entry.event_id, std::move(event));
  return entry;
}

void EventRecorder::close(int64_t id, std::string metadata) {
  const int64_t end_ns = now_ns();
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = open_.find(id);
  if (found == open_.end()) {
    return;
  }
  Event event = std::move(found->second);
  open_.erase(found);
  event.end_ns = end_ns;
  if (event.name.empty()) {
    event.name = std::move(metadata);
  }
  keep(std::move(event));
}

void EventRecorder::keep(Event event) {
  if (done_.size() < limit_) {
    done_.push_back(std::move(event));
  } else {
    ++lost_;
  }
}

void bind_event_recorder(nb::module_& module) {
  nb::class_<EventRecorder>(module, "EventRecorder")
      .def(nb::init<nb::object>(), nb::arg("at_delegate"))
      .def("begin", &EventRecorder::begin, nb::arg("limit"))
      .def("take_lost", &EventRecorder::take_lost)
      .def("take", &EventRecorder::take);
}

}  // namespace etconfig
