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
#include <vector>

#include "bytes.h"
#include "event_recorder.h"
#include "options.h"
#include "program.h"
#include "tensors.h"

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
  // `memory`: for each planned buffer, a writable Python buffer of its size, or None to allocate it; or nothing.
  Method(std::shared_ptr<Program> program, const std::string& name,
         const std::vector<std::pair<std::string, WireOptions>>& options, bool single_threaded,
         const std::vector<nb::object>& memory, std::shared_ptr<EventRecorder> recorder);
  ~Method();
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  // Throws InputMismatchError if an input does not fit as it is, MethodBusyError, RuntimeCallError.
  nb::list execute(nb::sequence inputs);

  // The same, with memory of the caller: for each output None, or a writable buffer without gaps, as large as the
  // output can become. Returns the shapes of those outputs instead of copies.
  nb::list execute_into(nb::sequence inputs, nb::sequence outputs);

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
  void run();
  // A failed check inside of the runtime is Error::Internal, and every later run then fails: nothing is known of the
  // state that it left.
  rt::Error run_guarded();
  nb::list results(const std::vector<std::optional<WritableBytes>>& given);
  void set_inputs(nb::sequence inputs, std::vector<std::unique_ptr<InputTensor>>& keep);
  rt::EValue input_value(size_t index, nb::handle given, std::vector<std::unique_ptr<InputTensor>>& keep);

  std::shared_ptr<Program> program_;
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
  std::atomic<bool> is_busy_{false};
  bool is_broken_ = false;
};

void bind_method(nb::module_& module);

}  // namespace etconfig
