#include "log_capture.h"

#include <executorch/runtime/platform/platform.h>

namespace etconfig {

namespace {

thread_local LogCapture* current = nullptr;
pal_emit_log_message_method emit_before = nullptr;

}  // namespace

// The function that the runtime calls, with a view of the captures.
struct LogSink {
  static void emit(et_timestamp_t timestamp, et_pal_log_level_t level, const char* file, const char* function,
                   size_t line, const char* message, size_t length) {
    if (current == nullptr) {
      emit_before(timestamp, level, file, function, line, message, length);
      return;
    }
    const bool is_error = level == kError || level == kFatal;
    current->lines_.push_back({is_error, file, function, line, std::string(message, length)});
  }
};

LogCapture::LogCapture() : outer_(std::exchange(current, this)) {}

LogCapture::~LogCapture() {
  current = outer_;
  const et_timestamp_t now = executorch::runtime::pal_current_ticks();
  for (const auto& line : lines_) {
    if (line.is_error) {
      LogSink::emit(now, kError, line.file.c_str(), line.function.c_str(), line.number, line.message.data(),
                    line.message.size());
    }
  }
}

std::vector<std::string> LogCapture::take_lines() {
  std::vector<std::string> texts;
  if (current != nullptr) {
    for (const auto& line : std::exchange(current->lines_, {})) {
      texts.push_back(line.file + ":" + std::to_string(line.number) + ": " + line.message);
    }
  }
  return texts;
}

void LogCapture::install() {
  emit_before = executorch::runtime::get_pal_impl()->emit_log_message;
  executorch::runtime::register_pal(executorch::runtime::PalImpl::create(&LogSink::emit, __FILE__));
}

}  // namespace etconfig
