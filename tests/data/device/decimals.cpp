// Reads doubles as hexadecimal bits, one per line, and prints each as Python's `repr`, `format(number, "g")` and JSON do.

#include <etconfig/facts/decimal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace etconfig::device::detection;

int main() {
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const unsigned long long bits = std::strtoull(line, nullptr, 16);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    FixedText<64> text;
    append_repr(&text, number);
    text << ' ';
    append_general(&text, number);
    std::printf("%.*s\n", static_cast<int>(text.size()), text.view().data());
  }
}
