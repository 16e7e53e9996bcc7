// A reader of FlatBuffers in which no offset leads outside of the buffer.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace etconfig {

// The bytes are not what they claim to be.
struct DamagedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class FlatBuffer {
 public:
  FlatBuffer(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  template <typename T>
  T number(size_t at) const {
    need(at, sizeof(T));
    T value;
    std::memcpy(&value, data_ + at, sizeof(T));
    return value;
  }

  // The position that the reference at `at` leads to.
  size_t follow(size_t at) const { return at + number<uint32_t>(at); }

  // The bytes from `at` on, which are all inside.
  const uint8_t* need(size_t at, size_t count) const {
    if (at > size_ || count > size_ - at) {
      throw DamagedError("the payload refers to bytes behind its end");
    }
    return data_ + at;
  }

  size_t size() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};

// A vector of numbers or references.
class FlatVector {
 public:
  FlatVector(const FlatBuffer& buffer, size_t at, size_t item_size)
      : buffer_(&buffer), start_(at + 4), count_(buffer.number<uint32_t>(at)) {
    buffer.need(start_, count_ * item_size);  // 32 bits by at most 8: no overflow
  }

  size_t size() const { return count_; }

  template <typename T>
  T number(size_t index) const {
    return buffer_->number<T>(start_ + index * sizeof(T));
  }

  size_t table(size_t index) const { return buffer_->follow(start_ + 4 * index); }

 private:
  const FlatBuffer* buffer_;
  size_t start_;
  size_t count_;
};

class FlatTable {
 public:
  FlatTable(const FlatBuffer& buffer, size_t at) : buffer_(&buffer), at_(at) {
    const int64_t vtable = static_cast<int64_t>(at) - buffer.number<int32_t>(at);
    if (vtable < 0) {
      throw DamagedError("a table has no description");
    }
    vtable_ = static_cast<size_t>(vtable);
    vtable_size_ = buffer.number<uint16_t>(vtable_);
    buffer.need(vtable_, vtable_size_);
  }

  template <typename T>
  T number(size_t slot, T fallback = 0) const {
    const size_t position = field(slot);
    return position == 0 ? fallback : buffer_->number<T>(position);
  }

  bool has(size_t slot) const { return field(slot) != 0; }

  FlatTable table(size_t slot, const char* name) const { return FlatTable(*buffer_, required(slot, name)); }

  std::optional<FlatVector> vector(size_t slot, size_t item_size) const {
    const size_t position = field(slot);
    if (position == 0) {
      return std::nullopt;
    }
    return FlatVector(*buffer_, buffer_->follow(position), item_size);
  }

  FlatVector vector(size_t slot, size_t item_size, const char* name) const {
    return FlatVector(*buffer_, required(slot, name), item_size);
  }

  std::string_view text(size_t slot, const char* name) const {
    const size_t position = required(slot, name);
    const uint32_t size = buffer_->number<uint32_t>(position);
    return {reinterpret_cast<const char*>(buffer_->need(position + 4, size)), size};
  }

 private:
  // The position of a field, or 0 if it is absent.
  size_t field(size_t slot) const {
    const size_t entry = 4 + 2 * slot;
    if (entry + 2 > vtable_size_) {
      return 0;
    }
    const uint16_t offset = buffer_->number<uint16_t>(vtable_ + entry);
    return offset == 0 ? 0 : at_ + offset;
  }

  size_t required(size_t slot, const char* name) const {
    const size_t position = field(slot);
    if (position == 0) {
      throw DamagedError(std::string("the payload has no ") + name);
    }
    return buffer_->follow(position);
  }

  const FlatBuffer* buffer_;
  size_t at_;
  size_t vtable_ = 0;
  size_t vtable_size_ = 0;
};

}  // namespace etconfig
