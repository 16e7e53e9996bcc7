#include "abort_guard.h"

#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/platform/platform.h>

#include <executorch/runtime/platform/log.h>

#include <csignal>
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

struct sigaction fault_before;

// Kernels divide by numbers of the program without a look at them. The processor's signal comes in the thread that
// divides, at the division, so an exception can leave the kernel from here as from a failed check.
//
// Throwing out of a signal handler is no part of C++. It works here, on Linux, for these reasons: the signal is
// that of a division (si_code), never one that interrupts a call, a lock or an allocation, so logging and allocating the
// exception are as safe as at the division itself. Compilers write unwind tables for every instruction by default, and the
// unwinder knows the frame of a signal. The runtime and its kernels are compiled without exceptions, so their frames have
// no handlers or cleanups that would have to list the division as a place that throws. A frame that has them, and does not
// list it, ends the process (std::terminate), which is what happens without the guard. test_executorch_survival.py
// divides in a kernel.
void on_fault(int number, siginfo_t* info, void*) {
  if (AbortGuard::throws() && (info->si_code == FPE_INTDIV || info->si_code == FPE_INTOVF)) {
    ET_LOG(Error, "a kernel divided an integer by zero, or the lowest one by -1");
    throw RuntimeAborted();
  }
  sigaction(number, &fault_before, nullptr);  // the division is repeated, and the signal goes where it went before
  if (info->si_code <= 0) {  // sent by a program, as by `raise`: nothing is repeated
    raise(number);
  }
}

void catch_faults() {
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // an exception does not return from here, which would unblock it
  sigemptyset(&action.sa_mask);
  sigaction(SIGFPE, &action, &fault_before);
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
      static std::once_flag once;
      std::call_once(once, catch_faults);
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
