// Reads many .etargs files: each with its size in front, on stdin. Prints a status for each, and uses all of it.

#include <cstdio>
#include <vector>

#include <etconfig/etargs.h>

using namespace etconfig::etargs;

static size_t use(const Value& value) {
  size_t used = value.integer().value_or(0) != 0 || value.boolean().value_or(false) || value.number().value_or(0) > 0;
  for (char c : value.text().value_or("")) used += static_cast<unsigned char>(c);
  for (std::string_view key : value.keys()) used += key.size();
  for (Value item : value.items()) used += use(item);
  return used;
}

static size_t use(const Package& package) {
  size_t used = package.producer().size();
  for (Configuration configuration : package.configurations()) {
    used += configuration.name().size() + configuration.fingerprint().size();
    for (Method method : configuration.methods()) {
      used += method.name().size() + method.instance().value_or("").size();
      for (Backend backend : method.backends()) {
        used += backend.id().size();
        for (Option option : backend.options()) {
          used += option.name().size() + option.key().value_or("").size() + use(option.value()) + use(option.sent());
          used += option.is_set() + (option.scope() == Scope::Process) + (option.applies() == Applies::Execute);
        }
      }
    }
  }
  return used;
}

int main() {
  size_t used = 0;
  uint32_t size = 0;
  while (std::fread(&size, sizeof(size), 1, stdin) == 1) {
    std::vector<uint8_t> data(size);  // of exactly this size, so that the sanitizer sees a byte too many
    if (std::fread(data.data(), 1, size, stdin) != size) return 1;
    Package package;
    const Status status = Package::open(data.data(), data.size(), &package);
    if (status == Status::Ok) used += use(package);
    std::putchar('0' + static_cast<int>(status));
  }
  std::fprintf(stderr, "%zu\n", used);
  return 0;
}
