#include "errors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "log_capture.h"
#include "python_backend.h"

namespace etconfig {

namespace {

nb::object* runtime_call_error_type = nullptr;

// "InvalidArgument" for Error::InvalidArgument.
std::string name_of(rt::Error error) {
  const std::string text = rt::to_string(error);
  const size_t colon = text.rfind(':');
  return colon == std::string::npos ? text : text.substr(colon + 1);
}

void raise_runtime_call_error(const RuntimeCallError& failure) {
  nb::object exception = (*runtime_call_error_type)(failure.what());
  exception.attr("code") = static_cast<uint32_t>(failure.error);
  exception.attr("code_name") = name_of(failure.error);
  exception.attr("log") = nb::cast(failure.log);
  PyErr_SetObject(runtime_call_error_type->ptr(), exception.ptr());
}

}  // namespace

RuntimeCallError::RuntimeCallError(const char* call, rt::Error error, std::vector<std::string> log)
    : std::runtime_error(std::string(call) + ": " + name_of(error)),
      error(error),
      log(std::move(log)) {}

void check(const char* call, rt::Error error) {
  if (error == rt::Error::Ok) {
    return;
  }
  std::vector<std::string> log = LogCapture::take_lines();
  nb::gil_scoped_acquire gil;
  raise_pending_exception();
  throw RuntimeCallError(call, error, std::move(log));
}

void bind_errors(nb::module_& module) {
  runtime_call_error_type = new nb::object(nb::exception<RuntimeCallError>(module, "RuntimeCallError", PyExc_RuntimeError));
  // Registered after nb::exception, so that it is tried first.
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const RuntimeCallError& failure) {
      raise_runtime_call_error(failure);
    }
  });
  nb::exception<InputMismatchError>(module, "InputMismatchError", PyExc_ValueError);
  nb::exception<StoppedError>(module, "StoppedError", PyExc_RuntimeError);
  nb::exception<ThreadsError>(module, "ThreadsError", PyExc_RuntimeError);
  nb::exception<MethodBusyError>(module, "MethodBusyError", PyExc_RuntimeError);
}

}  // namespace etconfig
