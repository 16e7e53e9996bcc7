// Text for people, in a buffer of a fixed size: numbers as Python writes
// them, facts and values as etconfig shows them.

#pragma once

#include "etconfig/facts/decimal.h"
#include "evaluate.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

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
  // The bytes that still fit.
  size_t room() const { return size_ == 0 ? 0 : size_ - 1 - used_; }

  TextBuffer& operator<<(std::string_view text) {
    if (!is_cut()) {
      size_t fitting = room();
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
  template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  TextBuffer& operator<<(T value) {
    if constexpr (std::is_unsigned_v<T>) {
      return integer(value, false);
    } else {
      return integer(internal::magnitude(value), value < 0);
    }
  }
  TextBuffer& operator<<(bool value) { return *this << (value ? "true" : "false"); }
  // The shortest text that is this number, as Python's `repr` writes it.
  TextBuffer& operator<<(double value) {
    detection::FixedText<32> text;
    detection::append_repr(&text, value);
    return *this << text.view();
  }

 private:
  TextBuffer& integer(uint64_t size, bool is_negative) {
    char digits[24];
    char* at = digits + sizeof digits;
    do {
      *--at = static_cast<char>('0' + size % 10);
      size /= 10;
    } while (size != 0);
    if (is_negative) *--at = '-';
    return *this << std::string_view(at, static_cast<size_t>(digits + sizeof digits - at));
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

// As in conditions: true, 4, 0.5, "text", [1, 2]; tables as {key = value}. Deeper levels than a list of lists
// and a table of lists are shown as [...] and {...}.
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

// Why an expression has no value: "cpu.cores is not known on this device".
inline void write_missing(const Tables& tables, const Operand& unknown, TextBuffer* out) {
  const auto* const facts = static_cast<const uint16_t*>(unknown.list);
  for (uint32_t i = 0; i < unknown.count; ++i) {
    *out << (i == 0 ? "" : " and ") << tables.texts[tables.facts[facts[i]].name()];
  }
  if (unknown.count == 0) *out << "a fact";
  *out << (unknown.count > 1 ? " are" : " is") << " not known on this device";
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
    case Op::Version: *out << "version() needs a text that begins with a version, such as 1.2"; return;
    default:
      *out << "-(" << fault.integer << ") does not fit in 64 bits";
      return;
  }
  const bool is_division = fault.op == Op::DivideInt || fault.op == Op::RemainderInt;
  *out << fault.integer << sign << fault.right
       << (is_division && fault.right == 0 ? " divides by zero" : " does not fit in 64 bits");
}

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
