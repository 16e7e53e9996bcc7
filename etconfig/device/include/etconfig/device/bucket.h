// The place of a text between 0 and 1, for staged rollouts: `bucket` of the condition language.
//
// It is the first 52 bits of the MD5 of `name:text`. docs/rollouts.md says why MD5.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace internal {

// MD5 as RFC 1321 defines it, for code that is small rather than fast.
class Md5 {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) add_byte(static_cast<uint8_t>(byte));
  }
  // The first 64 bits of the digest, most significant first. Nothing can be added afterwards.
  uint64_t finish() {
    const uint64_t bits = size_ * 8;
    add_byte(0x80);
    while (size_ % sizeof block_ != sizeof block_ - 8) add_byte(0);
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<uint8_t>(bits >> shift));
    uint64_t found = 0;
    for (int i = 0; i < 8; ++i) found = found << 8 | (state_[i / 4] >> (i % 4 * 8) & 0xFF);
    return found;
  }

 private:
  void add_byte(uint8_t byte) {
    block_[size_++ % sizeof block_] = byte;
    if (size_ % sizeof block_ == 0) mix();
  }
  static uint32_t rotated(uint32_t value, uint32_t by) { return value << by | value >> (32 - by); }
  void mix() {
    static constexpr uint32_t kSines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
    };
    static constexpr uint8_t kShifts[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    static constexpr uint8_t kSteps[4][2] = {
        {1, 0}, {5, 1}, {3, 5}, {7, 0}};  // word: steps[0] * i + steps[1]
    uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3];
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t round = i / 16;
      uint32_t chosen = 0;
      switch (round) {
        case 0: chosen = (b & c) | (~b & d); break;
        case 1: chosen = (d & b) | (~d & c); break;
        case 2: chosen = b ^ c ^ d; break;
        default: chosen = c ^ (b | ~d);
      }
      const uint32_t word = (kSteps[round][0] * i + kSteps[round][1]) % 16;
      uint32_t value = 0;
      for (uint32_t byte = 4; byte-- > 0;) value = value << 8 | block_[word * 4 + byte];
      const uint32_t moved = b + rotated(a + chosen + kSines[i] + value, kShifts[round][i % 4]);
      a = d;
      d = c;
      c = b;
      b = moved;
    }
    state_[0] += a;
    state_[1] += b;
    state_[2] += c;
    state_[3] += d;
  }

  uint32_t state_[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  uint64_t size_ = 0;
  uint8_t block_[64];
};

// At least 0, less than 1. A double has 53 bits, so it is exact.
inline double bucket_of(std::string_view text, std::string_view name) {
  Md5 hash;
  hash.add(name);
  hash.add(":");
  hash.add(text);
  return static_cast<double>(hash.finish() >> 12) / 4503599627370496.0;
}

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
