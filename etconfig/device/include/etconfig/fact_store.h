// The facts about a device, in storage of a fixed size.
//
// C++17; needs nothing but the standard library, allocates nothing, throws nothing. A fact is known, with a
// value of one of five types, or unknown, with a reason. `detect` of facts.h fills a store; the application
// adds what only it knows, and replaces what it knows better:
//
//   etconfig::device::FactStore<128> facts;
//   facts.set("power.source", "battery");
//   facts.set("power.battery_level", 0.17);
//   facts.set_unknown("thermal.state", "the service did not answer");
//   if (auto level = facts.find("power.battery_level")) use(level.number());
//
// Texts are copied into the store. The views that `find` and `at` return are valid until the store changes.

#pragma once

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>

#include "etconfig/facts/registry.h"
#include "version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

enum class [[nodiscard]] FactStatus : uint8_t {
  Ok,
  TooManyFacts,  // the store has as many facts as it has room for
  TooMuchText,   // the names, texts, reasons and origins take more bytes than it has room for
  BadName,       // not lower-case words joined by dots
  BadValue,      // not a value of this fact, see `check_value`; or a number beyond 64 bits, or not finite
  BadTree,  // machine.json of a captured tree does not describe a machine
  BadText,  // a text, reason or origin is not UTF-8
};

// A list of texts; `Iterator` visits them in order.
class TextList {
 public:
  class Iterator {
   public:
    explicit Iterator(const char* at) : at_(at) {}
    std::string_view operator*() const { return {at_ + sizeof(uint32_t), size()}; }
    Iterator& operator++() {
      at_ += sizeof(uint32_t) + size();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    uint32_t size() const {
      uint32_t size = 0;
      std::memcpy(&size, at_, sizeof size);
      return size;
    }
    const char* at_;
  };

  TextList() = default;
  TextList(std::string_view bytes, uint32_t count) : bytes_(bytes), count_(count) {}

  uint32_t size() const { return count_; }
  // Of all texts, without their sizes.
  size_t text_bytes() const { return bytes_.size() - count_ * sizeof(uint32_t); }
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }
  bool contains(std::string_view text) const {
    for (const std::string_view item : *this) {
      if (item == text) return true;
    }
    return false;
  }

 private:
  std::string_view bytes_;  // for each text its size, and then its bytes
  uint32_t count_ = 0;
};

namespace fact_store {

struct Entry {
  int64_t integer = 0;  // also a boolean, and the number of texts in a list
  double number = 0;
  uint32_t block = 0;  // the offset in the arena of the name, value and origin, in this order
  uint32_t name_size = 0;
  uint32_t value_size = 0;  // of a text, a list, or the reason of an unknown fact
  uint32_t origin_size = 0;
  uint32_t hash = 0;
  FactType type = FactType::Boolean;
  bool is_known = false;
  bool is_detected = false;

  uint32_t size() const { return name_size + value_size + origin_size; }
};

inline uint32_t hash_of(std::string_view text) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

// True for the name of a fact: words of [a-z][a-z0-9_]*, joined by dots, two at least; from the second on, a
// number is a word, as in gpu.0.name.
inline bool is_name(std::string_view name) {
  size_t words = 0;
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view word = name.substr(0, dot);
    if (word.empty()) return false;
    const bool is_number = words > 0 && word[0] >= '0' && word[0] <= '9';
    if (is_number && (word.size() > 4 || (word[0] == '0' && word.size() > 1))) return false;
    if (!is_number && (word[0] < 'a' || word[0] > 'z')) return false;
    for (const char c : word) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && (is_number || !((c >= 'a' && c <= 'z') || c == '_'))) return false;
    }
    ++words;
    if (dot == std::string_view::npos) return words > 1;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace fact_store

// One fact of a store. True if there is a value.
class FactView {
 public:
  FactView() = default;
  FactView(const fact_store::Entry* entry, const char* arena) : entry_(entry), arena_(arena) {}

  explicit operator bool() const { return is_known(); }
  bool is_present() const { return entry_ != nullptr; }  // known, or unknown with a reason
  bool is_known() const { return entry_ != nullptr && entry_->is_known; }
  // True if `detect` wrote it, whatever the origin: the next detection replaces it.
  bool is_detected() const { return entry_ != nullptr && entry_->is_detected; }

  // Empty unless `is_present()`.
  std::string_view name() const { return piece(0, entry_ == nullptr ? 0 : entry_->name_size); }
  // Such as "detected /proc/cpuinfo".
  std::string_view origin() const {
    if (entry_ == nullptr) return {};
    return piece(entry_->name_size + entry_->value_size, entry_->origin_size);
  }
  // Why the value is unknown; empty if it is known.
  std::string_view reason() const { return is_known() ? std::string_view() : value_text(); }

  // The type of the value; only if `is_known()`.
  FactType type() const { return entry_->type; }
  // The value; zero or empty if it is unknown or has another type. A number may also be an integer.
  bool boolean() const { return has(FactType::Boolean) && entry_->integer != 0; }
  int64_t integer() const { return has(FactType::Integer) ? entry_->integer : 0; }
  double number() const {
    if (has(FactType::Number)) return entry_->number;
    return static_cast<double>(integer());
  }
  std::string_view text() const { return has(FactType::Text) ? value_text() : std::string_view(); }
  TextList list() const {
    return has(FactType::TextList) ? TextList(value_text(), static_cast<uint32_t>(entry_->integer))
                                   : TextList();
  }

 private:
  bool has(FactType type) const { return is_known() && entry_->type == type; }
  std::string_view piece(uint32_t offset, uint32_t size) const {
    return entry_ == nullptr ? std::string_view() : std::string_view(arena_ + entry_->block + offset, size);
  }
  std::string_view value_text() const {
    return entry_ == nullptr ? std::string_view() : piece(entry_->name_size, entry_->value_size);
  }

  const fact_store::Entry* entry_ = nullptr;
  const char* arena_ = nullptr;
};

// What functions take, whatever the size of the store: `void use(const Facts& facts)`.
class Facts {
 public:
  static constexpr uint32_t kNotFound = ~uint32_t{0};
  static constexpr std::string_view kApplication = "override application";

  uint32_t size() const { return count_; }
  uint32_t text_bytes_used() const {
    uint32_t used = 0;
    for (uint32_t i = 0; i < count_; ++i) used += entries_[i].size();
    return used;
  }

  // `index` must be below `size()`; a fact keeps its index until `remove` or `clear`.
  FactView at(uint32_t index) const {
    assert(index < count_);
    return {&entries_[index], arena_};
  }
  uint32_t index_of(std::string_view name) const {
    const uint32_t hash = fact_store::hash_of(name);
    for (uint32_t i = 0; i < count_; ++i) {
      if (entries_[i].hash == hash && at(i).name() == name) return i;
    }
    return kNotFound;
  }
  FactView find(std::string_view name) const {
    const uint32_t index = index_of(name);
    return index == kNotFound ? FactView() : at(index);
  }

  // Every `set` adds a fact or replaces it; if the result is not Ok, the store is as it was.
  FactStatus set(std::string_view name, bool value, std::string_view origin = kApplication) {
    return put(name, known(FactType::Boolean, value ? 1 : 0), {}, origin);
  }
  template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  FactStatus set(std::string_view name, T value, std::string_view origin = kApplication) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t)) {
      if (value > static_cast<T>(std::numeric_limits<int64_t>::max())) return FactStatus::BadValue;
    }
    return put(name, known(FactType::Integer, static_cast<int64_t>(value)), {}, origin);
  }
  FactStatus set(std::string_view name, double value, std::string_view origin = kApplication) {
    if (!std::isfinite(value)) return FactStatus::BadValue;
    Entry entry = known(FactType::Number, 0);
    entry.number = value;
    return put(name, entry, {}, origin);
  }
  FactStatus set(std::string_view name, std::string_view value, std::string_view origin = kApplication) {
    return put(name, known(FactType::Text, 0), value, origin);
  }
  FactStatus set(std::string_view name, const char* value, std::string_view origin = kApplication) {
    return set(name, std::string_view(value), origin);
  }
  FactStatus set_list(std::string_view name, std::initializer_list<std::string_view> values,
                      std::string_view origin = kApplication) {
    return set_list(name, values.begin(), static_cast<uint32_t>(values.size()), origin);
  }
  FactStatus set_list(std::string_view name, const std::string_view* values, uint32_t count,
                      std::string_view origin = kApplication) {
    Entry entry = known(FactType::TextList, count);
    if (!accept(name, {}, &entry)) return FactStatus::BadValue;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (!detection::is_utf8(values[i])) return FactStatus::BadText;
      if (!detection::is_printable_text(values[i])) return FactStatus::BadValue;
      bytes += sizeof(uint32_t) + values[i].size();
    }
    return put_pieces(name, entry, values, count, bytes, origin);
  }
  FactStatus set_unknown(std::string_view name, std::string_view reason,
                         std::string_view origin = kApplication) {
    return put(name, Entry(), reason, origin);
  }
  // Copies one fact of another store, with its origin.
  FactStatus set(const FactView& fact) {
    const bool is_detected = fact.is_detected();
    const FactStatus status = copy_fact(fact);
    if (is_detected && status == FactStatus::Ok) mark_detected(fact.name());
    return status;
  }
  // For detection: from now on, the fact is its own, not the application's.
  void mark_detected(std::string_view name) {
    const uint32_t index = index_of(name);
    if (index != kNotFound) entries_[index].is_detected = true;
  }

  void remove(std::string_view name) {
    const uint32_t index = index_of(name);
    if (index == kNotFound) return;
    for (uint32_t i = index + 1; i < count_; ++i) entries_[i - 1] = entries_[i];
    --count_;
  }
  void clear() {
    count_ = 0;
    used_ = 0;
  }

 protected:
  using Entry = fact_store::Entry;

  Facts(Entry* entries, uint32_t max_facts, char* arena, uint32_t max_bytes)
      : entries_(entries), arena_(arena), max_facts_(max_facts), max_bytes_(max_bytes) {}
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;
  ~Facts() = default;

  void copy(const Facts& other) {
    count_ = other.count_;
    used_ = other.used_;
    for (uint32_t i = 0; i < count_; ++i) entries_[i] = other.entries_[i];
    std::memcpy(arena_, other.arena_, used_);
  }

 private:
  static Entry known(FactType type, int64_t integer) {
    Entry entry;
    entry.type = type;
    entry.integer = integer;
    entry.is_known = true;
    return entry;
  }

  // True if the fact accepts the value. Where it is a number, an integer becomes the same number.
  static bool accept(std::string_view name, std::string_view text, Entry* entry) {
    const size_t fact = detection::index_of_fact(name);
    const bool is_plugin = fact == detection::kNoFact;  // only its plugin knows what it accepts
    if (!is_plugin && detection::kFacts[fact].type == FactType::Number && entry->type == FactType::Integer) {
      entry->type = FactType::Number;
      entry->number = static_cast<double>(entry->integer);
      entry->integer = 0;
    }
    if (is_plugin) return entry->type != FactType::Text || detection::is_printable_text(text);
    detection::FixedText<1024> why;
    const detection::Value value{entry->type, entry->integer, entry->number, text};
    return detection::kFacts[fact].type == entry->type &&
        detection::check_value(detection::kFacts[fact], value, &why);
  }

  FactStatus put(std::string_view name, Entry entry, std::string_view value, std::string_view origin) {
    if (!detection::is_utf8(value)) return FactStatus::BadText;
    if (entry.is_known && !accept(name, value, &entry)) return FactStatus::BadValue;
    return put_pieces(name, entry, &value, 1, value.size(), origin);
  }

  // `bytes` is the size of all pieces, which are stored with their sizes if the value is a list.
  FactStatus put_pieces(std::string_view name, Entry entry, const std::string_view* pieces, uint32_t count,
                        uint64_t bytes, std::string_view origin) {
    if (!fact_store::is_name(name)) return FactStatus::BadName;
    if (!detection::is_utf8(origin)) return FactStatus::BadText;
    uint32_t index = index_of(name);
    if (index == kNotFound && count_ == max_facts_) return FactStatus::TooManyFacts;
    const uint64_t needed = name.size() + bytes + origin.size();
    if (needed > max_bytes_) return FactStatus::TooMuchText;
    if (needed > max_bytes_ - used_) {
      bool is_inside = is_own(name) || is_own(origin);
      for (uint32_t i = 0; i < count; ++i) is_inside = is_inside || is_own(pieces[i]);
      // closing the gaps would move the very texts that are to be copied
      if (is_inside || !close_gaps(index, static_cast<uint32_t>(needed))) return FactStatus::TooMuchText;
    }
    entry.block = used_;
    entry.name_size = static_cast<uint32_t>(name.size());
    entry.value_size = static_cast<uint32_t>(bytes);
    entry.origin_size = static_cast<uint32_t>(origin.size());
    entry.hash = fact_store::hash_of(name);
    append(name);
    for (uint32_t i = 0; i < count; ++i) {
      if (entry.is_known && entry.type == FactType::TextList) {
        append_size(static_cast<uint32_t>(pieces[i].size()));
      }
      append(pieces[i]);
    }
    append(origin);
    if (index == kNotFound) index = count_++;
    entries_[index] = entry;
    return FactStatus::Ok;
  }

  FactStatus copy_fact(const FactView& fact) {
    if (!fact.is_present()) return FactStatus::BadName;
    if (!fact.is_known()) return set_unknown(fact.name(), fact.reason(), fact.origin());
    switch (fact.type()) {
      case FactType::Boolean: return set(fact.name(), fact.boolean(), fact.origin());
      case FactType::Integer: return set(fact.name(), fact.integer(), fact.origin());
      case FactType::Number: return set(fact.name(), fact.number(), fact.origin());
      case FactType::Text: return set(fact.name(), fact.text(), fact.origin());
      case FactType::TextList: break;
    }
    return copy_list(fact);
  }
  FactStatus copy_list(const FactView& fact) {
    // the bytes of the list are copied as they are: a piece without a size of its own
    const TextList list = fact.list();
    const char* begin = list.size() == 0 ? nullptr : (*list.begin()).data() - sizeof(uint32_t);
    uint64_t bytes = 0;
    for (const std::string_view text : list) bytes += sizeof(uint32_t) + text.size();
    const std::string_view all(begin, static_cast<size_t>(bytes));
    Entry entry = known(FactType::Text, 0);
    const FactStatus status = put_pieces(fact.name(), entry, &all, 1, bytes, fact.origin());
    if (status == FactStatus::Ok) {
      Entry& stored = entries_[index_of(fact.name())];
      stored.type = FactType::TextList;
      stored.integer = list.size();
    }
    return status;
  }

  // Moves all blocks but that of the replaced fact to the front,
  // unless `needed` bytes would not fit even then.
  bool close_gaps(uint32_t replaced, uint32_t needed) {
    uint32_t kept = text_bytes_used();
    if (replaced != kNotFound) kept -= entries_[replaced].size();
    if (needed > max_bytes_ - kept) return false;
    uint32_t to = 0;
    uint32_t from = 0;  // blocks below it were moved
    while (true) {
      Entry* next = nullptr;
      for (uint32_t i = 0; i < count_; ++i) {
        Entry& entry = entries_[i];
        if (i != replaced && entry.block >= from && (next == nullptr || entry.block < next->block)) {
          next = &entry;
        }
      }
      if (next == nullptr) break;
      from = next->block + next->size();
      std::memmove(arena_ + to, arena_ + next->block, next->size());
      next->block = to;
      to += next->size();
    }
    used_ = to;
    return true;
  }

  bool is_own(std::string_view text) const {
    const auto at = reinterpret_cast<uintptr_t>(text.data());
    const auto arena = reinterpret_cast<uintptr_t>(arena_);
    return !text.empty() && at >= arena && at < arena + max_bytes_;
  }
  void append(std::string_view text) {
    if (!text.empty()) std::memcpy(arena_ + used_, text.data(), text.size());
    used_ += static_cast<uint32_t>(text.size());
  }
  void append_size(uint32_t size) {
    std::memcpy(arena_ + used_, &size, sizeof size);
    used_ += static_cast<uint32_t>(sizeof size);
  }

  Entry* entries_;
  char* arena_;
  uint32_t max_facts_;
  uint32_t max_bytes_;
  uint32_t count_ = 0;
  uint32_t used_ = 0;
};

// Room for `kFacts` facts, whose texts (names, values, reasons, origins) have `kTextBytes` bytes in total.
//
// A sheet of a device has some 60 facts, whose texts take 6 to 9 kB.
template <uint32_t kFacts, uint32_t kTextBytes = 128 * kFacts + 4096>
class FactStore : public Facts {
 public:
  FactStore() : Facts(entries_, kFacts, arena_, kTextBytes) {}
  FactStore(const FactStore& other) : FactStore() { copy(other); }
  FactStore& operator=(const FactStore& other) {
    if (this != &other) copy(other);
    return *this;
  }

 private:
  fact_store::Entry entries_[kFacts];
  char arena_[kTextBytes];
};

}  // inline namespace
}  // namespace etconfig::device
