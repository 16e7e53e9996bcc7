#include "abort_guard.h"

#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/platform/platform.h>

#include <cstdlib>
#include <mutex>

namespace etconfig {

namespace {

using executorch::extension::threadpool::NoThreadPoolGuard;

thread_local GuardState state;
pal_abort_method abort_before = nullptr;

[[noreturn]] void abort_or_throw() {
  if (AbortGuard::throws()) {
    throw RuntimeAborted();
  }
  if (abort_before != nullptr) {
    abort_before();
  }
  std::abort();
}

// The table is changed in place, as for log lines: register_pal logs an error if it is called twice in a process.
void stand_in_front() {
  auto* table = const_cast<executorch::runtime::PalImpl*>(executorch::runtime::get_pal_impl());
  if (table->abort != &abort_or_throw) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    if (table->abort != &abort_or_throw) {
      abort_before = table->abort;
      table->abort = &abort_or_throw;
    }
  }
}

}  // namespace

AbortGuard::AbortGuard() : outer_(std::exchange(state, {true, NoThreadPoolGuard::is_enabled()})) {
  stand_in_front();
}

AbortGuard::~AbortGuard() { state = outer_; }

bool AbortGuard::throws() {
  const bool is_in_task = NoThreadPoolGuard::is_enabled() && !state.was_without_pool;
  return state.is_guarded && !is_in_task;
}

}  // namespace etconfig
