// Detects again, beside facts that the application set, in a thread with a small stack; the argument is a writable tree
// with a file proc/meminfo and a GPU in sysfs.

#include <etconfig/facts.h>

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace etconfig::device;

#define CHECK(condition) \
  if (!(condition)) { std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); std::exit(1); }

namespace {

std::string root;

void write(const char* path, const char* text) {
  std::FILE* file = std::fopen((root + path).c_str(), "wb");
  CHECK(file != nullptr);
  std::fputs(text, file);
  std::fclose(file);
}

void check_again() {
  FactStore<128> facts;
  write("/proc/meminfo", "MemTotal: 8 kB\nMemAvailable: 4 kB\n");
  CHECK(facts.set("memory.total", 1) == FactStatus::Ok);
  CHECK(facts.set_unknown("power.source", "the service did not answer") == FactStatus::Ok);
  CHECK(detect_all(&facts, root) == FactStatus::Ok);
  CHECK(facts.find("memory.total").integer() == 1 && facts.find("memory.available").integer() == 4096);
  CHECK(facts.find("power.source").reason() == "the service did not answer");
  CHECK(facts.find("gpu.count").integer() == 1 && facts.find("gpu.0.name").text() == "VideoCore VII");
  CHECK(facts.set("gpu.7.name", "mine") == FactStatus::Ok);

  write("/proc/meminfo", "MemTotal: 8 kB\n");
  CHECK(std::remove((root + "/sys/class/drm/renderD128/device/uevent").c_str()) == 0);
  CHECK(std::remove((root + "/sys/class/drm/renderD128/device").c_str()) == 0);
  CHECK(std::remove((root + "/sys/class/drm/renderD128").c_str()) == 0);
  CHECK(detect_all(&facts, root) == FactStatus::Ok);
  CHECK(facts.find("memory.total").integer() == 1);
  CHECK(facts.find("memory.available").reason() == "/proc/meminfo has no MemAvailable");
  CHECK(facts.find("gpu.count").integer() == 0 && !facts.find("gpu.0.name").is_present());
  CHECK(facts.find("gpu.7.name").text() == "mine");

  facts.remove("memory.total");
  CHECK(detect({"memory.total", "acme.load"}, &facts, root) == FactStatus::Ok);
  CHECK(facts.find("memory.total").integer() == 8192 && facts.find("acme.load").is_present());
}

// It is the application's, whatever its origin says; also when it is copied to another store.
void check_origins() {
  FactStore<128> facts;
  CHECK(facts.set_list("runtime.backends", {"XnnpackBackend"}, "detected the runtime's registry") == FactStatus::Ok);
  CHECK(facts.set("power.source", "battery", "detected BatteryManager") == FactStatus::Ok);
  CHECK(facts.set("gpu.7.name", "mine", "detected Vulkan") == FactStatus::Ok);
  FactStore<128> copies;
  for (int round = 0; round < 2; ++round) {
    CHECK(detect_all(&facts, root) == FactStatus::Ok && detect({"acme.load"}, &facts, root) == FactStatus::Ok);
    CHECK(facts.find("runtime.backends").list().contains("XnnpackBackend"));
    CHECK(facts.find("power.source").text() == "battery" && facts.find("gpu.7.name").text() == "mine");
    CHECK(!facts.find("power.source").is_detected() && facts.find("memory.total").is_detected());
    CHECK(facts.find("acme.load").is_detected() && !facts.find("acme.nothing").is_detected());
  }
  for (uint32_t i = 0; i < facts.size(); ++i) CHECK(copies.set(facts.at(i)) == FactStatus::Ok);
  write("/proc/meminfo", "MemTotal: 16 kB\n");
  CHECK(detect_all(&copies, root) == FactStatus::Ok);
  CHECK(copies.find("memory.total").integer() == 16384 && copies.find("power.source").text() == "battery");
}

void check_limits() {
  FactStore<3> few;
  CHECK(detect_all(&few, root) == FactStatus::TooManyFacts && few.size() == 3);
  FactStore<128, 64> narrow;
  CHECK(detect_all(&narrow, root) == FactStatus::TooMuchText);
  FactStore<128> facts;
  CHECK(detect_all(&facts, std::string(5000, 'x')) == FactStatus::BadTree);
  CHECK(detect({"not a name"}, &facts, root) == FactStatus::BadName);
  struct {
    uint32_t fact_count() const { return 2; }
    struct Fact {
      std::string_view name;
    };
    Fact fact(uint32_t index) const { return {index == 0 ? "os.name" : "cpu.arch"}; }
  } bundle;
  FactStore<2> two;
  CHECK(detect(bundle, &two, root) == FactStatus::Ok && two.size() == 2);
}

FactStore<512> shared;

void* detect_here(void*) {
  CHECK(detect_all(&shared) == FactStatus::Ok);
  CHECK(detect_all(&shared, root) == FactStatus::Ok);
  return nullptr;
}

// Prints how many bytes of the stack detection has used.
void measure_stack() {
  constexpr size_t kBytes = 512 << 10;
  static char stack[kBytes] __attribute__((aligned(4096)));
  std::memset(stack, 0x5a, sizeof stack);
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, kBytes) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, detect_here, nullptr) == 0 && pthread_join(thread, nullptr) == 0);
  size_t untouched = 0;
  while (untouched < kBytes && stack[untouched] == 0x5a) ++untouched;
  std::printf("stack %zu\n", kBytes - untouched);
}

}  // namespace

int main(int, char** arguments) {
  root = arguments[1];
  check_again();
  check_origins();
  check_limits();
  measure_stack();
}
