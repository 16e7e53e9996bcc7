// Prints doubles, whose bits come from standard input, one per line; each also into a buffer that is too small.

#include <etconfig/device/text.h>

#include <cstdio>

using namespace etconfig::device;

int main() {
  double value = 0;
  while (std::fread(&value, sizeof value, 1, stdin) == 1) {
    char buffer[64];
    TextBuffer text(buffer, sizeof buffer);
    text << value;
    char small[6];
    TextBuffer cut(small, sizeof small);
    cut << value;
    if (cut.needed() != text.needed() || cut.text() != text.text().substr(0, 5)) return 1;
    std::printf("%s\n", buffer);
  }
  char shown[160];
  TextBuffer integers(shown, sizeof shown);
  integers << 5 << ' ' << -5 << ' ' << 5u << ' ' << 5l << ' ' << 5ul << ' ' << 5ll << ' ' << 5ull << ' ' << short{-7}
           << ' ' << uint8_t{200} << ' ' << int8_t{-8} << ' ' << INT64_MIN << ' ' << UINT64_MAX << ' ' << size_t{0} << ' '
           << true << ' ' << 0.5f << ' ' << "a" << ' ' << std::string_view("b");
  if (integers.text() != "5 -5 5 5 5 5 5 -7 200 -8 -9223372036854775808 18446744073709551615 0 true 0.5 a b") return 2;
  char tiny[4];
  TextBuffer letters(tiny, sizeof tiny);
  letters << "a\xC3\xA4\xC3\xA4";  // of two characters of two bytes, one fits
  return letters.text() == "a\xC3\xA4" && letters.needed() == 5 && letters.is_cut() ? 0 : 1;
}
