// Capture of the lines that the runtime logs during one of our calls.
#pragma once

#include <executorch/runtime/platform/platform.h>
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace etconfig {

namespace nb = nanobind;

// During its lifetime, the lines of this thread are kept. At its end, Python receives all of them; if it does not want
// errors, those that no exception has go where they went before. Lines of other threads are not touched. Create and
// destroy it with the GIL: the function that the runtime calls never acquires it.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Return the lines that this thread's innermost capture has kept so far and not returned yet.
  static std::vector<std::string> take_lines();

  // Forget the lines that this thread's innermost capture has kept so far.
  static void drop_lines();

  // Write the errors that this thread has kept so far where they went before: the process is about to end.
  static void write_errors();

 private:
  // Install our log function, which calls the previously installed one.
  static void stand_in_front();

  struct Line {
    et_pal_log_level_t level;
    std::string file;
    std::string function;
    size_t number;
    std::string message;
    bool is_taken;

    bool is_error() const { return level == kError || level == kFatal; }
  };

  friend struct LogSink;

  std::vector<Line> lines_;
  LogCapture* outer_;
};

void bind_log_capture(nb::module_& module);

}  // namespace etconfig
