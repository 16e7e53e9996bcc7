// The types of facts, and how long they stay true.

#pragma once

#include <cstdint>

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

enum class FactType : uint8_t { Boolean, Integer, Number, Text, TextList };

enum class Volatility : uint8_t {
  Static,  // as long as the hardware stays the same
  Boot,    // until the device restarts, or its software is installed again
  Live,    // it may change at any time
};

}  // inline namespace
}  // namespace etconfig::device
