// Prints the facts of this device, or of the tree at the first argument, as `etconfig facts --json` does.
// Further arguments are the facts to detect.

#include <etconfig/facts.h>
#include <etconfig/facts_json.h>

#include <cstdio>

using namespace etconfig::device;

int main(int count, char** arguments) {
  static FactStore<1024> facts;
  const char* root = count > 1 ? arguments[1] : "/";
  FactStatus status = FactStatus::Ok;
  if (count <= 2) {
    status = detect_all(&facts, root);
  } else {
    Detection detection;
    for (int i = 2; i < count && status == FactStatus::Ok; ++i) status = detection.want(arguments[i], &facts);
    if (status == FactStatus::Ok) status = detection.run(&facts, root);
  }
  if (status != FactStatus::Ok) {
    std::printf("status %d\n", static_cast<int>(status));
    return 1;
  }
  write_facts_json(facts, [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
}
