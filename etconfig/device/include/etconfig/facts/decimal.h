// Decimal texts of doubles: as Python's `repr`, and as its format `g`.
// Locales do not matter, and nothing is allocated.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "etconfig/facts/text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

// The digits of a positive number 0.DDD... * 10**point, without zeros at either end.
struct Decimal {
  char digits[800];  // the longest exact one has 767, a midpoint of two doubles one more
  int count = 0;
  int point = 0;
};

// The exact value of mantissa * 2**exponent.
inline void expand(uint64_t mantissa, int exponent, Decimal* decimal) {
  constexpr uint32_t kBase = 1000000000;
  uint32_t limbs[90];  // lowest first
  int count = 0;
  for (; mantissa != 0; mantissa /= kBase) limbs[count++] = static_cast<uint32_t>(mantissa % kBase);
  const auto multiply_by = [&](uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < count; ++i) {
      carry += static_cast<uint64_t>(limbs[i]) * factor;
      limbs[i] = static_cast<uint32_t>(carry % kBase);
      carry /= kBase;
    }
    if (carry != 0) limbs[count++] = static_cast<uint32_t>(carry);
  };
  // 2**-k is 5**k / 10**k
  const int power = exponent < 0 ? -exponent : exponent;
  for (int i = 0; i < power; ++i) multiply_by(exponent < 0 ? 5 : 2);
  int size = 0;
  for (int i = count - 1; i >= 0; --i) {
    for (uint32_t unit = kBase / 10; unit != 0; unit /= 10) {
      const char digit = static_cast<char>('0' + limbs[i] / unit % 10);
      if (size != 0 || digit != '0') decimal->digits[size++] = digit;
    }
  }
  decimal->point = size - (exponent < 0 ? power : 0);
  while (size > 0 && decimal->digits[size - 1] == '0') --size;
  decimal->count = size;
}

// Adds one to the last of `size` digits, and returns how many of them are left.
inline int increment(Decimal* decimal, int size) {
  while (size > 0 && decimal->digits[size - 1] == '9') --size;
  if (size != 0) {
    ++decimal->digits[size - 1];
    return size;
  }
  decimal->digits[0] = '1';
  ++decimal->point;
  return 1;
}

// Rounds to `count` digits at most, ties to even.
inline void round_digits(const Decimal& exact, int count, Decimal* rounded) {
  rounded->point = exact.point;
  int size = exact.count < count ? exact.count : count;
  std::memcpy(rounded->digits, exact.digits, static_cast<size_t>(size));
  if (exact.count > count) {
    const char next = exact.digits[count];
    const bool is_tie = next == '5' && exact.count == count + 1;
    const bool is_odd = (exact.digits[count - 1] - '0') % 2 != 0;
    if (is_tie ? is_odd : next >= '5') size = increment(rounded, size);
  }
  while (size > 0 && rounded->digits[size - 1] == '0') --size;
  rounded->count = size;
}

inline int compare(const Decimal& a, const Decimal& b) {
  if (a.point != b.point) return a.point < b.point ? -1 : 1;
  const int shorter = a.count < b.count ? a.count : b.count;
  const int order = std::memcmp(a.digits, b.digits, static_cast<size_t>(shorter));
  return order != 0 ? order : a.count - b.count;
}

// Writes the digits as Python does: with an exponent unless it is at least -4 and below `max_exponent`.
inline void append_digits(Text* to, const Decimal& decimal, int max_exponent, bool is_repr) {
  const std::string_view digits(decimal.digits, static_cast<size_t>(decimal.count));
  int exponent = decimal.point - 1;
  if (exponent < -4 || exponent >= max_exponent) {
    *to << digits[0];
    if (digits.size() > 1) *to << '.' << digits.substr(1);
    *to << 'e' << (exponent < 0 ? '-' : '+');
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent < 10) *to << '0';
    *to << static_cast<int64_t>(exponent);
    return;
  }
  if (decimal.point <= 0) *to << '0';
  for (int i = 0; i < decimal.point; ++i) *to << (i < decimal.count ? digits[static_cast<size_t>(i)] : '0');
  if (decimal.count > decimal.point) {
    *to << '.';
    for (int i = decimal.point; i < 0; ++i) *to << '0';
    *to << digits.substr(decimal.point < 0 ? 0 : static_cast<size_t>(decimal.point));
  } else if (is_repr) {
    *to << ".0";
  }
}

// Splits a finite number above 0.
inline uint64_t mantissa_of(double number, int* exponent) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  const int biased = static_cast<int>(bits >> 52) & 0x7ff;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  *exponent = biased == 0 ? -1074 : biased - 1075;
  return biased == 0 ? fraction : fraction | (uint64_t{1} << 52);
}

// Returns true if the number was written: zeros, and what is not finite.
inline bool append_special(Text* to, double number, bool is_repr) {
  if (std::signbit(number) && !std::isnan(number)) *to << '-';
  if (std::isfinite(number) && number != 0) return false;
  *to << (std::isnan(number) ? "nan" : std::isinf(number) ? "inf" : is_repr ? "0.0" : "0");
  return true;
}

// `format(number, "g")`.
inline void append_general(Text* to, double number) {
  if (append_special(to, number, false)) return;
  int exponent = 0;
  const uint64_t mantissa = mantissa_of(std::fabs(number), &exponent);
  Decimal exact;
  Decimal rounded;
  expand(mantissa, exponent, &exact);
  round_digits(exact, 6, &rounded);
  append_digits(to, rounded, 6, false);
}

// `repr(number)`: the shortest digits that no other double is closer to.
inline void append_repr(Text* to, double number) {
  if (append_special(to, number, true)) return;
  int exponent = 0;
  const uint64_t mantissa = mantissa_of(std::fabs(number), &exponent);
  const bool is_power_of_two = mantissa == (uint64_t{1} << 52) && exponent > -1074;
  Decimal exact;
  Decimal low;
  Decimal high;
  Decimal rounded;
  expand(mantissa, exponent, &exact);
  expand(4 * mantissa - (is_power_of_two ? 1 : 2), exponent - 2, &low);
  expand(4 * mantissa + 2, exponent - 2, &high);
  const int at_bound = mantissa % 2 == 0 ? 0 : 1;  // a tie rounds to the even mantissa
  for (int count = 1; count <= 17; ++count) {
    round_digits(exact, count, &rounded);
    if (is_power_of_two &&
        compare(low, rounded) > 0) {  // the doubles below are closer to each other than those above
      while (rounded.count < count) rounded.digits[rounded.count++] = '0';
      rounded.count = increment(&rounded, count);
    }
    if (compare(low, rounded) <= -at_bound && compare(rounded, high) <= -at_bound) break;
  }
  append_digits(to, rounded, 16, true);
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
