// Failures of the runtime as C++ exceptions, which become Python exceptions with a code and log lines.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace etconfig {

namespace nb = nanobind;
namespace rt = executorch::runtime;

// A call of the runtime that did not return Ok, with the lines that the runtime logged during the call.
class RuntimeCallError : public std::runtime_error {
 public:
  RuntimeCallError(const char* call, rt::Error error, std::vector<std::string> log);

  rt::Error error;
  std::vector<std::string> log;
};

// An input that does not fit as it is. The caller converts it, or reports an error.
class InputMismatchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Another thread is inside the method.
class MethodBusyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A run was stopped between two instructions.
class StoppedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A thread pool cannot be made.
class ThreadsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Raise RuntimeCallError unless `error` is Ok, or the Python exception that caused it.
void check(const char* call, rt::Error error);

template <typename T>
T take(const char* call, rt::Result<T>&& result) {
  check(call, result.error());
  return std::move(result.get());
}

void bind_errors(nb::module_& module);

}  // namespace etconfig
