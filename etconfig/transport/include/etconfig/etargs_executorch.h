// Gives ExecuTorch the options of an .etargs file. Allocates nothing; the caller has the storage.
//
//   executorch::runtime::BackendOption storage[32];
//   executorch::runtime::LoadBackendOptionsMap map;
//   size_t left_out = 0;
//   etconfig::etargs::fill(*method, {storage, 32}, &map, &left_out);
//   module.load_method("forward", nullptr, nullptr, &map);
//
// The map refers to the storage: keep it for as long as the map and what is loaded with it.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>

#include <etconfig/etargs.h>

namespace etconfig {
namespace etargs {

namespace internal {

constexpr size_t kMaxBackendIdBytes = 64;  // with its NUL; LoadBackendOptionsMap keeps its own number private

inline bool is_c_string(std::string_view text, size_t capacity) {
  return text.size() < capacity && text.find('\0') == std::string_view::npos;
}

// Whether the option map carries an option; if so, it is in `*out`.
inline bool carried(const Option& option, executorch::runtime::BackendOption* out) {
  const auto key = option.key();
  if (!key || !is_c_string(*key, executorch::runtime::kMaxOptionKeyLength)) return false;
  executorch::runtime::BackendOption carried;
  const Value sent = option.sent();
  if (const auto boolean = sent.boolean()) {
    carried.value = *boolean;
  } else if (const auto integer = sent.integer(); integer && *integer >= INT32_MIN && *integer <= INT32_MAX) {
    carried.value = static_cast<int>(*integer);
  } else if (const auto text = sent.text(); text && is_c_string(*text, executorch::runtime::kMaxOptionValueLength)) {
    std::array<char, executorch::runtime::kMaxOptionValueLength> bytes{};
    std::copy(text->begin(), text->end(), bytes.begin());
    carried.value = bytes;
  } else {
    return false;
  }
  std::copy(key->begin(), key->end(), carried.key);
  *out = carried;
  return true;
}

}  // namespace internal

// Writes the options of one backend and scope to `storage`, and how many there are to `*count`. Adds to `*left_out`
// how many options of this scope somebody set that the option map cannot carry; read those by name.
// InvalidArgument: `storage` is too small.
inline executorch::runtime::Error options_of(
    const Backend& backend,
    Scope scope,
    executorch::runtime::Span<executorch::runtime::BackendOption> storage,
    size_t* count,
    size_t* left_out = nullptr) {
  *count = 0;
  for (Option option : backend.options()) {
    if (option.scope() != scope || option.value().kind() == Kind::None) continue;
    executorch::runtime::BackendOption carried;
    if (!internal::carried(option, &carried)) {
      if (left_out != nullptr && option.is_set()) ++*left_out;
      continue;
    }
    if (*count == storage.size()) return executorch::runtime::Error::InvalidArgument;
    storage[(*count)++] = carried;
  }
  return executorch::runtime::Error::Ok;
}

// Calls `take(backend id, options)` for each backend with options of a scope, which lie one after the other in
// `storage`. Stops at the first error.
template <typename Take>
executorch::runtime::Error for_each_backend(
    const Method& method,
    Scope scope,
    executorch::runtime::Span<executorch::runtime::BackendOption> storage,
    size_t* left_out,
    const Take& take) {
  using executorch::runtime::Error;
  size_t used = 0;
  for (Backend backend : method.backends()) {
    if (!internal::is_c_string(backend.id(), internal::kMaxBackendIdBytes)) return Error::InvalidArgument;
    size_t count = 0;
    Error error = options_of(backend, scope, {storage.data() + used, storage.size() - used}, &count, left_out);
    if (error == Error::Ok && count != 0) {
      error = take(backend.id().data(), executorch::runtime::Span(storage.data() + used, count));
    }
    if (error != Error::Ok) return error;
    used += count;
  }
  return Error::Ok;
}

// Fills a map with the options of a method instance. The options of the whole process are apart.
inline executorch::runtime::Error fill(
    const Method& method,
    executorch::runtime::Span<executorch::runtime::BackendOption> storage,
    executorch::runtime::LoadBackendOptionsMap* map,
    size_t* left_out = nullptr) {
  return for_each_backend(method, Scope::Method, storage, left_out, [map](const char* id, auto options) {
    return map->set_options(id, options);
  });
}

// Sets the options of the whole process. Call it once, before any method is loaded; all methods of a configuration
// agree on them. The storage can be used again afterwards.
inline executorch::runtime::Error set_process_options(
    const Method& method,
    executorch::runtime::Span<executorch::runtime::BackendOption> storage,
    size_t* left_out = nullptr) {
  return for_each_backend(method, Scope::Process, storage, left_out, [](const char* id, auto options) {
    return executorch::runtime::set_option(id, options);
  });
}

}  // namespace etargs
}  // namespace etconfig
