// Counts what opening, selecting, resolving and updating allocate, and measures how long they take.
//
// measure BUNDLE SHEET.json METHOD REPEATS: one line for each, `NAME ALLOCATIONS NANOSECONDS`; of the floors, too: the
// least that any implementation must do, which is to read every byte once, and to look every fact up.

#include <etconfig/usage.h>

#include "../etconfig/device/etdevice/json.h"

#include <chrono>
#include <cstdlib>
#include <new>

static uint64_t allocations = 0;

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
}
void* operator new(size_t size) { return malloc(size); }
void* operator new[](size_t size) { return malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

using namespace etconfig::device;

namespace {

char bytes[1 << 24];
char sheet[(1 << 18) + 1];
volatile uint64_t sink = 0;

size_t read_file(const char* path, char* memory, size_t capacity) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) std::exit(3);
  const size_t size = std::fread(memory, 1, capacity, file);
  std::fclose(file);
  return size;
}

template <typename Run>
void measure(const char* name, int repeats, const Run& run) {
  const uint64_t before = allocations;
  run();
  const uint64_t allocated = allocations - before;
  double best = 1e300;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) run();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    best = taken.count() / repeats < best ? taken.count() / repeats : best;
  }
  std::printf("%s %llu %.0f\n", name, static_cast<unsigned long long>(allocated), best);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const size_t size = read_file(arguments[1], bytes, sizeof bytes);
  const size_t sheet_size = read_file(arguments[2], sheet, sizeof sheet - 1);
  const std::string_view method = arguments[3];
  const int repeats = std::atoi(arguments[4]);
  static Bundle bundle;
  static FactStore<256> facts;
  static Arguments<1024> resolved;
  if (bundle.open(bytes, size) != Status::Ok) return 1;
  if (etdevice::SheetReader(sheet, sheet_size, &facts).read() != nullptr) return 1;
  Selection selection = bundle.select(facts);
  if (bundle.resolve(selection, facts, method, "", &resolved) != Status::Ok) {
    std::fprintf(stderr, "%s\n", name_of(resolved.status()));
    return 1;
  }
  std::printf("bytes %zu profiles %u facts %u backends %u options %u\n", size, bundle.profile_count(),
              bundle.fact_count(), resolved.backend_count(), resolved.size());
  measure("open", repeats, [&] { sink = sink + static_cast<uint64_t>(bundle.open(bytes, size)); });
  selection = bundle.select(facts);  // the bundle was opened again
  measure("open-floor", repeats, [&] {
    uint64_t sum = 0;
    for (size_t i = 0; i < size; ++i) sum += static_cast<uint8_t>(bytes[i]);
    sink = sink + sum;
  });
  measure("select", repeats, [&] { sink = sink + bundle.select(facts).profile; });
  measure("facts-floor", repeats, [&] {
    for (uint32_t i = 0; i < bundle.fact_count(); ++i) sink = sink + facts.find(bundle.fact(i).name).is_known();
  });
  measure("resolve", repeats, [&] {
    sink = sink + static_cast<uint64_t>(bundle.resolve(selection, facts, method, "", &resolved));
  });
  measure("update", repeats, [&] { sink = sink + bundle.update(facts, &resolved).count; });
  measure("explain", repeats, [&] {
    char memory[1024];
    TextBuffer text(memory, sizeof memory);
    bundle.explain_match(selection.profile, facts, &text);
    sink = sink + text.needed();
  });
  measure("usage", repeats, [&] {
    char memory[UsageRecord::kMaxBytes + 1];
    TextBuffer line(memory, sizeof memory);
    UsageRecord record(bundle, facts, selection, &resolved);
    record.load_us = 8200.5;
    if (record.write(&line) == Status::Ok) sink = sink + line.text().size();
  });
}
