#include "options.h"

#include <executorch/runtime/backend/interface.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "log_capture.h"
#include "text.h"

namespace etconfig {

namespace {

using Text = std::array<char, rt::kMaxOptionValueLength>;

void copy_text(const std::string& text, char* to, size_t capacity, const char* what) {
  if (text.size() >= capacity || std::memchr(text.data(), '\0', text.size()) != nullptr) {
    throw std::invalid_argument(std::string(what) + " '" + text + "' does not fit: at most " +
                                std::to_string(capacity - 1) + " bytes without a NUL");
  }
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
}

rt::OptionValue to_option_value(const WireValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    Text fixed{};
    copy_text(*text, fixed.data(), fixed.size(), "value");
    return fixed;
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag;
  }
  return std::get<int>(value);
}

WireValue from_option_value(const rt::OptionValue& value) {
  if (const auto* text = std::get_if<Text>(&value)) {
    return readable({text->data(), strnlen(text->data(), text->size())});
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag;
  }
  return std::get<int>(value);
}

void set_process_options(const std::string& backend, const WireOptions& options) {
  LogCapture capture;
  auto native = to_backend_options(options);
  check("set_option", rt::set_option(backend.c_str(), {native.data(), native.size()}));
}

// `wanted` contains the keys; its values give the types, which the runtime needs to know beforehand.
WireOptions get_process_options(const std::string& backend, const WireOptions& wanted) {
  LogCapture capture;
  auto native = to_backend_options(wanted);
  check("get_option", rt::get_option(backend.c_str(), {native.data(), native.size()}));
  return from_backend_options({native.data(), native.size()});
}

}  // namespace

std::vector<rt::BackendOption> to_backend_options(const WireOptions& options) {
  std::vector<rt::BackendOption> native(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    copy_text(options[i].first, native[i].key, rt::kMaxOptionKeyLength, "key");
    native[i].value = to_option_value(options[i].second);
  }
  return native;
}

WireOptions from_backend_options(rt::Span<const rt::BackendOption> options) {
  WireOptions result;
  for (const auto& option : options) {
    result.emplace_back(option.key, from_option_value(option.value));
  }
  return result;
}

OptionMap::OptionMap(const std::vector<std::pair<std::string, WireOptions>>& backends) {
  options_.reserve(backends.size());
  for (const auto& [backend, options] : backends) {
    auto& native = options_.emplace_back(to_backend_options(options));
    if (map_.set_options(backend.c_str(), {native.data(), native.size()}) != rt::Error::Ok) {
      throw std::invalid_argument("the option map has no room for backend '" + backend + "'");
    }
  }
}

void bind_options(nb::module_& module) {
  module.def("set_process_options", &set_process_options, nb::arg("backend"), nb::arg("options"));
  module.def("get_process_options", &get_process_options, nb::arg("backend"), nb::arg("wanted"));
}

}  // namespace etconfig
