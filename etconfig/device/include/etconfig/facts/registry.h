// The registry of facts: what is known about each, and which values it accepts.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "etconfig/facts/decimal.h"
#include "etconfig/facts/fact_table.h"
#include "etconfig/facts/name_tables.h"
#include "etconfig/facts/text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr size_t kFactCount = sizeof kFacts / sizeof kFacts[0];
inline constexpr size_t kNoFact = ~size_t{0};
inline constexpr size_t kShownCharacters = 60;

// Finds a key in one of the tables of name_tables.h; returns false if it is not there.
inline bool look_up(std::string_view table, std::string_view key, std::string_view* value) {
  while (!table.empty()) {
    const std::string_view found(table.data());
    *value = std::string_view(table.data() + found.size() + 1);
    if (found == key) return true;
    table.remove_prefix(found.size() + value->size() + 2);
  }
  return false;
}

template <size_t kBytes>
constexpr std::string_view table_of(const char (&table)[kBytes]) {
  return {table, kBytes - 1};
}

template <size_t kBytes>
bool look_up(const char (&table)[kBytes], std::string_view key, std::string_view* value) {
  return look_up(table_of(table), key, value);
}

template <size_t kBytes>
bool look_up_key(const char (&table)[kBytes], std::string_view key) {
  std::string_view value;
  return look_up(table, key, &value);
}

// True if the name is that of the fact or of a member of its family, such as gpu.0.name of gpu.<n>.name.
inline bool is_name_of(std::string_view pattern, std::string_view name) {
  const size_t at = pattern.find("<n>");
  if (at == std::string_view::npos) return pattern == name;
  const std::string_view behind = pattern.substr(at + 3);
  if (!starts_with(name, pattern.substr(0, at)) || !ends_with(name, behind)) return false;
  if (name.size() < at + behind.size()) return false;
  const std::string_view index = name.substr(at, name.size() - at - behind.size());
  int64_t number = 0;
  return parse_count(index, &number) && index.size() <= 4 && (index.size() == 1 || index[0] != '0');
}

inline bool is_family(const FactInfo& info) {
  return std::string_view(info.name).find("<n>") != std::string_view::npos;
}

inline size_t index_of_fact(std::string_view name) {
  size_t index = 0;
  while (index < kFactCount && !is_name_of(kFacts[index].name, name)) ++index;
  return index < kFactCount ? index : kNoFact;
}

struct Value {
  FactType type = FactType::Boolean;
  int64_t integer = 0;
  double number = 0;
  std::string_view text;
};

inline bool is_choice(const char* choices, std::string_view text) {
  std::string_view rest = choices;
  while (!rest.empty()) {
    if (partition(rest, " ", &rest) == text) return true;
  }
  return false;
}

// Writes the fact's own spelling of a text to `meant`, such as arm64
// for aarch64; false if the text may be right.
inline bool meant_value(std::string_view fact, std::string_view text, Text* meant) {
  const bool is_arch = fact == "cpu.arch";
  if (!is_arch && fact != "os.name") return false;
  for (const char c : text) *meant << lower_ascii(c);
  std::string_view known;
  if (is_arch ? look_up(kArchitectures, meant->view(), &known) : look_up(kSystems, meant->view(), &known)) {
    meant->clear();
    *meant << known;
  }
  return meant->view() != text;
}

inline void append_choices(Text* to, const char* choices) {
  std::string_view rest = choices;
  for (bool is_first = true; !rest.empty(); is_first = false) {
    if (!is_first) *to << " or ";
    *to << '\'' << partition(rest, " ", &rest) << '\'';
  }
}

// Appends a text in quotes, cut off after `kShownCharacters`.
inline void append_shown(Text* to, std::string_view text) {
  if (!append_repr(to, text, kShownCharacters)) *to << "...";
}

inline void append_number(Text* to, const Value& value) {
  if (value.type == FactType::Integer) {
    *to << value.integer;
  } else {
    append_repr(to, value.number);
  }
}

// True if a fact accepts a value of its type: bounds and choices are met. Otherwise writes why not.
inline bool check_value(const FactInfo& info, const Value& value, Text* why) {
  if (value.type == FactType::Text) {
    FixedText<64> meant;
    if (!is_printable_text(value.text)) {
      *why << "expected a string of printable characters, found ";
    } else if (info.choices != nullptr && !is_choice(info.choices, value.text)) {
      *why << "expected ";
      append_choices(why, info.choices);
      *why << ", found ";
    } else if (value.text.size() < 64 && meant_value(info.name, value.text, &meant)) {
      *why << "it is called ";
      append_shown(why, meant.view());
      *why << " here, found ";
    } else {
      return true;
    }
    append_shown(why, value.text);
    return false;
  }
  if (value.type != FactType::Integer && value.type != FactType::Number) return true;
  const double number = value.type == FactType::Integer ? static_cast<double>(value.integer) : value.number;
  const bool is_low = info.minimum != kUnbounded && number < info.minimum;
  const bool is_high = info.maximum != kUnbounded && number > info.maximum;
  if (!is_low && !is_high) return true;
  *why << "expected at " << (is_low ? "least " : "most ") << int64_t{is_low ? info.minimum : info.maximum}
       << ", found ";
  append_number(why, value);
  return false;
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
