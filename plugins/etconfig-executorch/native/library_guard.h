// Calls of a backend's library with the C interface. The interface forbids exceptions, but a process must not end for one.
#pragma once

#include <cxxabi.h>
#include <etconfig/backend.h>
#include <nanobind/nanobind.h>

#include <new>

namespace etconfig {

// Describe the exception that is being handled in `message`.
void describe_exception(const EtconfigMessage& message) noexcept;

// Return the status of `call`; for an exception that leaves it, an error code, with a description in `message`.
template <typename Call>
EtconfigStatus guarded_call(const EtconfigMessage* message, Call call) {
  const EtconfigMessage room = *message;  // the library may replace its members
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return ETCONFIG_MEMORY_ALLOCATION_FAILED;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread ends
  } catch (...) {
    describe_exception(room);
    return ETCONFIG_INTERNAL;
  }
}

// Functions by address, with which Python calls a library's functions.
void bind_library_guard(nanobind::module_& module);

}  // namespace etconfig
