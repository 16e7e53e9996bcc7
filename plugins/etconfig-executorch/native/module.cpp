// The extension's Python module.
#include <executorch/runtime/platform/runtime.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "errors.h"
#include "event_recorder.h"
#include "library_guard.h"
#include "log_capture.h"
#include "method.h"
#include "options.h"
#include "program.h"
#include "python_backend.h"
#include "tensors.h"
#include "thread_pools.h"
#include "xnnpack_payload.h"

namespace etconfig {

NB_MODULE(_native, module) {
  // A method that is still referenced when the interpreter ends is not a leak of this module.
  nb::set_leak_warnings(false);
  executorch::runtime::runtime_init();
  module.attr("EXECUTORCH_VERSION") = ETCONFIG_EXECUTORCH_VERSION;
  bind_errors(module);
  bind_library_guard(module);
  bind_log_capture(module);
  bind_options(module);
  bind_program(module);
  bind_event_recorder(module);
  bind_method(module);
  bind_python_backend(module);
  bind_xnnpack_payload(module);
  module.def("process_thread_count", &process_thread_count);
  module.def("set_numpy", [](nb::object empty, nb::object ndarray, const std::vector<nb::object>& dtypes) {
    set_numpy(Numpy(std::move(empty), std::move(ndarray), dtypes));
  });
}

}  // namespace etconfig
