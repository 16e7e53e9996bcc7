// Failed checks of the runtime as exceptions. ExecuTorch ends the process at such a check, such as a value of another
// type than a kernel expects.
#pragma once

#include <exception>
#include <utility>

namespace etconfig {

// Thrown out of the runtime, in place of ending the process. The frames that it leaves may have been compiled without
// support for exceptions: their destructors do not run. So nothing that was running may be used again.
struct RuntimeAborted : std::exception {
  const char* what() const noexcept override { return "a check inside ExecuTorch's runtime failed"; }
};

struct GuardState {
  bool is_guarded = false;
  // Whether the thread was to use no pool before the guard; the pool does the same around each task.
  bool was_without_pool = false;
};

// Makes the runtime's abort throw RuntimeAborted in this thread while it exists, except inside a task of the thread
// pool, which no exception may leave.
class AbortGuard {
 public:
  AbortGuard();
  ~AbortGuard();
  AbortGuard(const AbortGuard&) = delete;
  AbortGuard& operator=(const AbortGuard&) = delete;

  // Whether the runtime's abort would throw in this thread now, instead of ending the process.
  static bool throws();

 private:
  GuardState outer_;
};

// Calls the runtime where an AbortGuard exists, and `failed` if a check inside of it fails.
template <typename Call, typename Failed>
auto survived(Call call, Failed failed) {
  try {
    return call();
  } catch (const RuntimeAborted&) {
    return failed();
  }
}

// The same, with a guard of its own.
template <typename Call, typename Failed>
auto guarded(Call call, Failed failed) {
  AbortGuard guard;
  return survived(call, failed);
}

}  // namespace etconfig
