// Gives ExecuTorch the arguments that were resolved from a bundle.
// Allocates nothing; the caller has the storage.
//
//   namespace device = etconfig::device;
//   device::set_runtime_backends(&facts);                         //
// before selecting: what this runtime can   run
//   ...
//   executorch::runtime::BackendOption storage[32];
//   executorch::runtime::LoadBackendOptionsMap map;
//   size_t left_out = 0;
//   Error error = device::set_process_options(arguments, {storage, 32}, &left_out);  // once, before anything
//   is loaded if (error == Error::Ok) error = device::fill(arguments, {storage, 32}, &map, &left_out); const
//   device::XnnpackThreads threads(arguments);              // while loading if (error == Error::Ok) error =
//   module.load_method("forward", nullptr, nullptr, &map);
//
// The map refers to the storage: keep it for as long as the map and what is loaded with it. Link ExecuTorch's
// threadpool library; without it, define ETCONFIG_WITHOUT_THREADPOOL, and
// `left_out` counts XNNPACK's thread options.

#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>

#include <array>

#include "device.h"
#include "version.h"

#ifndef ETCONFIG_WITHOUT_THREADPOOL
#include <executorch/extension/threadpool/threadpool_guard.h>
#if __has_include(<executorch/extension/threadpool/threadpool.h>)
#include <executorch/extension/threadpool/threadpool.h>
#else
// The wheel ships the library, but not this header. Source: extension/threadpool/threadpool.h.
namespace executorch::extension::threadpool {
class ThreadPool final {
 public:
  size_t get_thread_count() const;
  [[deprecated]] bool _unsafe_reset_threadpool(uint32_t threads);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool
#endif
#endif

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

namespace internal {

constexpr size_t kMaxBackendIdBytes = 64;  // with its NUL; LoadBackendOptionsMap keeps its own number private
constexpr std::string_view kXnnpack = "XnnpackBackend";
constexpr std::string_view kThreads = "num_threads";
constexpr std::string_view kSingleThread = "single_threaded";

inline bool is_c_string(std::string_view text, size_t capacity) {
  return text.size() < capacity && text.find('\0') == std::string_view::npos;
}

inline bool put_text(std::string_view text, executorch::runtime::BackendOption* out) {
  if (!is_c_string(text, executorch::runtime::kMaxOptionValueLength)) return false;
  std::array<char, executorch::runtime::kMaxOptionValueLength> bytes{};
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  out->value = bytes;
  return true;
}

// The items of an array as one text, such as "forward,decode".
inline bool put_joined(const Value& items, std::string_view separator,
                       executorch::runtime::BackendOption* out) {
  char memory[executorch::runtime::kMaxOptionValueLength];
  TextBuffer joined(memory, sizeof memory);
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (i != 0) joined << separator;
    if (const auto text = items[i].text()) {
      joined << *text;
    } else if (const auto boolean = items[i].boolean()) {
      joined << (*boolean ? "True" : "False");  // as Python sends it
    } else {
      items[i].write(&joined);
    }
  }
  return !joined.is_cut() && put_text(joined.text(), out);
}

// True if the option map carries an option; then it is in `*out`.
inline bool carry(const OptionArgument& option, executorch::runtime::BackendOption* out) {
  const auto key = option.key();
  if (!key || !is_c_string(*key, executorch::runtime::kMaxOptionKeyLength)) return false;
  const Value sent = option.sent();
  if (const auto boolean = sent.boolean()) {
    out->value = *boolean;
  } else if (const auto integer = sent.integer(); integer && option.separator()) {
    char memory[24];
    TextBuffer digits(memory, sizeof memory);
    sent.write(&digits);
    if (!put_text(digits.text(), out)) return false;
  } else if (integer) {
    if (*integer < INT32_MIN || *integer > INT32_MAX) return false;
    out->value = static_cast<int>(*integer);
  } else if (const auto text = sent.text()) {
    if (!put_text(*text, out)) return false;
  } else if (sent.kind() != ValueKind::Array || !option.separator() ||
             !put_joined(sent, *option.separator(), out)) {
    return false;
  }
  std::memset(out->key, 0, sizeof out->key);
  std::memcpy(out->key, key->data(), key->size());
  return true;
}

// True for the options that XnnpackThreads brings into force.
inline bool is_thread_option(const OptionArgument& option) {
#ifdef ETCONFIG_WITHOUT_THREADPOOL
  (void)option;
  return false;
#else
  return option.backend() == kXnnpack && (option.name() == kThreads || option.name() == kSingleThread);
#endif
}

// Calls `take(backend id, options)` for each backend with options of a scope, which lie one after the other
// in `storage`. Stops at the first error.
template <typename Take>
executorch::runtime::Error for_each_backend(
    const AnyArguments& arguments, Scope scope,
    executorch::runtime::Span<executorch::runtime::BackendOption> storage, size_t* left_out,
    const Take& take) {
  using executorch::runtime::Error;
  if (!arguments) return Error::InvalidState;
  size_t used = 0;
  for (uint32_t i = 0; i < arguments.backend_count(); ++i) {
    const BackendArguments backend = arguments.backend(i);
    if (!is_c_string(backend.id(), kMaxBackendIdBytes)) return Error::InvalidArgument;
    size_t count = 0;
    for (uint32_t at = 0; at < backend.size(); ++at) {
      const OptionArgument option = backend[at];
      if (option.scope() != scope || option.value().is_none() || is_thread_option(option)) continue;
      executorch::runtime::BackendOption carried;
      if (!carry(option, &carried)) {
        if (left_out != nullptr && option.is_set()) ++*left_out;
        continue;
      }
      if (used + count == storage.size()) return Error::InvalidArgument;
      storage[used + count++] = carried;
    }
    if (count == 0) continue;
    const Error error = take(backend.id().data(), executorch::runtime::Span(storage.data() + used, count));
    if (error != Error::Ok) return error;
    used += count;
  }
  return Error::Ok;
}

}  // namespace internal

// Sets the fact `runtime.backends`: the backends that this runtime has and that can run here, sorted.
inline FactStatus set_runtime_backends(Facts* facts) {
  constexpr size_t kMost = 64;
  std::string_view names[kMost];
  uint32_t count = 0;
  for (size_t i = 0; i < executorch::runtime::get_num_registered_backends() && count < kMost; ++i) {
    const auto name = executorch::runtime::get_backend_name(i);
    if (!name.ok()) continue;
    const auto* backend = executorch::runtime::get_backend_class(*name);
    if (backend == nullptr || !backend->is_available()) continue;
    uint32_t at = count++;
    for (; at != 0 && std::string_view(*name) < names[at - 1]; --at) names[at] = names[at - 1];
    names[at] = *name;
  }
  return facts->set_list("runtime.backends", names, count, "detected the runtime's registry");
}

// Fills a map with the options of a method instance. The options of the whole process are apart. Adds to
// `*left_out` how many options somebody set that the map cannot carry; read those by name.
//
// InvalidArgument: `storage` or the map is too small. InvalidState: there are no arguments.
inline executorch::runtime::Error fill(const AnyArguments& arguments,
                                       executorch::runtime::Span<executorch::runtime::BackendOption> storage,
                                       executorch::runtime::LoadBackendOptionsMap* map,
                                       size_t* left_out = nullptr) {
  return internal::for_each_backend(
      arguments, Scope::Method, storage, left_out,
      [map](const char* id, auto options) { return map->set_options(id, options); });
}

// Sets the options of the whole process. Call it once, before any method is loaded; all methods of a profile
// agree on them. The storage can be used again afterwards. Errors are as for `fill`.
inline executorch::runtime::Error set_process_options(
    const AnyArguments& arguments, executorch::runtime::Span<executorch::runtime::BackendOption> storage,
    size_t* left_out = nullptr) {
  return internal::for_each_backend(
      arguments, Scope::Process, storage, left_out,
      [](const char* id, auto options) { return executorch::runtime::set_option(id, options); });
}

#ifndef ETCONFIG_WITHOUT_THREADPOOL
// Brings `num_threads` and `single_threaded` of XNNPACK into force for what is loaded while it lives: the
// option map has no key for them. XNNPACK takes its pool when a method is loaded.
//
// The pool belongs to the process, and its size is changed by replacing it: create the first XnnpackThreads
// before anything is loaded, and load nothing with another number of threads afterwards.
class XnnpackThreads {
 public:
  explicit XnnpackThreads(const AnyArguments& arguments)
      : XnnpackThreads(arguments.find(internal::kXnnpack)) {}
  // The same for values that are known; without a number, the pool stays as it is.
  XnnpackThreads(bool is_single_threaded, std::optional<int64_t> threads) {
    if (is_single_threaded) {
      executorch::extension::threadpool::NoThreadPoolGuard::set_enabled(true);
      return;
    }
    if (!threads) return;
    auto* const pool = executorch::extension::threadpool::get_threadpool();
    if (pool == nullptr || *threads < 1 || *threads > UINT32_MAX) {
      is_ok_ = false;
      return;
    }
    if (pool->get_thread_count() == static_cast<size_t>(*threads)) return;
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
    is_ok_ = pool->_unsafe_reset_threadpool(static_cast<uint32_t>(*threads));
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
  }
  XnnpackThreads(const XnnpackThreads&) = delete;
  XnnpackThreads& operator=(const XnnpackThreads&) = delete;
  ~XnnpackThreads() { executorch::extension::threadpool::NoThreadPoolGuard::set_enabled(was_without_pool_); }

  // False if ExecuTorch refused the number of threads.
  bool is_ok() const { return is_ok_; }

 private:
  explicit XnnpackThreads(const std::optional<BackendArguments>& backend)
      : XnnpackThreads(backend && backend->boolean(internal::kSingleThread).value_or(false),
                       backend ? backend->integer(internal::kThreads) : std::nullopt) {}

  const bool was_without_pool_ = executorch::extension::threadpool::NoThreadPoolGuard::is_enabled();
  bool is_ok_ = true;
};
#endif

}  // inline namespace
}  // namespace etconfig::device
