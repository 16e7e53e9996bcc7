// Fact sheets as JSON text, as `etconfig facts --json` prints them: a fact per line, those of the registry first.
//
//   write_facts_json(facts, [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
//
// Allocates nothing, throws nothing.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/fact_store.h"

namespace etconfig::device {

namespace facts_json {

using detection::FactInfo;
using detection::Text;

// Writes a text as `json.dumps` does, in ASCII. With `is_shown`, characters that are not printable become U+FFFD.
inline void write_text(Text* to, std::string_view text, bool is_shown) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto escape = [&](uint32_t unit) {
    *to << "\\u" << kDigits[unit >> 12] << kDigits[unit >> 8 & 15] << kDigits[unit >> 4 & 15] << kDigits[unit & 15];
  };
  *to << '"';
  while (!text.empty()) {
    uint32_t c = detection::take_code_point(&text);
    if (is_shown && !detection::is_printable(c)) c = detection::kReplacement;
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
    const size_t at = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos) {
      *to << '\\' << "\"\\bfnrt"[at];
    } else if (c >= 0x20 && c < 0x7f) {
      *to << static_cast<char>(c);
    } else if (c < 0x10000) {
      escape(c);
    } else {
      escape(0xd800 + ((c - 0x10000) >> 10));
      escape(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  *to << '"';
}

inline const FactInfo* info_of(std::string_view name) {
  const size_t index = detection::index_of_fact(name);
  return index == detection::kNoFact ? nullptr : &detection::kFacts[index];
}

inline void write_value(Text* to, const FactView& fact) {
  switch (fact.type()) {
    case FactType::Boolean: *to << (fact.boolean() ? "true" : "false"); return;
    case FactType::Integer: *to << fact.integer(); return;
    case FactType::Number: detection::append_repr(to, fact.number()); return;
    case FactType::Text: write_text(to, fact.text(), false); return;
    case FactType::TextList: break;
  }
  *to << '[';
  bool is_first = true;
  for (const std::string_view text : fact.list()) {
    if (!is_first) *to << ", ";
    write_text(to, text, false);
    is_first = false;
  }
  *to << ']';
}

// A text that is handed on when it gets long.
template <typename Write>
class Output {
 public:
  explicit Output(Write& write) : write_(write) {}
  // Room for the longest text that one call appends: a path in the origin, each byte of which may become six.
  Text* text() {
    if (text_.size() > kBytes / 2) flush();
    return &text_;
  }
  void flush() {
    write_(text_.view());
    text_.clear();
  }

 private:
  static constexpr size_t kBytes = 128 << 10;
  Write& write_;
  detection::FixedText<kBytes> text_;
};

template <typename Write>
void write_fact(const FactView& fact, bool is_first, Output<Write>* to) {
  *to->text() << (is_first ? "\n    " : ",\n    ");
  write_text(to->text(), fact.name(), false);
  *to->text() << ": {";
  if (fact.is_known()) {
    const FactInfo* info = info_of(fact.name());
    *to->text() << "\"value\": ";
    write_value(to->text(), fact);
    if (info != nullptr && info->unit != nullptr) *to->text() << ", \"unit\": \"" << info->unit << '"';
  } else {
    *to->text() << "\"unknown\": ";
    write_text(to->text(), fact.reason(), true);
  }
  *to->text() << ", \"origin\": ";
  write_text(to->text(), fact.origin(), true);
  *to->text() << '}';
}

}  // namespace facts_json

// Calls `write(text)` for the parts of the sheet, in order.
template <typename Write>
void write_facts_json(const Facts& facts, Write&& write) {
  facts_json::Output<std::remove_reference_t<Write>> output(write);
  bool is_first = true;
  const auto write_one = [&](const FactView& fact) {
    facts_json::write_fact(fact, is_first, &output);
    is_first = false;
  };
  *output.text() << "{\n  \"etconfig_fact_sheet\": 1,\n  \"facts\": {";
  for (const detection::FactInfo& info : detection::kFacts) {
    const FactView fact = facts.find(info.name);
    if (fact.is_present()) write_one(fact);
  }
  for (uint32_t i = 0; i < facts.size(); ++i) {
    const detection::FactInfo* info = facts_json::info_of(facts.at(i).name());
    if (info == nullptr || detection::is_family(*info)) write_one(facts.at(i));
  }
  *output.text() << "\n  }\n}\n";
  output.flush();
}

}  // namespace etconfig::device
