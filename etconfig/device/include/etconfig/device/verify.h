// Verification of a whole bundle: every reference, index and range, and the types of every expression.
//
// The time is bounded by the file's size and `kMaxVisits`, and the stack by a constant. What is accepted here, nothing
// that evaluates it can take out of bounds, nor does it take more than `kMaxSteps`.

#pragma once

#include <cmath>

#include "etconfig/facts/text.h"
#include "format.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace format {

enum class Verdict : uint8_t { Sound, OtherFormat, OtherVersion, Damaged };

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
  if (left >= Type::BoolList && left < Type::EmptyList && right >= Type::BoolList && right < Type::EmptyList) {
    left = item_of(left);
    right = item_of(right);
  }
  Type common;
  return common_type(left, right, &common) || (is_number(left) && is_number(right));
}

// Reads the root table and its vectors.
class Opener {
 public:
  Opener(const uint8_t* data, uint32_t size) : data_(data), size_(size) {}

  Verdict open(Tables* tables) {
    const Verdict verdict = root();
    if (verdict != Verdict::Sound) return verdict;
    const bool is_sound = string(1, &tables->producer) && string(2, &tables->fingerprint) && texts(tables) &&
        vector(4, &tables->values) && vector(5, &tables->items) && vector(6, &tables->instructions) &&
        vector(7, &tables->expressions) && vector(8, &tables->conditions) && vector(9, &tables->facts) &&
        vector(10, &tables->hand_set_facts) && vector(12, &tables->backends) && vector(13, &tables->options) &&
        vector(14, &tables->choices) && vector(15, &tables->advice) && vector(16, &tables->candidates) &&
        vector(17, &tables->option_settings) && vector(18, &tables->backend_settings) &&
        vector(19, &tables->slots) && vector(20, &tables->profiles) && vector(23, &tables->models) &&
        vector(24, &tables->variants);
    tables->project_fact_count = scalar<uint32_t>(11);
    tables->named_profile = scalar<uint32_t>(21);
    tables->require_match = scalar<uint8_t>(22) != 0;
    return is_sound ? Verdict::Sound : Verdict::Damaged;
  }

 private:
  static constexpr uint32_t kSlots = 25;

  static uint32_t width(uint32_t slot) { return slot == 0 ? 2 : slot == 22 ? 1 : 4; }
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
    if (!in_range(static_cast<uint64_t>(vtable), vtable_bytes) || !in_range(at_, table_bytes)) return Verdict::Damaged;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      offsets_[slot] = 4 + 2 * slot < vtable_bytes ? read<uint16_t>(entries + 4 + 2 * slot) : uint16_t{0};
    }
    if (!are_fields_apart(table_bytes)) return Verdict::Damaged;
    return scalar<uint16_t>(0) == kVersion ? Verdict::Sound : Verdict::OtherVersion;
  }
  bool are_fields_apart(uint32_t table_bytes) const {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const uint32_t begin = offsets_[slot];
      if (begin == 0) continue;
      const uint32_t end = begin + width(slot);
      if (begin < 4 || end > table_bytes || begin % width(slot) != 0) return false;
      for (uint32_t other = 0; other < slot; ++other) {
        const uint32_t start = offsets_[other];
        if (start != 0 && start < end && begin < start + width(other)) return false;
      }
    }
    return true;
  }

  template <typename T>
  T scalar(uint32_t slot) const {
    return offsets_[slot] == 0 ? T{} : read<T>(data_ + at_ + offsets_[slot]);
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
  bool texts(Tables* tables) const {
    Vector<Number> references;
    if (!vector(3, &references)) return false;
    uint64_t bytes = 0;  // of all texts; they do not overlap in a sound file, so this bounds the time
    for (uint32_t i = 0; i < references.size(); ++i) {
      const Number reference = references[i];
      std::string_view text;
      if (!string_at(follow(static_cast<uint32_t>(reference.at - data_), reference), &text)) return false;
      bytes += text.size() + 4;
      if (bytes > size_ || !detection::is_utf8(text)) return false;
    }
    tables->texts = Texts(references);
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

// The steps of one expression: its instructions, which are sound, are run on extents.
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
    switch (instruction.op()) {
      case Op::Constant:
      case Op::Fact:
      case Op::HasFact: return 0;
      case Op::MakeList:
      case Op::And:
      case Op::Or:
      case Op::Min:
      case Op::Max: return instruction.operand();
      case Op::Not:
      case Op::NegateInt:
      case Op::NegateFloat:
      case Op::Size: return 1;
      case Op::Select: return 3;
      default: return 2;
    }
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
      case Op::Contains: return (uint64_t{at[0].bytes} + 1) * at[1].steps;  // each place is compared with the part
      case Op::In: {
        const uint64_t each = uint64_t{at[1].items} * at[0].steps;
        return each < at[1].steps ? each : at[1].steps;
      }
      case Op::Size: return at[0].steps;
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

// The stack of an expression's types, while it is checked.
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
  bool has(uint32_t count) const { return depth_ >= count; }
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
  bool operation(uint32_t count, Type operand, Type result) {
    return has(count) && are_all(count, operand) && replace(count, result);
  }

  bool step(const Instruction& instruction) {
    const uint32_t operand = instruction.operand();
    switch (instruction.op()) {
      case Op::Constant: return constant(operand);
      case Op::Fact: return operand < tables_.facts.size() && push(type_of_fact(operand));
      case Op::HasFact: return operand < tables_.facts.size() && push(Type::Bool);
      case Op::MakeList:
        return operand >= 1 && has(operand) && !is_list(top()) && are_all(operand, top()) &&
            replace(operand, list_of(top()));
      case Op::And:
      case Op::Or: return operand >= 2 && operation(operand, Type::Bool, Type::Bool);
      case Op::Min:
      case Op::Max:
        return operand >= 2 && has(operand) && is_number(top()) && operation(operand, top(), top());
      default: return operand == 0 && fixed(instruction.op());
    }
  }
  // Operations with a fixed number of operands.
  bool fixed(Op op) {
    switch (op) {
      case Op::Not: return operation(1, Type::Bool, Type::Bool);
      case Op::Select: {
        Type common;
        return has(3) && top(2) == Type::Bool && common_type(top(1), top(), &common) && replace(3, common);
      }
      case Op::Equal:
      case Op::NotEqual: return has(2) && are_comparable(top(1), top()) && replace(2, Type::Bool);
      case Op::Less:
      case Op::LessEqual:
      case Op::Greater:
      case Op::GreaterEqual: return has(2) && are_ordered(top(1), top()) && replace(2, Type::Bool);
      case Op::In: return has(2) && is_searchable(top(1), top()) && replace(2, Type::Bool);
      case Op::AddInt:
      case Op::SubtractInt:
      case Op::MultiplyInt:
      case Op::DivideInt:
      case Op::RemainderInt: return operation(2, Type::Int, Type::Int);
      case Op::NegateInt: return operation(1, Type::Int, Type::Int);
      case Op::AddFloat:
      case Op::SubtractFloat:
      case Op::MultiplyFloat:
      case Op::DivideFloat: return operation(2, Type::Float, Type::Float);
      case Op::NegateFloat: return operation(1, Type::Float, Type::Float);
      case Op::Join: return operation(2, Type::String, Type::String);
      case Op::Bucket: return operation(2, Type::String, Type::Float);
      case Op::StartsWith:
      case Op::EndsWith:
      case Op::Contains: return operation(2, Type::String, Type::Bool);
      case Op::Size: return has(1) && (is_list(top()) || top() == Type::String) && replace(1, Type::Int);
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

// Checks what the vectors contain.
class Verifier {
 public:
  explicit Verifier(const Tables& tables) : t_(tables) {}

  bool check() {
    if (t_.facts.size() > kMaxFacts || t_.profiles.size() > kMaxProfiles) return false;
    if (t_.project_fact_count > t_.hand_set_facts.size() || !is_none_or(t_.named_profile, t_.profiles)) return false;
    return all(t_.values, &Verifier::value) && all(t_.facts, &Verifier::fact) &&
        all(t_.expressions, &Verifier::expression) && all(t_.conditions, &Verifier::condition) &&
        all(t_.hand_set_facts, &Verifier::hand_set_fact) && all(t_.choices, &Verifier::choice) &&
        all(t_.options, &Verifier::option) && all(t_.backends, &Verifier::backend) &&
        all(t_.option_settings, &Verifier::option_settings) &&
        all(t_.backend_settings, &Verifier::backend_settings) && all(t_.slots, &Verifier::slot) &&
        all(t_.profiles, &Verifier::profile) && all(t_.variants, &Verifier::variant) &&
        all(t_.models, &Verifier::model) && is_quick(selection_steps_ + t_.project_fact_count);
  }

 private:
  template <typename T>
  bool all(const Vector<T>& elements, bool (Verifier::*is_sound)(uint32_t)) {
    for (uint32_t i = 0; i < elements.size(); ++i) {
      if (!(this->*is_sound)(i)) return false;
    }
    return true;
  }
  template <typename T>
  static bool is_none_or(uint32_t index, const T& elements) {
    return index == kNone || index < elements.size();
  }
  bool is_text(uint32_t index) const { return index < t_.texts.size(); }
  bool is_name(uint32_t index) const { return is_text(index) && t_.texts[index].size() <= format::kMaxNameBytes; }
  bool is_text_or_none(uint32_t index) const { return is_none_or(index, t_.texts); }
  // The origin of a default, which must be there if the default is.
  bool is_origin_of(uint32_t present, uint32_t origin) const {
    return present == kNone ? is_text_or_none(origin) : is_text(origin);
  }
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

  static bool is_quick(uint64_t steps) { return steps <= kMaxSteps; }
  static bool are_counted(uint64_t counted, uint64_t written) { return counted == written && is_quick(counted); }
  uint64_t steps_of_text(uint32_t index) const { return index == kNone ? 0 : text_steps(t_.texts[index].size()); }
  uint64_t steps_of_condition(uint32_t index) const { return index == kNone ? 0 : t_.conditions[index].steps(); }
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
      case ValueKind::Number: return depth == 0 && std::isfinite(number_of(value.bits())) && value.steps() == 1;
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
      if (is_table && !is_text(t_.items[range.first + i])) return false;
      const uint32_t item = t_.items[range.first + i + step - 1];
      if (item >= index || t_.values[item].depth() >= value.depth()) return false;
      steps += t_.values[item].steps();
      if (is_table) steps += steps_of_text(t_.items[range.first + i]);
    }
    return steps == value.steps();
  }

  bool fact(uint32_t index) {
    const Fact fact = t_.facts[index];
    if (!is_name(fact.name()) || !is_text_or_none(fact.unit()) || fact.type() > 4 || fact.volatility() > 2) return false;
    if (fact.is_identifying() > 1) return false;
    if (index != 0 && t_.texts[fact.name()] <= t_.texts[t_.facts[index - 1].name()]) return false;
    if (std::isnan(fact.minimum()) || std::isnan(fact.maximum())) return false;
    const Range choices = fact.choices();
    if ((choices.count != 0 && fact.type() != 3) || !are_items_below(choices, t_.texts.size())) return false;
    fact_steps_ += 1 + steps_of_text(fact.name());
    for (uint32_t i = 0; i < choices.count; ++i) fact_steps_ += steps_of_text(t_.items[choices.first + i]);
    selection_steps_ = fact_steps_;
    return is_quick(fact_steps_);
  }
  bool hand_set_fact(uint32_t index) {
    const HandSetFact hand_set = t_.hand_set_facts[index];
    if (hand_set.fact() >= t_.facts.size() || hand_set.value() >= t_.values.size() || !is_text(hand_set.origin())) {
      return false;
    }
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
    if (range.count == 0 || !visit(t_.instructions, range) || !is_text(expression.text())) return false;
    // a constant list is walked for its type
    for (uint32_t i = 0; i < range.count; ++i) {
      const Instruction instruction = t_.instructions[range.first + i];
      if (instruction.op() == Op::Constant && instruction.operand() < t_.values.size()) {
        const Value constant = t_.values[instruction.operand()];
        if (constant.kind() == ValueKind::Array && !visit(t_.items, {constant.index(), constant.count()})) return false;
      }
    }
    return range.count <= kMaxInstructions && types_.check(expression) &&
        are_counted(counter_.count(range), expression.steps());
  }
  bool condition(uint32_t index) {
    const Condition condition = t_.conditions[index];
    const Range clauses = condition.clauses();
    if (clauses.count == 0 || !visit(t_.expressions, clauses) || !is_text(condition.text())) return false;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < clauses.count; ++i) {
      const Expression clause = t_.expressions[clauses.first + i];
      if (clause.type() != Type::Bool) return false;
      steps += clause.steps();
    }
    return are_counted(steps, condition.steps());
  }

  bool choice(uint32_t index) {
    const Choice choice = t_.choices[index];
    return choice.value() < t_.values.size() && choice.sent() < t_.values.size();
  }
  bool option(uint32_t index) {
    const Option option = t_.options[index];
    if (option.u8(76) > 7 || option.u8(77) > 7) return false;
    for (uint32_t flag = 78; flag < 83; ++flag) {
      if (option.u8(flag) > 1) return false;
    }
    const bool has_numbers = !std::isnan(option.minimum()) && !std::isnan(option.maximum()) &&
        std::isfinite(option.multiple_of()) && option.multiple_of() >= 0;
    return has_numbers && is_name(option.name()) && is_text_or_none(option.unit()) && is_text_or_none(option.doc()) &&
        is_origin_of(option.default_value(), option.default_origin()) &&
        is_origin_of(option.from_fact(), option.fact_origin()) &&
        is_text_or_none(option.key()) && is_text_or_none(option.separator()) &&
        is_none_or(option.from_fact(), t_.facts) && are_choices(option) &&
        (option.default_value() == kNone || is_fitting(option, option.default_value()));
  }
  bool are_choices(const Option& option) {
    const Range choices = option.choices();
    if (!visit(t_.choices, choices)) return false;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < choices.count; ++i) steps += t_.values[t_.choices[choices.first + i].value()].steps();
    return are_counted(steps, option.choice_steps());
  }
  bool is_fitting(const Option& option, uint32_t value_index) const {
    if (value_index >= t_.values.size()) return false;
    const ValueKind kind = t_.values[value_index].kind();
    if (kind == ValueKind::None) return option.is_optional();
    switch (option.kind()) {
      case OptionKind::Boolean: return kind == ValueKind::Boolean;
      case OptionKind::Integer: return kind == ValueKind::Integer;
      case OptionKind::Float: return kind == ValueKind::Number;
      case OptionKind::String: return kind == ValueKind::Text;
      case OptionKind::Choice: return kind == ValueKind::Text || kind == ValueKind::Integer;
      case OptionKind::Array: return kind == ValueKind::Array;
      case OptionKind::Table:
      case OptionKind::Record: return kind == ValueKind::Table;
    }
    return false;
  }
  static bool is_kind_of(OptionKind kind, Type type) {
    switch (type) {
      case Type::Bool: return kind == OptionKind::Boolean;
      case Type::Int: return kind == OptionKind::Integer || kind == OptionKind::Choice;
      case Type::Float: return kind == OptionKind::Float;
      case Type::String: return kind == OptionKind::String || kind == OptionKind::Choice;
      default: return false;
    }
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
    if (!is_name(backend.id()) || !visit(t_.options, options) || !visit(t_.advice, advice)) return false;
    uint64_t steps = uint64_t{options.count} * advice.count;
    for (uint32_t i = 0; i < options.count; ++i) {
      steps += steps_of_default(t_.options[options.first + i]);
      if (!is_quick(steps)) return false;
    }
    for (uint32_t i = 0; i < advice.count; ++i) {
      const Advice each = t_.advice[advice.first + i];
      if (each.option() < options.first || each.option() - options.first >= options.count) return false;
      if (!is_none_or(each.condition(), t_.conditions) || !is_text(each.origin())) return false;
      const Option option = t_.options[each.option()];
      if (!is_computable(option, each.expression())) return false;
      steps += steps_of_condition(each.condition()) + checked(option, t_.expressions[each.expression()].steps());
      if (!is_quick(steps)) return false;
    }
    return backend.u8(20) <= 1 && are_counted(steps, backend.steps());
  }
  bool option_settings(uint32_t index) {
    const OptionSettings settings = t_.option_settings[index];
    if (settings.option() >= t_.options.size() || !visit(t_.candidates, settings.candidates())) return false;
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
    if (fixed != kNone && (!is_fitting(option, fixed) || !is_text(settings.program_origin()))) return false;
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
    if (!is_none_or(candidate.condition(), t_.conditions) || !is_text(candidate.origin())) return false;
    if (candidate.layer() > Layer::Override) return false;
    switch (candidate.source()) {
      case Source::Literal: return is_fitting(option, candidate.value());
      case Source::Expression: return is_computable(option, candidate.value());
      case Source::Unset: return true;
    }
    return false;
  }
  bool backend_settings(uint32_t index) {
    const BackendSettings settings = t_.backend_settings[index];
    if (settings.backend() >= t_.backends.size() || !visit(t_.option_settings, settings.options())) return false;
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
    const bool has_instance = slot.instance() != format::kNone;
    if (!is_name(slot.method()) || (has_instance && !is_name(slot.instance())) ||
        !are_items_below(settings, t_.backend_settings.size())) {
      return false;
    }
    uint64_t steps = fact_steps_ + 1 + steps_of_text(slot.method()) + steps_of_text(slot.instance());
    for (uint32_t i = 0; i < settings.count; ++i) steps += t_.backend_settings[t_.items[settings.first + i]].steps();
    return are_counted(steps, slot.steps());
  }
  bool profile(uint32_t index) {
    const Profile profile = t_.profiles[index];
    if (!is_name(profile.name())) return false;
    if (index != 0 && t_.texts[profile.name()] <= t_.texts[t_.profiles[index - 1].name()]) return false;
    const Range slots = profile.slots();
    const bool is_sound = is_none_or(profile.condition(), t_.conditions) &&
        are_items_below(profile.bases(), t_.profiles.size()) && visit(t_.hand_set_facts, profile.facts()) &&
        visit(t_.slots, slots) && is_text_or_none(profile.fingerprint()) && profile.u8(36) <= 2 &&
        profile.u8(37) <= 1 && slots.count <= kMaxSlots;
    if (!is_sound) return false;
    uint64_t steps = uint64_t{slots.count} * profile.facts().count;
    for (uint32_t i = 0; i < slots.count; ++i) steps += t_.slots[slots.first + i].steps();
    selection_steps_ += 1 + uint64_t{profile.bases().count} + steps_of_condition(profile.condition());
    return is_quick(steps);
  }
  bool model(uint32_t index) {
    const Model model = t_.models[index];
    const Range variants = model.variants();
    if (!is_name(model.name()) || !visit(t_.variants, variants) || model.u8(12) > 1) return false;
    uint64_t steps = (fact_steps_ + t_.project_fact_count + 1) * variants.count;
    for (uint32_t i = 0; i < variants.count; ++i) {
      const Variant variant = t_.variants[variants.first + i];
      steps += steps_of_condition(variant.condition()) + uint64_t{variant.needs().count} * extent_of_fact(4).steps;
    }
    return is_quick(steps);
  }
  bool variant(uint32_t index) {
    const Variant variant = t_.variants[index];
    return is_text(variant.file()) && is_none_or(variant.condition(), t_.conditions) &&
        are_items_below(variant.needs(), t_.texts.size());
  }

  const Tables& t_;
  TypeChecker types_{t_};
  StepCounter counter_{t_};
  uint32_t visits_left_ = kMaxVisits;
  uint64_t fact_steps_ = 0;  // to look up the facts of a device, and check them
  uint64_t selection_steps_ = 0;
};

// Verifies a file; only if it is sound, `*tables` are to be used.
inline Verdict open_bundle(const void* data, size_t size, Tables* tables) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (bytes == nullptr || size < 12 || std::memcmp(bytes + 4, "ETCB", 4) != 0) return Verdict::OtherFormat;
  if (size > kMaxBytes) return Verdict::Damaged;
  const Verdict verdict = Opener(bytes, static_cast<uint32_t>(size)).open(tables);
  if (verdict != Verdict::Sound) return verdict;
  return Verifier(*tables).check() ? Verdict::Sound : Verdict::Damaged;
}

}  // namespace format
}  // inline namespace
}  // namespace etconfig::device
