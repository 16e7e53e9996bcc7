// The end of a run that its caller requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <utility>

namespace etconfig {

inline int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// When to stop: the byte at `flag` is no longer 0, or CLOCK_MONOTONIC reaches `deadline_ns`. Any thread may ask.
class StopRequest {
 public:
  StopRequest(const uint8_t* flag, int64_t deadline_ns) : flag_(flag), deadline_ns_(deadline_ns) {}

  // Whether the run must end; from then on, it stays so.
  bool is_due() const {
    if (!was_due_ && (__atomic_load_n(flag_, __ATOMIC_RELAXED) != 0 || monotonic_ns() >= deadline_ns_)) {
      was_due_ = true;
    }
    return was_due_;
  }

  // Whether somebody has asked and was told that it is due.
  bool was_due() const { return was_due_; }

  // The request of the run that is under way in this thread, or null.
  static const StopRequest* current() { return current_; }

 private:
  friend class StopScope;

  const uint8_t* flag_;
  int64_t deadline_ns_;
  mutable std::atomic<bool> was_due_{false};
  inline static thread_local const StopRequest* current_ = nullptr;
};

// Makes a request the current one of this thread while it exists; a delegate may run another method inside of its own.
class StopScope {
 public:
  explicit StopScope(const StopRequest* stop) : outer_(std::exchange(StopRequest::current_, stop)) {}
  ~StopScope() { StopRequest::current_ = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const StopRequest* outer_;
};

}  // namespace etconfig
