// Prints how often memory is allocated while facts are detected, here and in the tree at the argument; 0 is expected.
// The functions of glibc below are those that its own code calls, too.

#include <etconfig/facts.h>

#include <cstdio>
#include <cstdlib>

namespace {
long count = 0;
}

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t items, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++count;
  return __libc_malloc(size);
}
void* calloc(size_t items, size_t size) {
  ++count;
  return __libc_calloc(items, size);
}
void* realloc(void* old, size_t size) {
  ++count;
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
}

int main(int argument_count, char** arguments) {
  static etconfig::device::FactStore<256> facts;
  std::free(std::malloc(1));
  const long counted = count;
  for (int i = 0; i < argument_count; ++i) {
    if (detect_all(&facts, i == 0 ? "/" : arguments[i]) != etconfig::device::FactStatus::Ok) return 1;
    if (!facts.find("os.name").is_present()) return 1;
  }
  const long found = count - counted;
  std::printf("%ld %s\n", found, counted > 0 ? "counted" : "not counted");
}
