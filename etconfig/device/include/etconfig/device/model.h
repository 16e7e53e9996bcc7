// The variant of a model for a device: the first one whose condition holds and whose backends are there.

#pragma once

#include "select.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

// The variant that was chosen, and those that may follow if its load fails.
class ModelChoice {
 public:
  static constexpr uint32_t kNone = format::kNone;

  // Ok, NoSuchModel, NoVariant (none suits the device) or WrongFact.
  // Stale: the bundle was opened again since. Then there is no file, and nothing follows.
  Status status() const { return is_stale() ? Status::Stale : status_; }
  explicit operator bool() const { return status() == Status::Ok; }
  uint32_t model() const { return model_; }
  // The place of the variant in the list of the model, from 0.
  uint32_t variant() const { return variant_; }
  std::string_view file() const {
    return variant_ == kNone || is_stale() ? std::string_view() : tables_->texts[of_variant(variant_).file()];
  }
  // The id of the backend whose engine runs the file; empty for a program, which an executor runs.
  std::string_view backend() const {
    if (variant_ == kNone || is_stale()) return std::string_view();
    const uint32_t text = of_variant(variant_).backend();
    return text == kNone ? std::string_view() : tables_->texts[text];
  }
  // True if the model says that a later variant takes over should one fail to load.
  bool has_fallback() const {
    return tables_ != nullptr && !is_stale() && tables_->models[model_].fallback();
  }

  // Goes on to the next variant that suits the device, after the load of this one has failed. False if there
  // is none, or if the model has no fallback; then the choice stays as it is. The
  // reason is kept as a view, for `explain_variant`.
  bool next(std::string_view reason) {
    if (status() != Status::Ok || !has_fallback()) return false;
    for (uint32_t i = variant_ + 1; i < count(); ++i) {
      if (!suits(i)) continue;
      if (failure_count_ < kMaxFailures) failures_[failure_count_++] = {variant_, reason};
      variant_ = i;
      return true;
    }
    return false;
  }

 private:
  friend class Bundle;
  friend class UsageRecord;

  static constexpr uint32_t kMaxVariants = 256;  // further ones never take over from a failed one
  static constexpr uint32_t kMaxFailures = 8;    // whose reasons are kept

  struct Failure {
    uint32_t variant = kNone;
    std::string_view reason;
  };

  bool is_stale() const { return tables_ != nullptr && tables_->opening != opening_; }
  uint32_t count() const { return tables_->models[model_].variants().count; }
  format::Variant of_variant(uint32_t index) const {
    return tables_->variants[tables_->models[model_].variants().first + index];
  }
  bool suits(uint32_t index) const {
    return index < kMaxVariants && (suits_[index / 64] >> (index % 64) & 1) != 0;
  }

  const internal::Tables* tables_ = nullptr;
  uint32_t opening_ = 0;
  Status status_ = Status::NoSuchModel;
  uint32_t model_ = kNone;
  uint32_t variant_ = kNone;
  uint32_t failure_count_ = 0;
  Failure failures_[kMaxFailures];
  uint64_t suits_[kMaxVariants / 64] = {};
};

namespace internal {

// Judges the variants of models on one device: a variant suits if the runtime has the backends that it needs,
// and its condition holds.
class VariantJudge {
 public:
  static constexpr std::string_view kBackends = "runtime.backends";

  VariantJudge(const Tables& tables, const Operand* facts, const FactSet* hidden = nullptr)
      : t_(tables), facts_(facts), hidden_(hidden) {
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      if (t_.texts[t_.facts[i].name()] == kBackends) backends_ = facts_[i];
    }
    if (backends_.kind != ValueKind::Array) backends_ = unknown_operand();
  }

  bool suits(const format::Variant& variant) const { return holds(variant) && lacking(variant) == 0; }

  // Writes why a variant suits the device or does not.
  void explain(const format::Variant& variant, std::string_view separator, TextBuffer* out) const {
    const bool is_held = holds(variant);
    if (is_held && lacking(variant) != 0) {
      *out << "it needs ";
      write_needs(variant, true, out);
      *out << ", and " << kBackends << " is ";
      write_backends(out);
      return;
    }
    if (variant.condition() != format::kNone) {
      Explainer(t_, facts_, hidden_).explain_clauses(variant.condition(), is_held, separator, out);
    }
    if (!is_held) return;
    if (variant.condition() != format::kNone) *out << separator;
    const uint32_t count = variant.needs().count;
    if (count == 0) {
      *out << "it delegates to no backend";
    } else {
      write_needs(variant, false, out);
      *out << (count == 1 ? " is in " : " are in ") << kBackends;
    }
  }

 private:
  bool holds(const format::Variant& variant) const {
    if (variant.condition() == format::kNone) return true;
    Scratch arena;
    return Evaluator(t_, facts_, &arena).holds(variant.condition());
  }
  bool has(std::string_view backend) const {
    return backends_.state == State::Known && contains_item(t_, backends_, text_operand(backend));
  }
  std::string_view need(const format::Variant& variant, uint32_t index) const {
    return t_.texts[t_.items[variant.needs().first + index]];
  }
  uint32_t lacking(const format::Variant& variant) const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < variant.needs().count; ++i) count += has(need(variant, i)) ? 0 : 1;
    return count;
  }
  void write_needs(const format::Variant& variant, bool is_lacking_only, TextBuffer* out) const {
    bool is_first = true;
    for (uint32_t i = 0; i < variant.needs().count; ++i) {
      if (is_lacking_only && has(need(variant, i))) continue;
      *out << (is_first ? "" : " and ") << need(variant, i);
      is_first = false;
    }
  }
  void write_backends(TextBuffer* out) const {
    if (backends_.state != State::Known) {
      *out << "not known on this device";
      return;
    }
    if (backends_.count == 0) *out << "empty";
    ItemCursor items(t_, backends_);
    Operand item;
    for (uint32_t i = 0; items.next(&item); ++i) *out << (i == 0 ? "" : ", ") << item.as_text();
  }

  const Tables& t_;
  const Operand* facts_;
  const FactSet* hidden_;
  Operand backends_ = unknown_operand();
};

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
