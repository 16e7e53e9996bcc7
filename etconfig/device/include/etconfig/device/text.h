// Text for people, in a buffer of a fixed size: numbers as Python writes them, facts and values as etconfig shows them.

#pragma once

#include <cstdio>
#include <cstdlib>

#include "evaluate.h"

namespace etconfig::device {

// Appends to a buffer. What does not fit is cut off at a whole character; `needed()` counts it all the same.
class TextBuffer {
 public:
  TextBuffer(char* buffer, size_t size) : buffer_(buffer), size_(size) {
    if (size_ != 0) buffer_[0] = '\0';
  }

  // The text, with a NUL behind it.
  std::string_view text() const { return {buffer_, used_}; }
  // The bytes that the whole text has, without the NUL.
  size_t needed() const { return needed_; }
  bool is_cut() const { return needed_ > used_; }

  TextBuffer& operator<<(std::string_view text) {
    if (!is_cut()) {
      size_t fitting = size_ == 0 ? 0 : size_ - 1 - used_;
      if (fitting >= text.size()) {
        fitting = text.size();
      } else {
        while (fitting > 0 && (static_cast<uint8_t>(text[fitting]) & 0xC0) == 0x80) --fitting;
      }
      if (fitting != 0) std::memcpy(buffer_ + used_, text.data(), fitting);
      used_ += fitting;
      if (size_ != 0) buffer_[used_] = '\0';
    }
    needed_ += text.size();
    return *this;
  }
  TextBuffer& operator<<(const char* text) { return *this << std::string_view(text); }
  TextBuffer& operator<<(char character) { return *this << std::string_view(&character, 1); }
  TextBuffer& operator<<(int64_t value) {
    char digits[24];
    char* at = digits + sizeof digits;
    uint64_t rest = internal::magnitude(value);
    do {
      *--at = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) *--at = '-';
    return *this << std::string_view(at, static_cast<size_t>(digits + sizeof digits - at));
  }
  TextBuffer& operator<<(uint32_t value) { return *this << static_cast<int64_t>(value); }
  TextBuffer& operator<<(bool value) { return *this << (value ? "true" : "false"); }
  // The shortest text that is this number, as Python's `repr` writes it.
  TextBuffer& operator<<(double value) {
    if (std::isnan(value)) return *this << "nan";
    if (std::signbit(value)) *this << '-';
    value = std::fabs(value);
    if (std::isinf(value)) return *this << "inf";
    char digits[32];
    int exponent = 0;
    const int count = shortest_digits(value, digits, &exponent);
    if (exponent < -4 || exponent >= 16) return scientific(digits, count, exponent);
    return positional(digits, count, exponent);
  }

 private:
  // Writes the digits d.ddd of the shortest number that reads as `value`, and returns how many there are.
  static int shortest_digits(double value, char* digits, int* exponent) {
    char text[40];
    for (int precision = 0;; ++precision) {
      std::snprintf(text, sizeof text, "%.*e", precision, value);
      // the locale's decimal point is read by strtod as it was written
      if (precision == 17 || std::strtod(text, nullptr) == value) break;
      // above a power of two, numbers lie twice as far apart as below: the next text may read as it, too
      if (next_text(text) && std::strtod(text, nullptr) == value) break;
    }
    int count = 0;
    const char* at = text;
    for (; *at != 'e'; ++at) {
      if (*at >= '0' && *at <= '9') digits[count++] = *at;
    }
    *exponent = std::atoi(at + 1);
    while (count > 1 && digits[count - 1] == '0') --count;
    return count;
  }
  // Adds one to the last digit; false if all digits are nines.
  static bool next_text(char* text) {
    char* at = text + std::strcspn(text, "e");
    while (at != text) {
      --at;
      if (*at >= '0' && *at < '9') {
        ++*at;
        return true;
      }
      if (*at == '9') *at = '0';
    }
    return false;
  }
  TextBuffer& scientific(const char* digits, int count, int exponent) {
    *this << digits[0];
    if (count > 1) *this << '.' << std::string_view(digits + 1, static_cast<size_t>(count - 1));
    *this << 'e' << (exponent < 0 ? '-' : '+');
    const int size = exponent < 0 ? -exponent : exponent;
    if (size < 10) *this << '0';
    return *this << static_cast<int64_t>(size);
  }
  TextBuffer& positional(const char* digits, int count, int exponent) {
    if (exponent < 0) {
      *this << "0.";
      for (int i = -1; i > exponent; --i) *this << '0';
      return *this << std::string_view(digits, static_cast<size_t>(count));
    }
    for (int i = 0; i <= exponent; ++i) *this << (i < count ? digits[i] : '0');
    *this << '.';
    if (count <= exponent + 1) return *this << '0';
    return *this << std::string_view(digits + exponent + 1, static_cast<size_t>(count - exponent - 1));
  }

  char* buffer_;
  size_t size_;
  size_t used_ = 0;
  size_t needed_ = 0;
};

namespace internal {

struct Pair {  // of a merged table
  uint32_t key;    // in `texts`
  uint32_t value;  // in `values`
};

inline Pair pair_at(const Tables& tables, const Operand& table, uint32_t index) {
  if (table.items == Items::Operands) return static_cast<const Pair*>(table.list)[index];
  const uint32_t first = static_cast<uint32_t>(table.right) + 2 * index;
  return {tables.items[first], tables.items[first + 1]};
}

inline void write_scalar(const Operand& operand, TextBuffer* out) {
  switch (operand.kind) {
    case ValueKind::Boolean: *out << (operand.integer != 0); break;
    case ValueKind::Integer: *out << operand.integer; break;
    case ValueKind::Number: *out << operand.number; break;
    case ValueKind::Text: *out << '"' << operand.as_text() << '"'; break;
    default: *out << "none"; break;
  }
}

// As in conditions: true, 4, 0.5, "text", [1, 2]; tables as {key = value}. Deeper levels than a list of lists and a
// table of lists are shown as [...] and {...}.
inline void write_value(const Tables& tables, const Operand& operand, TextBuffer* out);

inline void write_flat(const Tables& tables, const Operand& operand, TextBuffer* out) {
  if (operand.kind != ValueKind::Array) {
    if (operand.kind == ValueKind::Table) {
      *out << "{...}";
    } else {
      write_scalar(operand, out);
    }
    return;
  }
  *out << '[';
  ItemCursor items(tables, operand);
  Operand item;
  for (uint32_t i = 0; items.next(&item); ++i) {
    if (i != 0) *out << ", ";
    if (item.kind == ValueKind::Array || item.kind == ValueKind::Table) {
      *out << "...";
    } else {
      write_scalar(item, out);
    }
  }
  *out << ']';
}

inline void write_value(const Tables& tables, const Operand& operand, TextBuffer* out) {
  if (operand.kind == ValueKind::Table) {
    *out << '{';
    for (uint32_t i = 0; i < operand.count; ++i) {
      const Pair pair = pair_at(tables, operand, i);
      *out << (i == 0 ? "" : ", ") << tables.texts[pair.key] << " = ";
      write_flat(tables, value_operand(tables, pair.value), out);
    }
    *out << '}';
    return;
  }
  if (operand.kind != ValueKind::Array) {
    write_scalar(operand, out);
    return;
  }
  *out << '[';
  ItemCursor items(tables, operand);
  Operand item;
  for (uint32_t i = 0; items.next(&item); ++i) {
    if (i != 0) *out << ", ";
    write_flat(tables, item, out);
  }
  *out << ']';
}

// Why an expression has no value: "7 / 0 divides by zero".
inline void write_fault(const Operand& fault, TextBuffer* out) {
  const char* sign = "?";
  switch (fault.op) {
    case Op::AddInt: sign = " + "; break;
    case Op::SubtractInt: sign = " - "; break;
    case Op::MultiplyInt: sign = " * "; break;
    case Op::DivideInt: sign = " / "; break;
    case Op::RemainderInt: sign = " % "; break;
    default:
      *out << "-(" << fault.integer << ") does not fit in 64 bits";
      return;
  }
  const bool is_division = fault.op == Op::DivideInt || fault.op == Op::RemainderInt;
  *out << fault.integer << sign << fault.right
       << (is_division && fault.right == 0 ? " divides by zero" : " does not fit in 64 bits");
}

}  // namespace internal
}  // namespace etconfig::device
