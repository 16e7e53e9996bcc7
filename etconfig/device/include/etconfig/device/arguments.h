// The arguments of one method instance: typed values by backend and option, in storage of a fixed size.

#pragma once

#include <cassert>
#include <optional>

#include "json.h"
#include "select.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

// A typed value; asked for as another kind, it has none. It refers to the bundle and to the arguments.
class Value {
 public:
  Value(const internal::Tables* tables, const internal::Operand& operand)
      : tables_(tables), operand_(operand) {}

  ValueKind kind() const { return operand_.kind; }
  bool is_none() const { return kind() == ValueKind::None; }
  std::optional<bool> boolean() const {
    if (kind() != ValueKind::Boolean) return std::nullopt;
    return operand_.integer != 0;
  }
  std::optional<int64_t> integer() const {
    if (kind() != ValueKind::Integer) return std::nullopt;
    return operand_.integer;
  }
  std::optional<double> number() const {
    if (kind() != ValueKind::Number) return std::nullopt;
    return operand_.number;
  }
  // UTF-8, without a NUL behind it.
  std::optional<std::string_view> text() const {
    if (kind() != ValueKind::Text) return std::nullopt;
    return operand_.as_text();
  }
  // The number of items of an array, or of keys of a table; of other values 0.
  uint32_t size() const {
    return kind() == ValueKind::Array || kind() == ValueKind::Table ? operand_.count : 0;
  }
  // An item of an array, or the value of a table's key; none unless `index` is below `size()`.
  Value operator[](uint32_t index) const {
    if (index >= size()) return Value(tables_, internal::Operand());
    if (kind() == ValueKind::Table) {
      return Value(tables_,
                   internal::value_operand(*tables_, internal::pair_at(*tables_, operand_, index).value));
    }
    if (operand_.items == internal::Items::Operands) {
      return Value(tables_, static_cast<const internal::Operand*>(operand_.list)[index]);
    }
    // nothing that was resolved has its items in a store of facts: see `Resolver::keep`
    if (operand_.items != internal::Items::Bundle) return Value(tables_, internal::Operand());
    const uint32_t item = tables_->items[static_cast<uint32_t>(operand_.right) + index];
    return Value(tables_, internal::value_operand(*tables_, item));
  }
  // A key of a table; `index` must be below `size()`.
  std::string_view key(uint32_t index) const {
    if (kind() != ValueKind::Table) return {};
    assert(index < size());
    return tables_->texts[internal::pair_at(*tables_, operand_, index).key];
  }
  std::optional<Value> find(std::string_view wanted) const {
    for (uint32_t i = 0; kind() == ValueKind::Table && i < size(); ++i) {
      if (key(i) == wanted) return (*this)[i];
    }
    return std::nullopt;
  }
  void write(TextBuffer* out) const { internal::write_value(*tables_, operand_, out); }
  // As JSON, with every item of an array or table.
  void write_json(TextBuffer* out) const { internal::write_json(*tables_, operand_, ", ", ": ", out); }

 private:
  const internal::Tables* tables_;
  internal::Operand operand_;
};

// The kind of source that decided an option, weakest first as far as a backend does not say otherwise.
enum class Decider : uint8_t { Default, Program, Recommendation, BundledProfile, Setting };

namespace internal {

// One option of one backend, as it was resolved.
struct Resolved {
  uint32_t backend = 0;    // in `backends`
  uint32_t option = 0;     // in `options`
  uint32_t origin = format::kNone;      // in `texts`
  uint32_t expression = format::kNone;  // the one that was to give the value, if it failed
  Status status = Status::Ok;
  Decider decider = Decider::Default;
  bool is_changed = false;  // by the last update
  Operand value;
};

// The storage of one resolve.
struct Storage {
  Storage(Resolved* options_memory, uint32_t max_options, char* memory, uint32_t bytes)
      : options(options_memory), capacity(max_options), arena(memory, bytes) {}

  Resolved* options;
  uint32_t capacity;
  uint32_t count = 0;
  Arena arena;
};

}  // namespace internal

// One option with its value and origin.
class OptionArgument {
 public:
  OptionArgument(const internal::Tables* tables, const internal::Resolved* resolved)
      : tables_(tables), resolved_(resolved) {}

  std::string_view backend() const { return tables_->texts[tables_->backends[resolved_->backend].id()]; }
  std::string_view name() const { return tables_->texts[option().name()]; }
  Value value() const { return Value(tables_, resolved_->value); }
  // Where the value comes from, such as "profile phone:12:1 (when power.source == "battery")".
  std::string_view origin() const {
    return resolved_->origin == format::kNone ? std::string_view() : tables_->texts[resolved_->origin];
  }
  Scope scope() const { return option().scope(); }
  Applies applies() const { return option().applies(); }
  // Ok, or why there is no value.
  Status status() const { return resolved_->status; }
  Decider decider() const { return resolved_->decider; }
  // True if somebody set it: it is neither a default, nor recommended, which profiles that come with etconfig
  // do, too, nor fixed by the program.
  bool is_set() const { return decider() == Decider::Setting; }
  bool is_changed() const { return resolved_->is_changed; }
  // Its key in ExecuTorch's option map, if that has one for it.
  std::optional<std::string_view> key() const {
    if (option().key() == format::kNone) return std::nullopt;
    return tables_->texts[option().key()];
  }
  // The value as it is sent under the key: a choice may be sent as something else.
  Value sent() const {
    const format::Range choices = option().choices();
    for (uint32_t i = 0; i < choices.count; ++i) {
      const format::Choice choice = tables_->choices[choices.first + i];
      if (internal::compare_scalars(internal::value_operand(*tables_, choice.value()), resolved_->value) ==
          0) {
        return Value(tables_, internal::value_operand(*tables_, choice.sent()));
      }
    }
    return value();
  }
  // The text between the items of an array that is sent as one text.
  std::optional<std::string_view> separator() const {
    if (option().separator() == format::kNone) return std::nullopt;
    return tables_->texts[option().separator()];
  }
  // The expression that failed to give a value.
  std::string_view expression() const {
    if (resolved_->expression == format::kNone) return {};
    return tables_->texts[tables_->expressions[resolved_->expression].text()];
  }

 private:
  format::Option option() const { return tables_->options[resolved_->option]; }

  const internal::Tables* tables_;
  const internal::Resolved* resolved_;
};

// The options of one backend.
class BackendArguments {
 public:
  BackendArguments(const internal::Tables* tables, const internal::Resolved* first, uint32_t count)
      : tables_(tables), first_(first), count_(count) {}

  std::string_view id() const { return tables_->texts[tables_->backends[first_->backend].id()]; }
  uint32_t size() const { return count_; }
  // `index` must be below `size()`.
  OptionArgument operator[](uint32_t index) const {
    assert(index < size());
    return OptionArgument(tables_, first_ + index);
  }
  std::optional<OptionArgument> option(std::string_view name) const {
    for (uint32_t i = 0; i < count_; ++i) {
      if ((*this)[i].name() == name) return (*this)[i];
    }
    return std::nullopt;
  }

  // The value of an option; nothing if there is no such option, or if its value has another kind.
  std::optional<bool> boolean(std::string_view name) const {
    const auto found = option(name);
    return found ? found->value().boolean() : std::nullopt;
  }
  std::optional<int64_t> integer(std::string_view name) const {
    const auto found = option(name);
    return found ? found->value().integer() : std::nullopt;
  }
  std::optional<double> number(std::string_view name) const {
    const auto found = option(name);
    return found ? found->value().number() : std::nullopt;
  }
  std::optional<std::string_view> text(std::string_view name) const {
    const auto found = option(name);
    return found ? found->value().text() : std::nullopt;
  }

 private:
  const internal::Tables* tables_;
  const internal::Resolved* first_;
  uint32_t count_;
};

// What an update changed.
struct [[nodiscard]] Changes {
  Status status = Status::Ok;  // unless it is Ok, nothing changed
  uint32_t count = 0;          // options that changed
  uint32_t at_execute = 0;     // those of them that apply at the next execute; others need a new load
};

// What functions take, whatever the size of the storage. Views of it
// are valid until the next resolve or update.
class AnyArguments {
 public:
  // Stale: the bundle was opened again since. Then nothing is left of them.
  Status status() const { return is_stale() ? Status::Stale : status_; }
  explicit operator bool() const { return status() == Status::Ok; }

  std::string_view method() const { return is_stale() ? std::string_view() : method_; }
  std::string_view instance() const { return is_stale() ? std::string_view() : instance_; }
  uint32_t profile() const { return profile_; }

  // All options, those of one backend together, in the order of its schema. None unless the status is Ok.
  uint32_t size() const { return status() == Status::Ok ? current().count : 0; }
  OptionArgument operator[](uint32_t index) const {
    assert(index < size());
    return OptionArgument(tables_, current().options + index);
  }

  uint32_t backend_count() const {
    uint32_t found = 0;
    for (uint32_t i = 0; i < size(); i = end_of(i)) ++found;
    return found;
  }
  // `index` must be below `backend_count()`.
  BackendArguments backend(uint32_t index) const {
    assert(index < backend_count());
    uint32_t first = 0;
    for (; index != 0; --index) first = end_of(first);
    return BackendArguments(tables_, current().options + first, end_of(first) - first);
  }
  // A backend; nothing if it has no options here, or if there are no arguments.
  std::optional<BackendArguments> find(std::string_view id) const {
    for (uint32_t i = 0; i < size(); i = end_of(i)) {
      const BackendArguments found(tables_, current().options + i, end_of(i) - i);
      if (found.id() == id) return found;
    }
    return std::nullopt;
  }
  // The options that have no value, after a resolve or an update that failed.
  uint32_t problem_count() const {
    uint32_t count = 0;
    for (uint32_t i = 0; !is_stale() && i < attempt().count; ++i) {
      count += attempt().options[i].status != Status::Ok ? 1 : 0;
    }
    return count;
  }
  // `index` must be below `problem_count()`.
  OptionArgument problem(uint32_t index) const {
    assert(index < problem_count());
    uint32_t at = 0;
    while (attempt().options[at].status == Status::Ok || index-- != 0) ++at;
    return OptionArgument(tables_, attempt().options + at);
  }

 protected:
  AnyArguments(internal::Storage* one, internal::Storage* other) : storage_{one, other} {}
  AnyArguments(const AnyArguments&) = delete;
  AnyArguments& operator=(const AnyArguments&) = delete;
  ~AnyArguments() = default;

 private:
  friend class Bundle;
  friend class UsageRecord;

  bool is_stale() const { return tables_ != nullptr && tables_->opening != opening_; }
  const internal::Storage& current() const { return *storage_[used_]; }
  const internal::Storage& attempt() const { return *storage_[last_]; }
  uint32_t end_of(uint32_t index) const {
    const internal::Resolved* const options = current().options;
    uint32_t end = index + 1;
    while (end < size() && options[end].backend == options[index].backend) ++end;
    return end;
  }
  // Keeps a method that the bundle has no slot for; false if it is too long.
  bool keep_method(std::string_view method) {
    if (method.size() > format::kMaxNameBytes) return false;
    if (!method.empty()) std::memcpy(kept_method_, method.data(), method.size());
    method_ = {kept_method_, method.size()};
    return true;
  }

  const internal::Tables* tables_ = nullptr;
  internal::Storage* storage_[2];  // an update resolves into the one that is not used
  uint32_t used_ = 0;
  uint32_t last_ = 0;  // the one of the last attempt
  Status status_ = Status::NoMatch;
  uint32_t profile_ = format::kNone;
  uint32_t slot_ = format::kNone;
  uint32_t opening_ = 0;
  std::string_view method_;  // in the bundle or `kept_method_`
  std::string_view instance_;
  char kept_method_[format::kMaxNameBytes];
};

// Room for `kOptions` options, whose computed texts and lists, texts of facts and merged tables have `kBytes`
// bytes in total; twice, for updates. The literal values of the bundle take none.
template <uint32_t kOptions, uint32_t kBytes = 16 * kOptions + 2048>
class Arguments : public AnyArguments {
 public:
  Arguments()
      : AnyArguments(&one_, &other_),
        one_(options_[0], kOptions, memory_[0], kBytes),
        other_(options_[1], kOptions, memory_[1], kBytes) {}

 private:
  static_assert(kBytes % alignof(internal::Operand) == 0, "the second half would not be aligned");

  internal::Resolved options_[2][kOptions];
  alignas(internal::Operand) char memory_[2][kBytes];
  internal::Storage one_;
  internal::Storage other_;
};

}  // inline namespace
}  // namespace etconfig::device
