// Checks a FactStore against a second one, made of plain strings, over random changes.

#include <etconfig/fact_store.h>
#include <etconfig/facts_json.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace etconfig::device;

#define CHECK(condition) \
  if (!(condition)) { std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); std::exit(1); }

namespace {

struct Expected {
  std::string name, shown, origin;
};

std::string shown(const FactView& fact) {
  if (!fact.is_known()) return "unknown " + std::string(fact.reason());
  switch (fact.type()) {
    case FactType::Boolean: return fact.boolean() ? "true" : "false";
    case FactType::Integer: return std::to_string(fact.integer());
    case FactType::Number: return "number " + std::to_string(fact.number());
    case FactType::Text: return "text " + std::string(fact.text());
    case FactType::TextList: break;
  }
  std::string all = "list";
  for (const auto item : fact.list()) all += " [" + std::string(item) + "]";
  return all;
}

void check_equal(const Facts& facts, const std::vector<Expected>& expected) {
  CHECK(facts.size() == expected.size());
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < facts.size(); ++i) {
    const FactView fact = facts.at(i);
    CHECK(fact.name() == expected[i].name && fact.origin() == expected[i].origin);
    CHECK(shown(fact) == expected[i].shown);
    CHECK(facts.index_of(fact.name()) == i);
    bytes += static_cast<uint32_t>(fact.name().size() + fact.origin().size());
  }
  CHECK(bytes <= facts.text_bytes_used());
}

std::string random_text() {
  return std::string(static_cast<size_t>(std::rand() % 40), static_cast<char>('a' + std::rand() % 26));
}

FactStatus change(Facts* facts, const std::string& name, const std::string& origin) {
  const std::string text = random_text();
  const std::string other = random_text();
  switch (std::rand() % 6) {
    case 0: return facts->set(name, std::rand() % 2 == 0, origin);
    case 1: return facts->set(name, std::rand() - 1000, origin);
    case 2: return facts->set(name, std::rand() / 7.0, origin);
    case 3: return facts->set(name, text, origin);
    case 4: return facts->set_list(name, {text, other, "x"}, origin);
  }
  return facts->set_unknown(name, text, origin);
}

void check_random_changes() {
  FactStore<12, 700> facts;
  FactStore<1, 300> one;
  std::vector<Expected> expected;
  int refused = 0;
  for (int step = 0; step < 200000; ++step) {
    const std::string name = "acme." + std::to_string(std::rand() % 16) + ".name";
    const std::string origin = random_text();
    size_t at = 0;
    while (at < expected.size() && expected[at].name != name) ++at;
    if (std::rand() % 8 == 0) {
      facts.remove(name);
      if (at < expected.size()) expected.erase(expected.begin() + static_cast<long>(at));
    } else {
      one.clear();
      CHECK(change(&one, name, origin) == FactStatus::Ok);
      const FactStatus status = facts.set(one.at(0));
      if (status == FactStatus::Ok) {
        if (at == expected.size()) expected.emplace_back();
        expected[at] = {name, shown(one.at(0)), origin};
      } else {
        const bool is_full = at == expected.size() && facts.size() == 12;
        CHECK(status == (is_full ? FactStatus::TooManyFacts : FactStatus::TooMuchText));
        ++refused;
      }
    }
    check_equal(facts, expected);
  }
  CHECK(refused > 100);
  const FactStore<12, 700> copied(facts);
  facts.clear();
  check_equal(copied, expected);
}

void check_access() {
  FactStore<8> facts;
  CHECK(!facts.find("cpu.arch") && !facts.find("cpu.arch").is_present());
  CHECK(facts.find("cpu.arch").text().empty() && facts.find("cpu.arch").list().size() == 0);
  CHECK(facts.set("cpu.arch", "arm64") == FactStatus::Ok);
  CHECK(facts.find("cpu.arch").text() == "arm64" && facts.find("cpu.arch").type() == FactType::Text);
  CHECK(facts.find("cpu.arch").origin() == "override application");
  CHECK(facts.find("cpu.arch").integer() == 0 && facts.find("cpu.arch").reason().empty());
  CHECK(facts.set("memory.total", uint64_t{1} << 40) == FactStatus::Ok);
  CHECK(facts.find("memory.total").integer() == int64_t{1} << 40 && facts.find("memory.total").number() == 0x1p40);
  CHECK(facts.set_unknown("memory.total", "no idea", "detected nothing") == FactStatus::Ok);
  CHECK(!facts.find("memory.total") && facts.find("memory.total").is_present());
  CHECK(facts.find("memory.total").reason() == "no idea" && facts.size() == 2);
  CHECK(facts.set_list("cpu.features", {"avx2"}) == FactStatus::Ok);
  CHECK(facts.find("cpu.features").list().contains("avx2") && !facts.find("cpu.features").list().contains("avx"));
  CHECK(facts.set_list("cpu.features", {}) == FactStatus::Ok && facts.find("cpu.features").list().size() == 0);
  CHECK(facts.set("cpu.model", facts.find("cpu.arch").text()) == FactStatus::Ok);
  CHECK(facts.find("cpu.model").text() == "arm64");
  CHECK(facts.find("cpu.arch").text().data() < facts.find("cpu.model").text().data());
}

void check_refusals() {
  FactStore<8> facts;
  CHECK(facts.set("memory.total", uint64_t{1} << 63) == FactStatus::BadValue);
  CHECK(facts.set("cpu.quota_cores", 1e300 * 1e300) == FactStatus::BadValue);
  for (const char* name : {"", "cpu", "cpu.", ".cpu", "Cpu.arch", "cpu.0x", "cpu.01", "cpu.12345", "0.cpu", "cpu..x",
                           "cpu.arch ", "cpu.ar-ch", "cpu.<n>"}) {
    CHECK(facts.set(name, true) == FactStatus::BadName);
  }
  for (const char* name : {"acme.arch", "acme.0.name", "acme.9999.name", "acme.a_1.b2"}) {
    CHECK(facts.set(name, true) == FactStatus::Ok);
  }
  CHECK(facts.size() == 4);
}

// A fact that etconfig knows accepts what it accepts in Python.
void check_values() {
  FactStore<8> facts;
  CHECK(facts.set("cpu.arch", true) == FactStatus::BadValue);
  CHECK(facts.set("cpu.arch", "aarch64") == FactStatus::BadValue && facts.set("cpu.arch", "arm64") == FactStatus::Ok);
  CHECK(facts.set("os.name", "Linux") == FactStatus::BadValue);
  CHECK(facts.set("power.source", "usb") == FactStatus::BadValue);
  CHECK(facts.set("power.battery_level", 17) == FactStatus::BadValue);
  CHECK(facts.set("power.battery_level", 1) == FactStatus::Ok);
  CHECK(facts.find("power.battery_level").type() == FactType::Number);
  CHECK(facts.find("power.battery_level").number() == 1.0);
  CHECK(facts.set("cpu.available_cores", 0) == FactStatus::BadValue);
  CHECK(facts.set("cpu.available_cores", 4.0) == FactStatus::BadValue);
  CHECK(facts.set("gpu.0.name", "a\nb") == FactStatus::BadValue && facts.set("acme.name", "a\u200eb") == FactStatus::BadValue);
  CHECK(facts.set_list("cpu.features", {"avx", "\x7f"}) == FactStatus::BadValue);
  CHECK(facts.set("gpu.0.memory", -1) == FactStatus::BadValue && facts.set("gpu.0.memory", 0) == FactStatus::Ok);
  CHECK(facts.set_unknown("cpu.model", "any reason") == FactStatus::Ok);
  CHECK(facts.size() == 4);
}

// Texts are UTF-8 as Python decodes it.
void check_encodings() {
  FactStore<8> facts;
  const char* const wrong[] = {
      "\x80", "a\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",  // alone, cut off, overlong
      "\xed\xa0\x80", "\xed\xbf\xbf",                                                // halves of a character
      "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",                                   // beyond the last one
  };
  for (const char* text : wrong) {
    CHECK(facts.set("cpu.model", text) == FactStatus::BadText && facts.set("acme.name", text) == FactStatus::BadText);
    CHECK(facts.set_list("cpu.features", {"avx", text}) == FactStatus::BadText);
    CHECK(facts.set_unknown("cpu.model", text) == FactStatus::BadText);
    CHECK(facts.set("cpu.model", "right", text) == FactStatus::BadText);
    CHECK(facts.set("cpu.available_cores", 4, text) == FactStatus::BadText);
  }
  CHECK(facts.size() == 0);
  CHECK(facts.set("acme.name", "\xf4\x8f\xbf\xbf") == FactStatus::BadValue);  // sound, but not printable
  CHECK(facts.set("acme.name", "\xc3\xa4 \xef\xbf\xbd \xf0\x9f\xa6\x8a") == FactStatus::Ok);
}

// A text of any length is written whole, in parts.
void check_json() {
  static FactStore<8, 1 << 20> facts;
  std::string long_text(300000, 'a');
  long_text += "\xc3\xa4";
  CHECK(facts.set("acme.long", long_text) == FactStatus::Ok);
  CHECK(facts.set("acme.command", "##[error]a ##vso[b ## [c") == FactStatus::Ok);
  std::string written;
  write_facts_json(facts, [&](std::string_view part) {
    CHECK(part.size() <= 512);
    written += part;
  });
  CHECK(written.find('"' + long_text.substr(0, 300000) + "\\u00e4\"") != std::string::npos);
  CHECK(written.find("\"\\u0023#[error]a \\u0023#vso[b ## [c\"") != std::string::npos);
}

}  // namespace

int main() {
  check_access();
  check_refusals();
  check_values();
  check_encodings();
  check_json();
  check_random_changes();
  std::puts("ok");
}
