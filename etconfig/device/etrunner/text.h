// Lines, JSON and base64 of the protocol of `--on`.

#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../etdevice/json.h"

namespace etrunner {

using etconfig::device::ValueKind;
using etdevice::JsonReader;
using Scalar = JsonReader::Scalar;

// What the other side reads as the reason why a configuration cannot be measured.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The lines that come in through a file descriptor, however long they are.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_; }

  // Reads what is there; false at the end.
  bool read() {
    constexpr size_t kChunk = 1 << 18;
    const size_t before = buffer_.size();
    buffer_.resize(before + kChunk);
    ssize_t count;
    do {
      count = ::read(descriptor_, &buffer_[before], kChunk);
    } while (count < 0 && errno == EINTR);
    buffer_.resize(before + static_cast<size_t>(count > 0 ? count : 0));
    return count > 0;
  }

  // Takes the next line that is complete, without its end.
  bool take(std::string* line) {
    const size_t end = buffer_.find('\n', searched_);
    searched_ = end == std::string::npos ? buffer_.size() : 0;
    if (end == std::string::npos) return false;
    line->assign(buffer_, 0, end);
    buffer_.erase(0, end + 1);
    return true;
  }

 private:
  int descriptor_;
  std::string buffer_;
  size_t searched_ = 0;
};

// False if the other side is gone.
inline bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// The scalars of an object by key: one, or those of a list.
using Fields = std::map<std::string, std::vector<Scalar>>;

inline bool read_fields(JsonReader* json, Fields* to) {
  return json->members([&](std::string_view key) {
    auto& values = (*to)[std::string(key)];
    const auto add = [&] { return json->scalar(&values.emplace_back()); };
    return json->is_at('[') ? json->items(add) : add();
  });
}

// A value of the kind None if there is none.
inline Scalar one(const Fields& fields, const char* key) {
  const auto found = fields.find(key);
  return found == fields.end() || found->second.size() != 1 ? Scalar() : found->second[0];
}

inline std::string json_text(std::string_view text) {
  std::string result;
  const auto append = [&](std::string_view part) { result.append(part); };
  etconfig::device::facts_json::Output output(append);
  etconfig::device::facts_json::write_text(&output, text, false);
  output.flush();
  return result;
}

inline std::string json_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  etconfig::device::detection::FixedText<32> text;
  etconfig::device::detection::append_repr(&text, number);
  return std::string(text.view());
}

inline std::string json_text(const Scalar& value) {
  switch (value.kind) {
    case ValueKind::Text: return json_text(value.text);
    case ValueKind::Boolean: return value.integer != 0 ? "true" : "false";
    case ValueKind::Integer: return std::to_string(value.integer);
    case ValueKind::Number: return json_text(value.number);
    default: return "null";
  }
}

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string encode_base64(const std::vector<uint8_t>& bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? bytes[i + k] : 0);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kBase64[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// Throws Failure for anything else.
inline std::vector<uint8_t> decode_base64(std::string_view text) {
  static const std::vector<int8_t> values = [] {
    std::vector<int8_t> found(256, -1);
    for (int8_t i = 0; i < 64; ++i) found[static_cast<uint8_t>(kBase64[i])] = i;
    return found;
  }();
  if (text.size() % 4 != 0) throw Failure{"bytes are not in base64"};
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int8_t value = values[static_cast<uint8_t>(text[i])];
    if (value < 0) throw Failure{"bytes are not in base64"};
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 0) bytes.push_back(static_cast<uint8_t>(bits >> (6 - 2 * (i % 4))));
  }
  return bytes;
}

}  // namespace etrunner
