// Verification of XNNPACK's payloads, which XNNPACK itself trusts in part: the sizes of its constants, and the
// numbers of the arguments that it takes.
#pragma once

#include <nanobind/nanobind.h>

namespace etconfig {

void bind_xnnpack_payload(nanobind::module_& module);

}  // namespace etconfig
