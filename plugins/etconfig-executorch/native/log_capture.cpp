#include "log_capture.h"

#include <executorch/runtime/platform/platform.h>

#include <mutex>

#include "text.h"

namespace etconfig {

namespace {

thread_local LogCapture* current = nullptr;
pal_emit_log_message_method emit_before = nullptr;

}  // namespace

// The function that the runtime calls, with access to the captures.
struct LogSink {
  static void emit(et_timestamp_t timestamp, et_pal_log_level_t level, const char* file, const char* function,
                   size_t line, const char* message, size_t length) {
    if (current == nullptr) {
      emit_before(timestamp, level, file, function, line, message, length);
      return;
    }
    const bool is_error = level == kError || level == kFatal;
    current->lines_.push_back({is_error, file, function, line, readable({message, length})});
  }
};

LogCapture::LogCapture() : outer_(std::exchange(current, this)) { stand_in_front(); }

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

// ExecuTorch's own bindings install their function when they are imported, which may be after us. The table is
// changed in place, since register_pal logs an error if it is called twice in a process.
void LogCapture::stand_in_front() {
  auto* table = const_cast<executorch::runtime::PalImpl*>(executorch::runtime::get_pal_impl());
  if (table->emit_log_message != &LogSink::emit) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    if (table->emit_log_message != &LogSink::emit) {
      emit_before = table->emit_log_message;
      table->emit_log_message = &LogSink::emit;
    }
  }
}

}  // namespace etconfig
