// Capture of the lines that the runtime logs during one of our calls.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace etconfig {

// During its lifetime, the lines of this thread are kept for an exception. Without an exception, errors go
// where they went before, and information is dropped. Lines of other threads are not touched.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Return the lines that this thread's innermost capture has kept so far, and remove them from it.
  static std::vector<std::string> take_lines();

 private:
  // Install our log function, which calls the previously installed one.
  static void stand_in_front();

  struct Line {
    bool is_error;
    std::string file;
    std::string function;
    size_t number;
    std::string message;
  };

  friend struct LogSink;

  std::vector<Line> lines_;
  LogCapture* outer_;
};

}  // namespace etconfig
