// Prints a character for every code point: 1 if it is printable.

#include <etconfig/facts/unicode.h>

#include <cstdio>

int main() {
  for (uint32_t c = 0; c < 0x110000; ++c) std::putchar(etconfig::device::detection::is_printable(c) ? '1' : '0');
}
