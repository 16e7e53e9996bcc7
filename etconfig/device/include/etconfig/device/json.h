// Values as JSON in UTF-8, in a buffer of a fixed size.

#pragma once

#include "etconfig/facts/text.h"
#include "text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace internal {

// Writes a text without its quotes, with the escapes of Python's `json.dumps`. Each maximal
// part of an invalid sequence of bytes is one U+FFFD.
inline void write_escaped(std::string_view text, TextBuffer* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  while (!text.empty()) {
    size_t size = 0;
    while (size < text.size() && is_plain(text[size])) ++size;
    if (size != 0) {
      *out << text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    const std::string_view before = text;
    const uint32_t c = detection::take_code_point(&text);
    const size_t escaped = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : std::string_view::npos;
    if (escaped != std::string_view::npos) {
      *out << '\\' << "\"\\bfnrt"[escaped];
    } else if (c < 0x20) {
      *out << "\\u00" << kDigits[c >> 4] << kDigits[c & 15];
    } else if (c == detection::kReplacement) {
      *out << "\xef\xbf\xbd";
    } else {
      *out << before.substr(0, before.size() - text.size());
    }
  }
}
inline void write_json(std::string_view text, TextBuffer* out) {
  *out << '"';
  write_escaped(text, out);
  *out << '"';
}

// Writes a value; one nests as deep as a bundle allows.
inline void write_json(const Tables& tables, const Operand& value, std::string_view comma,
                       std::string_view colon, TextBuffer* out) {
  switch (value.kind) {
    case ValueKind::None: *out << "null"; return;
    case ValueKind::Text: write_json(value.as_text(), out); return;
    case ValueKind::Table:
      *out << '{';
      for (uint32_t i = 0; i < value.count; ++i) {
        const Pair pair = pair_at(tables, value, i);
        if (i != 0) *out << comma;
        write_json(tables.texts[pair.key], out);
        *out << colon;
        write_json(tables, value_operand(tables, pair.value), comma, colon, out);
      }
      *out << '}';
      return;
    case ValueKind::Array: break;
    default: write_scalar(value, out); return;
  }
  *out << '[';
  ItemCursor items(tables, value);
  Operand item;
  for (uint32_t i = 0; items.next(&item); ++i) {
    if (i != 0) *out << comma;
    write_json(tables, item, comma, colon, out);
  }
  *out << ']';
}

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
