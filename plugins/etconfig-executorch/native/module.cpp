// The extension's Python module.
#include <executorch/runtime/platform/runtime.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "errors.h"
#include "event_recorder.h"
#include "log_capture.h"
#include "method.h"
#include "options.h"
#include "program.h"
#include "python_backend.h"
#include "tensors.h"
#include "xnnpack_payload.h"

// The wheel ships the library but not this header. Source: extension/threadpool/threadpool.h.
namespace executorch::extension::threadpool {
class ThreadPool final {
 public:
  size_t get_thread_count() const;
  bool _unsafe_reset_threadpool(uint32_t num_threads);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace etconfig {

namespace threadpool = executorch::extension::threadpool;

NB_MODULE(_native, module) {
  // A method that is still referenced when the interpreter ends is not a leak of this module.
  nb::set_leak_warnings(false);
  executorch::runtime::runtime_init();
  module.attr("EXECUTORCH_VERSION") = ETCONFIG_EXECUTORCH_VERSION;
  bind_errors(module);
  bind_options(module);
  bind_program(module);
  bind_event_recorder(module);
  bind_method(module);
  bind_python_backend(module);
  bind_xnnpack_payload(module);
  module.def("set_numpy", [](nb::object empty, nb::object ndarray, const std::vector<nb::object>& dtypes) {
    set_numpy(Numpy(std::move(empty), std::move(ndarray), dtypes));
  });
  module.def("thread_count", [] {
    LogCapture capture;  // making the pool logs how it looks for cores
    return threadpool::get_threadpool()->get_thread_count();
  });
  // Call it only while nothing is loaded: delegates keep the pool that they were loaded with.
  module.def("set_thread_count", [](uint32_t count) {
    LogCapture capture;
    return threadpool::get_threadpool()->_unsafe_reset_threadpool(count);
  }, nb::arg("count"));
}

}  // namespace etconfig
