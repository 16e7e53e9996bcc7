// JSON for etdevice: a writer, and a reader of fact sheets. Neither recurses without a bound.

#pragma once

#include <etconfig/device.h>

#include <cerrno>
#include <cstdio>

namespace etdevice {

using etconfig::device::Facts;
using etconfig::device::FactStatus;
using etconfig::device::TextBuffer;
using etconfig::device::Value;
using etconfig::device::ValueKind;

inline void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Writes a text for people: characters that are not printable as \u001b, so that no text controls a terminal.
inline void print_shown(std::string_view text, std::FILE* to = stdout) {
  while (!text.empty()) {
    const uint32_t c = etconfig::device::detection::take_code_point(&text);
    if (etconfig::device::detection::is_printable(c)) {
      etconfig::device::detection::FixedText<4> shown;
      shown.code_point(c);
      std::fwrite(shown.view().data(), 1, shown.size(), to);
    } else {
      std::fprintf(to, c < 0x10000 ? "\\u%04x" : "\\U%08x", static_cast<unsigned>(c));
    }
  }
}

inline void print_string(std::string_view text) {
  std::putchar('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      std::printf("\\%c", c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::printf("\\u%04x", static_cast<unsigned>(c));
    } else {
      std::putchar(c);
    }
  }
  std::putchar('"');
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

// Reads a fact sheet as `etconfig facts --save` writes it, and sets the facts that `is_wanted` accepts.
template <typename IsWanted>
class SheetReader {
 public:
  SheetReader(std::string_view text, const IsWanted& is_wanted, Facts* facts)
      : at_(text.data()), end_(text.data() + text.size()), is_wanted_(is_wanted), facts_(facts) {}

  // Null if the sheet was read, else what is wrong with it.
  const char* read() {
    bool has_version = false;
    bool has_facts = false;
    const bool is_read = members([&](std::string_view key) {
      if (key == "etconfig_fact_sheet" && !has_version) {
        has_version = true;
        return version();
      }
      if (key != "facts" || has_facts) return fail("a fact sheet has two keys: etconfig_fact_sheet and facts");
      has_facts = true;
      return members([this](std::string_view name) { return fact(name); });
    });
    if (!is_read) return problem_;
    skip_space();
    if (at_ != end_) return "text follows the fact sheet";
    return has_version && has_facts ? nullptr : "it has no version or no facts: this is not a fact sheet";
  }

 private:
  static constexpr uint32_t kMaxText = 4096;
  static constexpr uint32_t kMaxItems = 512;

  bool fail(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
    return false;
  }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool skip(char wanted) {
    skip_space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  bool expect(char wanted) { return skip(wanted) || fail("the text is not the JSON of a fact sheet"); }

  // Calls `member` at the value of each key of an object.
  template <typename Member>
  bool members(const Member& member) {
    if (!expect('{')) return false;
    if (skip('}')) return true;
    do {
      char key_memory[256];
      Text key{key_memory, sizeof key_memory};
      if (!string(&key) || !expect(':') || !member(key.view())) return false;
    } while (skip(','));
    return expect('}');
  }

  bool version() {
    Scalar scalar;
    if (!this->scalar(&scalar)) return false;
    return (scalar.kind == ValueKind::Integer && scalar.integer == 1) || fail("the fact sheet has another version");
  }
  bool fact(std::string_view name) {
    char origin_memory[256];
    Text origin{origin_memory, sizeof origin_memory};
    Scalar value;
    bool is_unknown = false;
    bool has_value = false;
    text_used_ = item_count_ = 0;
    const bool is_read = members([&](std::string_view key) {
      if (key == "origin") return string(&origin);
      if (key == "unit") return scalar(&unit_);
      if (key != "value" && key != "unknown") return fail("a fact has the keys value, unit, unknown and origin");
      if (has_value) return fail("a fact has either a value or a reason why it is unknown");
      has_value = true;
      is_unknown = key == "unknown";
      return skip('[') ? list(&value) : scalar(&value);
    });
    if (!is_read) return false;
    if (!has_value) return fail("a fact has neither a value nor a reason why it is unknown");
    if (!is_wanted_(name)) return true;
    return set(name, is_unknown, value, origin.view()) == FactStatus::Ok || fail("a fact cannot be stored");
  }

  struct Text {
    char* memory;
    uint32_t capacity;
    uint32_t size = 0;
    std::string_view view() const { return {memory, size}; }
  };
  struct Scalar {
    ValueKind kind = ValueKind::None;
    int64_t integer = 0;
    double number = 0;
    std::string_view text;
  };

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
    if (skip(']')) return true;
    do {
      Scalar item;
      if (!scalar(&item)) return false;
      if (item.kind != ValueKind::Text) return fail("a list of a fact sheet contains texts");
      if (item_count_ == kMaxItems) return fail("a list of a fact sheet is too long");
      items_[item_count_++] = item.text;
    } while (skip(','));
    return expect(']');
  }
  bool scalar(Scalar* value) {
    skip_space();
    if (at_ == end_) return fail("the fact sheet ends too early");
    if (*at_ == '"') {
      Text text{text_ + text_used_, kMaxText - text_used_};
      if (!string(&text)) return false;
      text_used_ += text.size;
      value->kind = ValueKind::Text;
      value->text = text.view();
      return true;
    }
    if (word("true") || word("false")) {
      value->kind = ValueKind::Boolean;
      value->integer = at_[-2] == 'u' ? 1 : 0;
      return true;
    }
    return number(value);
  }
  bool word(std::string_view wanted) {
    if (static_cast<size_t>(end_ - at_) < wanted.size() || std::string_view(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  bool number(Scalar* value) {
    char digits[64];
    uint32_t size = 0;
    bool is_integer = true;
    while (at_ != end_ && size + 1 < sizeof digits) {
      const char c = *at_;
      if (!(c >= '0' && c <= '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E') break;
      is_integer = is_integer && c != '.' && c != 'e' && c != 'E';
      digits[size++] = c;
      ++at_;
    }
    digits[size] = '\0';
    char* end = digits;
    errno = 0;
    if (is_integer) value->integer = std::strtoll(digits, &end, 10);
    // as in Python, an integer that exceeds 64 bits is only a value of facts that are numbers
    if (is_integer && errno == ERANGE) is_integer = false;
    if (!is_integer) value->number = std::strtod(digits, &end);
    value->kind = is_integer ? ValueKind::Integer : ValueKind::Number;
    return (size != 0 && *end == '\0') || fail("the text is not the JSON of a fact sheet");
  }

  bool string(Text* text) {
    if (!expect('"')) return false;
    while (at_ != end_ && *at_ != '"') {
      const char c = *at_++;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a text of the fact sheet contains a control character");
      if (c == '\\' ? !escape(text) : !append(text, c)) return false;
    }
    return expect('"');
  }
  bool append(Text* text, char c) {
    if (text->size == text->capacity) return fail("a text of the fact sheet is too long");
    text->memory[text->size++] = c;
    return true;
  }
  bool escape(Text* text) {
    if (at_ == end_) return fail("the fact sheet ends too early");
    const char c = *at_++;
    constexpr std::string_view kEscaped = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const size_t found = kEscaped.find(c);
    if (found != std::string_view::npos) return append(text, kMeant[found]);
    uint32_t character = 0;
    if (c != 'u' || !hexadecimal(&character)) return fail("the text is not the JSON of a fact sheet");
    if (character >= 0xD800 && character < 0xDC00) {
      uint32_t low = 0;
      if (!word("\\u") || !hexadecimal(&low) || low < 0xDC00 || low > 0xDFFF) return fail("half a character");
      character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    } else if (character >= 0xDC00 && character < 0xE000) {
      return fail("half a character");
    }
    return append_utf8(text, character);
  }
  bool hexadecimal(uint32_t* value) {
    for (int i = 0; i < 4; ++i) {
      if (at_ == end_) return false;
      const char c = *at_++;
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) return false;
      *value = *value << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  }
  bool append_utf8(Text* text, uint32_t character) {
    if (character < 0x80) return append(text, static_cast<char>(character));
    const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    if (!append(text, static_cast<char>(kLead[more] | character >> (6 * more)))) return false;
    for (int i = more - 1; i >= 0; --i) {
      if (!append(text, static_cast<char>(0x80 | (character >> (6 * i) & 0x3F)))) return false;
    }
    return true;
  }

  const char* at_;
  const char* end_;
  const IsWanted& is_wanted_;
  Facts* facts_;
  const char* problem_ = nullptr;
  Scalar unit_;
  uint32_t text_used_ = 0;
  uint32_t item_count_ = 0;
  char text_[kMaxText];
  std::string_view items_[kMaxItems];
};

}  // namespace etdevice
