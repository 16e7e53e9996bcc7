// The facts that a bundle reads, bound to those of a device, and the selection of a profile.

#pragma once

#include "text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

enum class [[nodiscard]] Status : uint8_t {
  Ok,
  // opening
  NotABundle,    // something else
  OtherVersion,  // written by another version of etconfig
  Damaged,
  // facts
  NoSuchFact,  // the bundle does not read it
  WrongFact,   // its value has another type, or is out of its bounds
  FactsFull,   // the store has no room for it
  // selecting
  NoMatch,          // no profile matches
  Ambiguous,        // several profiles match, of which none extends or outranks the others
  FallbackRefused,  // only the fallback matches, and the bundle was packed to refuse it
  NoSuchProfile,
  // resolving
  NoSuchMethod,
  NoSuchInstance,
  NoSuchOption,
  MissingOption,     // an option is required, and nothing sets it
  UnknownFact,       // the value of an option needs a fact that is unknown
  EvaluationFailed,  // the value of an option divides by zero, or exceeds 64 bits
  InvalidValue,      // the value of an option is not one that the option accepts
  TooSmall,          // the storage for arguments has no room for all of them
  // choosing a model
  NoSuchModel,
  NoVariant,  // no variant of the model suits the device
  // further ones
  BadText,  // the text of a fact is not UTF-8
  Stale,    // the bundle was opened again since
  // what an application demands, see `Demands`
  NotSigned,
  BadSignature,  // of none of the keys
  OldRevision,
  Expired,
  // `BundleStore`
  NoBundle,     // it is empty
  RolledBack,   // this bundle failed before
  StoreFailed,  // its files cannot be read or written
};

// The name of a status, for logs.
inline const char* name_of(Status status) {
  static const char* const kNames[] = {
      "ok",
      "not a bundle",
      "another version of the format",
      "damaged",
      "the bundle reads no such fact",
      "not a value of this fact",
      "store is full",
      "no profile matches",
      "several profiles match",
      "fallback refused",
      "no such profile",
      "no such method",
      "no such instance",
      "no such option",
      "missing option",
      "unknown fact",
      "evaluation failed",
      "invalid value",
      "storage too small",
      "no such model",
      "no variant suits this device",
      "not UTF-8",
      "of a bundle that was replaced",
      "not signed",
      "wrong signature",
      "old revision",
      "expired",
      "no bundle in the store",
      "rolled back before",
      "the store cannot be read or written",
  };
  return kNames[static_cast<uint8_t>(status)];
}

// The profile that fits a device, or the reason why there is none.
struct [[nodiscard]] Selection {
  static constexpr uint32_t kNone = format::kNone;

  Status status = Status::NoMatch;
  uint32_t profile = kNone;  // index of the profile, if the status is Ok
  uint32_t other = kNone;    // if several match, one that matches as well; then `profile` is the first
  uint32_t fact = kNone;     // index of the fact, if the status is WrongFact
  bool is_named = false;     // nothing was selected: it was named
  bool is_fallback = false;  // no profile is about this device: only one that matches every device is left
  uint32_t opening = 0;      // of the bundle that selected

  explicit operator bool() const { return status == Status::Ok; }
};

namespace internal {

// True if a fact's value has the type that the bundle expects, and is within its bounds.
inline bool fits_fact(const Tables& tables, const format::Fact& fact, const Operand& value) {
  if (value.kind == ValueKind::Text && value.count > format::kMaxFactText) return false;
  if (value.kind == ValueKind::Integer || value.kind == ValueKind::Number) {
    const bool is_integer = value.kind == ValueKind::Integer;
    if (is_integer != (fact.type() == static_cast<uint8_t>(FactType::Integer))) return false;
    const int low =
        is_integer ? compare(value.integer, fact.minimum()) : compare(value.number, fact.minimum());
    const int high =
        is_integer ? compare(value.integer, fact.maximum()) : compare(value.number, fact.maximum());
    return low >= 0 && low != kUnordered && high <= 0;
  }
  const format::Range choices = fact.choices();
  if (value.kind != ValueKind::Text || choices.count == 0) return true;
  for (uint32_t i = 0; i < choices.count; ++i) {
    if (tables.texts[tables.items[choices.first + i]] == value.as_text()) return true;
  }
  return false;
}

// True if a list is one that devices accept.
inline bool is_short(const TextList& list) {
  return list.size() <= format::kMaxFactItems && list.text_bytes() <= format::kMaxFactListBytes;
}

// The values of all facts of a bundle on one device.
class BoundFacts {
 public:
  explicit BoundFacts(const Tables& tables) : t_(tables) {}

  const Operand* operands() const { return operands_; }
  // The index of the fact with a wrong value; none if all are right.
  uint32_t bind(const Facts& facts) {
    uint32_t wrong = format::kNone;
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      const format::Fact fact = t_.facts[i];
      const FactView found = facts.find(t_.texts[fact.name()]);
      operands_[i] = found ? operand_of(fact, found) : unknown_operand();
      if (operands_[i].state == State::Fault) {
        operands_[i] = unknown_operand();
        if (wrong == format::kNone) wrong = i;
      }
    }
    return wrong;
  }
  // Facts set by hand win over those of the device; of two, the later one.
  void set_by_hand(format::Range range) {
    for (uint32_t i = 0; i < range.count; ++i) {
      const format::HandSetFact fact = t_.hand_set_facts[range.first + i];
      operands_[fact.fact()] = value_operand(t_, fact.value());
    }
  }

 private:
  Operand operand_of(const format::Fact& fact, const FactView& found) const {
    const Operand wrong = fault_operand(Op::Fact, 0, 0);
    const auto type = static_cast<FactType>(fact.type());
    const bool is_whole_number = type == FactType::Number && found.type() == FactType::Integer;
    if (found.type() != type && !is_whole_number) return wrong;
    Operand value;
    switch (type) {
      case FactType::Boolean: value = boolean_operand(found.boolean()); break;
      case FactType::Integer: value = integer_operand(found.integer()); break;
      case FactType::Number: value = number_operand(found.number()); break;
      case FactType::Text: value = fact_text_operand(found.text()); break;
      case FactType::TextList:
        if (!is_short(found.list())) return wrong;
        value = list_operand(found.list());
        break;
    }
    return fits_fact(t_, fact, value) ? value : wrong;
  }

  const Tables& t_;
  Operand operands_[format::kMaxFacts];
};

// Stands for the value of a fact that identifies the device.
inline constexpr char kHiddenValue[] = "(set, not shown)";

// Explains the clauses of conditions: which facts each reads, and the values or reasons that they have.
class Explainer {
 public:
  // Values of facts that identify the device are not shown, nor those of `hidden` facts.
  Explainer(const Tables& tables, const Operand* facts, const FactSet* hidden = nullptr)
      : t_(tables), facts_(facts), hidden_(hidden) {}

  // Writes a sentence for each clause that decides about a profile. Returns true if it matches.
  bool explain(const format::Profile& profile, std::string_view separator, TextBuffer* out) {
    if (profile.condition() == format::kNone) {
      *out << "it has no condition, so it can only be extended or named";
      return false;
    }
    const bool is_match = Evaluator(t_, facts_, &arena_).holds(profile.condition());
    explain_clauses(profile.condition(), is_match, separator, out);
    return is_match;
  }
  // Writes a sentence for each clause that holds, or for each that does not.
  void explain_clauses(uint32_t condition, bool are_holding, std::string_view separator, TextBuffer* out) {
    const format::Range clauses = t_.conditions[condition].clauses();
    bool is_first = true;
    for (uint32_t i = 0; i < clauses.count; ++i) {
      arena_.reset();
      const Operand result = Evaluator(t_, facts_, &arena_).evaluate(clauses.first + i, &missing_);
      if ((result.state == State::Known && result.integer != 0) != are_holding) continue;
      if (!is_first) *out << separator;
      is_first = false;
      write(clauses.first + i, result, out);
    }
  }
  // Writes the result of one expression and its reason.
  void explain_expression(uint32_t expression, TextBuffer* out) {
    arena_.reset();
    write(expression, Evaluator(t_, facts_, &arena_).evaluate(expression, &missing_), out);
  }

 private:
  void write(uint32_t index, const Operand& result, TextBuffer* out) {
    const format::Expression expression = t_.expressions[index];
    *out << t_.texts[expression.text()];
    if (result.state == State::Unknown) {
      *out << " is unknown: ";
      write_missing(out);
      return;
    }
    if (result.state == State::Fault) {
      *out << " has no value: ";
      write_fault(result, out);
      return;
    }
    if (result.kind == ValueKind::Boolean) {
      *out << (result.integer != 0 ? " holds" : " does not hold");
    } else {
      *out << " is ";
      write_value(t_, result, out);
    }
    write_facts(expression.instructions(), out);
  }
  void write_missing(TextBuffer* out) {
    uint32_t written = 0;
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      if (missing_.sets[0].has(i)) *out << (written++ == 0 ? "" : " and ") << t_.texts[t_.facts[i].name()];
    }
    *out << (written == 1 ? " is" : " are") << " not known on this device";
  }
  void write_facts(format::Range instructions, TextBuffer* out) {
    FactSet seen;
    bool is_first = true;
    for (uint32_t i = 0; i < instructions.count; ++i) {
      const format::Instruction instruction = t_.instructions[instructions.first + i];
      if (instruction.op() != Op::Fact && instruction.op() != Op::HasFact) continue;
      const uint32_t fact = instruction.operand();
      if (seen.has(fact)) continue;
      seen.add(fact);
      *out << (is_first ? ": " : " and ") << t_.texts[t_.facts[fact].name()] << " is ";
      is_first = false;
      const bool is_hidden = t_.facts[fact].is_identifying() || (hidden_ != nullptr && hidden_->has(fact));
      if (facts_[fact].state == State::Known && is_hidden) {
        *out << kHiddenValue;
      } else if (facts_[fact].state == State::Known) {
        write_value(t_, facts_[fact], out);
      } else {
        *out << "unknown";
      }
    }
  }

  const Tables& t_;
  const Operand* facts_;
  const FactSet* hidden_;
  MissingFacts missing_;
  Scratch arena_;
};

// Selects the most derived of the profiles that match; among unrelated ones, the highest provider wins.
class Selector {
 public:
  Selector(const Tables& tables, const Operand* facts) : t_(tables), facts_(facts) {}

  Selection select() {
    Selection selection;
    match();
    hide_bases();
    for (uint32_t i = 0; i < t_.profiles.size(); ++i) {
      if (!has(candidates_, i)) continue;
      const format::Provider provider = t_.profiles[i].provider();
      if (selection.profile != format::kNone && provider < t_.profiles[selection.profile].provider()) {
        continue;
      }
      const bool is_tie =
          selection.profile != format::kNone && provider == t_.profiles[selection.profile].provider();
      if (!is_tie) {
        selection.profile = i;
        selection.other = format::kNone;
      } else if (selection.other == format::kNone) {
        selection.other = i;
      }
    }
    if (selection.profile == format::kNone) return selection;
    if (selection.other != format::kNone) {
      selection.status = Status::Ambiguous;
      return selection;
    }
    selection.is_fallback = t_.profiles[selection.profile].is_fallback();
    selection.status = selection.is_fallback && t_.require_match ? Status::FallbackRefused : Status::Ok;
    return selection;
  }

 private:
  static constexpr uint32_t kWords = format::kMaxProfiles / 64;

  static bool has(const uint64_t* bits, uint32_t index) {
    return (bits[index / 64] >> (index % 64) & 1) != 0;
  }

  void match() {
    Scratch arena;
    Evaluator evaluator(t_, facts_, &arena);
    for (uint32_t i = 0; i < t_.profiles.size(); ++i) {
      const uint32_t condition = t_.profiles[i].condition();
      if (condition != format::kNone && evaluator.holds(condition)) {
        matches_[i / 64] |= uint64_t{1} << (i % 64);
      }
    }
  }
  void hide_bases() {
    std::memcpy(candidates_, matches_, sizeof candidates_);
    for (uint32_t i = 0; i < t_.profiles.size(); ++i) {
      if (!has(matches_, i)) continue;
      const format::Range bases = t_.profiles[i].bases();
      for (uint32_t base = 0; base < bases.count; ++base) {
        const uint32_t index = t_.items[bases.first + base];
        candidates_[index / 64] &= ~(uint64_t{1} << (index % 64));
      }
    }
  }

  const Tables& t_;
  const Operand* facts_;
  uint64_t matches_[kWords] = {};
  uint64_t candidates_[kWords] = {};
};

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
