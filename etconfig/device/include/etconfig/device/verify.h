// Verification of a whole bundle: every reference, index and range, and the types of every expression.
//
// The time is bounded by the file's size and `kMaxVisits`, and the stack by a constant. What is accepted
// here, nothing that evaluates it can take out of bounds, nor does it take more than `kMaxSteps`.

#pragma once

#include <cmath>

#include "etconfig/facts/text.h"
#include "layout.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace format {

enum class Verdict : uint8_t { Sound, OtherFormat, OtherVersion, Damaged };

// True for a SHA-256 in hexadecimal digits.
inline bool is_hash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

inline bool is_list(Type type) { return type >= Type::BoolList; }
inline bool is_number(Type type) { return type == Type::Int || type == Type::Float; }
inline Type list_of(Type type) { return static_cast<Type>(static_cast<uint8_t>(type) + 4); }
inline Type item_of(Type type) { return static_cast<Type>(static_cast<uint8_t>(type) - 4); }

// The one type that both have; an empty list has the type of any list.
inline bool common_type(Type left, Type right, Type* common) {
  if (left == right || (is_list(left) && right == Type::EmptyList)) {
    *common = left;
    return true;
  }
  *common = right;
  return is_list(right) && left == Type::EmptyList;
}

// True if `==` is defined.
inline bool are_comparable(Type left, Type right) {
  if (left >= Type::BoolList && left < Type::EmptyList && right >= Type::BoolList &&
      right < Type::EmptyList) {
    left = item_of(left);
    right = item_of(right);
  }
  Type common;
  return common_type(left, right, &common) || (is_number(left) && is_number(right));
}

// Reads the root table and its vectors: offsets lead forward and stay in the file, and vectors are aligned.
//
// A FlatBuffer begins with the offset of its root table. A table begins with the distance to its vtable,
// which has the place of each field, or 0 where a field is absent.
class Opener {
 public:
  Opener(const uint8_t* data, uint32_t size) : data_(data), size_(size) {}

  Verdict open(Tables* tables) {
    const Verdict verdict = root();
    if (verdict != Verdict::Sound) return verdict;
    if (!read_tables(*this, tables)) return Verdict::Damaged;
    return tables->least_reader <= kVersion ? Verdict::Sound : Verdict::OtherVersion;
  }

  // The fields of the root table by number, for `read_tables`.
  template <typename T>
  T scalar(uint32_t slot) const {
    return offsets_[slot] == 0 ? T{} : read<T>(data_ + at_ + offsets_[slot]);
  }
  bool string(uint32_t slot, std::string_view* text) const {
    return string_at(target(slot), text) && detection::is_utf8(*text);
  }
  template <typename T>
  bool vector(uint32_t slot, Vector<T>* elements) const {
    const uint32_t at = target(slot);
    if (at == 0) return false;
    const uint32_t count = read<uint32_t>(data_ + at);
    if (!in_range(uint64_t{at} + 4, uint64_t{count} * T::kSize)) return false;
    if (count != 0 && (at + 4) % T::kAlignment != 0) return false;
    *elements = Vector<T>(data_ + at + 4, count);
    return true;
  }
  bool texts(uint32_t slot, Texts* texts) const {
    Vector<Number> references;
    if (!vector(slot, &references)) return false;
    uint64_t bytes = 0;  // of all texts; they do not overlap in a sound file, so this bounds the time
    for (uint32_t i = 0; i < references.size(); ++i) {
      const Number reference = references[i];
      std::string_view text;
      if (!string_at(follow(static_cast<uint32_t>(reference.at - data_), reference), &text)) return false;
      bytes += text.size() + 4;
      if (bytes > size_ || !detection::is_utf8(text)) return false;
    }
    *texts = Texts(references);
    return true;
  }

 private:
  static constexpr uint32_t kSlots = sizeof kFieldBytes;

  bool in_range(uint64_t at, uint64_t bytes) const { return at <= size_ && bytes <= size_ - at; }

  Verdict root() {
    at_ = read<uint32_t>(data_);
    if (at_ < 8 || at_ % 4 != 0 || !in_range(at_, 4)) return Verdict::Damaged;
    const int64_t vtable = static_cast<int64_t>(at_) - read<int32_t>(data_ + at_);
    if (vtable < 0 || vtable % 2 != 0 || !in_range(static_cast<uint64_t>(vtable), 4)) return Verdict::Damaged;
    const uint8_t* const entries = data_ + vtable;
    const uint32_t vtable_bytes = read<uint16_t>(entries);
    const uint32_t table_bytes = read<uint16_t>(entries + 2);
    if (vtable_bytes < 4 || vtable_bytes % 2 != 0 || table_bytes < 4) return Verdict::Damaged;
    if (!in_range(static_cast<uint64_t>(vtable), vtable_bytes) || !in_range(at_, table_bytes)) {
      return Verdict::Damaged;
    }
    // other versions may have other fields
    const uint32_t version = vtable_bytes < 6 ? 0u : read<uint16_t>(entries + 4);
    if (version != 0 && (version < 4 || version % 2 != 0 || version + 2 > table_bytes)) {
      return Verdict::Damaged;
    }
    if (version == 0 || read<uint16_t>(data_ + at_ + version) < kVersion) return Verdict::OtherVersion;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      offsets_[slot] = 4 + 2 * slot < vtable_bytes ? read<uint16_t>(entries + 4 + 2 * slot) : uint16_t{0};
    }
    if (!are_fields_apart(table_bytes)) return Verdict::Damaged;
    return Verdict::Sound;
  }
  bool are_fields_apart(uint32_t table_bytes) const {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const uint32_t begin = offsets_[slot];
      if (begin == 0) continue;
      const uint32_t end = begin + kFieldBytes[slot];
      if (begin < 4 || end > table_bytes || (at_ + begin) % kFieldBytes[slot] != 0) return false;
      for (uint32_t other = 0; other < slot; ++other) {
        const uint32_t start = offsets_[other];
        if (start != 0 && start < end && begin < start + kFieldBytes[other]) return false;
      }
    }
    return true;
  }

  // The position that a required field leads to; 0 if it is absent or leads out of the file.
  uint32_t target(uint32_t slot) const {
    if (offsets_[slot] == 0) return 0;
    const uint32_t field = at_ + offsets_[slot];
    return follow(field, read<uint32_t>(data_ + field));
  }
  uint32_t follow(uint32_t from, uint32_t offset) const {
    const uint64_t found = uint64_t{from} + offset;
    return offset != 0 && found % 4 == 0 && in_range(found, 4) ? static_cast<uint32_t>(found) : 0;
  }
  bool string_at(uint32_t at, std::string_view* text) const {
    if (at == 0) return false;
    const uint32_t bytes = read<uint32_t>(data_ + at);
    if (!in_range(uint64_t{at} + 4, uint64_t{bytes} + 1) || data_[at + 4 + bytes] != 0) return false;
    *text = {reinterpret_cast<const char*>(data_) + at + 4, bytes};
    return true;
  }

  const uint8_t* data_;
  uint32_t size_;
  uint32_t at_ = 0;
  uint16_t offsets_[kSlots] = {};
};

inline uint32_t text_steps(size_t bytes) { return 1 + static_cast<uint32_t>(bytes / 8); }

// The most that an element of the stack may be.
struct Extent {
  uint32_t items = 1;     // of a list
  uint32_t steps = 1;     // to visit all of it
  uint32_t bytes = 0;     // of a text
  uint32_t end = kNone;   // the scratch bytes that were taken when it was joined
};

inline Extent extent_of_fact(uint8_t type) {
  if (type == 3) return {1, text_steps(kMaxFactText), kMaxFactText, kNone};
  if (type == 4) return {kMaxFactItems, kMaxFactItems + text_steps(kMaxFactListBytes), 0, kNone};
  return {};
}

// The steps of one expression: its instructions, whose types are right, are run on the most that operands may
// be. `evaluate.h` runs them on values: it never takes more.
class StepCounter {
 public:
  explicit StepCounter(const Tables& tables) : t_(tables) {}

  // The steps; more than `kMaxSteps` if it takes too many, or too much memory.
  uint64_t count(Range instructions) {
    depth_ = scratch_ = 0;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < instructions.count && steps <= kMaxSteps; ++i) {
      const Instruction instruction = t_.instructions[instructions.first + i];
      const uint32_t taken = operands_of(instruction);
      depth_ -= taken;
      const Extent* const at = stack_ + depth_;
      steps += 1 + work(instruction, at, taken);
      stack_[depth_++] = result(instruction, at, taken);
      if (scratch_ > kMaxScratchBytes) return uint64_t{kMaxSteps} + 1;
    }
    return steps + stack_[0].steps;
  }

 private:
  static uint32_t operands_of(const Instruction& instruction) {
    const Operands operands = kOperands[static_cast<uint8_t>(instruction.op())];
    return operands.or_more ? instruction.operand() : operands.count;
  }
  uint64_t work(const Instruction& instruction, const Extent* at, uint32_t taken) const {
    switch (instruction.op()) {
      case Op::Constant: return t_.values[instruction.operand()].steps();
      case Op::Equal:
      case Op::NotEqual:
      case Op::Less:
      case Op::LessEqual:
      case Op::Greater:
      case Op::GreaterEqual:
      case Op::StartsWith:
      case Op::EndsWith: return at[0].steps < at[1].steps ? at[0].steps : at[1].steps;
      case Op::Join: return uint64_t{at[0].steps} + at[1].steps;
      case Op::Bucket: return 16 * (uint64_t{at[0].steps} + at[1].steps);  // MD5 is slower than a comparison
      case Op::Contains:
        return (uint64_t{at[0].bytes} + 1) * at[1].steps;  // each place is compared with the part
      case Op::In: {
        const uint64_t each = uint64_t{at[1].items} * at[0].steps;
        return each < at[1].steps ? each : at[1].steps;
      }
      case Op::Size:
      case Op::Version: return at[0].steps;
      default: return taken;
    }
  }
  Extent result(const Instruction& instruction, const Extent* at, uint32_t taken) {
    switch (instruction.op()) {
      case Op::Constant: return constant(t_.values[instruction.operand()]);
      case Op::Fact: return extent_of_fact(t_.facts[instruction.operand()].type());
      case Op::Select:
        return {at[1].items > at[2].items ? at[1].items : at[2].items,
                at[1].steps > at[2].steps ? at[1].steps : at[2].steps,
                at[1].bytes > at[2].bytes ? at[1].bytes : at[2].bytes, kNone};
      case Op::MakeList: {
        Extent list{taken, 1, 0, kNone};
        for (uint32_t i = 0; i < taken; ++i) list.steps += at[i].steps;
        scratch_ += kListItemBytes * taken;
        return list;
      }
      case Op::Join: {  // the left text grows where it lies if nothing lies behind it
        const uint32_t bytes = at[0].bytes + at[1].bytes;
        scratch_ += at[0].end == scratch_ ? at[1].bytes : bytes;
        return {1, text_steps(bytes), bytes, scratch_};
      }
      case Op::Version:
        scratch_ += at[0].bytes + 1;
        return {1, text_steps(at[0].bytes + 1), at[0].bytes + 1, kNone};
      default: return {};
    }
  }
  Extent constant(const Value& value) const {
    if (value.kind() == ValueKind::Array) return {value.count(), value.steps(), 0, kNone};
    if (value.kind() != ValueKind::Text) return {};
    return {1, value.steps(), static_cast<uint32_t>(t_.texts[value.index()].size()), kNone};
  }

  const Tables& t_;
  uint32_t depth_ = 0;
  uint32_t scratch_ = 0;
  Extent stack_[kMaxStack];
};

// Verifies the types of an expression: its instructions are run on the types of their operands. Each
// instruction takes operands from the stack and puts its result there; `kOperands` says how many.
class TypeChecker {
 public:
  explicit TypeChecker(const Tables& tables) : tables_(tables) {}

  bool check(const Expression& expression) {
    depth_ = deepest_ = 0;
    const Range range = expression.instructions();
    for (uint32_t i = 0; i < range.count; ++i) {
      if (!step(tables_.instructions[range.first + i])) return false;
    }
    return depth_ == 1 && stack_[0] == expression.type() && deepest_ == expression.stack();
  }

 private:
  bool push(Type type) {
    if (depth_ == kMaxStack) return false;
    stack_[depth_++] = type;
    if (depth_ > deepest_) deepest_ = depth_;
    return true;
  }
  Type top(uint32_t below = 0) const { return stack_[depth_ - 1 - below]; }
  bool replace(uint32_t count, Type type) {
    depth_ -= count;
    return push(type);
  }
  bool are_all(uint32_t count, Type type) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (top(i) != type) return false;
    }
    return true;
  }

  bool step(const Instruction& instruction) {
    const uint32_t operand = instruction.operand();
    switch (instruction.op()) {
      case Op::Constant: return constant(operand);
      case Op::Fact: return operand < tables_.facts.size() && push(type_of_fact(operand));
      case Op::HasFact: return operand < tables_.facts.size() && push(Type::Bool);
      default: break;
    }
    const Operands operands = kOperands[static_cast<uint8_t>(instruction.op())];
    if (operands.or_more ? operand < operands.count : operand != 0) return false;
    return operation(instruction.op(), operands.or_more ? operand : operands.count);
  }
  // An operation on the upper `count` elements of the stack.
  bool operation(Op op, uint32_t count) {
    if (depth_ < count) return false;
    switch (op) {
      case Op::MakeList: return !is_list(top()) && are_all(count, top()) && replace(count, list_of(top()));
      case Op::Not:
      case Op::And:
      case Op::Or: return are_all(count, Type::Bool) && replace(count, Type::Bool);
      case Op::Min:
      case Op::Max: return is_number(top()) && are_all(count, top()) && replace(count, top());
      case Op::Select: {
        Type common;
        return top(2) == Type::Bool && common_type(top(1), top(), &common) && replace(count, common);
      }
      case Op::Equal:
      case Op::NotEqual: return are_comparable(top(1), top()) && replace(count, Type::Bool);
      case Op::Less:
      case Op::LessEqual:
      case Op::Greater:
      case Op::GreaterEqual: return are_ordered(top(1), top()) && replace(count, Type::Bool);
      case Op::In: return is_searchable(top(1), top()) && replace(count, Type::Bool);
      case Op::AddInt:
      case Op::SubtractInt:
      case Op::MultiplyInt:
      case Op::DivideInt:
      case Op::RemainderInt:
      case Op::NegateInt: return are_all(count, Type::Int) && replace(count, Type::Int);
      case Op::AddFloat:
      case Op::SubtractFloat:
      case Op::MultiplyFloat:
      case Op::DivideFloat:
      case Op::NegateFloat: return are_all(count, Type::Float) && replace(count, Type::Float);
      case Op::Join:
      case Op::Version: return are_all(count, Type::String) && replace(count, Type::String);
      case Op::Bucket: return are_all(count, Type::String) && replace(count, Type::Float);
      case Op::StartsWith:
      case Op::EndsWith:
      case Op::Contains: return are_all(count, Type::String) && replace(count, Type::Bool);
      case Op::Size: return (is_list(top()) || top() == Type::String) && replace(count, Type::Int);
      default: return false;
    }
  }
  static bool are_ordered(Type left, Type right) {
    return (is_number(left) && is_number(right)) || (left == Type::String && right == Type::String);
  }
  static bool is_searchable(Type item, Type list) {
    return list == Type::EmptyList || (is_list(list) && are_comparable(item, item_of(list)));
  }
  bool constant(uint32_t index) {
    if (index >= tables_.values.size()) return false;
    const Value value = tables_.values[index];
    Type type = Type::Bool;
    if (value.kind() != ValueKind::Array) return scalar_type(value, &type) && push(type);
    if (value.count() == 0) return push(Type::EmptyList);
    for (uint32_t i = 0; i < value.count(); ++i) {
      Type item;
      if (!scalar_type(tables_.values[tables_.items[value.index() + i]], &item)) return false;
      if (i != 0 && item != type) return false;
      type = item;
    }
    return push(list_of(type));
  }
  static bool scalar_type(const Value& value, Type* type) {
    switch (value.kind()) {
      case ValueKind::Boolean: *type = Type::Bool; return true;
      case ValueKind::Integer: *type = Type::Int; return true;
      case ValueKind::Number: *type = Type::Float; return true;
      case ValueKind::Text: *type = Type::String; return true;
      default: return false;
    }
  }
  Type type_of_fact(uint32_t index) const {
    const uint8_t type = tables_.facts[index].type();
    return type == 4 ? Type::StringList : static_cast<Type>(type);
  }

  const Tables& tables_;
  uint32_t depth_ = 0;
  uint32_t deepest_ = 0;
  Type stack_[kMaxStack] = {};
};

// Verifies what the vectors contain: first the fields of every row, each by itself; then what rows mean
// together, in an order in which each check relies on earlier ones only. Each row says how many steps it
// takes, which is counted again from the rows that it refers to.
class Verifier {
 public:
  explicit Verifier(const Tables& tables) : t_(tables) {}

  bool check() {
    if (t_.facts.size() > kMaxFacts || t_.profiles.size() > kMaxProfiles) return false;
    if (!is_hash(t_.fingerprint) || !(t_.sources.empty() || is_hash(t_.sources))) return false;
    if (t_.revision > kMaxRevision || t_.not_after > kMaxNotAfter) return false;
    if (t_.project_fact_count > t_.hand_set_facts.size()) return false;
    if (!is_none_or_below(t_.named_profile, t_.profiles.size()) || !are_fields_sound(t_, *this)) return false;
    return all(t_.values, &Verifier::value) && all(t_.facts, &Verifier::fact) &&
        all(t_.expressions, &Verifier::expression) && all(t_.conditions, &Verifier::condition) &&
        all(t_.hand_set_facts, &Verifier::hand_set_fact) && all(t_.options, &Verifier::option) &&
        all(t_.backends, &Verifier::backend) && all(t_.option_settings, &Verifier::option_settings) &&
        all(t_.backend_settings, &Verifier::backend_settings) && all(t_.slots, &Verifier::slot) &&
        all(t_.profiles, &Verifier::profile) && all(t_.models, &Verifier::model) &&
        is_quick(selection_steps_ + t_.project_fact_count);
  }

  // What `are_fields_sound` asks for.

  // A range that is walked now, and that is in bounds.
  template <typename T>
  bool visit(const Vector<T>& elements, Range range) {
    if (!elements.contains(range) || range.count > visits_left_) return false;
    visits_left_ -= range.count;
    return true;
  }
  // A range of `items` with indices below `bound`.
  bool are_items_below(Range range, uint32_t bound) {
    if (!visit(t_.items, range)) return false;
    for (uint32_t i = 0; i < range.count; ++i) {
      if (t_.items[range.first + i] >= bound) return false;
    }
    return true;
  }
  bool is_short(uint32_t text) const { return text == kNone || t_.texts[text].size() <= kMaxNameBytes; }

 private:
  template <typename T>
  bool all(const Vector<T>& elements, bool (Verifier::*is_sound)(uint32_t)) {
    for (uint32_t i = 0; i < elements.size(); ++i) {
      if (!(this->*is_sound)(i)) return false;
    }
    return true;
  }

  static bool is_quick(uint64_t steps) { return steps <= kMaxSteps; }
  static bool are_counted(uint64_t counted, uint64_t written) {
    return counted == written && is_quick(counted);
  }
  uint64_t steps_of_text(uint32_t index) const {
    return index == kNone ? 0 : text_steps(t_.texts[index].size());
  }
  uint64_t steps_of_condition(uint32_t index) const {
    return index == kNone ? 0 : t_.conditions[index].steps();
  }
  // To check a value of an option, which takes as many steps.
  static uint64_t checked(const Option& option, uint64_t steps) {
    const uint64_t choices = option.choice_steps();
    return option.kind() == OptionKind::Array ? steps * (1 + choices) : steps + choices;
  }
  uint64_t steps_of_default(const Option& option) const {
    uint64_t steps = 1 + (option.default_value() == kNone ? 0u : t_.values[option.default_value()].steps());
    if (option.from_fact() != kNone) {
      steps += checked(option, extent_of_fact(t_.facts[option.from_fact()].type()).steps);
    }
    return steps;
  }

  bool value(uint32_t index) {
    const Value value = t_.values[index];
    const uint32_t depth = value.depth();
    switch (value.kind()) {
      case ValueKind::None:
      case ValueKind::Integer: return depth == 0 && value.steps() == 1;
      case ValueKind::Boolean: return depth == 0 && value.bits() <= 1 && value.steps() == 1;
      case ValueKind::Number:
        return depth == 0 && std::isfinite(number_of(value.bits())) && value.steps() == 1;
      case ValueKind::Text:
        return depth == 0 && value.bits() < t_.texts.size() && value.steps() == steps_of_text(value.index());
      case ValueKind::Array:
      case ValueKind::Table: return depth >= 1 && depth <= kMaxDepth && items(index, value);
      default: return false;
    }
  }
  bool items(uint32_t index, const Value& value) {
    const bool is_table = value.kind() == ValueKind::Table;
    if (value.bits() > kNone || (is_table && value.count() > kNone / 2)) return false;
    const uint32_t step = is_table ? 2 : 1;
    const Range range{value.index(), value.count() * step};
    if (!visit(t_.items, range)) return false;
    uint64_t steps = 1;
    for (uint32_t i = 0; i < range.count; i += step) {
      if (is_table && t_.items[range.first + i] >= t_.texts.size()) return false;
      const uint32_t item = t_.items[range.first + i + step - 1];
      if (item >= index || t_.values[item].depth() >= value.depth()) return false;
      steps += t_.values[item].steps();
      if (is_table) steps += steps_of_text(t_.items[range.first + i]);
    }
    return steps == value.steps();
  }

  bool fact(uint32_t index) {
    const Fact fact = t_.facts[index];
    const Range choices = fact.choices();
    if (choices.count != 0 && fact.type() != 3) return false;
    if (index != 0 && t_.texts[fact.name()] <= t_.texts[t_.facts[index - 1].name()]) return false;
    fact_steps_ += 1 + steps_of_text(fact.name());
    for (uint32_t i = 0; i < choices.count; ++i) fact_steps_ += steps_of_text(t_.items[choices.first + i]);
    selection_steps_ = fact_steps_;
    return is_quick(fact_steps_);
  }
  bool hand_set_fact(uint32_t index) {
    const HandSetFact hand_set = t_.hand_set_facts[index];
    const Value value = t_.values[hand_set.value()];
    const uint8_t type = t_.facts[hand_set.fact()].type();
    // bool, int, float, string and list have the kinds Boolean, Integer, Number, Text and Array
    if (static_cast<uint8_t>(value.kind()) != type + 1) return false;
    if (value.kind() == ValueKind::Text) return t_.texts[value.index()].size() <= kMaxFactText;
    if (value.kind() != ValueKind::Array) return true;
    const Range range{value.index(), value.count()};
    if (!visit(t_.items, range) || range.count > kMaxFactItems) return false;
    size_t bytes = 0;
    for (uint32_t i = 0; i < range.count; ++i) {
      const Value item = t_.values[t_.items[range.first + i]];
      if (item.kind() != ValueKind::Text) return false;
      bytes += t_.texts[item.index()].size();
    }
    return bytes <= kMaxFactListBytes;
  }

  bool expression(uint32_t index) {
    const Expression expression = t_.expressions[index];
    const Range range = expression.instructions();
    if (range.count == 0 || range.count > kMaxInstructions) return false;
    // a constant list is walked for its type
    for (uint32_t i = 0; i < range.count; ++i) {
      const Instruction instruction = t_.instructions[range.first + i];
      if (instruction.op() == Op::Constant && instruction.operand() < t_.values.size()) {
        const Value constant = t_.values[instruction.operand()];
        if (constant.kind() == ValueKind::Array && !visit(t_.items, {constant.index(), constant.count()})) {
          return false;
        }
      }
    }
    return types_.check(expression) && are_counted(counter_.count(range), expression.steps());
  }
  bool condition(uint32_t index) {
    const Condition condition = t_.conditions[index];
    const Range clauses = condition.clauses();
    if (clauses.count == 0) return false;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < clauses.count; ++i) {
      const Expression clause = t_.expressions[clauses.first + i];
      if (clause.type() != Type::Bool) return false;
      steps += clause.steps();
    }
    return are_counted(steps, condition.steps());
  }

  bool option(uint32_t index) {
    const Option option = t_.options[index];
    if (option.default_value() != kNone && !is_fitting(option, option.default_value())) return false;
    const Range choices = option.choices();
    uint64_t steps = 0;
    for (uint32_t i = 0; i < choices.count; ++i) {
      steps += t_.values[t_.choices[choices.first + i].value()].steps();
    }
    return are_counted(steps, option.choice_steps());
  }
  bool is_fitting(const Option& option, uint32_t value_index) const {
    if (value_index >= t_.values.size()) return false;
    const ValueKind kind = t_.values[value_index].kind();
    if (kind == ValueKind::None) return option.is_optional();
    return (kStoredKinds[static_cast<uint8_t>(option.kind())] >> static_cast<uint8_t>(kind) & 1) != 0;
  }
  static bool is_kind_of(OptionKind kind, Type type) {
    return (kComputedKinds[static_cast<uint8_t>(type)] >> static_cast<uint8_t>(kind) & 1) != 0;
  }
  bool is_computable(const Option& option, uint32_t expression_index) const {
    if (expression_index >= t_.expressions.size()) return false;
    const Type type = t_.expressions[expression_index].type();
    if (option.kind() != OptionKind::Array) return is_kind_of(option.kind(), type);
    return type == Type::EmptyList || (is_list(type) && is_kind_of(option.item_kind(), item_of(type)));
  }

  bool backend(uint32_t index) {
    const Backend backend = t_.backends[index];
    const Range options = backend.options();
    const Range advice = backend.advice();
    uint64_t steps = uint64_t{options.count} * advice.count;
    for (uint32_t i = 0; i < options.count; ++i) {
      steps += steps_of_default(t_.options[options.first + i]);
      if (!is_quick(steps)) return false;
    }
    for (uint32_t i = 0; i < advice.count; ++i) {
      const Advice each = t_.advice[advice.first + i];
      if (each.option() < options.first || each.option() - options.first >= options.count) return false;
      const Option option = t_.options[each.option()];
      if (!is_computable(option, each.expression())) return false;
      steps +=
          steps_of_condition(each.condition()) + checked(option, t_.expressions[each.expression()].steps());
      if (!is_quick(steps)) return false;
    }
    return are_counted(steps, backend.steps());
  }
  bool option_settings(uint32_t index) {
    const OptionSettings settings = t_.option_settings[index];
    const Option option = t_.options[settings.option()];
    const Range candidates = settings.candidates();
    uint64_t steps = 1;
    Literals literals;
    for (uint32_t i = 0; i < candidates.count; ++i) {
      const Candidate each = t_.candidates[candidates.first + i];
      if (!candidate(option, each)) return false;
      steps += 1 + steps_of_condition(each.condition());
      if (each.source() == Source::Literal) steps += add(each.value(), &literals);
      if (each.source() == Source::Expression) steps += checked(option, t_.expressions[each.value()].steps());
      if (!is_quick(steps)) return false;
    }
    const uint32_t fixed = settings.program_value();
    if (fixed != kNone && !is_fitting(option, fixed)) return false;
    if (fixed != kNone) steps += add(fixed, &literals);
    if (option.default_value() != kNone) add(option.default_value(), &literals);
    // each key of a table is compared with those before it
    if (option.kind() == OptionKind::Table) steps += literals.keys * literals.steps;
    return are_counted(steps, settings.steps());
  }
  struct Literals {
    uint64_t keys = 0;
    uint64_t steps = 0;
  };
  uint64_t add(uint32_t index, Literals* literals) const {
    const Value value = t_.values[index];
    literals->keys += value.count();
    literals->steps += value.steps();
    return value.steps();
  }
  bool candidate(const Option& option, const Candidate& candidate) const {
    switch (candidate.source()) {
      case Source::Literal: return is_fitting(option, candidate.value());
      case Source::Expression: return is_computable(option, candidate.value());
      case Source::Unset: return true;
    }
    return false;
  }
  bool backend_settings(uint32_t index) {
    const BackendSettings settings = t_.backend_settings[index];
    const Range options = t_.backends[settings.backend()].options();
    uint64_t steps = t_.backends[settings.backend()].steps();
    uint32_t next = options.first;
    for (uint32_t i = 0; i < settings.options().count; ++i) {
      const uint32_t option = t_.option_settings[settings.options().first + i].option();
      if (option < next || option - options.first >= options.count) return false;
      next = option + 1;
      steps += t_.option_settings[settings.options().first + i].steps();
    }
    return are_counted(steps, settings.steps());
  }
  bool slot(uint32_t index) {
    const Slot slot = t_.slots[index];
    const Range settings = slot.settings();
    uint64_t steps = fact_steps_ + 1 + steps_of_text(slot.method()) + steps_of_text(slot.instance());
    for (uint32_t i = 0; i < settings.count; ++i) {
      steps += t_.backend_settings[t_.items[settings.first + i]].steps();
    }
    return are_counted(steps, slot.steps());
  }
  bool profile(uint32_t index) {
    const Profile profile = t_.profiles[index];
    if (index != 0 && t_.texts[profile.name()] <= t_.texts[t_.profiles[index - 1].name()]) return false;
    const Range slots = profile.slots();
    if (slots.count > kMaxSlots) return false;
    uint64_t steps = uint64_t{slots.count} * profile.facts().count;
    for (uint32_t i = 0; i < slots.count; ++i) steps += t_.slots[slots.first + i].steps();
    selection_steps_ += 1 + uint64_t{profile.bases().count} + steps_of_condition(profile.condition());
    return is_quick(steps);
  }
  bool model(uint32_t index) {
    const Model model = t_.models[index];
    const Range variants = model.variants();
    uint64_t steps = (fact_steps_ + t_.project_fact_count + 1) * variants.count;
    for (uint32_t i = 0; i < variants.count; ++i) {
      const Variant variant = t_.variants[variants.first + i];
      steps +=
          steps_of_condition(variant.condition()) + uint64_t{variant.needs().count} * extent_of_fact(4).steps;
    }
    return is_quick(steps);
  }
  const Tables& t_;
  TypeChecker types_{t_};
  StepCounter counter_{t_};
  uint32_t visits_left_ = kMaxVisits;
  uint64_t fact_steps_ = 0;  // to look up the facts of a device, and check them
  uint64_t selection_steps_ = 0;
};

// True if bytes may be a bundle, of whatever version.
inline bool is_bundle(const uint8_t* bytes, size_t size) {
  return bytes != nullptr && size >= 12 && std::memcmp(bytes + 4, "ETCB", 4) == 0;
}

// Verifies a file; only if it is sound, `*tables` are to be used.
inline Verdict open_bundle(const uint8_t* bytes, size_t size, Tables* tables) {
  if (!is_bundle(bytes, size)) return Verdict::OtherFormat;
  if (size > kMaxBytes) return Verdict::Damaged;
  const Verdict verdict = Opener(bytes, static_cast<uint32_t>(size)).open(tables);
  if (verdict != Verdict::Sound) return verdict;
  return Verifier(*tables).check() ? Verdict::Sound : Verdict::Damaged;
}

}  // namespace format
}  // inline namespace
}  // namespace etconfig::device
