// Writes what detectors find into a store: only the facts that were asked for, checked, with their origins.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "etconfig/fact_store.h"
#include "etconfig/facts/registry.h"
#include "etconfig/facts/system.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

static_assert(kFactCount <= 64, "Request has a bit for each fact");

// A set of facts of the registry; for a family, all of its members.
class Request {
 public:
  void add(size_t fact) { bits_ |= uint64_t{1} << fact; }
  void add_all() { bits_ = ~uint64_t{0}; }
  bool has(size_t fact) const { return (bits_ >> fact & 1) != 0; }
  bool has_topic(Topic topic) const {
    for (size_t fact = 0; fact < kFactCount; ++fact) {
      if (has(fact) && kFacts[fact].topic == topic) return true;
    }
    return false;
  }

 private:
  uint64_t bits_ = 0;
};

// The facts of one topic.
class Readings {
 public:
  Readings(Facts* facts, const Request& request, Topic topic)
      : facts_(facts), request_(request), topic_(topic) {}

  // The first failure of the store.
  FactStatus status() const { return status_; }
  bool is_empty() const { return given_ == 0; }
  bool wants(std::string_view name) const {
    const size_t fact = index_of_fact(name);
    return fact != kNoFact && request_.has(fact);
  }

  void known(std::string_view name, std::string_view value, std::string_view source,
             std::string_view detail = {}) {
    put(name, {FactType::Text, 0, 0, value}, source, detail);
  }
  void known(std::string_view name, const char* value, std::string_view source,
             std::string_view detail = {}) {
    known(name, std::string_view(value), source, detail);
  }
  void known(std::string_view name, bool value, std::string_view source) {
    if (is_expected(name)) note(name, facts_->set(name, value, origin(source, {})));
  }
  void known(std::string_view name, int64_t value, std::string_view source, std::string_view detail = {}) {
    put(name, {FactType::Integer, value, 0, {}}, source, detail);
  }
  void known(std::string_view name, double value, std::string_view source, std::string_view detail = {}) {
    put(name, {FactType::Number, 0, value, {}}, source, detail);
  }
  void known(std::string_view name, const std::string_view* values, uint32_t count, std::string_view source) {
    if (!is_expected(name)) return;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_printable_text(values[i])) continue;
      FixedText<1024> why;
      why << "expected a list of strings of printable characters, found ";
      append_shown_list(&why, values, count);
      return refuse(name, why.view());
    }
    note(name, facts_->set_list(name, values, count, origin(source, {})));
  }
  void unknown(std::string_view name, std::string_view source, std::string_view reason) {
    if (is_expected(name)) note(name, facts_->set_unknown(name, reason, origin(source, {})));
  }

  // Makes the facts that were not found unknown.
  void finish(const Host& host) {
    for (size_t fact = 0; fact < kFactCount; ++fact) {
      const FactInfo& info = kFacts[fact];
      if (info.topic != topic_ || is_family(info) || (given_ >> fact & 1) != 0) continue;
      FixedText<160> source;
      FixedText<160> reason;
      source << "detector " << kTopicNames[static_cast<size_t>(topic_)];
      reason << "etconfig does not look for it on "
             << (host.has_system ? host.system.view() : std::string_view("an unnamed system"));
      unknown(info.name, source.view(), reason.view());
    }
  }

 private:
  // True if the fact was asked for, and not set by the application.
  bool is_expected(std::string_view name) {
    const size_t fact = index_of_fact(name);
    if (fact == kNoFact) return false;
    given_ |= uint64_t{1} << fact;
    if (!request_.has(fact)) return false;
    const FactView found = facts_->find(name);
    return !found.is_present() || found.is_detected();
  }

  void put(std::string_view name, const Value& value, std::string_view source, std::string_view detail) {
    if (!is_expected(name)) return;
    FixedText<1024> why;
    if (!check_value(kFacts[index_of_fact(name)], value, &why)) return refuse(name, why.view());
    const std::string_view from = origin(source, detail);
    if (value.type == FactType::Text) {
      note(name, facts_->set(name, value.text, from));
    } else if (value.type == FactType::Integer) {
      note(name, facts_->set(name, value.integer, from));
    } else {
      note(name, facts_->set(name, value.number, from));
    }
  }

  void refuse(std::string_view name, std::string_view why) {
    FixedText<2048> reason;
    const char* detector = kTopicNames[static_cast<size_t>(topic_)];
    reason << "detector '" << detector << "' failed: ValueError: " << name << ": " << why;
    FixedText<160> source;
    source << "detector " << detector;
    note(name, facts_->set_unknown(name, reason.view(), origin(source.view(), {})));
  }

  static void append_shown_list(Text* to, const std::string_view* values, uint32_t count) {
    FixedText<4 * (kShownCharacters + 8)> all;  // of the list's text, only the beginning is shown
    all << '(';
    for (uint32_t i = 0; i < count && all.size() <= kShownCharacters * 3; ++i) {
      if (i != 0) all << ", ";
      append_repr(&all, values[i], kShownCharacters);
    }
    all << (count == 1 ? ",)" : ")");
    std::string_view rest = all.view();
    for (size_t i = 0; i < kShownCharacters && !rest.empty(); ++i) to->code_point(take_code_point(&rest));
    if (!rest.empty()) *to << "...";
  }

  std::string_view origin(std::string_view source, std::string_view detail) {
    origin_.clear();
    origin_ << "detected " << source;
    if (!detail.empty()) origin_ << " (" << detail << ')';
    return origin_.view();
  }
  void note(std::string_view name, FactStatus status) {
    if (status == FactStatus::Ok) facts_->mark_detected(name);
    if (status_ == FactStatus::Ok) status_ = status;
  }

  Facts* facts_;
  const Request& request_;
  Topic topic_;
  uint64_t given_ = 0;
  FactStatus status_ = FactStatus::Ok;
  FixedText<kMaxPathBytes + 256> origin_;
};

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
