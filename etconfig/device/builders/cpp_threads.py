"""The call that sets the threads of XNNPACK, for which ExecuTorch's option map has no key.

XNNPACK takes ExecuTorch's thread pool while a method is loaded. `device_executorch.h` does this for bundles.
Source: extension/threadpool, threadpool_guard.h.
"""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.device.builders.language import CarriedMethod

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
