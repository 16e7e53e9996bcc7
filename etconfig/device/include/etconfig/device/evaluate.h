// Evaluation of expressions and conditions, with the same three-valued logic as etconfig/profile/expression.
//
// An expression is a list of instructions for a stack of operands. An operand is a value, unknown (a fact is
// missing) or a fault (a division by zero, an integer that exceeds 64
// bits). Nothing recurses, jumps or allocates.

#pragma once

#include <cmath>

#include "../fact_store.h"
#include "bucket.h"
#include "layout.h"
#include "version_text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

enum class ValueKind : uint8_t { None, Boolean, Integer, Number, Text, Array, Table };

namespace internal {

using format::Op;
using format::Tables;

enum class State : uint8_t { Known, Unknown, Fault };

// Where the items of an array are, or the bytes of a text.
enum class Items : uint8_t {
  Bundle,    // indices of values, in the bundle; the bytes of a text may also be in an arena
  Sized,     // texts with their sizes in front, in a store of facts; a text that is a fact is one of them
  Operands,  // operands, in an arena
};

// A value, or the reason why there is none. Texts and items lie elsewhere.
struct Operand {
  State state = State::Known;
  ValueKind kind = ValueKind::None;
  Items items = Items::Bundle;
  Op op = Op::Constant;  // of a fault
  uint32_t count = 0;    // bytes of a text, items of an array, pairs of a table
  union {
    int64_t integer = 0;  // a boolean, too; the left operand of a fault
    double number;
    const char* text;
    const void* list;
  };
  int64_t right = 0;  // of a fault; of an array of the bundle, the index of its first item

  std::string_view as_text() const { return {text, count}; }
};

inline Operand boolean_operand(bool value) {
  Operand operand;
  operand.kind = ValueKind::Boolean;
  operand.integer = value ? 1 : 0;
  return operand;
}
inline Operand integer_operand(int64_t value) {
  Operand operand;
  operand.kind = ValueKind::Integer;
  operand.integer = value;
  return operand;
}
inline Operand number_operand(double value) {
  Operand operand;
  operand.kind = ValueKind::Number;
  operand.number = value;
  return operand;
}
inline Operand text_operand(std::string_view value) {
  Operand operand;
  operand.kind = ValueKind::Text;
  operand.text = value.data();
  operand.count = static_cast<uint32_t>(value.size());
  return operand;
}
// A text of a store of facts.
inline Operand fact_text_operand(std::string_view value) {
  Operand operand = text_operand(value);
  operand.items = Items::Sized;
  return operand;
}
inline Operand unknown_operand() {
  Operand operand;
  operand.state = State::Unknown;
  return operand;
}
inline Operand fault_operand(Op op, int64_t left, int64_t right) {
  Operand operand;
  operand.state = State::Fault;
  operand.op = op;
  operand.integer = left;
  operand.right = right;
  return operand;
}

inline Operand value_operand(const Tables& tables, uint32_t index) {
  const format::Value value = tables.values[index];
  switch (value.kind()) {
    case format::ValueKind::Boolean: return boolean_operand(value.bits() != 0);
    case format::ValueKind::Integer: return integer_operand(static_cast<int64_t>(value.bits()));
    case format::ValueKind::Number: return number_operand(format::number_of(value.bits()));
    case format::ValueKind::Text: return text_operand(tables.texts[value.index()]);
    case format::ValueKind::Array:
    case format::ValueKind::Table: {
      Operand operand;
      operand.kind = static_cast<ValueKind>(value.kind());
      operand.count = value.count();
      operand.list = nullptr;
      operand.right = value.index();
      return operand;
    }
    case format::ValueKind::None: break;
  }
  return Operand();
}

// Visits the items of an array.
class ItemCursor {
 public:
  ItemCursor(const Tables& tables, const Operand& array)
      : tables_(tables), array_(array), sized_(static_cast<const char*>(array.list)) {}

  bool next(Operand* item) {
    if (index_ == array_.count) return false;
    switch (array_.items) {
      case Items::Bundle:
        *item = value_operand(tables_, tables_.items[static_cast<uint32_t>(array_.right) + index_]);
        break;
      case Items::Sized: {
        uint32_t size = 0;
        std::memcpy(&size, sized_, sizeof size);
        *item = fact_text_operand({sized_ + sizeof size, size});
        sized_ += sizeof size + size;
        break;
      }
      case Items::Operands: *item = static_cast<const Operand*>(array_.list)[index_]; break;
    }
    ++index_;
    return true;
  }

 private:
  const Tables& tables_;
  const Operand array_;
  const char* sized_;
  uint32_t index_ = 0;
};

inline Operand list_operand(TextList texts) {
  Operand operand;
  operand.kind = ValueKind::Array;
  operand.items = Items::Sized;
  operand.count = texts.size();
  operand.list = texts.size() == 0 ? nullptr : (*texts.begin()).data() - sizeof(uint32_t);
  return operand;
}

// Memory of a fixed size, handed out from the front.
class Arena {
 public:
  Arena(char* memory, uint32_t size) : memory_(memory), size_(size) {}

  uint32_t used() const { return used_; }
  bool has_overflowed() const { return has_overflowed_; }
  bool ends_at(const char* place) const { return used_ != 0 && place == memory_ + used_; }
  // Forgets what was handed out since `used()` was `used`.
  void rewind(uint32_t used) { used_ = used; }
  void reset() { undo(0); }
  // As `rewind`; and what did not fit is no longer asked for.
  void undo(uint32_t used) {
    used_ = used;
    has_overflowed_ = false;
  }
  char* take(uint64_t bytes) {
    if (bytes > size_ - used_) {
      has_overflowed_ = true;
      return nullptr;
    }
    char* found = memory_ + used_;
    used_ += static_cast<uint32_t>(bytes);
    return found;
  }
  template <typename T>
  T* take_array(uint64_t count) {
    const uint32_t over = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(memory_ + used_) % alignof(T));
    if (over != 0 && take(alignof(T) - over) == nullptr) return nullptr;
    return reinterpret_cast<T*>(take(count * sizeof(T)));
  }

 private:
  char* memory_;
  uint32_t size_;
  uint32_t used_ = 0;
  bool has_overflowed_ = false;
};

// Room for what one expression builds: a bundle that needs more is damaged.
class Scratch : public Arena {
 public:
  Scratch() : Arena(bytes_, sizeof bytes_) {}

 private:
  static_assert(sizeof(Operand) + alignof(Operand) <= format::kListItemBytes,
                "a list takes what verify.h counts");

  alignas(Operand) char bytes_[format::kMaxScratchBytes];
};

inline constexpr int kUnordered = 2;

// Compares exactly, as Python does: -1, 0, 1, or `kUnordered`.
inline int compare(int64_t left, double right) {
  if (std::isnan(right)) return kUnordered;
  if (right >= 9223372036854775808.0) return -1;
  if (right < -9223372036854775808.0) return 1;
  const auto whole = static_cast<int64_t>(right);
  if (left != whole) return left < whole ? -1 : 1;
  const double rest = right - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}
inline int compare(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return kUnordered;
  return left < right ? -1 : left > right ? 1 : 0;
}

// Compares two scalars; those of different kinds, unless both are numbers, are unordered.
inline int compare_scalars(const Operand& left, const Operand& right) {
  const bool is_left_integer = left.kind == ValueKind::Integer;
  const bool is_right_integer = right.kind == ValueKind::Integer;
  if (left.kind == ValueKind::Number && is_right_integer) {
    const int reversed = compare(right.integer, left.number);
    return reversed == kUnordered ? kUnordered : -reversed;
  }
  if (is_left_integer && right.kind == ValueKind::Number) return compare(left.integer, right.number);
  if (left.kind != right.kind) return kUnordered;
  if (left.kind == ValueKind::Number) return compare(left.number, right.number);
  if (left.kind == ValueKind::Text) {
    const int order = left.as_text().compare(right.as_text());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  return left.integer < right.integer ? -1 : left.integer > right.integer ? 1 : 0;
}

// True if two operands of an expression are equal: scalars, or arrays of scalars.
inline bool are_equal(const Tables& tables, const Operand& left, const Operand& right) {
  if (left.kind != ValueKind::Array || right.kind != ValueKind::Array) {
    return left.kind != ValueKind::Array && right.kind != ValueKind::Array &&
        compare_scalars(left, right) == 0;
  }
  if (left.count != right.count) return false;
  ItemCursor lefts(tables, left);
  ItemCursor rights(tables, right);
  Operand one;
  Operand other;
  while (lefts.next(&one) && rights.next(&other)) {
    if (compare_scalars(one, other) != 0) return false;
  }
  return true;
}

inline bool contains_item(const Tables& tables, const Operand& list, const Operand& item) {
  ItemCursor items(tables, list);
  Operand each;
  while (items.next(&each)) {
    if (are_equal(tables, each, item)) return true;
  }
  return false;
}

// Characters of UTF-8.
inline uint32_t characters(std::string_view text) {
  uint32_t count = 0;
  for (const char c : text) count += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

inline bool add(int64_t left, int64_t right, int64_t* sum) {
  if (right > 0 ? left > INT64_MAX - right : left < INT64_MIN - right) return false;
  *sum = left + right;
  return true;
}
inline bool subtract(int64_t left, int64_t right, int64_t* difference) {
  if (right > 0 ? left < INT64_MIN + right : left > INT64_MAX + right) return false;
  *difference = left - right;
  return true;
}
inline uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}
inline bool multiply(int64_t left, int64_t right, int64_t* product) {
  const bool is_negative = (left < 0) != (right < 0);
  const uint64_t a = magnitude(left);
  const uint64_t b = magnitude(right);
  const uint64_t most = is_negative ? uint64_t{1} << 63 : static_cast<uint64_t>(INT64_MAX);
  if (a != 0 && b > most / a) return false;
  const uint64_t size = a * b;
  *product = is_negative && size != 0 ? -static_cast<int64_t>(size - 1) - 1 : static_cast<int64_t>(size);
  return true;
}

inline Operand computed_integer(Op op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool fits = right != 0;
  switch (op) {
    case Op::AddInt: fits = add(left, right, &result); break;
    case Op::SubtractInt: fits = subtract(left, right, &result); break;
    case Op::MultiplyInt: fits = multiply(left, right, &result); break;
    case Op::DivideInt:
    case Op::RemainderInt:
      fits = fits && !(left == INT64_MIN && right == -1);
      if (fits) result = op == Op::DivideInt ? left / right : left % right;  // both round toward zero
      break;
    default: break;
  }
  return fits ? integer_operand(result) : fault_operand(op, left, right);
}

inline double divide(double left, double right) {
  if (right != 0) return left / right;
  if (left == 0 || std::isnan(left)) return std::numeric_limits<double>::quiet_NaN();
  return std::copysign(std::numeric_limits<double>::infinity(), left) * std::copysign(1.0, right);
}

inline double computed_number(Op op, double left, double right) {
  switch (op) {
    case Op::AddFloat: return left + right;
    case Op::SubtractFloat: return left - right;
    case Op::MultiplyFloat: return left * right;
    default: return divide(left, right);
  }
}

// A set of facts of a bundle, by index.
class FactSet {
 public:
  bool has(uint32_t fact) const { return (bits_[fact / 64] >> (fact % 64) & 1) != 0; }
  void add(uint32_t fact) { bits_[fact / 64] |= uint64_t{1} << (fact % 64); }
  void add(const FactSet& other) {
    for (uint32_t i = 0; i < format::kMaxFacts / 64; ++i) bits_[i] |= other.bits_[i];
  }

 private:
  uint64_t bits_[format::kMaxFacts / 64] = {};
};

// The facts that each unknown operand on the stack lacks; in the end, those of the result.
struct MissingFacts {
  FactSet sets[format::kMaxStack];
};

// Evaluates expressions on known facts, of which there is one operand for each fact of the bundle.
class Evaluator {
 public:
  Evaluator(const Tables& tables, const Operand* facts, Arena* arena)
      : t_(tables), facts_(facts), arena_(arena) {}

  // Results that are joined texts or lists lie in the arena.
  Operand evaluate(uint32_t expression, MissingFacts* missing = nullptr) {
    missing_ = missing;
    depth_ = 0;
    const format::Range range = t_.expressions[expression].instructions();
    for (uint32_t i = 0; i < range.count; ++i) step(t_.instructions[range.first + i]);
    return stack_[0];
  }

  // True if all clauses are true. What the clauses took from the arena is given back.
  bool holds(uint32_t condition) {
    const uint32_t used = arena_->used();
    const format::Range clauses = t_.conditions[condition].clauses();
    bool result = true;
    for (uint32_t i = 0; i < clauses.count && result; ++i) {
      const Operand clause = evaluate(clauses.first + i);
      result = clause.state == State::Known && clause.integer != 0;
      arena_->rewind(used);
    }
    return result;
  }

 private:
  void push(const Operand& operand) {
    stack_[depth_++] = operand;
  }
  // Puts a result in the place of the `count` topmost operands.
  void replace(uint32_t count, const Operand& operand) {
    depth_ -= count;
    stack_[depth_++] = operand;
  }
  // Without a value among the operands, the result is unknown if one of them is, else it is the first fault.
  bool has_values(uint32_t count) {
    const Operand* const operands = stack_ + depth_ - count;
    const Operand* without_value = nullptr;
    for (uint32_t i = 0; i < count; ++i) {
      const State state = operands[i].state;
      if (state == State::Known) continue;
      if (without_value == nullptr || (state == State::Unknown && without_value->state == State::Fault)) {
        without_value = &operands[i];
      }
    }
    if (without_value == nullptr) return true;
    const Operand result = *without_value;
    if (missing_ != nullptr && result.state == State::Unknown) gather_missing(operands, count);
    replace(count, result);
    return false;
  }

  void step(const format::Instruction& instruction) {
    const uint32_t operand = instruction.operand();
    switch (instruction.op()) {
      case Op::Constant: push(value_operand(t_, operand)); break;
      case Op::Fact: push_fact(operand); break;
      case Op::HasFact: push(boolean_operand(facts_[operand].state == State::Known)); break;
      case Op::MakeList:
        if (has_values(operand)) make_list(operand);
        break;
      case Op::And: decide(operand, false); break;
      case Op::Or: decide(operand, true); break;
      case Op::Select: select(); break;
      case Op::Min:
      case Op::Max:
        if (has_values(operand)) choose_extreme(operand, instruction.op() == Op::Min ? -1 : 1);
        break;
      case Op::Not:
      case Op::NegateInt:
      case Op::NegateFloat:
      case Op::Size:
        if (has_values(1)) replace(1, unary(instruction.op(), stack_[depth_ - 1]));
        break;
      case Op::Version:
        if (has_values(1)) replace(1, version_of(stack_[depth_ - 1].as_text()));
        break;
      default:
        if (has_values(2)) replace(2, binary(instruction.op(), stack_[depth_ - 2], stack_[depth_ - 1]));
    }
  }
  void push_fact(uint32_t fact) {
    if (missing_ != nullptr) {
      missing_->sets[depth_] = FactSet();
      missing_->sets[depth_].add(fact);
    }
    push(facts_[fact]);
  }
  // Of the topmost operands, those that are unknown make the result so.
  void gather_missing(const Operand* operands, uint32_t count) {
    FactSet all;
    for (uint32_t i = 0; i < count; ++i) {
      if (operands[i].state == State::Unknown) all.add(missing_->sets[depth_ - count + i]);
    }
    missing_->sets[depth_ - count] = all;
  }
  void make_list(uint32_t count) {
    Operand list;
    list.kind = ValueKind::Array;
    list.items = Items::Operands;
    Operand* items = arena_->take_array<Operand>(count);
    list.count = items == nullptr ? 0 : count;
    for (uint32_t i = 0; i < list.count; ++i) items[i] = stack_[depth_ - count + i];
    list.list = items;
    replace(count, list);
  }
  // `&&` and `||`: one operand that is `decisive` decides, whatever the others are.
  void decide(uint32_t count, bool decisive) {
    const Operand* const operands = stack_ + depth_ - count;
    for (uint32_t i = 0; i < count; ++i) {
      if (operands[i].state == State::Known && (operands[i].integer != 0) == decisive) {
        replace(count, boolean_operand(decisive));
        return;
      }
    }
    if (has_values(count)) replace(count, boolean_operand(!decisive));
  }
  void select() {
    const Operand condition = stack_[depth_ - 3];
    const bool is_known = condition.state == State::Known;
    const uint32_t chosen = !is_known ? depth_ - 3 : condition.integer != 0 ? depth_ - 2 : depth_ - 1;
    const Operand result = stack_[chosen];
    if (missing_ != nullptr) missing_->sets[depth_ - 3] = missing_->sets[chosen];
    replace(3, result);
  }
  void choose_extreme(uint32_t count, int wanted) {
    Operand best = stack_[depth_ - count];
    for (uint32_t i = 1; i < count; ++i) {
      const Operand& other = stack_[depth_ - count + i];
      if (compare_scalars(other, best) == wanted) best = other;
    }
    replace(count, best);
  }

  static Operand unary(Op op, const Operand& operand) {
    switch (op) {
      case Op::Not: return boolean_operand(operand.integer == 0);
      case Op::NegateInt:
        if (operand.integer == INT64_MIN) return fault_operand(op, operand.integer, 0);
        return integer_operand(-operand.integer);
      case Op::NegateFloat: return number_operand(-operand.number);
      default:
        return integer_operand(operand.kind == ValueKind::Text ? characters(operand.as_text())
                                                               : operand.count);
    }
  }
  Operand binary(Op op, const Operand& left, const Operand& right) {
    switch (op) {
      case Op::Equal: return boolean_operand(are_equal(t_, left, right));
      case Op::NotEqual: return boolean_operand(!are_equal(t_, left, right));
      case Op::Less: return boolean_operand(compare_scalars(left, right) == -1);
      case Op::LessEqual: return boolean_operand(compare_scalars(left, right) <= 0);
      case Op::Greater: return boolean_operand(compare_scalars(left, right) == 1);
      case Op::GreaterEqual: {
        const int order = compare_scalars(left, right);
        return boolean_operand(order == 0 || order == 1);
      }
      case Op::In: return boolean_operand(contains_item(t_, right, left));
      case Op::AddFloat:
      case Op::SubtractFloat:
      case Op::MultiplyFloat:
      case Op::DivideFloat: return number_operand(computed_number(op, left.number, right.number));
      case Op::Bucket: return number_operand(bucket_of(left.as_text(), right.as_text()));
      case Op::Join: return joined(left.as_text(), right.as_text());
      case Op::StartsWith:
        return boolean_operand(left.as_text().substr(0, right.count) == right.as_text());
      case Op::EndsWith:
        return boolean_operand(left.count >= right.count &&
                               left.as_text().substr(left.count - right.count) == right.as_text());
      case Op::Contains:
        return boolean_operand(left.as_text().find(right.as_text()) != std::string_view::npos);
      default: return computed_integer(op, left.integer, right.integer);
    }
  }
  Operand version_of(std::string_view text) {
    const uint32_t used = arena_->used();
    char* const written = arena_->take(uint64_t{text.size()} + 1);
    if (written == nullptr) return text_operand({});
    const size_t size = write_version(text, written);
    arena_->rewind(used + static_cast<uint32_t>(size));
    return size == 0 ? fault_operand(Op::Version, 0, 0) : text_operand({written, size});
  }
  Operand joined(std::string_view left, std::string_view right) {
    // a text at the end of the arena, which was joined for this operation only, grows where it lies
    const bool is_growing = !left.empty() && arena_->ends_at(left.data() + left.size());
    char* text = arena_->take(is_growing ? right.size() : uint64_t{left.size()} + right.size());
    if (text == nullptr) return text_operand({});
    if (is_growing) {
      if (!right.empty()) std::memcpy(text, right.data(), right.size());
      return text_operand({left.data(), left.size() + right.size()});
    }
    if (!left.empty()) std::memcpy(text, left.data(), left.size());
    if (!right.empty()) std::memcpy(text + left.size(), right.data(), right.size());
    return text_operand({text, left.size() + right.size()});
  }

  const Tables& t_;
  const Operand* facts_;
  Arena* arena_;
  MissingFacts* missing_ = nullptr;
  uint32_t depth_ = 0;
  Operand stack_[format::kMaxStack];
};

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
