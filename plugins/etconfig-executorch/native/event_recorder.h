// Timed events of the runtime and its backends, for etconfig's own tracer.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "errors.h"

namespace etconfig {

// Keeps the events of one method until Python takes them. Backends may call it from their own threads.
class EventRecorder final : public rt::EventTracer {
 public:
  struct Event {
    std::string name;  // empty if a backend identifies its event by a number alone
    bool is_backends;  // a backend timed it
    int64_t start_ns;  // as Python's time.perf_counter_ns
    int64_t end_ns;
    int32_t chain;  // -1 outside of instructions
    int32_t instruction;
    int32_t debug_id;  // -1 without one
  };

  // `at_delegate` is called before a delegate of a Python backend runs, with the events so far, the chain and the
  // instruction. It must not refer to this object: the collector of Python would not see the circle.
  explicit EventRecorder(nb::object at_delegate) : at_delegate_(std::move(at_delegate)) {}

  // Keep at most `limit` events from now on; more are counted. Unfinished events are dropped.
  void begin(size_t limit);

  // Return the kept events in the order in which they ended, as tuples in the order of the fields, and remove them.
  nb::list take();

  size_t take_lost();

  // Call Python's `at_delegate`, with the GIL held.
  void at_delegate();

  void create_event_block(const char*) override {}
  rt::EventTracerEntry start_profiling(const char* name, rt::ChainID chain, rt::DebugHandle handle) override;
  void end_profiling(rt::EventTracerEntry entry) override;
  rt::EventTracerEntry start_profiling_delegate(const char* name, rt::DelegateDebugIntId id) override;
  void end_profiling_delegate(rt::EventTracerEntry entry, const void* metadata, size_t size) override;
  void log_profiling_delegate(const char* name, rt::DelegateDebugIntId id, et_timestamp_t start, et_timestamp_t end,
                              const void* metadata, size_t size) override;

  // Allocations and values are not recorded.
  void track_allocation(rt::AllocatorID, size_t) override {}
  rt::AllocatorID track_allocator(const char*) override { return 0; }
  void set_delegation_intermediate_output_filter(rt::EventTracerFilterBase*) override {}
  rt::Result<bool> log_evalue(const rt::EValue&, rt::LoggedEValueType) override { return false; }
  using Tensor = executorch::aten::Tensor;
  rt::Result<bool> log_intermediate_output_delegate(const char*, rt::DelegateDebugIntId, const Tensor&) override {
    return false;
  }
  rt::Result<bool> log_intermediate_output_delegate(const char*, rt::DelegateDebugIntId,
                                                    const rt::ArrayRef<Tensor>) override {
    return false;
  }
  rt::Result<bool> log_intermediate_output_delegate(const char*, rt::DelegateDebugIntId, const int&) override {
    return false;
  }
  rt::Result<bool> log_intermediate_output_delegate(const char*, rt::DelegateDebugIntId, const bool&) override {
    return false;
  }
  rt::Result<bool> log_intermediate_output_delegate(const char*, rt::DelegateDebugIntId, const double&) override {
    return false;
  }

 private:
  rt::EventTracerEntry open(Event event);
  void close(int64_t id, std::string metadata);
  void keep(Event event);
  Event new_event(const char* name, bool is_backends, int32_t debug_id) const;

  nb::object at_delegate_;
  std::mutex mutex_;
  std::unordered_map<int64_t, Event> open_;
  std::vector<Event> done_;
  int64_t next_id_ = 0;
  size_t limit_ = 0;
  size_t lost_ = 0;
};

void bind_event_recorder(nb::module_& module);

}  // namespace etconfig
