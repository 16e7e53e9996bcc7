// Resolution of one method instance: of each option, the candidates whose conditions hold are merged.

#pragma once

#include "arguments.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace internal {

// Decides whether an option accepts a computed value or that of a fact: type, bounds, choices and lengths.
class OptionCheck {
 public:
  OptionCheck(const Tables& tables, const format::Option& option) : t_(tables), option_(option) {}

  bool accepts(const Operand& value) const {
    return value.kind == ValueKind::Array ? accepts_array(value) : accepts_scalar(value);
  }

 private:
  bool accepts_scalar(const Operand& value) const {
    switch (option_.kind()) {
      case format::OptionKind::Boolean: return value.kind == ValueKind::Boolean;
      case format::OptionKind::Integer: return value.kind == ValueKind::Integer && is_within_bounds(value);
      case format::OptionKind::Float:
        return value.kind == ValueKind::Number && std::isfinite(value.number) && is_within_bounds(value);
      case format::OptionKind::String:
        return value.kind == ValueKind::Text && is_length(characters(value.as_text()));
      case format::OptionKind::Choice: return is_choice(value);
      default: return false;
    }
  }
  bool accepts_array(const Operand& value) const {
    if (option_.kind() != format::OptionKind::Array) return false;
    ItemCursor items(t_, value);
    Operand item;
    while (items.next(&item)) {
      if (!accepts_item(item)) return false;
    }
    return is_length(value.count);
  }
  bool accepts_item(const Operand& item) const {
    switch (option_.item_kind()) {
      case format::OptionKind::Boolean: return item.kind == ValueKind::Boolean;
      case format::OptionKind::Integer: return item.kind == ValueKind::Integer && is_within_bounds(item);
      case format::OptionKind::Float:
        return item.kind == ValueKind::Number && std::isfinite(item.number) && is_within_bounds(item);
      case format::OptionKind::String: return item.kind == ValueKind::Text;
      case format::OptionKind::Choice: return is_choice(item);
      default: return false;
    }
  }
  static int compare_with(const Operand& value, double bound) {
    return value.kind == ValueKind::Integer ? compare(value.integer, bound) : compare(value.number, bound);
  }
  bool is_within_bounds(const Operand& value) const {
    const int low = compare_with(value, option_.minimum());
    const int high = compare_with(value, option_.maximum());
    const bool is_above = low == 1 || (low == 0 && !option_.is_minimum_exclusive());
    const bool is_below = high == -1 || (high == 0 && !option_.is_maximum_exclusive());
    return is_above && is_below && is_multiple(value);
  }
  // Multiples are declared for integers; the packer refuses others.
  bool is_multiple(const Operand& value) const {
    const double step = option_.multiple_of();
    if (step == 0 || value.kind != ValueKind::Integer) return true;
    if (step < 1 || step >= 9223372036854775808.0) return value.integer == 0;
    return value.integer % static_cast<int64_t>(step) == 0;
  }
  bool is_length(uint32_t length) const {
    return length >= option_.min_length() && length <= option_.max_length();
  }
  bool is_choice(const Operand& value) const {
    const format::Range choices = option_.choices();
    for (uint32_t i = 0; i < choices.count; ++i) {
      const Operand choice = value_operand(t_, t_.choices[choices.first + i].value());
      if (choice.kind == value.kind && compare_scalars(choice, value) == 0) return true;
    }
    return false;
  }

  const Tables& t_;
  const format::Option option_;
};

// What decides one option. A value with a status that is not Ok is the problem with it.
struct Decision {
  Status status = Status::MissingOption;
  uint32_t origin = format::kNone;
  uint32_t expression = format::kNone;
  Decider decider = Decider::Default;
  Operand value;
};

// Resolves the options of one slot on one device.
class Resolver {
 public:
  Resolver(const Tables& tables, const Operand* facts, Storage* storage)
      : t_(tables), facts_(facts), storage_(*storage), evaluator_(tables, facts, &storage->arena) {}

  // Resolves all options. Ok, or the problem of the first option that has one.
  Status resolve(const format::Slot& slot) {
    storage_.count = 0;
    storage_.arena.reset();
    Status status = Status::Ok;
    const format::Range backends = slot.settings();
    for (uint32_t i = 0; i < backends.count; ++i) {
      const Status found = resolve(t_.backend_settings[t_.items[backends.first + i]]);
      if (found == Status::TooSmall) return found;
      if (status == Status::Ok) status = found;
    }
    return status;
  }

 private:
  static constexpr uint32_t kRemembered = 1024;  // conditions whose results are remembered

  Status resolve(const format::BackendSettings& settings) {
    Status status = Status::Ok;
    const format::Backend backend = t_.backends[settings.backend()];
    const format::Range set = settings.options();
    uint32_t next = 0;
    for (uint32_t i = 0; i < backend.options().count; ++i) {
      const uint32_t option = backend.options().first + i;
      const bool is_set = next < set.count && t_.option_settings[set.first + next].option() == option;
      const format::OptionSettings found = t_.option_settings[is_set ? set.first + next++ : 0];
      Decision decision = decide(backend, option, is_set ? &found : nullptr);
      if (decision.status == Status::UnknownFact) remember_missing(&decision);
      if (storage_.arena.has_overflowed() || storage_.count == storage_.capacity) return Status::TooSmall;
      if (!keep(&decision.value)) {
        if (decision.status == Status::Ok) return Status::TooSmall;
        decision.value = Operand();  // of a problem: what the option does not accept
      }
      if (status == Status::Ok) status = decision.status;
      Resolved& resolved = storage_.options[storage_.count++];
      resolved.backend = settings.backend();
      resolved.option = option;
      resolved.origin = decision.origin;
      resolved.expression = decision.expression;
      resolved.status = decision.status;
      resolved.decider = decision.decider;
      resolved.is_changed = false;
      resolved.value = decision.value;
    }
    return status;
  }

  bool holds(uint32_t condition) {
    if (condition == format::kNone) return true;
    if (condition >= kRemembered) return evaluator_.holds(condition);
    if (results_[condition] == 0) results_[condition] = evaluator_.holds(condition) ? 2 : 1;
    return results_[condition] == 2;
  }

  // The strongest candidate that holds decides; `unset` forgets what is below it; tables merge key by key,
  // but not those of options of their own, which are replaced as a whole.
  Decision decide(const format::Backend& backend, uint32_t index, const format::OptionSettings* settings) {
    const format::Option option = t_.options[index];
    if (option.kind() == format::OptionKind::Table) return merged(index, settings);
    const format::Range candidates = settings == nullptr ? format::Range() : settings->candidates();
    for (uint32_t i = candidates.count; i-- != 0;) {
      const format::Candidate candidate = t_.candidates[candidates.first + i];
      if (!holds(candidate.condition())) continue;
      if (candidate.source() == format::Source::Unset) break;
      return of_candidate(option, candidate);
    }
    return baseline(backend, index, settings);
  }
  Decision of_candidate(const format::Option& option, const format::Candidate& candidate) {
    Decision decision;
    decision.decider = decider_of(candidate.layer());
    decision.origin = candidate.origin();
    if (candidate.source() == format::Source::Expression) {
      compute(option, candidate.value(), &decision);
    } else {
      decision.status = Status::Ok;
      decision.value = value_operand(t_, candidate.value());
    }
    return decision;
  }
  static Decider decider_of(format::Layer layer) {
    switch (layer) {
      case format::Layer::Default: return Decider::Default;
      case format::Layer::Program: return Decider::Program;
      case format::Layer::Recommendation: return Decider::Recommendation;
      case format::Layer::BundledProfile: return Decider::BundledProfile;
      default: return Decider::Setting;
    }
  }
  void compute(const format::Option& option, uint32_t expression, Decision* decision) {
    decision->value = evaluator_.evaluate(expression);
    decision->status = Status::Ok;
    if (decision->value.state == State::Unknown) decision->status = Status::UnknownFact;
    if (decision->value.state == State::Fault) decision->status = Status::EvaluationFailed;
    if (decision->status == Status::Ok && !OptionCheck(t_, option).accepts(decision->value)) {
      decision->status = Status::InvalidValue;
    }
    if (decision->status != Status::Ok) decision->expression = expression;
  }

  // Puts the facts that an expression lacks into the value that it does not have; none if there is no room.
  void remember_missing(Decision* decision) {
    const uint32_t used = storage_.arena.used();
    MissingFacts missing;
    evaluator_.evaluate(decision->expression, &missing);
    storage_.arena.rewind(used);
    uint32_t count = 0;
    for (uint32_t i = 0; i < t_.facts.size(); ++i) count += missing.sets[0].has(i) ? 1 : 0;
    auto* facts = storage_.arena.take_array<uint16_t>(count);
    if (facts == nullptr) return storage_.arena.undo(used);
    decision->value.list = facts;
    decision->value.count = count;
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      if (missing.sets[0].has(i)) *facts++ = static_cast<uint16_t>(i);
    }
  }

  // The value below all candidates: the recommendation, the program's or the default.
  Decision baseline(const format::Backend& backend, uint32_t index, const format::OptionSettings* settings) {
    Decision recommended;
    Decision fixed;
    const bool is_recommended = advised(backend, index, &recommended);
    const bool is_fixed = of_program(settings, &fixed);
    if (is_fixed && (!is_recommended || backend.program_beats_recommendation())) return fixed;
    if (is_recommended) return recommended;
    return of_default(t_.options[index]);
  }
  // The first entry whose condition holds and whose value is known.
  bool advised(const format::Backend& backend, uint32_t index, Decision* decision) {
    const format::Range advice = backend.advice();
    for (uint32_t i = 0; i < advice.count; ++i) {
      const format::Advice entry = t_.advice[advice.first + i];
      if (entry.option() != index || !holds(entry.condition())) continue;
      *decision = Decision();  // forgets the entry before
      compute(t_.options[index], entry.expression(), decision);
      if (decision->status == Status::UnknownFact) continue;
      decision->origin = entry.origin();
      decision->decider = Decider::Recommendation;
      return true;
    }
    return false;
  }
  bool of_program(const format::OptionSettings* settings, Decision* decision) const {
    if (settings == nullptr || settings->program_value() == format::kNone) return false;
    decision->status = Status::Ok;
    decision->decider = Decider::Program;
    decision->origin = settings->program_origin();
    decision->value = value_operand(t_, settings->program_value());
    return true;
  }
  Decision of_default(const format::Option& option) const {
    Decision decision;
    const uint32_t fact = option.from_fact();
    if (fact != format::kNone && facts_[fact].state == State::Known) {
      decision.origin = option.fact_origin();
      decision.value = facts_[fact];
      decision.status = OptionCheck(t_, option).accepts(decision.value) ? Status::Ok : Status::InvalidValue;
    } else if (option.default_value() != format::kNone) {
      decision.origin = option.default_origin();
      decision.value = value_operand(t_, option.default_value());
      decision.status = Status::Ok;
    }
    return decision;
  }

  // A table that grows layer by layer, the lowest first.
  struct Merge {
    Decision decision;
    Pair* pairs = nullptr;
    uint32_t count = 0;
  };

  static uint64_t pairs_of(const Operand& value) { return value.kind == ValueKind::Table ? value.count : 0; }

  // No expression gives a table, so nothing recommends one.
  Decision merged(uint32_t index, const format::OptionSettings* settings) {
    const format::Option option = t_.options[index];
    const format::Range candidates = settings == nullptr ? format::Range() : settings->candidates();
    uint32_t first = candidates.count;  // the lowest candidate above the last `unset` that holds
    uint64_t most = 0;                  // keys that the table may have
    for (; first != 0; --first) {
      const format::Candidate candidate = t_.candidates[candidates.first + first - 1];
      if (candidate.source() == format::Source::Unset && holds(candidate.condition())) break;
      if (candidate.source() == format::Source::Literal) {
        most += pairs_of(value_operand(t_, candidate.value()));
      }
    }
    Decision fixed;
    const bool is_fixed = of_program(settings, &fixed);
    const Decision below = of_default(option);
    most += pairs_of(below.value) + pairs_of(fixed.value);
    Merge merge;
    merge.pairs = storage_.arena.take_array<Pair>(most);
    if (merge.pairs == nullptr) return below;  // the arena has overflowed
    add(below, &merge);
    if (is_fixed) add(fixed, &merge);
    for (uint32_t i = first; i < candidates.count; ++i) {
      const format::Candidate candidate = t_.candidates[candidates.first + i];
      if (candidate.source() != format::Source::Unset && holds(candidate.condition())) {
        add(of_candidate(option, candidate), &merge);
      }
    }
    return merge.decision;
  }
  void add(const Decision& layer, Merge* merge) const {
    merge->decision = layer;
    if (layer.status != Status::Ok || layer.value.kind != ValueKind::Table) {
      merge->count = 0;
      return;
    }
    for (uint32_t i = 0; i < layer.value.count; ++i) {
      const Pair pair = pair_at(t_, layer.value, i);
      uint32_t at = 0;
      while (at < merge->count && t_.texts[merge->pairs[at].key] != t_.texts[pair.key]) ++at;
      merge->pairs[at] = pair;
      if (at == merge->count) ++merge->count;
    }
    Operand& table = merge->decision.value;
    table.items = Items::Operands;
    table.list = merge->pairs;
    table.count = merge->count;
  }

  // Copies what belongs to the store of facts into the arena: the facts may change. What belongs to the
  // bundle stays where it is. False if there is no room; then the arena is as before.
  bool keep(Operand* value) {
    const uint32_t used = storage_.arena.used();
    copy(value);
    const bool is_kept = !storage_.arena.has_overflowed();
    if (!is_kept) storage_.arena.undo(used);
    return is_kept;
  }
  void copy(Operand* value) {
    if (value->state != State::Known) return;
    if (value->kind == ValueKind::Text) keep_text(value);
    if (value->kind != ValueKind::Array || value->items == Items::Bundle) return;
    const uint32_t count = value->count;
    Operand* kept = storage_.arena.take_array<Operand>(count);
    if (kept == nullptr) return;
    ItemCursor items(t_, *value);
    for (uint32_t i = 0; i < count && items.next(&kept[i]); ++i) {
      if (kept[i].kind == ValueKind::Text) keep_text(&kept[i]);
      // no option accepts a list within a list
      if (kept[i].kind == ValueKind::Array && kept[i].items != Items::Bundle) kept[i] = Operand();
    }
    value->items = Items::Operands;
    value->list = kept;
  }
  void keep_text(Operand* text) {
    if (text->items != Items::Sized) return;
    char* kept = storage_.arena.take(text->count);
    if (kept == nullptr) return;
    if (text->count != 0) std::memcpy(kept, text->text, text->count);
    text->text = kept;
    text->items = Items::Bundle;
  }

  const Tables& t_;
  const Operand* facts_;
  Storage& storage_;
  Evaluator evaluator_;
  uint8_t results_[kRemembered] = {};  // of conditions: 0 not known yet, 1 does not hold, 2 holds
};

// True if two resolved values are equal, whatever their origins.
class Equality {
 public:
  explicit Equality(const Tables& tables) : t_(tables) {}

  bool are_equal(const Operand& left, const Operand& right) { return are_equal(left, right, 0); }

 private:
  // Values nest `kMaxDepth` deep, tables merged on the device one level more.
  bool are_equal(const Operand& left, const Operand& right, uint32_t depth) {
    if (left.kind != right.kind || depth > format::kMaxDepth + 1) return false;
    if (left.kind == ValueKind::None) return true;
    if (left.kind == ValueKind::Number) return left.number == right.number;
    if (left.kind == ValueKind::Table) return are_tables_equal(left, right, depth);
    if (left.kind != ValueKind::Array) return compare_scalars(left, right) == 0;
    if (left.count != right.count) return false;
    ItemCursor lefts(t_, left);
    ItemCursor rights(t_, right);
    Operand one;
    Operand other;
    while (lefts.next(&one) && rights.next(&other)) {
      if (!are_equal(one, other, depth + 1)) return false;
    }
    return true;
  }
  bool are_tables_equal(const Operand& left, const Operand& right, uint32_t depth) {
    if (left.count != right.count) return false;
    for (uint32_t i = 0; i < left.count; ++i) {
      const Pair pair = pair_at(t_, left, i);
      uint32_t at = 0;
      while (at < right.count && t_.texts[pair_at(t_, right, at).key] != t_.texts[pair.key]) ++at;
      if (at == right.count) return false;
      const uint32_t other = pair_at(t_, right, at).value;
      if (other != pair.value &&
          !are_equal(value_operand(t_, pair.value), value_operand(t_, other), depth + 1)) {
        return false;
      }
    }
    return true;
  }

  const Tables& t_;
};

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
