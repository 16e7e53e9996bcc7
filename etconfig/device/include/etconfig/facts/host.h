// What system calls report about this device: the answers of uname, and the CPUs that this thread may use.
//
// A captured tree is a directory of another device's files. Its machine.json has these answers.

#pragma once

#include <string_view>

#include "etconfig/facts/system.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline void read_host(Host* host) {
  utsname names;
  if (uname(&names) == 0) {
    host->has_system = host->has_release = host->has_machine = true;
#if defined(__ANDROID__)
    host->system << "Android";  // Android's kernel calls itself Linux
#elif defined(ETCONFIG_FACTS_APPLE)
    host->system << "Darwin";
#else
    host->system << names.sysname;
#endif
    host->release << names.release;
#if defined(TARGET_OS_IPHONE) && TARGET_OS_IPHONE
    host->machine << (sizeof(void*) == 8 ? "arm64" : "arm");  // uname reports the model there
#else
    host->machine << names.machine;
#endif
  }
#if defined(__linux__)
  auto* set = reinterpret_cast<cpu_set_t*>(host->affinity.bytes());
  host->has_affinity = sched_getaffinity(0, CpuSet::kBytes, set) == 0;
  host->affinity.from_system_words();
#endif
}

// Reads an object of texts and of lists of texts, which is all that machine.json has.
class MachineReader {
 public:
  MachineReader(std::string_view text, Host* host) : rest_(text), host_(host) {}

  bool read() {
    skip_space();
    if (!take('{')) return false;
    skip_space();
    if (take('}')) return is_at_end();
    do {
      FixedText<64> key;
      skip_space();
      if (!read_text(&key)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!read_value(key.view())) return false;
      skip_space();
    } while (take(','));
    return take('}') && is_at_end();
  }

 private:
  bool read_value(std::string_view key) {
    FixedText<kMaxLineBytes> value;
    if (key == "search_path") return read_list(&value);
    const bool is_null = starts_with(rest_, "null");
    if (is_null) rest_.remove_prefix(4);
    if (!is_null && !read_text(&value)) return false;
    const auto set = [&](Text* to, bool* has) {
      *has = !is_null;
      to->clear();
      *to << value.view();
      return !to->is_cut();
    };
    if (key == "system") return set(&host_->system, &host_->has_system);
    if (key == "release") return set(&host_->release, &host_->has_release);
    if (key == "machine") return set(&host_->machine, &host_->has_machine);
    if (key != "affinity") return key == "python";
    host_->has_affinity = !is_null;
    return is_null || host_->affinity.parse(value.view());
  }
  bool read_list(Text* value) {
    if (!take('[')) return false;
    skip_space();
    if (take(']')) return true;
    do {
      skip_space();
      value->clear();
      if (!read_text(value)) return false;
      skip_space();
    } while (take(','));
    return take(']');
  }
  bool read_text(Text* text) {
    if (!take('"')) return false;
    while (!rest_.empty() && rest_[0] != '"') {
      char c = rest_[0];
      rest_.remove_prefix(1);
      if (static_cast<uint8_t>(c) < 0x20) return false;
      if (c == '\\') {
        if (rest_.empty()) return false;
        c = rest_[0];
        rest_.remove_prefix(1);
        if (c == 'u') {
          int64_t code = 0;
          if (!parse_hexadecimal(rest_.substr(0, 4), 4, &code) || rest_.size() < 4) return false;
          rest_.remove_prefix(4);
          text->code_point(code >= 0xd800 && code <= 0xdfff ? kReplacement : static_cast<uint32_t>(code));
          continue;
        }
        const size_t at = std::string_view("\"\\/bfnrt").find(c);
        if (at == std::string_view::npos) return false;
        c = "\"\\/\b\f\n\r\t"[at];
      }
      *text << c;
    }
    return take('"') && !text->is_cut();
  }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_space() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_[0]) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
  }
  bool is_at_end() {
    skip_space();
    return rest_.empty();
  }

  std::string_view rest_;
  Host* host_;
};

// False if machine.json is there but does not describe a machine.
inline bool read_captured_host(System* system) {
  std::string_view text;
  if (!system->open("/machine.json").is_open()) return true;
  if (!system->read_small("/machine.json", &text)) return false;
  return MachineReader(text, &system->host()).read();
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
