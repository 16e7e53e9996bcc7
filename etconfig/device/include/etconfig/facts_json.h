// Fact sheets as JSON text, as `etconfig facts --json` prints them: a
// fact per line, those of the registry first.
//
//   write_facts_json(facts, [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
//
// Allocates nothing, throws nothing, takes a few kilobytes of the stack, and shortens nothing.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/fact_store.h"
#include "version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

namespace facts_json {

using detection::FactInfo;
using detection::Text;

// Text that is handed on in parts, so that none is too long for the buffer.
class Output {
 public:
  explicit Output(detection::Callback<std::string_view> write) : write_(write) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // The buffer, with room for `bytes` more: at most `kBytes`.
  Text& room(size_t bytes) {
    if (text_.size() + bytes > kBytes) flush();
    return text_;
  }
  Output& operator<<(std::string_view text) {
    for (; text.size() > kBytes; text.remove_prefix(kBytes)) room(kBytes) << text.substr(0, kBytes);
    room(text.size()) << text;
    return *this;
  }
  void flush() {
    write_(text_.view());
    text_.clear();
  }

 private:
  static constexpr size_t kBytes = 512;

  detection::Callback<std::string_view> write_;
  detection::FixedText<kBytes> text_;
};

// True at the first # of `##[` or `##word[`, which services for CI take for a command.
inline bool is_command(std::string_view text) {
  constexpr size_t kMostOfWord = 20;
  if (text.substr(0, 2) != "##") return false;
  size_t at = 2;
  for (; at < text.size() && at <= kMostOfWord + 2; ++at) {
    const char c = detection::lower_ascii(text[at]);
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) break;
  }
  return at < text.size() && text[at] == '[';
}

// Writes a text as `etconfig facts --json` does, in ASCII. With `is_shown`,
// characters that are not printable become U+FFFD.
inline void write_text(Output* output, std::string_view text, bool is_shown) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kLongest = 12;  // a pair of escapes
  const auto escape = [&](uint32_t unit) {
    output->room(kLongest) << "\\u" << kDigits[unit >> 12] << kDigits[unit >> 8 & 15]
                           << kDigits[unit >> 4 & 15] << kDigits[unit & 15];
  };
  *output << "\"";
  while (!text.empty()) {
    const bool is_defused = is_command(text);
    uint32_t c = detection::take_code_point(&text);
    if (is_shown && !detection::is_printable(c)) c = detection::kReplacement;
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
    const size_t at = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos) {
      output->room(kLongest) << '\\' << "\"\\bfnrt"[at];
    } else if (c >= 0x20 && c < 0x7f && !is_defused) {
      output->room(kLongest) << static_cast<char>(c);
    } else if (c < 0x10000) {
      escape(c);
    } else {
      escape(0xd800 + ((c - 0x10000) >> 10));
      escape(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  *output << "\"";
}

inline const FactInfo* info_of(std::string_view name) {
  const size_t index = detection::index_of_fact(name);
  return index == detection::kNoFact ? nullptr : &detection::kFacts[index];
}

inline void write_value(Output* to, const FactView& fact) {
  constexpr size_t kLongest = 32;  // of numbers
  switch (fact.type()) {
    case FactType::Boolean: *to << (fact.boolean() ? "true" : "false"); return;
    case FactType::Integer: to->room(kLongest) << fact.integer(); return;
    case FactType::Number: detection::append_repr(&to->room(kLongest), fact.number()); return;
    case FactType::Text: write_text(to, fact.text(), false); return;
    case FactType::TextList: break;
  }
  *to << "[";
  bool is_first = true;
  for (const std::string_view text : fact.list()) {
    if (!is_first) *to << ", ";
    write_text(to, text, false);
    is_first = false;
  }
  *to << "]";
}

inline void write_fact(const FactView& fact, bool is_first, bool is_hidden, Output* to) {
  *to << (is_first ? "\n    " : ",\n    ");
  write_text(to, fact.name(), false);
  *to << ": {";
  if (fact.is_known() && is_hidden) {
    *to << "\"unknown\": \"it is set, but not shown: it identifies the device\"";
  } else if (fact.is_known()) {
    const FactInfo* info = info_of(fact.name());
    *to << "\"value\": ";
    write_value(to, fact);
    if (info != nullptr && info->unit != nullptr) *to << ", \"unit\": \"" << info->unit << "\"";
  } else {
    *to << "\"unknown\": ";
    write_text(to, fact.reason(), true);
  }
  *to << ", \"origin\": ";
  write_text(to, fact.origin(), true);
  *to << "}";
}

}  // namespace facts_json

// Calls `write(text)` for the parts of the sheet, in order. A fact of which `is_hidden(name)` is true has a
// reason instead of its value: pass what `Bundle::is_identifying` returns,
// since this header knows no facts of plugins.
template <typename Write, typename IsHidden>
void write_facts_json(const Facts& facts, Write&& write, IsHidden&& is_hidden) {
  const auto hand_on = [&write](std::string_view text) { write(text); };
  facts_json::Output output(hand_on);
  bool is_first = true;
  const auto write_one = [&](const FactView& fact) {
    facts_json::write_fact(fact, is_first, is_hidden(fact.name()), &output);
    is_first = false;
  };
  output << "{\n  \"etconfig_fact_sheet\": 1,\n  \"facts\": {";
  for (const detection::FactInfo& info : detection::kFacts) {
    const FactView fact = facts.find(info.name);
    if (fact.is_present()) write_one(fact);
  }
  for (uint32_t i = 0; i < facts.size(); ++i) {
    const detection::FactInfo* info = facts_json::info_of(facts.at(i).name());
    if (info == nullptr || detection::is_family(*info)) write_one(facts.at(i));
  }
  output << "\n  }\n}\n";
  output.flush();
}
// The same without a bundle: `device.id` is hidden.
template <typename Write>
void write_facts_json(const Facts& facts, Write&& write) {
  write_facts_json(facts, write, [](std::string_view name) { return name == "device.id"; });
}

}  // inline namespace
}  // namespace etconfig::device
