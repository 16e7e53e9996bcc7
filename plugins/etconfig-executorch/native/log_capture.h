// What the runtime logs while one of our calls is under way belongs to that call.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace etconfig {

// While it lives, what this thread logs is kept for an exception. If none comes, errors go where they went
// before, and information is dropped. Lines of other threads are left alone.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The lines that this thread's innermost capture kept so far; it forgets them.
  static std::vector<std::string> take_lines();

 private:
  // Let our log function be the first, and the one that is installed come after it.
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
