// Reads options that stdin lists, a case in each line: `[KEY KIND VALUE]...`, all separated by tabs, with a generated
// reader: -DREADER="HEADER" -DSPACE=NAMESPACE. Prints the options that were read, or the problems. Status 3: the reader
// took memory from the heap.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include READER

using namespace executorch::runtime;

static size_t allocations = 0;
void* operator new(size_t size) {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

static void print(const char* name, const SPACE::Text& text) { std::printf(" %s=%s", name, text.c_str()); }
static void print(const char* name, std::int64_t value) { std::printf(" %s=%lld", name, static_cast<long long>(value)); }
static void print(const char* name, SPACE::Mode value) { print(name, static_cast<std::int64_t>(value)); }
static void print(const char* name, SPACE::Word value) { print(name, static_cast<std::int64_t>(value)); }
template <typename Value>
static void print(const char* name, const std::optional<Value>& value) {
  if (value) print(name, *value);
}

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<std::string> words;
    for (size_t at = 0; !line.empty() && at <= line.size();) {
      const size_t end = std::min(line.find('\t', at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    std::vector<BackendOption> options(words.size() / 3);
    for (size_t i = 0; i < options.size(); ++i) {
      const std::string &kind = words[3 * i + 1], &value = words[3 * i + 2];
      std::copy(words[3 * i].begin(), words[3 * i].end(), options[i].key);
      if (kind == "bool") {
        options[i].value = value == "True";
      } else if (kind == "int") {
        options[i].value = std::atoi(value.c_str());
      } else {
        std::array<char, kMaxOptionValueLength> bytes{};
        std::copy(value.begin(), value.end(), bytes.begin());
        options[i].value = bytes;
      }
    }
    SPACE::Options found;
    SPACE::Message message;
    const size_t before = allocations;
    const Error error = SPACE::read({options.data(), options.size()}, &found, &message);
    if (allocations != before) return 3;
    if (error != Error::Ok) {
      std::printf("%s\n", message.text());
      continue;
    }
    std::printf("Ok");
    print("mode", found.mode);
    print("word", found.word);
    print("count", found.count);
    print("step", found.step);
    print("big", found.big);
    print("flag", std::int64_t{found.flag});
    print("text", found.text);
    print("must", std::int64_t{found.must});
    std::printf("\n");
  }
  return 0;
}
