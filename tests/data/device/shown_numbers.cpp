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
  char tiny[4];
  TextBuffer letters(tiny, sizeof tiny);
  letters << "a\xC3\xA4\xC3\xA4";  // of two characters of two bytes, one fits
  return letters.text() == "a\xC3\xA4" && letters.needed() == 5 && letters.is_cut() ? 0 : 1;
}
