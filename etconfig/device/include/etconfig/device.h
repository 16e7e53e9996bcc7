// Chooses a profile, and the options of every backend, on the device:
// from a bundle that `etconfig pack` wrote.
//
// C++17; needs nothing but the standard library, allocates nothing, throws nothing. The answers are those of
// the Python resolver. `Bundle::open` verifies the whole file once; afterwards no read leaves it. The bytes
// stay the caller's, and must stay as they are while anything of the bundle is used.
//
// Threads: after `open`, any number of them may call the const functions of one bundle at the same time.
// Facts, arguments and choices are for one thread at a time, and so is `open` itself. Indexes that are out of
// range are a mistake of the caller, which an `assert` reports unless NDEBUG is defined.
//
//   using namespace etconfig::device;
//   Bundle bundle;
//   if (bundle.open(data, size) != Status::Ok) ...
//   FactStore<128> facts;
//   if (bundle.set(&facts, "power.source", "battery") != Status::Ok) ...  // facts.h detects the others
//   const Selection selection = bundle.select(facts);
//   Arguments<256> arguments;
//   if (bundle.resolve(selection, facts, "forward", "camera0", &arguments) != Status::Ok) ...
//   auto threads = arguments.find("XnnpackBackend")->integer("num_threads");
//   if (bundle.set(&facts, "power.source", "mains") != Status::Ok) ...
//   const Changes changes = bundle.update(facts, &arguments);

#pragma once

#include <atomic>
#include <cassert>

#include "device/model.h"
#include "device/resolve.h"
#include "device/signature.h"
#include "device/verify.h"
#include "version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

namespace internal {

inline std::atomic<uint32_t> openings{0};

}  // namespace internal

// The declaration of a fact that a bundle reads.
struct FactInfo {
  std::string_view name;
  std::string_view unit;  // empty if it has none
  FactType type = FactType::Boolean;
  bool is_live = false;         // it may change at any time
  bool is_identifying =
      false;  // a value identifies the device or its user: do not write it to logs and reports
};

// A verified bundle: a view of bytes that belong to the caller. Arguments and choices of models refer to it,
// so it must stay where it is for as long as they are used.
class Bundle {
 public:
  // It stays where it is: selections and arguments refer to it.
  Bundle() = default;
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // Verifies the bytes. Unless the result is Ok, the bundle stays as it
  // was: at first without facts and profiles.
  //
  // If it is Ok, the selections, arguments and choices of before are stale, which is their status from now
  // on: select and resolve again. Views of them are no longer valid.
  Status open(const void* data, size_t size) { return open(data, size, Demands()); }

  // The same for a bundle that the application does not trust yet: nothing is read before its signature is
  // verified.
  Status open(const void* data, size_t size, const Demands& demands) {
    const auto* const bytes = static_cast<const uint8_t*>(data);
    if (!format::is_bundle(bytes, size)) return Status::NotABundle;
    if (size > format::kMaxBytes) return Status::Damaged;
    const Status status = internal::check_signature(bytes, size, demands);
    if (status != Status::Ok) return status;
    format::Tables tables;
    const size_t content = internal::is_signed(bytes, size) ? size - internal::kTrailerBytes : size;
    switch (format::open_bundle(bytes, content, &tables)) {
      case format::Verdict::Sound: break;
      case format::Verdict::OtherFormat: return Status::NotABundle;
      case format::Verdict::OtherVersion: return Status::OtherVersion;
      case format::Verdict::Damaged: return Status::Damaged;
    }
    if (tables.revision < demands.least_revision) return Status::OldRevision;
    const bool can_expire = demands.now != 0 && tables.not_after != 0;
    if (can_expire && demands.now > tables.not_after) return Status::Expired;
    tables_ = tables;
    tables_.opening = ++internal::openings;
    return Status::Ok;
  }

  // Such as "etconfig 0.1.0".
  std::string_view producer() const { return tables_.producer; }
  // The SHA-256 of everything that decides: equal for bundles that decide alike.
  std::string_view fingerprint() const { return tables_.fingerprint; }
  // The first 16 digits of the fingerprint, for reports. Empty before `open`.
  std::string_view id() const { return tables_.fingerprint.substr(0, 16); }
  // The SHA-256 of the files that it was packed from; empty if they are unknown.
  std::string_view sources() const { return tables_.sources; }
  // The number of this release, which grows; 0 if it has none.
  uint64_t revision() const { return tables_.revision; }
  // The last second in which it is valid, since 1970 in UTC; 0 if it does not expire.
  uint64_t not_after() const { return tables_.not_after; }

  // --- facts ---

  uint32_t fact_count() const { return tables_.facts.size(); }
  // Facts are sorted by name; `index` must be below `fact_count()`.
  FactInfo fact(uint32_t index) const {
    assert(index < fact_count());
    const format::Fact fact = tables_.facts[index];
    FactInfo info;
    info.name = tables_.texts[fact.name()];
    if (fact.unit() != format::kNone) info.unit = tables_.texts[fact.unit()];
    info.type = static_cast<FactType>(fact.type());
    info.is_live = fact.volatility() == 2;
    info.is_identifying = fact.is_identifying();
    return info;
  }
  // Selection::kNone if the bundle does not read the fact.
  uint32_t find_fact(std::string_view name) const {
    for (uint32_t i = 0; i < fact_count(); ++i) {
      if (tables_.texts[tables_.facts[i].name()] == name) return i;
    }
    return Selection::kNone;
  }
  // True if the value of a fact identifies the device or its user, as
  // the fact's declaration said when packing.
  bool is_identifying(std::string_view name) const {
    const uint32_t index = find_fact(name);
    return index == Selection::kNone ? name == "device.id" : tables_.facts[index].is_identifying();
  }
  // Sets a fact after a check of its name, type, bounds and choices. A store accepts any fact by itself.
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Status set(Facts* facts, std::string_view name, T value) const {
    return set_checked(facts, name, operand_of(value), value);
  }
  Status set(Facts* facts, std::string_view name, std::string_view value) const {
    return set_checked(facts, name, internal::text_operand(value), value);
  }
  Status set(Facts* facts, std::string_view name, const char* value) const {
    return set(facts, name, std::string_view(value));
  }
  Status set_list(Facts* facts, std::string_view name, const std::string_view* values, uint32_t count) const {
    const uint32_t index = find_fact(name);
    if (index == Selection::kNone) return Status::NoSuchFact;
    if (fact(index).type != FactType::TextList) return Status::WrongFact;
    size_t bytes = 0;
    for (uint32_t i = 0; i < count && i < format::kMaxFactItems; ++i) bytes += values[i].size();
    if (count > format::kMaxFactItems || bytes > format::kMaxFactListBytes) return Status::WrongFact;
    return status_of(facts->set_list(name, values, count));
  }
  // The first fact whose value has another type than the bundle expects, or is out of its bounds;
  // Selection::kNone if all are right. Selecting and resolving refuse them with Status::WrongFact.
  uint32_t wrong_fact(const Facts& facts) const { return internal::BoundFacts(tables_).bind(facts); }
  Status set_list(Facts* facts, std::string_view name, std::initializer_list<std::string_view> values) const {
    return set_list(facts, name, values.begin(), static_cast<uint32_t>(values.size()));
  }

  // --- profiles ---

  uint32_t profile_count() const { return tables_.profiles.size(); }
  // `index` must be below `profile_count()`.
  std::string_view profile_name(uint32_t index) const {
    assert(index < profile_count());
    return tables_.texts[tables_.profiles[index].name()];
  }

  // Of a configuration that was resolved when packing, the fingerprint of its values, as `etconfig resolve
  // --json` prints it: its options need no facts. Empty if conditions travel.
  std::string_view profile_fingerprint(uint32_t index) const {
    assert(index < profile_count());
    const uint32_t text = tables_.profiles[index].fingerprint();
    return text == format::kNone ? std::string_view() : tables_.texts[text];
  }

  // Selects the profile that fits the facts, or that the bundle was packed for.
  Selection select(const Facts& facts) const {
    if (tables_.named_profile != format::kNone) return named(tables_.named_profile);
    internal::BoundFacts bound(tables_);
    const uint32_t wrong = bound.bind(facts);
    if (wrong != format::kNone) return wrong_fact(wrong);
    bound.set_by_hand({0, tables_.project_fact_count});
    Selection selection = internal::Selector(tables_, bound.operands()).select();
    selection.opening = tables_.opening;
    return selection;
  }
  // Names the profile instead.
  Selection select(std::string_view name) const {
    for (uint32_t i = 0; i < profile_count(); ++i) {
      if (profile_name(i) == name) return named(i);
    }
    Selection selection;
    selection.status = Status::NoSuchProfile;
    return selection;
  }
  // Writes why a profile matches or does not: a sentence for each clause that decides. Returns true if it
  // matches. Nothing is written about a profile that does not exist.
  bool explain_match(uint32_t profile, const Facts& facts, TextBuffer* out,
                     std::string_view separator = "\n") const {
    if (profile >= profile_count()) return false;
    internal::BoundFacts bound(tables_);
    bound.bind(facts);
    bound.set_by_hand({0, tables_.project_fact_count});
    return internal::Explainer(tables_, bound.operands()).explain(tables_.profiles[profile], separator, out);
  }

  // --- arguments ---

  // Resolves the arguments of a method instance; an empty instance is the default one.
  //
  // Unless the result is Ok, there are no arguments, and `problem` of them says which options have no value.
  // The result is Stale if the selection is of another bundle, or of the one that was opened before.
  // TooSmall: there is no room in the arguments, or the bundle does not name the method, and its name has
  // more than 256 bytes.
  Status resolve(const Selection& selection, const Facts& facts, std::string_view method,
                 std::string_view instance, AnyArguments* arguments) const {
    arguments->tables_ = &tables_;
    arguments->opening_ = tables_.opening;
    arguments->used_ = arguments->last_ = 0;
    arguments->method_ = arguments->instance_ = {};
    arguments->storage_[0]->count = 0;
    arguments->profile_ = selection.profile;
    arguments->status_ = selection.status;
    if (selection && selection.opening != tables_.opening) arguments->status_ = Status::Stale;
    if (selection && selection.profile >= profile_count()) arguments->status_ = Status::NoSuchProfile;
    if (arguments->status_ != Status::Ok) return arguments->status_;
    arguments->status_ = find_slot(selection.profile, method, instance, &arguments->slot_);
    if (arguments->status_ == Status::Ok && !set_names(method, arguments)) {
      arguments->status_ = Status::TooSmall;
    }
    if (arguments->status_ == Status::Ok) {
      arguments->status_ = resolve_slot(facts, *arguments, arguments->storage_[0]);
    }
    return arguments->status_;
  }

  // The same without facts, for a configuration that was resolved when packing.
  Status resolve(const Selection& selection, std::string_view method, std::string_view instance,
                 AnyArguments* arguments) const {
    FactStore<1, 1> none;
    return resolve(selection, none, method, instance, arguments);
  }

  // Resolves the same method instance with the same profile again. If that fails, the arguments stay as they
  // were. The status is NoMatch for arguments of another bundle.
  Changes update(const Facts& facts, AnyArguments* arguments) const {
    Changes changes;
    changes.status = arguments->status();
    if (changes.status == Status::Ok && arguments->tables_ != &tables_) changes.status = Status::NoMatch;
    if (changes.status != Status::Ok) return changes;
    const uint32_t next = 1 - arguments->used_;
    internal::Storage* const storage = arguments->storage_[next];
    arguments->last_ = next;
    changes.status = resolve_slot(facts, *arguments, storage);
    if (changes.status != Status::Ok) return changes;
    internal::Equality equality(tables_);
    for (uint32_t i = 0; i < storage->count; ++i) {
      internal::Resolved& option = storage->options[i];
      option.is_changed = !equality.are_equal(arguments->current().options[i].value, option.value);
      if (!option.is_changed) continue;
      ++changes.count;
      changes.at_execute += tables_.options[option.option].applies() == Applies::Execute ? 1 : 0;
    }
    arguments->used_ = next;
    return changes;
  }

  // Writes one line with the value of an option and its origin, or why it has none.
  //
  // The path is [METHOD[@INSTANCE]:]BACKEND.OPTION, as in `etconfig explain`; the arguments decide the method
  // instance. NoMatch: they are of another bundle.
  Status explain(const AnyArguments& arguments, std::string_view path, TextBuffer* out) const {
    if (arguments.tables_ != &tables_) return Status::NoMatch;
    if (arguments.is_stale()) return Status::Stale;
    const size_t colon = path.find(':');
    if (colon != std::string_view::npos) {
      const std::string_view label = path.substr(0, colon);
      const size_t at = label.find('@');
      const std::string_view instance =
          at == std::string_view::npos ? std::string_view() : label.substr(at + 1);
      if (label.substr(0, at) != arguments.method()) return Status::NoSuchMethod;
      if (instance != arguments.instance()) return Status::NoSuchInstance;
      path.remove_prefix(colon + 1);
    }
    const internal::Storage& storage =
        arguments.status() == Status::Ok ? arguments.current() : arguments.attempt();
    for (uint32_t i = 0; i < storage.count; ++i) {
      const OptionArgument option(&tables_, storage.options + i);
      const std::string_view backend = option.backend();
      const bool is_found = path.size() == backend.size() + 1 + option.name().size() &&
          path.substr(0, backend.size()) == backend && path[backend.size()] == '.' &&
          path.substr(backend.size() + 1) == option.name();
      if (!is_found) continue;
      write(arguments, option, storage.options[i], out);
      return Status::Ok;
    }
    return Status::NoSuchOption;
  }
  // The same for an option at its place in the arguments, which must be below `size()`.
  Status explain(const AnyArguments& arguments, uint32_t index, TextBuffer* out) const {
    if (arguments.tables_ != &tables_) return Status::NoMatch;
    if (arguments.is_stale()) return Status::Stale;
    assert(index < arguments.size());
    write(arguments, arguments[index], arguments.current().options[index], out);
    return Status::Ok;
  }

  // Writes why an option has no valid value, after a resolve or an update that failed. Nothing is written
  // unless `index` is below `problem_count()`, and about arguments of another bundle.
  void explain_problem(const AnyArguments& arguments, uint32_t index, TextBuffer* out) const {
    if (arguments.tables_ != &tables_ || index >= arguments.problem_count()) return;
    const internal::Storage& storage = arguments.attempt();
    uint32_t at = 0;
    while (storage.options[at].status == Status::Ok || index-- != 0) ++at;
    write(arguments, OptionArgument(&tables_, storage.options + at), storage.options[at], out);
  }

  // --- models ---

  uint32_t model_count() const { return tables_.models.size(); }
  // `index` and `model` must be below `model_count()`.
  std::string_view model_name(uint32_t index) const {
    assert(index < model_count());
    return tables_.texts[tables_.models[index].name()];
  }
  uint32_t variant_count(uint32_t model) const {
    assert(model < model_count());
    return tables_.models[model].variants().count;
  }
  // `index` must be below `variant_count(model)`.
  std::string_view variant_file(uint32_t model, uint32_t index) const {
    assert(index < variant_count(model));
    return tables_.texts[variant(model, index).file()];
  }
  // The id of the backend whose engine runs the file; empty for a program, which an executor runs.
  std::string_view variant_backend(uint32_t model, uint32_t index) const {
    assert(index < variant_count(model));
    const uint32_t text = variant(model, index).backend();
    return text == format::kNone ? std::string_view() : tables_.texts[text];
  }
  // Chooses the first variant of a model whose condition holds and whose backends are in `runtime.backends`.
  ModelChoice select_model(std::string_view name, const Facts& facts) const {
    ModelChoice choice;
    for (uint32_t i = 0; i < model_count() && choice.model_ == format::kNone; ++i) {
      if (model_name(i) == name) choice.model_ = i;
    }
    if (choice.model_ == format::kNone) return choice;
    choice.tables_ = &tables_;
    choice.opening_ = tables_.opening;
    choice.status_ = Status::NoVariant;
    internal::BoundFacts bound(tables_);
    if (bound.bind(facts) != format::kNone) choice.status_ = Status::WrongFact;
    if (choice.status_ == Status::WrongFact) return choice;
    bound.set_by_hand({0, tables_.project_fact_count});
    const internal::VariantJudge judge(tables_, bound.operands());
    for (uint32_t i = 0; i < variant_count(choice.model_); ++i) {
      if (!judge.suits(variant(choice.model_, i))) continue;
      if (i < ModelChoice::kMaxVariants) choice.suits_[i / 64] |= uint64_t{1} << (i % 64);
      if (choice.variant_ == format::kNone) choice.variant_ = i;
    }
    if (choice.variant_ != format::kNone) choice.status_ = Status::Ok;
    return choice;
  }
  // Writes why a variant of the chosen model was chosen, or why not. Nothing is written about a variant that
  // the model does not have, or for a choice without a model or of another bundle.
  void explain_variant(const ModelChoice& choice, uint32_t index, const Facts& facts, TextBuffer* out,
                       std::string_view separator = "\n") const {
    if (choice.tables_ != &tables_ || choice.is_stale() || index >= variant_count(choice.model_)) return;
    internal::BoundFacts bound(tables_);
    bound.bind(facts);
    bound.set_by_hand({0, tables_.project_fact_count});
    write_reason(choice, index, bound.operands(), separator, out);
  }

  // For programs that print everything: the method instances of a profile.
  uint32_t slot_count(uint32_t profile) const { return tables_.profiles[profile].slots().count; }
  std::string_view slot_method(uint32_t profile, uint32_t index) const {
    return tables_.texts[slot(profile, index).method()];
  }
  // Empty for the default instance.
  std::string_view slot_instance(uint32_t profile, uint32_t index) const {
    const uint32_t instance = slot(profile, index).instance();
    return instance == format::kNone ? std::string_view() : tables_.texts[instance];
  }
  // The options of the method instance: `Arguments` needs room for as many.
  uint32_t slot_option_count(uint32_t profile, uint32_t index) const {
    const format::Range backends = slot(profile, index).settings();
    uint32_t count = 0;
    for (uint32_t i = 0; i < backends.count; ++i) {
      const format::BackendSettings settings = tables_.backend_settings[tables_.items[backends.first + i]];
      count += tables_.backends[settings.backend()].options().count;
    }
    return count;
  }

 private:
  friend class UsageRecord;

  void write_reason(const ModelChoice& choice, uint32_t index, const internal::Operand* facts,
                    std::string_view separator, TextBuffer* out,
                    const internal::FactSet* hidden = nullptr) const {
    for (uint32_t i = 0; i < choice.failure_count_; ++i) {
      if (choice.failures_[i].variant != index) continue;
      *out << "its load failed: " << choice.failures_[i].reason;
      return;
    }
    if (choice && index > choice.variant_ && choice.suits(index)) {
      *out << "it suits the device too, but comes after variant " << choice.variant_ + 1;
      return;
    }
    internal::VariantJudge(tables_, facts, hidden).explain(variant(choice.model_, index), separator, out);
  }
  format::Variant variant(uint32_t model, uint32_t index) const {
    return tables_.variants[tables_.models[model].variants().first + index];
  }

  template <typename T>
  static internal::Operand operand_of(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return internal::boolean_operand(value);
    } else if constexpr (std::is_integral_v<T>) {
      return internal::integer_operand(static_cast<int64_t>(value));
    } else {
      return internal::number_operand(static_cast<double>(value));
    }
  }
  template <typename T>
  Status set_checked(Facts* facts, std::string_view name, const internal::Operand& operand, T value) const {
    const uint32_t index = find_fact(name);
    if (index == Selection::kNone) return Status::NoSuchFact;
    if (!is_right(index, operand)) return Status::WrongFact;
    return status_of(facts->set(name, value));
  }
  static Status status_of(FactStatus status) {
    switch (status) {
      case FactStatus::Ok: return Status::Ok;
      case FactStatus::BadValue: return Status::WrongFact;
      case FactStatus::BadText: return Status::BadText;
      default: return Status::FactsFull;
    }
  }

  bool is_right(uint32_t index, internal::Operand value) const {
    const format::Fact fact = tables_.facts[index];
    const auto type = static_cast<FactType>(fact.type());
    if (type == FactType::Number && value.kind == ValueKind::Integer) {
      value = internal::number_operand(static_cast<double>(value.integer));
    }
    // of bool, int, float and string, the kinds are the types and None before them
    return static_cast<uint8_t>(value.kind) == fact.type() + 1 && internal::fits_fact(tables_, fact, value);
  }
  Selection named(uint32_t profile) const {
    Selection selection;
    selection.opening = tables_.opening;
    selection.status = Status::Ok;
    selection.profile = profile;
    selection.is_named = true;
    return selection;
  }
  static Selection wrong_fact(uint32_t fact) {
    Selection selection;
    selection.status = Status::WrongFact;
    selection.fact = fact;
    return selection;
  }

  format::Slot slot(uint32_t profile, uint32_t index) const {
    return tables_.slots[tables_.profiles[profile].slots().first + index];
  }
  // A method's own slot, else that of `*`, which serves any method.
  Status find_slot(uint32_t profile, std::string_view method, std::string_view instance,
                   uint32_t* found) const {
    bool has_method = false;
    for (const std::string_view name : {method, std::string_view("*")}) {
      for (uint32_t i = 0; i < slot_count(profile); ++i) {
        if (slot_method(profile, i) != name) continue;
        has_method = true;
        if (slot_instance(profile, i) != instance) continue;
        *found = tables_.profiles[profile].slots().first + i;
        return Status::Ok;
      }
    }
    return has_method ? Status::NoSuchInstance : Status::NoSuchMethod;
  }
  // The slot names the method instance, unless it serves any method.
  bool set_names(std::string_view method, AnyArguments* arguments) const {
    const format::Slot slot = tables_.slots[arguments->slot_];
    if (slot.instance() != format::kNone) arguments->instance_ = tables_.texts[slot.instance()];
    arguments->method_ = tables_.texts[slot.method()];
    return arguments->method_ == method || arguments->keep_method(method);
  }
  Status resolve_slot(const Facts& facts, const AnyArguments& arguments, internal::Storage* storage) const {
    storage->count = 0;
    internal::BoundFacts bound(tables_);
    if (bound.bind(facts) != format::kNone) return Status::WrongFact;
    bound.set_by_hand(tables_.profiles[arguments.profile_].facts());
    return internal::Resolver(tables_, bound.operands(), storage).resolve(tables_.slots[arguments.slot_]);
  }

  void write(const AnyArguments& arguments, const OptionArgument& option, const internal::Resolved& resolved,
             TextBuffer* out) const {
    *out << arguments.method();
    if (!arguments.instance().empty()) *out << '@' << arguments.instance();
    *out << ':' << option.backend() << '.' << option.name();
    switch (option.status()) {
      case Status::Ok:
        *out << " = ";
        option.value().write(out);
        *out << " from " << option.origin();
        break;
      case Status::MissingOption: *out << " is required and not set"; break;
      case Status::EvaluationFailed:
        *out << ": " << option.expression() << " has no value: ";
        internal::write_fault(resolved.value, out);
        break;
      case Status::UnknownFact:
        *out << ": " << option.expression() << " has no value: ";
        internal::write_missing(tables_, resolved.value, out);
        break;
      default:
        *out << ": the option does not accept the value";
        if (!option.expression().empty()) *out << " of " << option.expression();
        *out << " from " << option.origin();
    }
  }

  format::Tables tables_;
};

}  // inline namespace
}  // namespace etconfig::device
