// A record of what was used for a load: one line of JSON of at most 2,048 bytes, for the application to send
// or to keep. docs/schemas/etconfig-usage.json has its fields.
//
// Nothing is recorded unless the application asks, and nothing is sent. Facts that may identify the device or
// its user are never written, nor are values that were computed from them. Allocates nothing, throws nothing.
//
//   UsageRecord record(bundle, facts, selection, &arguments, &choice);
//   record.load_us = 8200;
//   char memory[UsageRecord::kMaxBytes + 1];
//   TextBuffer line(memory, sizeof memory);
//   if (record.write(&line) == Status::Ok) append(line.text());

#pragma once

#include "device.h"
#include "device/json.h"
#include "facts/registry.h"
#include "version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

// Why these options and this variant were used.
enum class UsageReason : uint8_t {
  Matched,   // the profile's condition selected it
  Fallback,  // the load of an earlier variant failed
  Named,     // the profile was named
  Fixed,     // the configuration has no conditions left
  Error,     // nothing was resolved or loaded
};

// The word for a reason in a record.
inline const char* name_of(UsageReason reason) {
  static const char* const kNames[] = {"matched", "fallback", "named", "fixed", "error"};
  return kNames[static_cast<uint8_t>(reason)];
}

// What was used. It refers to the objects and texts that it is given: write it before they change.
class UsageRecord {
 public:
  static constexpr size_t kMaxBytes = 2048;  // with the newline
  static constexpr size_t kMaxFailureBytes = 200;

  // What only the application knows. Empty and absent ones are not written.
  std::string_view device;  // the application's own name for the device
  std::optional<int64_t> at_ms;  // Unix time
  std::optional<double> load_us;
  std::optional<double> first_run_us;
  std::optional<double> p50_us;  // of `runs` runs
  std::optional<double> p95_us;
  std::optional<int64_t> runs;
  std::string_view failure;  // of a load or run; 200 bytes of it are written

  // Arguments and choice are those that were used; null if there are none.
  UsageRecord(const Bundle& bundle, const Facts& facts, const Selection& selection,
              const AnyArguments* arguments = nullptr, const ModelChoice* choice = nullptr)
      : bundle_(bundle),
        t_(bundle.tables_),
        selection_(selection),
        arguments_(arguments),
        choice_(choice),
        bound_(t_) {
    static_cast<void>(bound_.bind(facts));
    bound_.set_by_hand({0, t_.project_fact_count});
    if (selection_ && selection_.profile < t_.profiles.size()) {
      bound_.set_by_hand(t_.profiles[selection_.profile].facts());
    }
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      if (!may_identify(i)) continue;
      hidden_.add(i);
      has_hidden_ = true;
    }
  }
  UsageRecord(const UsageRecord&) = delete;
  UsageRecord& operator=(const UsageRecord&) = delete;

  UsageReason reason() const {
    if (status() != Status::Ok || !failure.empty()) return UsageReason::Error;
    if (choice_ != nullptr && choice_->failure_count_ != 0) return UsageReason::Fallback;
    if (t_.profiles[selection_.profile].fingerprint() != format::kNone) return UsageReason::Fixed;
    return selection_.is_named ? UsageReason::Named : UsageReason::Matched;
  }

  // Writes the line, or nothing unless the result is Ok. Entries that do not fit are left out and counted: of
  // `rejected`, then `facts`, then `options`, each from the end.
  //
  // TooSmall: the buffer has no room for the line, or the line is too long without any entry. InvalidValue: a
  // duration or count is negative or not finite. Stale: selection, arguments or choice are of another bundle,
  // of the one that was opened before, or of two profiles.
  Status write(TextBuffer* out) const {
    if (is_stale()) return Status::Stale;
    if (!are_numbers_right()) return Status::InvalidValue;
    const internal::FactSet facts = deciding_facts();
    char memory[kMaxBytes + 1];
    TextBuffer line(memory, sizeof memory);
    Entries kept{kAll, kAll, kAll};
    Entries left;
    Sizes sizes;
    write_line(kept, left, facts, &sizes, &line);
    if (line.is_cut()) {
      if (!fit(sizes, line.needed(), &kept, &left)) return Status::TooSmall;
      line = TextBuffer(memory, sizeof memory);
      write_line(kept, left, facts, nullptr, &line);
    }
    if (line.needed() > out->room()) return Status::TooSmall;
    *out << line.text();
    return Status::Ok;
  }

 private:
  static constexpr uint32_t kAll = UINT32_MAX;
  enum List { kRejected, kFacts, kOptions };
  static constexpr const char* kLists[] = {"rejected", "facts", "options"};
  struct Entries {
    uint32_t of[3] = {0, 0, 0};
    Entries() = default;
    Entries(uint32_t rejected, uint32_t facts, uint32_t options) : of{rejected, facts, options} {}
  };
  // The bytes of the entries of a line, each with what is before it.
  struct Sizes {
    static constexpr uint32_t kMost = kMaxBytes / 6;  // no entry is shorter, so further ones never fit
    uint16_t of[3][kMost];
    uint32_t count[3] = {0, 0, 0};
    size_t total[3] = {0, 0, 0};

    void add(List list, size_t bytes) {
      const uint32_t number = count[list]++;
      if (number < kMost) of[list][number] = static_cast<uint16_t>(bytes < kMaxBytes ? bytes : kMaxBytes);
      total[list] += bytes;
    }
  };

  // --- what was used ---

  bool has_model() const { return choice_ != nullptr && choice_->tables_ == &t_; }
  bool is_stale() const {
    if (selection_ && selection_.opening != t_.opening) return true;
    if (selection_ && selection_.profile >= t_.profiles.size()) return true;
    if (arguments_ != nullptr && arguments_->tables_ != nullptr) {
      if (arguments_->tables_ != &t_ || arguments_->is_stale()) return true;
      if (*arguments_ && arguments_->profile() != selection_.profile) return true;
    }
    if (choice_ == nullptr || choice_->tables_ == nullptr) return false;
    return choice_->tables_ != &t_ || choice_->is_stale();
  }
  // Ok, or why nothing can be used.
  Status status() const {
    if (!selection_) return selection_.status;
    if (arguments_ != nullptr && !*arguments_) return arguments_->status();
    return choice_ == nullptr ? Status::Ok : choice_->status();
  }
  bool are_numbers_right() const {
    for (const std::optional<double>* each : {&load_us, &first_run_us, &p50_us, &p95_us}) {
      if (*each && (!std::isfinite(**each) || **each < 0)) return false;
    }
    return runs.value_or(0) >= 0;
  }

  // True if a fact identifies the device or its user, or may: a text of which only its plugin could say so.
  bool may_identify(uint32_t index) const {
    const format::Fact fact = t_.facts[index];
    const auto type = static_cast<FactType>(fact.type());
    const bool is_chosen = type == FactType::Text && fact.choices().count != 0;
    const bool is_text = (type == FactType::Text || type == FactType::TextList) && !is_chosen;
    return fact.is_identifying() || (is_text && !is_own(t_.texts[fact.name()]));
  }
  // True if the fact is one of etconfig's own, none of whose texts identifies anything without saying so.
  static bool is_own(std::string_view name) {
    for (const detection::FactInfo& info : detection::kFacts) {
      if (std::strncmp(info.name, name.data(), name.size()) != 0) continue;
      if (info.name[name.size()] == '\0') return true;
    }
    return detection::index_of_fact(name) != detection::kNoFact;  // of a family, such as gpu.0.name
  }
  // Adds the facts that an expression or a condition reads.
  void add_expression(uint32_t expression, internal::FactSet* facts) const {
    const format::Range instructions = t_.expressions[expression].instructions();
    for (uint32_t i = 0; i < instructions.count; ++i) {
      const format::Instruction instruction = t_.instructions[instructions.first + i];
      const bool is_fact = instruction.op() == format::Op::Fact || instruction.op() == format::Op::HasFact;
      if (is_fact) facts->add(instruction.operand());
    }
  }
  void add_condition(uint32_t condition, internal::FactSet* facts) const {
    if (condition == format::kNone) return;
    const format::Range clauses = t_.conditions[condition].clauses();
    for (uint32_t i = 0; i < clauses.count; ++i) add_expression(clauses.first + i, facts);
  }
  // Adds the facts on which an option depends.
  void add_facts_of(const internal::Resolved& resolved, const format::OptionSettings* settings,
                    internal::FactSet* facts) const {
    const format::Range candidates = settings == nullptr ? format::Range() : settings->candidates();
    for (uint32_t i = 0; i < candidates.count; ++i) {
      const format::Candidate candidate = t_.candidates[candidates.first + i];
      add_condition(candidate.condition(), facts);
      if (candidate.source() == format::Source::Expression) add_expression(candidate.value(), facts);
    }
    const format::Option option = t_.options[resolved.option];
    if (option.from_fact() != format::kNone) facts->add(option.from_fact());
  }
  // Adds the facts that a backend's recommendations read.
  void add_advice(uint32_t backend, internal::FactSet* facts) const {
    const format::Range advice = t_.backends[backend].advice();
    for (uint32_t i = 0; i < advice.count; ++i) {
      add_condition(t_.advice[advice.first + i].condition(), facts);
      add_expression(t_.advice[advice.first + i].expression(), facts);
    }
  }
  // True if the value was computed from a fact that may identify the device. The origin says what decided.
  bool is_hidden(const internal::Resolved& resolved, const format::OptionSettings* settings) const {
    if (!has_hidden_) return false;
    internal::FactSet facts;
    const format::Range candidates = settings == nullptr ? format::Range() : settings->candidates();
    for (uint32_t i = 0; i < candidates.count; ++i) {
      const format::Candidate candidate = t_.candidates[candidates.first + i];
      const bool is_computed = candidate.source() == format::Source::Expression;
      if (is_computed && candidate.origin() == resolved.origin) add_expression(candidate.value(), &facts);
    }
    const format::Range advice = t_.backends[resolved.backend].advice();
    for (uint32_t i = 0; i < advice.count; ++i) {
      const format::Advice entry = t_.advice[advice.first + i];
      const bool is_it = entry.option() == resolved.option && entry.origin() == resolved.origin;
      if (is_it) add_expression(entry.expression(), &facts);
    }
    const format::Option option = t_.options[resolved.option];
    const bool is_fact = option.from_fact() != format::kNone && option.fact_origin() == resolved.origin;
    if (is_fact) facts.add(option.from_fact());
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      if (facts.has(i) && hidden_.has(i)) return true;
    }
    return false;
  }

  // Calls `each(resolved, settings)` for the options, in the order of the arguments; the settings are null if
  // nothing sets the option.
  template <typename Each>
  void visit_resolved(const Each& each) const {
    if (arguments_ == nullptr || !*arguments_) return;
    const internal::Storage& storage = arguments_->current();
    const format::Range backends = t_.slots[arguments_->slot_].settings();
    uint32_t at = 0;
    for (uint32_t i = 0; i < backends.count; ++i) {
      const format::BackendSettings backend = t_.backend_settings[t_.items[backends.first + i]];
      const format::Range set = backend.options();
      const uint32_t count = t_.backends[backend.backend()].options().count;
      uint32_t next = 0;
      for (uint32_t j = 0; j < count && at < storage.count; ++j, ++at) {
        const internal::Resolved& resolved = storage.options[at];
        const bool is_set =
            next < set.count && t_.option_settings[set.first + next].option() == resolved.option;
        const format::OptionSettings found = t_.option_settings[is_set ? set.first + next++ : 0];
        each(resolved, is_set ? &found : nullptr);
      }
    }
  }
  // The facts on which the profile, the options and the variant depend.
  internal::FactSet deciding_facts() const {
    internal::FactSet facts;
    if (selection_ && !selection_.is_named) {
      add_condition(t_.profiles[selection_.profile].condition(), &facts);
    }
    uint32_t backend = format::kNone;
    visit_resolved([&](const internal::Resolved& resolved, const format::OptionSettings* settings) {
      if (resolved.backend != backend) add_advice(resolved.backend, &facts);
      backend = resolved.backend;
      add_facts_of(resolved, settings, &facts);
    });
    for (uint32_t i = 0; i < judged_variants(); ++i) {
      add_condition(choice_->of_variant(i).condition(), &facts);
    }
    return facts;
  }
  // The variants that were chosen or rejected, from the first.
  uint32_t judged_variants() const {
    if (!has_model()) return 0;
    return *choice_ ? choice_->variant_ + 1 : choice_->count();
  }

  // --- the line ---

  void write_value(const internal::Operand& value, TextBuffer* out) const {
    internal::write_json(t_, value, ",", ":", out);
  }
  // Calls `each(write)` for the entries of a list; `write(out)` writes the entry.
  template <typename Each>
  void visit(List list, const internal::FactSet& facts, const Each& each) const {
    switch (list) {
      case kRejected: visit_rejected(each); break;
      case kFacts: visit_facts(facts, each); break;
      case kOptions:
        visit_options(false, each);
        visit_options(true, each);
        break;
    }
  }
  template <typename Each>
  void visit_rejected(const Each& each) const {
    if (!has_model()) return;
    const uint32_t rejected = judged_variants() - (*choice_ ? 1 : 0);
    for (uint32_t i = 0; i < rejected; ++i) {
      each([&](TextBuffer* out) {
        *out << "{\"variant\":";
        internal::write_json(bundle_.variant_file(choice_->model_, i), out);
        *out << ",\"reason\":";
        char memory[kMaxBytes];  // a longer one does not fit in any record
        TextBuffer text(memory, sizeof memory);
        bundle_.write_reason(*choice_, i, bound_.operands(), "; ", &text, &hidden_);
        internal::write_json(text.text(), out);
        *out << '}';
      });
    }
  }
  template <typename Each>
  void visit_facts(const internal::FactSet& facts, const Each& each) const {
    for (uint32_t i = 0; i < t_.facts.size(); ++i) {
      const internal::Operand& value = bound_.operands()[i];
      if (!facts.has(i) || hidden_.has(i) || value.state != internal::State::Known) continue;
      each([&](TextBuffer* out) {
        internal::write_json(t_.texts[t_.facts[i].name()], out);
        *out << ':';
        write_value(value, out);
      });
    }
  }
  template <typename Each>
  void visit_options(bool are_defaults, const Each& each) const {
    visit_resolved([&](const internal::Resolved& resolved, const format::OptionSettings* settings) {
      if ((resolved.decider == Decider::Default) != are_defaults) return;
      each([&](TextBuffer* out) {
        const OptionArgument option(&t_, &resolved);
        *out << "{\"path\":\"";
        internal::write_escaped(arguments_->method(), out);
        if (!arguments_->instance().empty()) *out << '@';
        internal::write_escaped(arguments_->instance(), out);
        *out << ':';
        internal::write_escaped(option.backend(), out);
        *out << '.';
        internal::write_escaped(option.name(), out);
        *out << "\",\"value\":";
        if (is_hidden(resolved, settings)) {
          *out << '"' << internal::kHiddenValue << '"';
        } else {
          write_value(resolved.value, out);
        }
        *out << ",\"source\":";
        internal::write_json(option.origin().substr(0, option.origin().find(' ')), out);
        *out << '}';
      });
    });
  }
  // Writes the first `kept` entries of a list, and nothing if there are none.
  void write_list(List list, uint32_t kept, const internal::FactSet& facts, Sizes* sizes,
                  TextBuffer* out) const {
    uint32_t count = 0;
    visit(list, facts, [&](const auto& write_entry) {
      if (count++ >= kept) return;
      const size_t before = out->needed();
      if (count == 1) {
        *out << ",\"" << kLists[list] << "\":" << (list == kFacts ? '{' : '[');
      } else {
        *out << ',';
      }
      write_entry(out);
      const size_t bracket = count == 1 ? 1 : 0;  // that closes the list
      if (sizes != nullptr) sizes->add(list, out->needed() - before + bracket);
    });
    if (count != 0 && kept != 0) *out << (list == kFacts ? '}' : ']');
  }

  static void write_text(const char* name, std::string_view text, TextBuffer* out) {
    if (text.empty()) return;
    *out << ",\"" << name << "\":";
    internal::write_json(text, out);
  }
  template <typename T>
  static void write_number(const char* name, const std::optional<T>& number, bool* is_first,
                           TextBuffer* out) {
    if (!number) return;
    *out << (*is_first ? "\"" : ",\"") << name << "\":";
    *is_first = false;
    const bool is_small = *number < T(9007199254740992);  // so that every integer is a number
    const int64_t whole = std::is_integral_v<T> || is_small ? static_cast<int64_t>(*number) : 0;
    if (std::is_integral_v<T> || (is_small && static_cast<T>(whole) == *number)) {
      *out << whole;
    } else {
      *out << *number;
    }
  }
  // The text of the failure, or the name of the status; at most 200 bytes, cut at a whole character.
  void write_failure(TextBuffer* out) const {
    if (reason() != UsageReason::Error) return;
    if (failure.empty()) return write_text("failure", name_of(status()), out);
    std::string_view rest = failure;
    char memory[kMaxFailureBytes + 1];
    TextBuffer text(memory, sizeof memory);
    while (!rest.empty() && !text.is_cut()) {
      const std::string_view before = rest;
      const uint32_t c = detection::take_code_point(&rest);
      text << (c == detection::kReplacement ? std::string_view("\xef\xbf\xbd")
                                            : before.substr(0, before.size() - rest.size()));
    }
    write_text("failure", text.text(), out);
  }
  static void write_left_out(const Entries& left, TextBuffer* out) {
    bool is_first = true;
    for (int list = 0; list < 3; ++list) {
      if (left.of[list] == 0) continue;
      *out << (is_first ? ",\"left_out\":{\"" : ",\"") << kLists[list] << "\":" << left.of[list];
      is_first = false;
    }
    if (!is_first) *out << '}';
  }
  void write_line(const Entries& kept, const Entries& left, const internal::FactSet& facts, Sizes* sizes,
                  TextBuffer* out) const {
    bool is_first = false;
    *out << "{\"etconfig_usage\":1";
    write_text("device", device, out);
    write_number("at", at_ms, &is_first, out);
    write_text("bundle", bundle_.id(), out);
    if (bundle_.revision() != 0) *out << ",\"revision\":" << bundle_.revision();
    if (selection_) write_text("profile", bundle_.profile_name(selection_.profile), out);
    write_text("reason", name_of(reason()), out);
    if (has_model()) {
      write_text("model", bundle_.model_name(choice_->model_), out);
      write_text("variant", choice_->file(), out);
    }
    for (const List list : {kRejected, kOptions, kFacts}) write_list(list, kept.of[list], facts, sizes, out);
    if (load_us || first_run_us || p50_us || p95_us || runs) {
      *out << ",\"durations_us\":{";
      is_first = true;
      write_number("load", load_us, &is_first, out);
      write_number("first_run", first_run_us, &is_first, out);
      write_number("p50", p50_us, &is_first, out);
      write_number("p95", p95_us, &is_first, out);
      write_number("runs", runs, &is_first, out);
      *out << '}';
    }
    write_failure(out);
    write_left_out(left, out);
    *out << "}\n";
  }

  // Finds how many entries fit, given the bytes of the line with all of them: what is left out of one list is
  // its end, and a list loses entries only when those before it have none left. False if none fit.
  static bool fit(const Sizes& sizes, size_t all, Entries* kept, Entries* left) {
    size_t rest = sizes.total[kFacts] + sizes.total[kOptions];  // of the lists that lose nothing yet
    const size_t base = all - sizes.total[kRejected] - rest;
    for (const List list : {kRejected, kFacts, kOptions}) {
      const uint32_t count = sizes.count[list];
      size_t bytes = 0;
      uint32_t most = kAll;
      for (uint32_t number = 0; number <= count && number < Sizes::kMost; ++number) {
        left->of[list] = count - number;
        TextBuffer counted(nullptr, 0);
        write_left_out(*left, &counted);
        if (base + bytes + rest + counted.needed() <= kMaxBytes) most = number;
        if (number != count) bytes += sizes.of[list][number];
        if (base + bytes > kMaxBytes) break;
      }
      kept->of[list] = most == kAll ? 0 : most;
      left->of[list] = count - kept->of[list];
      if (most != kAll) return true;
      if (list != kOptions) rest -= sizes.total[list + 1];
    }
    return false;
  }

  const Bundle& bundle_;
  const internal::Tables& t_;
  const Selection selection_;
  const AnyArguments* const arguments_;
  const ModelChoice* const choice_;
  internal::BoundFacts bound_;
  internal::FactSet hidden_;  // those that may identify the device
  bool has_hidden_ = false;
};

}  // inline namespace
}  // namespace etconfig::device
