// Opens one bundle after another from standard input, each with its size in front; prints 1 if it was accepted, else 0.
//
// What was accepted is evaluated and printed in every way, so that a sanitizer sees every read.
//
// With an argument, it opens three bundles, and checks what they do with problems and with what belongs to the other one.

#include <etconfig/usage.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition) \
  if (!(condition)) { std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); std::exit(1); }

using namespace etconfig::device;

namespace {

uint64_t seen = 0;

void see(std::string_view text) {
  for (const char c : text) seen += static_cast<uint8_t>(c);
}

void see(Status status) { seen += static_cast<uint64_t>(status); }

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
      case FactType::Boolean: see(bundle.set(facts, fact.name, round % 2 == 0)); break;
      case FactType::Integer: see(bundle.set(facts, fact.name, round * 3 + i)); break;
      case FactType::Number: see(bundle.set(facts, fact.name, round * 0.3)); break;
      case FactType::Text: see(bundle.set(facts, fact.name, round % 2 == 0 ? "model" : "B")); break;
      case FactType::TextList: see(bundle.set_list(facts, fact.name, {"model", "B"})); break;
    }
  }
}

// A record fits in its bytes, has one line, and is written whole or not at all.
void see_usage(const Bundle& bundle, const Facts& facts, const Selection& selection, const AnyArguments& arguments) {
  char buffer[UsageRecord::kMaxBytes + 1];
  for (uint32_t model = 0; model <= bundle.model_count(); ++model) {
    const bool is_one = model < bundle.model_count();
    ModelChoice choice = bundle.select_model(is_one ? bundle.model_name(model) : "", facts);
    do {
      TextBuffer line(buffer, sizeof buffer);
      UsageRecord record(bundle, facts, selection, &arguments, is_one ? &choice : nullptr);
      record.failure = model % 2 == 0 ? std::string_view() : "\xff\n";
      const Status status = record.write(&line);
      CHECK(status == Status::Ok ? line.text().find('\n') == line.text().size() - 1 : status == Status::TooSmall);
      CHECK(line.needed() == line.text().size() && (status == Status::Ok || line.text().empty()));
      see(line.text());
    } while (choice.next("why"));
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
        see(bundle.resolve(selection, facts, bundle.slot_method(profile, slot), bundle.slot_instance(profile, slot),
                           &arguments));
        for (uint32_t i = 0; i < arguments.size(); ++i) {
          see(arguments[i].value());
          see(arguments[i].sent());
          see(arguments[i].origin());
          TextBuffer line(buffer, sizeof buffer);
          TextBuffer path(buffer + 256, 256);
          path << arguments[i].backend() << '.' << arguments[i].name();
          see(bundle.explain(arguments, path.text(), &line));
        }
        see_usage(bundle, facts, selection, arguments);
        fill(bundle, &facts, round + 1);
        for (uint32_t i = 0; i < arguments.problem_count(); ++i) see(arguments.problem(i).value());
        seen += bundle.update(facts, &arguments).count + arguments.problem_count();
      }
    }
  }
}

struct File {
  char* data = nullptr;
  uint32_t size = 0;

  File() {
    CHECK(std::fread(&size, sizeof size, 1, stdin) == 1);
    data = static_cast<char*>(std::malloc(size));
    CHECK(data != nullptr && std::fread(data, 1, size, stdin) == size);
  }
  ~File() { std::free(data); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

// A value that an option does not accept is that of the time of the resolve, or none if it is too long.
void check_problems(const Bundle& bundle) {
  FactStore<8, 4096> facts;
  Arguments<8> arguments;
  const Selection selection = bundle.select("p");
  CHECK(bundle.set_list(&facts, "cpu.features", {"avx\n"}) == Status::WrongFact);
  CHECK(bundle.set_list(&facts, "cpu.features", {"avx", "fma", "sse"}) == Status::Ok);
  CHECK(bundle.resolve(selection, facts, "forward", "", &arguments) == Status::InvalidValue);
  facts.clear();
  CHECK(arguments.size() == 0 && arguments.backend_count() == 0 && !arguments.find("B"));
  CHECK(arguments.method() == "forward" && arguments.problem_count() == 1);
  const Value value = arguments.problem(0).value();
  CHECK(value.size() == 3 && value[1].text() == "fma" && value[3].is_none() && value[0][0].is_none());

  std::string_view many[500];
  for (std::string_view& text : many) text = "ab";
  CHECK(bundle.set_list(&facts, "cpu.features", many, 500) == Status::Ok);
  CHECK(bundle.resolve(selection, facts, "forward", "", &arguments) == Status::InvalidValue);
  CHECK(arguments.problem_count() == 1 && arguments.problem(0).value().is_none());
  CHECK(arguments.problem(0).value()[400].is_none());
  CHECK(bundle.set_list(&facts, "cpu.features", {"avx"}) == Status::Ok);
  CHECK(bundle.resolve(selection, facts, "forward", "", &arguments) == Status::Ok && arguments.size() == 1);
  CHECK(arguments[0].value()[0].text() == "avx");
  CHECK(bundle.resolve(Selection(), facts, "forward", "", &arguments) == Status::NoMatch);
  CHECK(arguments.method().empty() && arguments.size() == 0 && arguments.problem_count() == 0);
}

void check_strangers(const Bundle& one, const Bundle& two) {
  FactStore<8> facts;
  Arguments<8> arguments;
  char memory[256];
  TextBuffer text(memory, sizeof memory);
  CHECK(two.explain(arguments, "B.threads", &text) == Status::NoMatch);
  Selection selection = one.select("p");
  CHECK(one.resolve(selection, facts, "forward", "", &arguments) == Status::MissingOption);
  CHECK(two.update(facts, &arguments).status == Status::MissingOption);
  CHECK(one.set_list(&facts, "cpu.features", {"avx"}) == Status::Ok);
  CHECK(one.resolve(selection, facts, "forward", "", &arguments) == Status::Ok);
  CHECK(two.update(facts, &arguments).status == Status::NoMatch && arguments.size() == 1);
  CHECK(two.explain(arguments, "B.threads", &text) == Status::NoMatch);
  CHECK(two.resolve(selection, facts, "forward", "", &arguments) == Status::Stale && arguments.size() == 0);
  selection.profile = two.profile_count();
  CHECK(two.resolve(selection, facts, "forward", "", &arguments) == Status::NoSuchProfile && arguments.size() == 0);
  CHECK(!two.explain_match(two.profile_count(), facts, &text));
  const ModelChoice none = two.select_model("nothing", facts);
  two.explain_variant(none, 0, facts, &text);
  const ModelChoice choice = two.select_model(two.model_name(0), facts);
  CHECK(choice.status() == Status::NoVariant);
  one.explain_variant(choice, 0, facts, &text);
  two.explain_variant(choice, two.variant_count(0), facts, &text);
  CHECK(text.needed() == 0);
  two.explain_variant(choice, 0, facts, &text);
  CHECK(text.needed() != 0);
}

void check_opening_again(const File& first, const File& second) {
  FactStore<8> facts;
  Arguments<8> arguments;
  Bundle bundle;
  CHECK(bundle.open(first.data, first.size) == Status::Ok);
  CHECK(bundle.set_list(&facts, "cpu.features", {"avx"}) == Status::Ok);
  CHECK(bundle.resolve(bundle.select("p"), facts, "forward", "", &arguments) == Status::Ok);
  CHECK(bundle.open("x", 1) == Status::NotABundle && bundle.open(second.data, second.size / 2) == Status::Damaged);
  CHECK(bundle.profile_count() == 1 && arguments.find("B")->size() == 1);
  CHECK(bundle.update(facts, &arguments).status == Status::Ok);
  const Selection before = bundle.select("p");
  CHECK(bundle.open(second.data, second.size) == Status::Ok && bundle.select("phone"));
  char memory[64];
  TextBuffer text(memory, sizeof memory);
  CHECK(arguments.status() == Status::Stale && !arguments && arguments.size() == 0 && !arguments.find("B"));
  CHECK(arguments.problem_count() == 0 && arguments.method().empty() && arguments.backend_count() == 0);
  CHECK(bundle.update(facts, &arguments).status == Status::Stale);
  CHECK(bundle.explain(arguments, "B.list", &text) == Status::Stale && text.needed() == 0);
  CHECK(bundle.resolve(before, facts, "forward", "", &arguments) == Status::Stale);
  ModelChoice choice = bundle.select_model(bundle.model_name(0), facts);
  CHECK(bundle.open(first.data, first.size) == Status::Ok);
  CHECK(choice.status() == Status::Stale && choice.file().empty() && !choice.has_fallback() && !choice.next("no"));
  bundle.explain_variant(choice, 0, facts, &text);
  CHECK(text.needed() == 0);
  CHECK(bundle.resolve(before, facts, "forward", "", &arguments) == Status::Stale);
  CHECK(bundle.resolve(bundle.select("p"), facts, "forward", "", &arguments) == Status::Ok);
}

// A method that the bundle does not name may have a long name, but not any; those of its slots may.
void check_names(const Bundle& bundle) {
  FactStore<8> facts;
  Arguments<8> arguments;
  static const char kLetters[258] = "";
  CHECK(bundle.set_list(&facts, "cpu.features", {"avx"}) == Status::Ok);
  CHECK(bundle.resolve(bundle.select("p"), facts, {kLetters, 256}, "", &arguments) == Status::Ok);
  CHECK(arguments.method().size() == 256 && arguments.method().data() != kLetters);
  CHECK(bundle.resolve(bundle.select("p"), facts, {kLetters, 257}, "", &arguments) == Status::TooSmall);
  CHECK(bundle.set(&facts, "cpu.features", "a") == Status::WrongFact);
  CHECK(bundle.set_list(&facts, "cpu.features", {"\xff"}) == Status::BadText);
}

// The facts that an option lacks have names.
void check_missing(const Bundle& bundle) {
  FactStore<8> facts;
  Arguments<8> arguments;
  char memory[256];
  TextBuffer text(memory, sizeof memory);
  const Selection selection = bundle.select("phone");
  CHECK(bundle.set(&facts, "cpu.model", "fast") == Status::Ok);
  CHECK(bundle.resolve(selection, facts, "forward", "", &arguments) == Status::UnknownFact);
  CHECK(arguments.problem_count() == 1 && arguments.problem(0).value().is_none());
  CHECK(bundle.explain(arguments, "B.threads", &text) == Status::Ok);
  CHECK(text.text() == "forward:B.threads: cores has no value: cpu.cores is not known on this device");
}

// Literal texts take no room in the arguments; those of facts are copied.
void check_texts(const Bundle& bundle) {
  FactStore<8> facts;
  static Arguments<256> arguments;
  CHECK(bundle.set(&facts, "cpu.model", "Cortex-A76") == Status::Ok);
  CHECK(bundle.resolve(bundle.select("p"), facts, "forward", "", &arguments) == Status::Ok);
  facts.clear();
  CHECK(bundle.set(&facts, "cpu.model", "Cortex-X4!") == Status::Ok);
  CHECK(arguments.size() == 201 && arguments[0].value().text() == "Cortex-A76");
  CHECK(arguments[200].value().text()->size() == 44);
  CHECK(bundle.update(facts, &arguments).count == 1 && arguments[0].value().text() == "Cortex-X4!");
  CHECK(arguments[0].expression().empty() && arguments[0].decider() == Decider::Recommendation);
}

int check() {
  const File first;
  const File second;
  const File texts;
  const File missing;
  Bundle one;
  Bundle two;
  CHECK(one.open(first.data, first.size) == Status::Ok && two.open(second.data, second.size) == Status::Ok);
  CHECK(one.open(nullptr, first.size) == Status::NotABundle && one.profile_count() != 0);
  check_problems(one);
  check_strangers(one, two);
  check_opening_again(first, second);
  check_names(one);
  Bundle three;
  CHECK(three.open(texts.data, texts.size) == Status::Ok);
  check_texts(three);
  Bundle four;
  CHECK(four.open(missing.data, missing.size) == Status::Ok);
  check_missing(four);
  return 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return check();
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
