// For a compiler without Android's headers: properties by the command getprop, which every Android has. With
// it, a static etdevice that was built for Linux's C library finds what one of the NDK finds.

#pragma once

#include <cstdio>
#include <cstring>

#define PROP_VALUE_MAX 92

// `name` has letters, digits, dots and underscores only.
inline int __system_property_get(const char* name, char* value) {
  char command[160];
  value[0] = '\0';
  std::snprintf(command, sizeof command, "getprop %s 2>/dev/null", name);
  std::FILE* const output = popen(command, "r");
  if (output == nullptr) return 0;
  if (std::fgets(value, PROP_VALUE_MAX, output) == nullptr) value[0] = '\0';
  pclose(output);
  value[std::strcspn(value, "\r\n")] = '\0';
  return static_cast<int>(std::strlen(value));
}
