// Text and JSON for etdevice, and a reader of fact sheets. Nothing recurses without a bound.

#pragma once

#include <etconfig/device.h>
#include <etconfig/facts_json.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace etdevice {

using etconfig::device::Facts;
using etconfig::device::FactStatus;
using etconfig::device::TextBuffer;
using etconfig::device::Value;
using etconfig::device::ValueKind;

inline void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Writes a text for people: characters that are not printable as \u001b, so that no text controls a terminal,
// and commands of CI services, such as `::error::`, so that none is
// one. Every text counts as the start of a line.
inline void print_shown(std::string_view text, std::FILE* to = stdout) {
  bool is_start = true;
  while (!text.empty()) {
    const bool is_command =
        (is_start && text.substr(0, 2) == "::") || etconfig::device::facts_json::is_command(text);
    const uint32_t c = etconfig::device::detection::take_code_point(&text);
    is_start = is_start && etconfig::device::detection::is_space(c);
    if (etconfig::device::detection::is_printable(c) && !is_command) {
      etconfig::device::detection::FixedText<4> shown;
      shown.code_point(c);
      std::fwrite(shown.view().data(), 1, shown.size(), to);
    } else {
      std::fprintf(to, c < 0x10000 ? "\\u%04x" : "\\U%08x", static_cast<unsigned>(c));
    }
  }
}

// In ASCII, with commands of CI services escaped.
inline void print_string(std::string_view text) {
  const auto write = [](std::string_view part) { print(part); };
  etconfig::device::facts_json::Output output(write);
  etconfig::device::facts_json::write_text(&output, text, false);
  output.flush();
}

// A value nests as deep as a bundle allows.
inline void print_value(const Value& value) {
  char buffer[64];
  TextBuffer number(buffer, sizeof buffer);
  switch (value.kind()) {
    case ValueKind::None: print("null"); break;
    case ValueKind::Text: print_string(*value.text()); break;
    case ValueKind::Boolean:
    case ValueKind::Integer:
    case ValueKind::Number:
      value.write(&number);
      print(number.text());
      break;
    case ValueKind::Array:
    case ValueKind::Table: {
      const bool is_table = value.kind() == ValueKind::Table;
      std::putchar(is_table ? '{' : '[');
      for (uint32_t i = 0; i < value.size(); ++i) {
        if (i != 0) print(", ");
        if (is_table) {
          print_string(value.key(i));
          print(": ");
        }
        print_value(value[i]);
      }
      std::putchar(is_table ? '}' : ']');
      break;
    }
  }
}

// Reads JSON. Its texts are decoded where they lie: a text is never longer than it is written.
class JsonReader {
 public:
  struct Scalar {
    ValueKind kind = ValueKind::None;
    int64_t integer = 0;
    double number = 0;
    std::string_view text;
  };

  // `text` must have a byte of room behind its end. `not_json` says what is wrong with any other text.
  JsonReader(char* text, size_t size, const char* not_json)
      : at_(text), end_(text + size), not_json_(not_json) {}

  // Calls `member(key)` at the value of each key of an object.
  template <typename Member>
  bool members(const Member& member) {
    if (!expect('{')) return false;
    if (skip('}')) return true;
    do {
      std::string_view key;
      if (!string(&key) || !expect(':') || !member(key)) return false;
    } while (skip(','));
    return expect('}');
  }
  // Calls `item()` at each item of an array.
  template <typename Item>
  bool items(const Item& item) {
    if (!expect('[')) return false;
    if (skip(']')) return true;
    do {
      if (!item()) return false;
    } while (skip(','));
    return expect(']');
  }
  bool scalar(Scalar* value) {
    *value = Scalar();
    if (is_at('"')) {
      value->kind = ValueKind::Text;
      return string(&value->text);
    }
    if (word("null")) return true;
    const bool is_true = word("true");
    if (!is_true && !word("false")) return number(value);
    value->kind = ValueKind::Boolean;
    value->integer = is_true ? 1 : 0;
    return true;
  }
  bool string(std::string_view* text) {
    if (!expect('"')) return false;
    char* const begin = at_;
    char* to = at_;
    while (at_ != end_ && *at_ != '"') {
      const char c = *at_++;
      if (static_cast<unsigned char>(c) < 0x20) {
        return fail("a text of the fact sheet contains a control character");
      }
      if (c != '\\') {
        *to++ = c;
      } else if (!escape(&to)) {
        return false;
      }
    }
    *text = {begin, static_cast<size_t>(to - begin)};
    return expect('"');
  }
  // Passes over a value.
  bool skip_value(uint32_t depth = 0) {
    if (depth == kMaxDepth) return fail_text();
    if (is_at('{')) return members([&](std::string_view) { return skip_value(depth + 1); });
    if (is_at('[')) return items([&] { return skip_value(depth + 1); });
    Scalar ignored;
    return scalar(&ignored);
  }
  bool is_at(char wanted) {
    skip_space();
    return at_ != end_ && *at_ == wanted;
  }

 protected:
  bool fail(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
    return false;
  }
  bool fail_text() { return fail(not_json_); }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool skip(char wanted) {
    if (!is_at(wanted)) return false;
    ++at_;
    return true;
  }
  bool expect(char wanted) { return skip(wanted) || fail_text(); }

  char* at_;
  char* end_;
  const char* problem_ = nullptr;

 private:
  static constexpr uint32_t kMaxDepth = 32;

  bool word(std::string_view wanted) {
    if (static_cast<size_t>(end_ - at_) < wanted.size() || std::string_view(at_, wanted.size()) != wanted) {
      return false;
    }
    at_ += wanted.size();
    return true;
  }
  bool skip_digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }
  // A number as JSON has it: no + and no zeros in front, digits on both sides of the point.
  bool number(Scalar* value) {
    char* const begin = at_;
    if (at_ != end_ && *at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!skip_digits()) {
      return fail_text();
    }
    const char* const whole_end = at_;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!skip_digits()) return fail_text();
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!skip_digits()) return fail_text();
    }
    const char behind = *at_;
    *at_ = '\0';
    errno = 0;
    value->kind = ValueKind::Integer;
    if (at_ == whole_end) value->integer = std::strtoll(begin, nullptr, 10);
    // as in Python, an integer that exceeds 64 bits is only a value of facts that are numbers
    if (at_ != whole_end || errno == ERANGE) {
      value->kind = ValueKind::Number;
      value->number = std::strtod(begin, nullptr);
    }
    *at_ = behind;
    return true;
  }

  bool escape(char** to) {
    if (at_ == end_) return fail_text();
    const char c = *at_++;
    constexpr std::string_view kEscaped = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const size_t found = kEscaped.find(c);
    if (found != std::string_view::npos) {
      *(*to)++ = kMeant[found];
      return true;
    }
    uint32_t character = 0;
    if (c != 'u' || !hexadecimal(&character)) return fail_text();
    if (character >= 0xD800 && character < 0xDC00) {
      uint32_t low = 0;
      if (!word("\\u") || !hexadecimal(&low) || low < 0xDC00 || low > 0xDFFF) return fail("half a character");
      character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    } else if (character >= 0xDC00 && character < 0xE000) {
      return fail("half a character");
    }
    etconfig::device::detection::FixedText<4> bytes;
    bytes.code_point(character);
    std::memcpy(*to, bytes.view().data(), bytes.size());
    *to += bytes.size();
    return true;
  }
  bool hexadecimal(uint32_t* value) {
    int64_t digits = 0;
    if (end_ - at_ < 4 || !etconfig::device::detection::parse_hexadecimal({at_, 4}, 4, &digits)) return false;
    at_ += 4;
    *value = static_cast<uint32_t>(digits);
    return true;
  }

  const char* not_json_;
};

// Reads a fact sheet, and sets its facts: accepts what
// `FactSheet.from_json` accepts, facts of plugins as well.
class SheetReader : private JsonReader {
 public:
  // `text` must have a byte of room behind its end.
  SheetReader(char* text, size_t size, Facts* facts)
      : JsonReader(text, size, "the text is not the JSON of a fact sheet"), facts_(facts) {}

  // Null if the sheet was read, else what is wrong with it.
  const char* read() {
    const std::string_view text(at_, static_cast<size_t>(end_ - at_));
    if (!etconfig::device::detection::is_utf8(text)) return "the fact sheet is not UTF-8";
    if (text.substr(0, 3) == "\xef\xbb\xbf") at_ += 3;
    bool has_version = false;
    bool has_facts = false;
    const bool is_read = members([&](std::string_view key) {
      if (key == "etconfig_fact_sheet" && !has_version) {
        has_version = true;
        return version();
      }
      if (key != "facts" || has_facts) {
        return fail("a fact sheet has two keys: etconfig_fact_sheet and facts");
      }
      has_facts = true;
      return members([this](std::string_view name) {
        wrong_fact_ = name;
        if (!fact(name)) return false;
        wrong_fact_ = {};
        return true;
      });
    });
    if (!is_read) return problem_;
    skip_space();
    if (at_ != end_) return "text follows the fact sheet";
    return has_version && has_facts ? nullptr : "it has no version or no facts: this is not a fact sheet";
  }
  // The fact at which reading ended; empty if it ended elsewhere.
  std::string_view wrong_fact() const { return wrong_fact_; }

 private:
  static constexpr uint32_t kMaxFacts = 1000;
  static constexpr uint32_t kMaxItems = 96 << 10;  // a sheet of 256 KiB has no more

  bool version() {
    Scalar value;
    if (!scalar(&value)) return false;
    return (value.kind == ValueKind::Integer && value.integer == 1) ||
        fail("the fact sheet has another version");
  }
  bool fact(std::string_view name) {
    Scalar value;
    Scalar unit;
    Scalar origin;
    origin.kind = ValueKind::Text;
    bool has_value = false;
    bool has_unit = false;
    bool has_origin = false;
    bool is_unknown = false;
    item_count_ = 0;
    const bool is_read = members([&](std::string_view key) {
      bool* const is_given = key == "origin" ? &has_origin : key == "unit" ? &has_unit : &has_value;
      if (is_given == &has_value && key != "value" && key != "unknown") {
        return fail("a fact has the keys value, unit, unknown and origin");
      }
      if (*is_given) {
        return fail("a fact has each key once, and either a value or a reason why it is unknown");
      }
      *is_given = true;
      if (is_given == &has_origin) return scalar(&origin);
      if (is_given == &has_unit) return scalar(&unit);
      is_unknown = key == "unknown";
      return is_at('[') ? list(&value) : scalar(&value);
    });
    if (!is_read) return false;
    if (!has_value) return fail("a fact has neither a value nor a reason why it is unknown");
    if (!is_shown(origin) || (is_unknown && !is_shown(value))) {
      return fail("a reason or an origin is not printable text");
    }
    if (has_unit && !is_unit_of(name, unit)) return fail("a fact has another unit");
    if (facts_->find(name).is_present()) return fail("a fact appears twice");
    if (facts_->size() == kMaxFacts) return fail("the sheet has more than 1000 facts");
    return set(name, is_unknown, value, origin.text) == FactStatus::Ok ||
        fail("a fact does not have such a value");
  }
  static bool is_shown(const Scalar& value) {
    return value.kind == ValueKind::Text && etconfig::device::detection::is_printable_text(value.text);
  }
  // The unit of a plugin's fact is not known here.
  static bool is_unit_of(std::string_view name, const Scalar& unit) {
    const auto* const info = etconfig::device::facts_json::info_of(name);
    if (info == nullptr) return true;
    if (info->unit == nullptr) return unit.kind == ValueKind::None;
    return unit.kind == ValueKind::Text && unit.text == info->unit;
  }
  FactStatus set(std::string_view name, bool is_unknown, const Scalar& value, std::string_view origin) {
    if (is_unknown) return facts_->set_unknown(name, value.text, origin);
    switch (value.kind) {
      case ValueKind::Boolean: return facts_->set(name, value.integer != 0, origin);
      case ValueKind::Integer: return facts_->set(name, value.integer, origin);
      case ValueKind::Number: return facts_->set(name, value.number, origin);
      case ValueKind::Text: return facts_->set(name, value.text, origin);
      case ValueKind::Array: return facts_->set_list(name, items_, item_count_, origin);
      default: return FactStatus::BadValue;
    }
  }

  bool list(Scalar* value) {
    value->kind = ValueKind::Array;
    return items([this] {
      Scalar item;
      if (!scalar(&item)) return false;
      if (item.kind != ValueKind::Text) return fail("a list of a fact sheet contains texts");
      if (item_count_ == kMaxItems) return fail("a list of a fact sheet is too long");
      items_[item_count_++] = item.text;
      return true;
    });
  }

  Facts* facts_;
  std::string_view wrong_fact_;
  uint32_t item_count_ = 0;
  static inline std::string_view items_[kMaxItems];
};

}  // namespace etdevice
