#include "library_guard.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

namespace etconfig {

namespace {

namespace nb = nanobind;

constexpr const char* kIntroduction = "an exception left the library, which its interface forbids";

std::string type_of_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) {
    return "of another language";
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? name.get() : type->name();
}

std::string text_of_exception() {
  const std::string type = type_of_exception();
  try {
    throw;
  } catch (const std::exception& exception) {
    return type + ": " + exception.what();
  } catch (...) {
    return type;
  }
}

extern "C" {

EtconfigStatus etconfig_guarded_init(decltype(EtconfigBackend::init) function, const EtconfigInit* init, void** handle,
                                     EtconfigMessage* error) {
  return guarded_call(error, [&] { return function(init, handle, error); });
}

EtconfigStatus etconfig_guarded_run(decltype(EtconfigBackend::run) function, void* handle, const EtconfigRun* run,
                                    EtconfigMessage* error) {
  return guarded_call(error, [&] { return function(handle, run, error); });
}

EtconfigStatus etconfig_guarded_options(decltype(EtconfigBackend::effective_options) function, void* handle,
                                        EtconfigOption* options, size_t count, EtconfigMessage* error) {
  return guarded_call(error, [&] { return function(handle, options, count, error); });
}

EtconfigStatus etconfig_guarded_destroy(decltype(EtconfigBackend::destroy) function, void* handle,
                                        EtconfigMessage* error) {
  return guarded_call(error, [&]() -> EtconfigStatus {
    function(handle);
    return ETCONFIG_OK;
  });
}

EtconfigStatus etconfig_guarded_task(EtconfigTask function, void* argument, size_t index, EtconfigMessage* error) {
  return guarded_call(error, [&] { return function(argument, index); });
}
}

template <typename Function>
uintptr_t address(Function* function) {
  return reinterpret_cast<uintptr_t>(function);
}

}  // namespace

void describe_exception(const EtconfigMessage& message) noexcept {
  if (message.capacity == 0) {
    return;
  }
  std::string text = kIntroduction;
  try {
    text = text + ": " + text_of_exception();
  } catch (...) {  // no memory for more
  }
  const size_t size = std::min(text.size(), message.capacity - 1);
  std::memcpy(message.text, text.data(), size);
  message.text[size] = '\0';
}

void bind_library_guard(nb::module_& module) {
  nb::dict functions;
  functions["init"] = address(&etconfig_guarded_init);
  functions["run"] = address(&etconfig_guarded_run);
  functions["options"] = address(&etconfig_guarded_options);
  functions["destroy"] = address(&etconfig_guarded_destroy);
  functions["task"] = address(&etconfig_guarded_task);
  module.attr("LIBRARY_GUARD") = functions;
}

}  // namespace etconfig
