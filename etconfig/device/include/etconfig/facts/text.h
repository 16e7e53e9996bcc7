// Texts of a kernel, a command or a vendor: UTF-8, white space, numbers.
//
// Bytes that are not UTF-8 become U+FFFD when a file is read. White space and printable characters are those
// of Unicode, not of a locale, so that a device finds the same facts as `etconfig facts` does on its files.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "etconfig/facts/unicode.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr size_t kMaxLineBytes = 8192;
inline constexpr size_t kMaxFileBytes = 4u << 20;
inline constexpr uint32_t kReplacement = 0xfffd;

// A function to call, which must outlive the call; one copy of the code that calls it is enough.
template <typename... Arguments>
class Callback {
 public:
  template <typename Function>
  Callback(const Function& function)  // NOLINT: converts
      : function_(&function), call_([](const void* each, Arguments... arguments) {
          (*static_cast<const Function*>(each))(arguments...);
        }) {}
  void operator()(Arguments... arguments) const { call_(function_, arguments...); }

 private:
  const void* function_;
  void (*call_)(const void*, Arguments...);
};

// A text that is put together in storage of a fixed size; what does not fit is cut off.
class Text {
 public:
  Text(char* data, size_t capacity) : data_(data), capacity_(capacity) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string_view view() const { return {data_, size_}; }
  size_t size() const { return size_; }
  bool is_cut() const { return is_cut_; }
  void clear() { resize(0); }
  void resize(size_t size) {
    size_ = size;
    is_cut_ = false;
  }

  Text& operator<<(std::string_view text) {
    const size_t room = capacity_ - size_;
    if (text.size() > room) is_cut_ = true;
    const size_t count = text.size() < room ? text.size() : room;
    if (count != 0) std::memcpy(data_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Text& operator<<(char c) { return *this << std::string_view(&c, 1); }
  Text& operator<<(int64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do {
      digits[--at] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (number < 0) *this << '-';
    return *this << std::string_view(digits + at, sizeof digits - at);
  }
  Text& code_point(uint32_t c) {
    if (c < 0x80) return *this << static_cast<char>(c);
    char bytes[4];
    size_t count = 0;
    if (c >= 0x10000) {
      bytes[count++] = static_cast<char>(0xf0 | (c >> 18));
      bytes[count++] = static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    } else if (c >= 0x800) {
      bytes[count++] = static_cast<char>(0xe0 | (c >> 12));
    } else {
      bytes[count++] = static_cast<char>(0xc0 | (c >> 6));
    }
    if (c >= 0x800) bytes[count++] = static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    bytes[count++] = static_cast<char>(0x80 | (c & 0x3f));
    return *this << std::string_view(bytes, count);
  }

 private:
  char* data_;
  size_t capacity_;
  size_t size_ = 0;
  bool is_cut_ = false;
};

template <size_t kBytes>
class FixedText : public Text {
 public:
  FixedText() : Text(bytes_, kBytes) {}

 private:
  char bytes_[kBytes];
};

// Takes the first code point off `text`, which must not be empty. Each
// maximal part of an invalid sequence is one U+FFFD.
inline uint32_t take_code_point(std::string_view* text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>((*text)[i]); };
  const uint8_t first = byte(0);
  size_t needed = 0;
  uint8_t low = 0x80, high = 0xbf;  // the bounds of the second byte
  uint32_t c = first;
  if (first >= 0xc2 && first <= 0xdf) {
    needed = 1;
    c = first & 0x1f;
  } else if (first >= 0xe0 && first <= 0xef) {
    needed = 2;
    c = first & 0x0f;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    needed = 3;
    c = first & 0x07;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else if (first >= 0x80) {
    c = kReplacement;
  }
  size_t used = 1;
  for (; needed != 0; --needed, ++used) {
    if (used >= text->size() || byte(used) < low || byte(used) > high) {
      c = kReplacement;
      break;
    }
    c = (c << 6) | (byte(used) & 0x3f);
    low = 0x80;
    high = 0xbf;
  }
  text->remove_prefix(used);
  return c;
}

// True for UTF-8: no overlong form, no half of a surrogate pair, nothing beyond U+10FFFF.
inline bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* const end = at + text.size();
  while (at != end) {
    const uint8_t lead = *at++;
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || end - at < more) return false;
    const uint8_t second = at[0];
    // overlong forms, half characters, and what lies beyond the last character
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return false;
    }
    for (int i = 0; i < more; ++i) {
      if ((*at++ & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

// True for white space in Unicode.
inline bool is_space(uint32_t c) {
  if (c <= 0x20) return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
      c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// The functions below take valid UTF-8.

inline std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    std::string_view rest = text;
    if (!is_space(take_code_point(&rest))) break;
    text = rest;
  }
  return text;
}

inline std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (static_cast<uint8_t>(text[last]) & 0xc0) == 0x80) --last;
    std::string_view rest = text.substr(last);
    if (!is_space(take_code_point(&rest))) break;
    text = text.substr(0, last);
  }
  return text;
}

inline std::string_view strip(std::string_view text) { return strip_right(strip_left(text)); }

inline std::string_view strip_characters(std::string_view text, std::string_view characters) {
  while (!text.empty() && characters.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && characters.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// Takes the first word off `text`; empty if there is none.
inline std::string_view take_word(std::string_view* text) {
  const std::string_view begin = strip_left(*text);
  std::string_view rest = begin;
  while (!rest.empty()) {
    std::string_view after = rest;
    if (is_space(take_code_point(&after))) break;
    rest = after;
  }
  *text = rest;
  return begin.substr(0, begin.size() - rest.size());
}

// The part before the separator; `rest` is the part
// behind it, and empty without the separator.
inline std::string_view partition(std::string_view text, std::string_view separator, std::string_view* rest,
                                  bool* is_found = nullptr) {
  const size_t at = text.find(separator);
  if (is_found != nullptr) *is_found = at != std::string_view::npos;
  *rest = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
  return text.substr(0, at);
}

inline bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
inline bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

inline char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Reads a number of digits only, at most 19 of them.
inline bool parse_count(std::string_view text, int64_t* count) {
  if (text.empty() || text.size() > 19) return false;
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > static_cast<uint64_t>(INT64_MAX)) return false;
  *count = static_cast<int64_t>(value);
  return true;
}

// Reads a number with or without a sign.
inline bool parse_number(std::string_view text, int64_t* number) {
  const bool is_negative = !text.empty() && text[0] == '-';
  if (is_negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (is_negative && text == "9223372036854775808") {  // has no counterpart among the positive numbers
    *number = INT64_MIN;
    return true;
  }
  if (!parse_count(text, number)) return false;
  if (is_negative) *number = -*number;
  return true;
}

inline bool parse_hexadecimal(std::string_view text, size_t max_digits, int64_t* number) {
  if (text.empty() || text.size() > max_digits) return false;
  int64_t value = 0;
  for (const char c : text) {
    const char digit = lower_ascii(c);
    const bool is_letter = digit >= 'a' && digit <= 'f';
    if (!is_letter && (digit < '0' || digit > '9')) return false;
    value = value * 16 + (is_letter ? digit - 'a' + 10 : digit - '0');
  }
  *number = value;
  return true;
}

// The product of two numbers that are not negative; false if it exceeds 64 bits.
inline bool multiply(int64_t count, int64_t unit, int64_t* product) {
  if (count > INT64_MAX / unit) return false;
  *product = count * unit;
  return true;
}

inline bool is_printable_text(std::string_view text) {
  while (!text.empty()) {
    if (!is_printable(take_code_point(&text))) return false;
  }
  return true;
}

// Appends a text in quotes, with escapes for what is not printable; no more than `max_characters`
// are written; returns false if there are more.
inline bool append_repr(Text* to, std::string_view text, size_t max_characters) {
  constexpr char kDigits[] = "0123456789abcdef";
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  size_t written = 0;
  const auto put = [&](uint32_t c) {
    if (written++ < max_characters) to->code_point(c);
  };
  put(static_cast<uint32_t>(quote));
  while (!text.empty()) {
    const uint32_t c = take_code_point(&text);
    const char escape = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : '\0';
    if (c == '\\' || c == static_cast<uint32_t>(quote)) {
      put('\\');
      put(c);
    } else if (escape != '\0') {
      put('\\');
      put(static_cast<uint32_t>(escape));
    } else if (is_printable(c)) {
      put(c);
    } else {
      const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
      put('\\');
      put(static_cast<uint32_t>(digits == 2 ? 'x' : digits == 4 ? 'u' : 'U'));
      for (int i = digits - 1; i >= 0; --i) put(static_cast<uint32_t>(kDigits[(c >> (4 * i)) & 15]));
    }
  }
  put(static_cast<uint32_t>(quote));
  return written <= max_characters;
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
