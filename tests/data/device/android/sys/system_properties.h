// A stand-in for the header of Android's NDK.

#pragma once

#include <cstring>

#define PROP_VALUE_MAX 92

inline int __system_property_get(const char* name, char* value) {
  const char* const properties[][2] = {
      {"ro.build.version.release", "15"},      {"ro.build.version.sdk", "35"},
      {"ro.product.manufacturer", "Google"},   {"ro.product.model", "Pixel 8"},
      {"ro.product.board", "shiba"},           {"ro.soc.manufacturer", "Google"},
      {"ro.board.platform", "zuma"},
  };
  value[0] = '\0';
  for (const auto& property : properties) {
    if (std::strcmp(property[0], name) == 0) std::strcpy(value, property[1]);
  }
  return static_cast<int>(std::strlen(value));
}
