// How the rows and texts of a bundle are read: in place, little-endian, at any alignment.
//
// Nothing here checks bounds: verify.h does, once, when a bundle is
// opened. layout.h has the fields of each row.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

namespace format {

// Whether this processor reads numbers as the bundle has them;
// compilers do not see that the loop below is a load.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || defined(_MSC_VER)
constexpr bool kIsLittleEndian = true;
#else
constexpr bool kIsLittleEndian = false;
#endif

template <typename T>
T read(const uint8_t* at) {
  if constexpr (kIsLittleEndian) {
    T number;
    std::memcpy(&number, at, sizeof number);
    return number;
  } else {
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<uint64_t>(at[i]) << (8 * i);
    return static_cast<T>(bits);
  }
}

inline double number_of(uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// A struct of the schema; the fields are named by its offsets.
template <uint32_t kBytes, uint32_t kAlignedTo>
struct Record {
  static constexpr uint32_t kSize = kBytes;
  static constexpr uint32_t kAlignment = kAlignedTo;

  const uint8_t* at = nullptr;

  uint8_t u8(uint32_t offset) const { return at[offset]; }
  uint16_t u16(uint32_t offset) const { return read<uint16_t>(at + offset); }
  uint32_t u32(uint32_t offset) const { return read<uint32_t>(at + offset); }
  uint64_t u64(uint32_t offset) const { return read<uint64_t>(at + offset); }
  double f64(uint32_t offset) const { return number_of(u64(offset)); }
};

// `count` elements from `first` on, of the vector that the schema names.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
};

// A vector of structs.
template <typename T>
class Vector {
 public:
  Vector() = default;
  Vector(const uint8_t* elements, uint32_t size) : elements_(elements), size_(size) {}

  uint32_t size() const { return size_; }
  // `index` must be below `size()`.
  T operator[](uint32_t index) const {
    T element;
    element.at = elements_ + static_cast<size_t>(index) * T::kSize;
    return element;
  }
  bool contains(Range range) const { return range.first <= size_ && range.count <= size_ - range.first; }

 private:
  const uint8_t* elements_ = nullptr;
  uint32_t size_ = 0;
};

struct Number : Record<4, 4> {
  operator uint32_t() const { return u32(0); }
};

// The texts: references that lead forward to bytes with their size in front and a NUL behind.
class Texts {
 public:
  Texts() = default;
  explicit Texts(Vector<Number> references) : references_(references) {}

  uint32_t size() const { return references_.size(); }
  std::string_view operator[](uint32_t index) const {
    const Number reference = references_[index];
    const uint8_t* text = reference.at + static_cast<uint32_t>(reference);
    return {reinterpret_cast<const char*>(text) + 4, read<uint32_t>(text)};
  }

 private:
  Vector<Number> references_;
};

}  // namespace format
}  // inline namespace
}  // namespace etconfig::device
