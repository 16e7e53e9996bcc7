// Delegates of backends with the C interface, run without Python and without the GIL.
#pragma once

#include <etconfig/backend.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "stop_request.h"

namespace etconfig {

// Memory for one run at a time. Blocks are kept, and used again by runs that ask for the same.
class RunMemory {
 public:
  // Return zeroed memory, or nullptr. `alignment` is a power of 2. Pages of a new block are taken when first touched.
  void* allocate(size_t size, size_t alignment);

  // Make all blocks available again.
  void reset() { used_ = 0; }

 private:
  struct Block {
    std::unique_ptr<void, decltype(&std::free)> memory;
    void* start;
    size_t size;
    size_t alignment;
  };

  std::vector<Block> blocks_;
  size_t used_ = 0;
};

// One delegate. The Python side owns the resource handle, and destroys it after the last run.
class CDelegate {
 public:
  // `run` is an etconfig.plugin.v1.NativeRun. Call it with the GIL.
  explicit CDelegate(nb::object run);

  // Run it, without the GIL. Fails with the pending exception of Python's `failure` or `service_failure`; without one
  // if the run must end, as the current StopRequest then knows.
  rt::Error run(rt::Span<rt::EValue*> values);

 private:
  void fill(EtconfigValue& target, const rt::EValue& value);
  void fill(EtconfigTensor& target, const executorch::aten::Tensor& tensor);
  EtconfigValue tensor_value(const executorch::aten::Tensor& tensor);
  template <typename Items, typename Convert>
  void fill_list(EtconfigValue& target, const Items& items, Convert convert);

  rt::Error outcome(EtconfigStatus status, const std::string& text);
  // Keep an exception of a service for the end of the run: none may pass through the library.
  void keep(nb::handle type, const std::string& text);
  void keep(nb::object exception);

  static void* allocate(void* self, size_t size, size_t alignment);
  static EtconfigStatus parallel_for(void* self, size_t count, size_t max_workers, EtconfigTask task, void* argument);
  static void log(void* self, int32_t level, const char* text);
  static int32_t is_cancelled(void* self);
  static EtconfigStatus resize_output(void* self, size_t index, const int32_t* sizes, int32_t rank);

  nb::object python_;
  decltype(EtconfigBackend::run) function_;
  void* handle_;
  const EtconfigRun* in_force_;
  EtconfigServices services_;
  RunMemory memory_;
  const StopRequest* stop_ = nullptr;
  nb::object kept_;  // the first one of the run; only touched with the GIL
  std::atomic<bool> has_kept_{false};
  std::string task_text_;  // the exception that left a task of the run
  rt::Span<rt::EValue*> arguments_{nullptr, static_cast<size_t>(0)};
  std::vector<EtconfigValue> values_;
  std::deque<EtconfigTensor> tensors_;
  std::deque<std::vector<EtconfigValue>> lists_;
  std::deque<std::string> texts_;
};

}  // namespace etconfig
