"""C++17 for ExecuTorch's own headers. Source: runtime/backend, backend_options_map.h and interface.h."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from etconfig.device.builders.language import (
    CarriedMethod,
    Entry,
    Language,
    comment,
    identifiers,
    integer_literal,
    introduction,
    pascal_case,
)
from etconfig.wire.runtime_limits import EXECUTORCH, THREAD_POOL_OPTIONS, WireValue

THREAD_POOL_HEAD = """
#include <cstddef>
#include <cstdint>

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
"""
"""What the class needs."""

THREADS_CLASS = """
// Brings the threads of XNNPACK into force for what is loaded while it lives.
// Link ExecuTorch's threadpool library.
//
// The pool belongs to the process, and its size is changed by replacing it: create the first of these before
// anything is loaded, and load nothing with another number of threads afterwards.
class XnnpackThreads final {
 public:
  // 0: in the calling thread, without the pool.
  explicit XnnpackThreads(uint32_t count) {
    if (count == 0) {
      executorch::extension::threadpool::NoThreadPoolGuard::set_enabled(true);
      return;
    }
    auto* const pool = executorch::extension::threadpool::get_threadpool();
    if (pool != nullptr && pool->get_thread_count() == count) return;
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
    is_ok_ = pool != nullptr && pool->_unsafe_reset_threadpool(count);
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
  const bool was_without_pool_ = executorch::extension::threadpool::NoThreadPoolGuard::is_enabled();
  bool is_ok_ = true;
};
"""
"""The class whose object sets the threads, as long as it lives."""

_XNNPACK = "XnnpackBackend"


def thread_count(carried: CarriedMethod) -> int | None:
    """Return the threads of XNNPACK in a method instance: 0 without the pool, None if nothing sets them."""
    if carried.called.get((_XNNPACK, "single_threaded")) is True:
        return 0
    count = carried.called.get((_XNNPACK, "num_threads"))
    assert count is None or isinstance(count, int)
    return count


def threads_member(carried: CarriedMethod) -> Iterator[str]:
    """Yield the function of a method instance that sets its threads, if it has any."""
    count = thread_count(carried)
    if count is None:
        return
    name = "single_threaded" if count == 0 else "num_threads"
    yield ""
    yield f"// {name} of XNNPACK: keep the result while the method is loaded."
    yield f"XnnpackThreads threads() const {{ return XnnpackThreads({count}); }}"


_INCLUDES = """
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>
"""
_NAMESPACE = """
namespace etconfig_options {

using executorch::runtime::BackendOptions;
using executorch::runtime::Error;
using executorch::runtime::LoadBackendOptionsMap;
"""


def _write(head: Sequence[str], methods: Sequence[CarriedMethod]) -> str:
    names = identifiers(methods, pascal_case)
    has_threads = any(thread_count(carried) is not None for carried in methods)
    parts = (
        (_INCLUDES, THREAD_POOL_HEAD, _NAMESPACE, THREADS_CLASS) if has_threads else (_INCLUDES, _NAMESPACE)
    )
    lines = [*map(comment, head), *(line for part in parts for line in part.splitlines())]
    for name, carried in zip(names, methods, strict=True):
        lines += _struct(name, carried)
    lines += _process(methods)
    return "\n".join([*lines, "", "}  // namespace etconfig_options"]) + "\n"


def _struct(name: str, carried: CarriedMethod) -> Iterator[str]:
    yield from introduction(carried)
    yield f"struct {name} final {{"
    if carried.of_method:
        yield from (f"  {line}" for line in _members(carried.of_method))
        yield ""
    yield "  // The map refers to this object: keep it for as long as the map and what is loaded with it."
    parameter = " map" if carried.of_method else ""
    yield f"  Error fill(LoadBackendOptionsMap&{parameter}) {{"
    yield from (f"    {line}" for line in _body(carried.of_method, "map.set_options"))
    yield "  }"
    yield from (f"  {line}".rstrip() for line in threads_member(carried))
    yield "};"


def _process(methods: Sequence[CarriedMethod]) -> Iterator[str]:
    """Yield one function for the options of the whole process, which are the same for all methods."""
    merged: dict[str, list[Entry]] = {}
    for carried in methods:
        for backend, entries in carried.of_process.items():
            merged[backend] = list(dict.fromkeys([*merged.get(backend, []), *entries]))
    if merged:
        yield ""
        yield "// Call it once, before any method is loaded."
        yield "inline Error set_process_options() {"
        yield from (f"  {line}" for line in _members(merged))
        yield from (f"  {line}" for line in _body(merged, "executorch::runtime::set_option"))
        yield "}"


def _members(options: Mapping[str, Sequence[Entry]]) -> Iterator[str]:
    for index, (backend, entries) in enumerate(options.items()):
        yield comment(backend)
        yield f"BackendOptions<{len(entries)}> options{index};"


def _body(options: Mapping[str, Sequence[Entry]], hand_over: str) -> Iterator[str]:
    yield "Error error = Error::Ok;"
    for index, (backend, entries) in enumerate(options.items()):
        for entry in entries:
            yield from _step(
                f"options{index}.set_option({text_literal(entry.key)}, {cpp_literal(entry.value)})"
            )
        yield from _step(f"{hand_over}({text_literal(backend)}, options{index}.view())")
    yield "return error;"


def _step(call: str) -> Iterator[str]:
    yield f"if (error == Error::Ok) error = {call};"


def cpp_literal(value: WireValue) -> str:
    """Return a bool, an integer or a text as a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return integer_literal(value) if isinstance(value, int) else text_literal(value)


def text_literal(text: str) -> str:
    """Return a literal of printable ASCII. Octal escapes end after three digits; hexadecimal ones do not."""
    return f'"{"".join(map(_character, text.encode()))}"'


def _character(byte: int) -> str:
    # `?` is escaped, too: two of them begin a trigraph
    return chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"


CPP = Language(EXECUTORCH, _write, THREAD_POOL_OPTIONS)
"""C++."""
