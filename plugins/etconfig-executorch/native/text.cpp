#include "text.h"

#include <cstdint>
#include <cstdio>

namespace etconfig {

namespace {

struct Character {
  uint32_t code_point;
  size_t length;  // in bytes; 0 if the bytes are not UTF-8
};

// Decode the first character as RFC 3629 defines it: shortest form, no surrogates, at most U+10FFFF.
Character first_character(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) {
    return {lead, 1};
  }
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) {
    return {lead, 0};
  }
  uint32_t code_point = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) {
      return {lead, 0};
    }
    code_point = (code_point << 6) | (next & 0x3fu);
  }
  const bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
  if (code_point < kSmallest[length] || code_point > 0x10ffff || is_surrogate) {
    return {lead, 0};
  }
  return {code_point, length};
}

// Control characters, line separators, and characters without a width or that reorder text.
bool is_control(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0xad ||
         (code_point >= 0x200b && code_point <= 0x200f) || (code_point >= 0x2028 && code_point <= 0x202e) ||
         (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff;
}

}  // namespace

std::string readable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    const size_t length = next.length == 0 ? 1 : next.length;
    if (next.length != 0 && !is_control(next.code_point)) {
      result.append(text.substr(0, length));
    } else {
      char escape[12];
      std::snprintf(escape, sizeof(escape), next.code_point < 0x100 ? "\\x%02x" : "\\u%04x", next.code_point);
      result += escape;
    }
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace etconfig
