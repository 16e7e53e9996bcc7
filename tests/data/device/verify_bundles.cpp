// Opens one bundle after another from standard input, each with its size in front; prints 1 if it was accepted, else 0.
//
// What was accepted is evaluated and printed in every way, so that a sanitizer sees every read.

#include <etconfig/device.h>

#include <cstdio>
#include <cstdlib>

using namespace etconfig::device;

namespace {

uint64_t seen = 0;

void see(std::string_view text) {
  for (const char c : text) seen += static_cast<uint8_t>(c);
}

void see(const Value& value, int depth = 0) {
  if (depth > 6) std::abort();
  if (value.text()) see(*value.text());
  for (uint32_t i = 0; i < value.size(); ++i) {
    see(value.key(i));
    see(value[i], depth + 1);
  }
}

void fill(const Bundle& bundle, Facts* facts, uint32_t round) {
  facts->clear();
  for (uint32_t i = 0; i < bundle.fact_count(); ++i) {
    const FactInfo fact = bundle.fact(i);
    see(fact.unit);
    if ((i + round) % 3 == 0) continue;
    switch (fact.type) {
      case FactType::Boolean: bundle.set(facts, fact.name, round % 2 == 0); break;
      case FactType::Integer: bundle.set(facts, fact.name, round * 3 + i); break;
      case FactType::Number: bundle.set(facts, fact.name, round * 0.3); break;
      case FactType::Text: bundle.set(facts, fact.name, round % 2 == 0 ? "model" : "B"); break;
      case FactType::TextList: bundle.set_list(facts, fact.name, {"model", "B"}); break;
    }
  }
}

void use(const Bundle& bundle) {
  static FactStore<300> facts;
  static Arguments<64> arguments;
  char buffer[512];
  see(bundle.producer());
  see(bundle.fingerprint());
  for (uint32_t round = 0; round < 4; ++round) {
    fill(bundle, &facts, round);
    seen += static_cast<uint64_t>(bundle.select(facts).status);
    for (uint32_t profile = 0; profile < bundle.profile_count(); ++profile) {
      TextBuffer reasons(buffer, sizeof buffer);
      bundle.explain_match(profile, facts, &reasons);
      see(reasons.text());
      const Selection selection = bundle.select(bundle.profile_name(profile));
      for (uint32_t slot = 0; selection && slot < bundle.slot_count(profile); ++slot) {
        fill(bundle, &facts, round);
        bundle.resolve(selection, facts, bundle.slot_method(profile, slot), bundle.slot_instance(profile, slot),
                       &arguments);
        for (uint32_t i = 0; i < arguments.size(); ++i) {
          see(arguments[i].value());
          see(arguments[i].sent());
          see(arguments[i].origin());
          TextBuffer line(buffer, sizeof buffer);
          TextBuffer path(buffer + 256, 256);
          path << arguments[i].backend() << '.' << arguments[i].name();
          bundle.explain(arguments, path.text(), &line);
        }
        fill(bundle, &facts, round + 1);
        seen += bundle.update(facts, &arguments).count + arguments.problem_count();
      }
    }
  }
}

}  // namespace

int main() {
  uint32_t size = 0;
  while (std::fread(&size, sizeof size, 1, stdin) == 1) {
    char* data = static_cast<char*>(std::malloc(size == 0 ? 1 : size));  // of this size, so that a sanitizer sees its end
    if (data == nullptr || std::fread(data, 1, size, stdin) != size) return 1;
    Bundle bundle;
    const bool is_open = bundle.open(data, size) == Status::Ok;
    if (is_open) use(bundle);
    std::putchar(is_open ? '1' : '0');
    std::free(data);
  }
  return seen == 1 ? 2 : 0;
}
