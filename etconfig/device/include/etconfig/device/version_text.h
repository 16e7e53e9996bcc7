// The version that begins a text, as a text in the order of versions: `version` of the condition language.

#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace internal {

constexpr size_t kMaxVersionDigits = 18;

// Writes each number without leading zeros, after a character for the number of its digits, and no zeros at
// the end: at most `text.size() + 1` bytes. Returns how many; 0 if no version begins the text.
inline size_t write_version(std::string_view text, char* out) {
  const auto is_digit = [text](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  size_t at = !text.empty() && (text[0] == 'v' || text[0] == 'V') ? 1 : 0;
  size_t size = 0;
  size_t kept = 0;
  while (is_digit(at)) {
    while (at < text.size() && text[at] == '0') ++at;
    const size_t first = at;
    while (is_digit(at)) ++at;
    const size_t digits = at - first;
    if (digits > kMaxVersionDigits) return 0;
    out[size++] = static_cast<char>('0' + digits);
    std::memcpy(out + size, text.data() + first, digits);
    size += digits;
    if (digits != 0 || kept == 0) kept = size;
    if (at < text.size() && text[at] == '.') ++at;
  }
  return kept;
}

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
