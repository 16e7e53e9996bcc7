// One loaded method with all its memory.
#pragma once

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bytes.h"
#include "event_recorder.h"
#include "options.h"
#include "program.h"
#include "stop_request.h"
#include "tensors.h"
#include "thread_pools.h"

namespace etconfig {

// Lets only one thread at a time into a method.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& is_busy) : is_busy_(is_busy) {
    if (is_busy_.exchange(true)) {
      throw MethodBusyError("the method is executing in another thread");
    }
  }
  ~Turn() { is_busy_ = false; }

 private:
  std::atomic<bool>& is_busy_;
};

class Method {
 public:
  // Throws RuntimeCallError, or the exception of a Python backend. `single_threaded`: no thread pool for delegates.
  // `recorder`: records events, or null.
  // `num_threads`: the size of the pool for delegates; 0 means the process's own pool.
  // `memory`: for each planned buffer, a writable Python buffer of its size, or None to allocate it; or nothing.
  Method(std::shared_ptr<Program> program, const std::string& name,
         const std::vector<std::pair<std::string, WireOptions>>& options, bool single_threaded,
         const std::vector<nb::object>& memory, std::shared_ptr<EventRecorder> recorder, size_t num_threads);
  ~Method();
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  // Throws InputMismatchError if an input does not fit as it is, so that etconfig has to check it, MethodBusyError,
  // RuntimeCallError.
  nb::list execute(nb::object given);

  // The threads of the pool for delegates, or 0 if it is the process's own.
  size_t num_threads() const { return pool_ == nullptr ? 0 : thread_count(pool_); }

  // The same for checked inputs, with memory of the caller: for each output None, or a writable buffer without gaps, as
  // large as the output can become; or for none. Returns the shapes of those outputs instead of copies.
  nb::list execute_into(nb::sequence inputs, nb::sequence outputs);

  // The same, until the byte in `flag` is no longer 0, or CLOCK_MONOTONIC reaches `deadline_ns`: it is looked at before
  // each instruction. Throws StoppedError then.
  nb::list execute_until(nb::sequence inputs, nb::sequence outputs, nb::handle flag, int64_t deadline_ns);

  // The chain and the index of the instruction at which the last `execute_until` failed or was stopped.
  std::pair<size_t, size_t> position() const { return position_; }

 private:
  struct Buffer {
    explicit Buffer(size_t size);

    std::unique_ptr<uint8_t, decltype(&std::free)> memory;
    size_t size;
  };

  // An output without planned memory, and memory of ours for it.
  struct OwnOutput {
    size_t index;
    size_t size;
    std::optional<Buffer> buffer;
  };

  void load(const std::string& name);
  void plan_memory(const rt::MethodMeta& meta);
  void find_own_outputs(const rt::MethodMeta& meta);
  void place_outputs(const std::vector<std::optional<WritableBytes>>& given);
  // Calls `Method::execute` or `Method::step` where an AbortGuard exists: making one takes as long as a small kernel. A failed check inside of the runtime is Error::Internal, and every later
  // run then fails: nothing is known of the state that it left.
  rt::Error run_survived(rt::Error (rt::Method::*call)());
  nb::list run_into(nb::sequence inputs, nb::sequence outputs, const StopRequest* stop);
  rt::Error run_until(const StopRequest& stop);
  [[noreturn]] void end_early();
  void keep_numbers();
  void restore_numbers();
  nb::list results(const std::vector<std::optional<WritableBytes>>& given);
  // To be called where an AbortGuard exists, as `run_survived`.
  void set_inputs(nb::sequence inputs, std::vector<std::unique_ptr<InputTensor>>& keep, bool are_checked);
  rt::EValue input_value(size_t index, nb::handle given, std::vector<std::unique_ptr<InputTensor>>& keep,
                         bool is_checked);

  std::shared_ptr<Program> program_;
  ThreadPool pool_;  // outlives the delegates
  OptionMap options_;
  std::shared_ptr<EventRecorder> recorder_;
  executorch::extension::MallocMemoryAllocator method_memory_;
  executorch::extension::MallocMemoryAllocator temporary_memory_;
  std::vector<std::unique_ptr<Bytes>> given_;  // the arenas that are not ours, by planned buffer
  std::vector<Buffer> buffers_;
  std::vector<OwnOutput> own_outputs_;
  bool are_outputs_placed_ = false;
  std::vector<rt::Span<uint8_t>> spans_;
  std::optional<rt::HierarchicalAllocator> planned_memory_;
  std::optional<rt::MemoryManager> memory_;
  std::optional<rt::Method> method_;
  std::vector<std::pair<uint32_t, rt::EValue>> numbers_;  // as loading left them, by value index
  std::pair<size_t, size_t> position_{0, 0};
  std::atomic<bool> is_busy_{false};
  bool is_broken_ = false;
};

void bind_method(nb::module_& module);

}  // namespace etconfig
