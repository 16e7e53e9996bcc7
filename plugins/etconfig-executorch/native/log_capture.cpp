#include "log_capture.h"

#include <nanobind/stl/string.h>

#include <mutex>
#include <utility>

#include "abort_guard.h"
#include "text.h"

namespace etconfig {

namespace {

// A call keeps at most so many lines. Further errors go where they went before; other lines are dropped.
constexpr size_t kMaxLines = 10'000;

thread_local LogCapture* current = nullptr;
pal_emit_log_message_method emit_before = nullptr;
nb::object* receiver = nullptr;  // never released: threads may log until the process ends

std::string text_of(const char* text) { return text == nullptr ? std::string() : readable(text); }

}  // namespace

// The function that the runtime calls, with access to the captures.
struct LogSink {
  using Line = LogCapture::Line;

  static void emit(et_timestamp_t timestamp, et_pal_log_level_t level, const char* file, const char* function,
                   size_t line, const char* message, size_t length) {
    const bool is_last = level == kFatal && !AbortGuard::throws();
    if (is_last) {
      LogCapture::write_errors();
    }
    if (current == nullptr || is_last) {
      emit_before(timestamp, level, file, function, line, message, length);
      return;
    }
    Line kept{level, text_of(file), text_of(function), line, readable({message, length}), false};
    if (current->lines_.size() < kMaxLines) {
      current->lines_.push_back(std::move(kept));
    } else if (kept.is_error()) {
      write(kept);
    }
  }

  // Write a line where it went before.
  static void write(const Line& line) {
    emit_before(executorch::runtime::pal_current_ticks(), line.level, line.file.c_str(), line.function.c_str(),
                line.number, line.message.data(), line.message.size());
  }

  // Pass a line to the capture around the one that has ended, or else write it.
  static void pass_on(Line line) {
    if (current == nullptr) {
      write(line);
    } else {
      current->lines_.push_back(std::move(line));
    }
  }

  // Give lines to Python. Return true if it wants errors, which are then not written.
  static bool deliver(const std::vector<Line>& lines) noexcept {
    if (receiver == nullptr) {
      return false;
    }
    nb::gil_scoped_acquire gil;
    try {
      nb::list given;
      for (const auto& each : lines) {
        given.append(nb::make_tuple(std::string(1, static_cast<char>(each.level)), each.file, each.number,
                                    each.function, each.message));
      }
      return nb::cast<bool>((*receiver)(given));
    } catch (nb::python_error& error) {
      const bool is_interrupt = error.matches(PyExc_KeyboardInterrupt);
      error.discard_as_unraisable(*receiver);
      if (is_interrupt) {
        PyErr_SetInterrupt();
      }
      return false;
    }
  }
};

LogCapture::LogCapture() : outer_(std::exchange(current, this)) { stand_in_front(); }

LogCapture::~LogCapture() {
  current = outer_;
  if (lines_.empty() || LogSink::deliver(lines_)) {
    return;
  }
  for (auto& line : lines_) {
    if (line.is_error() && !line.is_taken) {
      LogSink::pass_on(std::move(line));
    }
  }
}

std::vector<std::string> LogCapture::take_lines() {
  std::vector<std::string> texts;
  if (current != nullptr) {
    for (auto& line : current->lines_) {
      if (!std::exchange(line.is_taken, true)) {
        texts.push_back(line.file + ":" + std::to_string(line.number) + ": " + line.message);
      }
    }
  }
  return texts;
}

void LogCapture::drop_lines() {
  if (current != nullptr) {
    current->lines_.clear();
  }
}

void LogCapture::write_errors() {
  for (const auto* capture = current; capture != nullptr; capture = capture->outer_) {
    for (const auto& line : capture->lines_) {
      if (line.is_error()) {
        LogSink::write(line);
      }
    }
  }
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

void bind_log_capture(nb::module_& module) {
  module.def(
      "set_log_receiver",
      [](nb::object given) { delete std::exchange(receiver, new nb::object(std::move(given))); },
      nb::arg("receive"));
}

}  // namespace etconfig
