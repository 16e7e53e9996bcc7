// Evaluates all expressions of a bundle on each of the fact sheets, and prints the result of each in a sentence, with a
// line of its own behind each: the expressions may contain line breaks.

#include "../../../etconfig/device/etdevice/json.h"

using namespace etconfig::device;

namespace {

char bytes[1 << 24];
char sheet[1 << 16];

bool read_file(const char* path, char* memory, size_t capacity, size_t* size) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  *size = std::fread(memory, 1, capacity, file);
  std::fclose(file);
  return true;
}

}  // namespace

int main(int count, char** paths) {
  format::Tables tables;
  size_t size = 0;
  if (count < 2 || !read_file(paths[1], bytes, sizeof bytes, &size)) return 1;
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes);
  if (format::open_bundle(data, size, &tables) != format::Verdict::Sound) return 2;
  for (int i = 2; i < count; ++i) {
    static FactStore<64> facts;
    facts.clear();
    if (!read_file(paths[i], sheet, sizeof sheet - 1, &size)) return 1;
    if (etdevice::SheetReader(sheet, size, &facts).read() != nullptr) return 3;
    internal::BoundFacts bound(tables);
    if (bound.bind(facts) != format::kNone) return 4;
    internal::Explainer explainer(tables, bound.operands());
    for (uint32_t at = 0; at < tables.expressions.size(); ++at) {
      char memory[1 << 14];
      TextBuffer text(memory, sizeof memory);
      explainer.explain_expression(at, &text);
      if (text.is_cut()) return 5;
      std::printf("%s\n--\n", memory);
    }
  }
}
