// etdevice: what a bundle chooses on this device, and why. Built from the
// headers alone; for adb, tests and curiosity.

#include <etconfig/facts.h>
#include <etconfig/facts_json.h>

#include "json.h"

namespace {

using namespace etconfig::device;
using etdevice::print;
using etdevice::print_shown;
using etdevice::print_string;

constexpr const char* kUsage =
    "etdevice facts   [--root DIR] [--bundle FILE] [--json]\n"
    "etdevice select  --bundle FILE [--facts SHEET.json] [--json]\n"
    "etdevice resolve --bundle FILE [--facts SHEET.json] [--profile NAME] [--json]\n"
    "etdevice explain --bundle FILE PATH [--facts SHEET.json] [--profile NAME]\n"
    "etdevice model   --bundle FILE NAME [--facts SHEET.json] [--json]\n"
    "Without --facts, the facts of this device are detected, or with --root those of a captured tree.\n"
    "--fact NAME=VALUE sets a fact that the bundle reads, as "
    "--fact runtime.backends=XnnpackBackend,QnnBackend; repeatable.\n"
    "etdevice batch   reads COMMAND<TAB>BUNDLE<TAB>SHEET<TAB>PROFILE, or - to select one; "
    "prints a line of JSON for each\n";

// The room for a method instance: its options, and the bytes of its
// computed values and of those that come from facts.
#ifndef ETDEVICE_MAX_OPTIONS
#define ETDEVICE_MAX_OPTIONS 2048
#endif
#ifndef ETDEVICE_MAX_VALUE_BYTES
#define ETDEVICE_MAX_VALUE_BYTES 262144
#endif

constexpr uint32_t kMaxOptions = ETDEVICE_MAX_OPTIONS;
constexpr uint32_t kMaxValueBytes = ETDEVICE_MAX_VALUE_BYTES;
constexpr uint32_t kMaxSetFacts = 64;  // with --fact
constexpr uint32_t kMaxNamedFacts = 10;  // unknown facts of a sheet that are named
constexpr uint32_t kPathBytes = 1024;  // of BACKEND.OPTION
constexpr uint32_t kSheetBytes = 256 << 10;          // as in Python
using SheetFacts = FactStore<1024, 2 * kSheetBytes>;  // its texts, and the sizes of those in lists
using Storage = Arguments<kMaxOptions, kMaxValueBytes>;

struct Request {
  const char* command = "";
  const char* bundle = nullptr;
  const char* facts = nullptr;
  const char* profile = nullptr;
  const char* path = nullptr;
  const char* changed_facts = nullptr;
  const char* root = "/";
  const char* set_facts[kMaxSetFacts] = {};
  uint32_t set_fact_count = 0;
  bool is_json = false;
  bool is_quiet = false;  // without warnings
};

// Memory for what is read and resolved; one of each is enough.
struct Memory {
  char* bundle_bytes = nullptr;
  size_t bundle_size = 0;
  char sheet[kSheetBytes + 1];
  SheetFacts facts;
  Storage arguments;
  char text[1 << 16];
};

Memory memory;
Bundle bundle;

// The exit status where everything could be read, and no profile, variant or value came of it.
constexpr int kUndecided = 1;
// The exit status for what cannot be read or is not there: a file, a fact, a name, an argument.
constexpr int kBrokenInput = 2;

// Prints a problem and returns the exit status of broken input. `help` says what to do about it.
int fail(const Request& request, const char* problem, std::string_view detail = {},
         const char* help = nullptr) {
  if (request.is_json) {
    print("{\"error\": ");
    print_string(problem);
    if (!detail.empty()) {
      print(", \"detail\": ");
      print_string(detail);
    }
    if (help != nullptr) {
      print(", \"help\": ");
      print_string(help);
    }
    print("}\n");
  } else {
    std::fprintf(stderr, "error: %s%s", problem, detail.empty() ? "" : ": ");
    print_shown(detail, stderr);
    if (help != nullptr) std::fprintf(stderr, "\nhelp: %s", help);
    std::fputc('\n', stderr);
  }
  return kBrokenInput;
}

// The same for a question that has no answer.
int fail_undecided(const Request& request, const char* problem, std::string_view detail = {},
                   const char* help = nullptr) {
  fail(request, problem, detail, help);
  return kUndecided;
}

bool read_file(const char* path, char* bytes, size_t capacity, size_t* size) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  *size = std::fread(bytes, 1, capacity, file);
  const bool is_whole = std::ferror(file) == 0 && std::fgetc(file) == EOF;
  std::fclose(file);
  return is_whole;
}

// Names the facts of a sheet that neither etconfig nor the bundle knows: misspelled ones, or those of a
// plugin that the bundle does not read. They decide nothing.
void warn_of_unknown_facts(const char* path, const Facts& facts) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < facts.size(); ++i) {
    const std::string_view name = facts.at(i).name();
    if (facts_json::info_of(name) != nullptr || bundle.find_fact(name) != Selection::kNone) continue;
    if (count++ >= kMaxNamedFacts) continue;
    std::fputs("warning: ", stderr);
    print_shown(path, stderr);
    std::fputs(": unknown fact ", stderr);
    print_shown(name, stderr);
    std::fputs(", which the bundle does not read: it is ignored\n", stderr);
  }
  if (count > kMaxNamedFacts) {
    std::fprintf(stderr, "warning: and %u more unknown facts\n",
                 static_cast<unsigned>(count - kMaxNamedFacts));
  }
  if (count != 0) {
    std::fputs("help: check the names: `etdevice facts --bundle FILE` lists those that it reads\n", stderr);
  }
}

// Sets a fact from a text, as its type in the bundle has it; a list has commas between its texts.
Status set_fact(Facts* facts, uint32_t index, std::string_view text) {
  const FactInfo info = bundle.fact(index);
  char* end = nullptr;
  errno = 0;
  switch (info.type) {
    case FactType::Boolean:
      if (text != "true" && text != "false") return Status::WrongFact;
      return bundle.set(facts, info.name, text == "true");
    case FactType::Integer: {
      const long long value = std::strtoll(text.data(), &end, 10);
      if (text.empty() || *end != '\0' || errno != 0) return Status::WrongFact;
      return bundle.set(facts, info.name, static_cast<int64_t>(value));
    }
    case FactType::Number: {
      const double value = std::strtod(text.data(), &end);
      if (text.empty() || *end != '\0') return Status::WrongFact;
      return bundle.set(facts, info.name, value);
    }
    case FactType::Text: return bundle.set(facts, info.name, text);
    case FactType::TextList: break;
  }
  static std::string_view items[format::kMaxFactItems];
  uint32_t count = 0;
  while (!text.empty()) {
    if (count == format::kMaxFactItems) return Status::WrongFact;
    const size_t comma = text.find(',');
    items[count++] = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return bundle.set_list(facts, info.name, items, count);
}

const char* expected_value(FactType type) {
  switch (type) {
    case FactType::Boolean: return "give true or false";
    case FactType::Integer:
      return "give an integer within the bounds of the fact, as --fact cpu.available_cores=4";
    case FactType::Number:
      return "give a number within the bounds of the fact, as --fact power.battery_level=0.5";
    case FactType::Text: return "give one of the values of the fact: `etconfig facts --all` lists them";
    case FactType::TextList: break;
  }
  return "give texts with commas between them, as --fact runtime.backends=XnnpackBackend,QnnBackend";
}

// Sets the facts of --fact. Zero, or the exit status.
int set_facts(const Request& request) {
  for (uint32_t i = 0; i < request.set_fact_count; ++i) {
    const std::string_view text = request.set_facts[i];
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return fail(request, "--fact takes NAME=VALUE", text);
    const std::string_view name = text.substr(0, equals);
    const uint32_t index = bundle.find_fact(name);
    if (index == Selection::kNone) {
      return fail(request, "the bundle reads no such fact", name,
                  "leave it out, or see `etdevice facts --bundle FILE`");
    }
    const Status status = set_fact(&memory.facts, index, text.substr(equals + 1));
    if (status != Status::Ok) {
      return fail(request, "not a value of the fact", text, expected_value(bundle.fact(index).type));
    }
  }
  return 0;
}

bool read_facts(const Request& request, const char* path, Facts* facts) {
  facts->clear();
  size_t size = 0;
  if (!read_file(path, memory.sheet, kSheetBytes, &size)) {
    fail(request, "cannot read the fact sheet", path);
    return false;
  }
  etdevice::SheetReader reader(memory.sheet, size, facts);
  const char* problem = reader.read();
  if (problem == nullptr && !request.is_quiet) warn_of_unknown_facts(path, *facts);
  if (problem == nullptr) return true;
  TextBuffer place(memory.text, sizeof memory.text);
  place << path;
  if (!reader.wrong_fact().empty()) place << ": " << reader.wrong_fact();
  fail(request, problem, place.text());
  return false;
}

// True unless a captured tree is missing: it would look like a device of which nothing is known.
bool is_there(const char* root) {
  if (std::string_view(root) == "/") return true;
  std::FILE* file = std::fopen(root, "rb");
  if (file != nullptr) std::fclose(file);
  return file != nullptr;
}

// Zero, or the exit status.
int fail_detection(const Request& request, FactStatus status) {
  if (status == FactStatus::Ok) return 0;
  if (status == FactStatus::BadTree) {
    return fail(request, "machine.json does not describe a machine", request.root);
  }
  return fail(request, "there are more facts than there is room for");
}

// Opens the bundle and reads or detects the facts. Zero, or the exit status.
int open(const Request& request) {
  if (request.bundle == nullptr) return fail(request, "name a bundle with --bundle");
  if (memory.bundle_bytes == nullptr) {
    memory.bundle_bytes = static_cast<char*>(std::malloc(format::kMaxBytes));
  }
  if (memory.bundle_bytes == nullptr) return fail(request, "there is not enough memory");
  if (!read_file(request.bundle, memory.bundle_bytes, format::kMaxBytes, &memory.bundle_size)) {
    return fail(request, "cannot read the bundle", request.bundle);
  }
  const Status status = bundle.open(memory.bundle_bytes, memory.bundle_size);
  if (status != Status::Ok) return fail(request, name_of(status), request.bundle);
  memory.facts.clear();
  if (request.facts == nullptr) {
    if (!is_there(request.root)) return fail(request, "cannot read the tree", request.root);
    const int problem = fail_detection(request, detect(bundle, &memory.facts, request.root));
    if (problem != 0) return problem;
  } else if (!read_facts(request, request.facts, &memory.facts)) {
    return kBrokenInput;
  }
  return set_facts(request);
}

Selection select(const Request& request) {
  return request.profile == nullptr ? bundle.select(memory.facts)
                                    : bundle.select(std::string_view(request.profile));
}

// True if a bundle has nothing but configurations that were resolved when packing.
bool has_names_only() {
  bool has = bundle.profile_count() != 0;
  for (uint32_t i = 0; i < bundle.profile_count(); ++i) has = has && !bundle.profile_fingerprint(i).empty();
  return has;
}

int fail_selection(const Request& request, const Selection& selection) {
  const char* problem = name_of(selection.status);
  if (selection.status == Status::NoSuchProfile) {
    return fail(request, problem, request.profile, "`etdevice select` lists the profiles of the bundle");
  }
  if (selection.profile != Selection::kNone) {
    return fail_undecided(request, problem, bundle.profile_name(selection.profile));
  }
  if (selection.status == Status::NoMatch && has_names_only()) {
    return fail(request, "its configurations were resolved when packing: name one with --profile");
  }
  return fail_undecided(request, problem);
}

// The id and the revision of the bundle, as members of an object.
void print_release_json() {
  print(", \"bundle\": ");
  print_string(bundle.id());
  print(", \"revision\": ");
  if (bundle.revision() == 0) {
    print("null");
  } else {
    std::printf("%llu", static_cast<unsigned long long>(bundle.revision()));
  }
}

void print_reasons_json(std::string_view reasons) {
  print("[");
  for (size_t i = 0; !reasons.empty(); ++i) {
    const size_t end = reasons.find('\x1f');
    if (i != 0) print(", ");
    print_string(reasons.substr(0, end));
    reasons.remove_prefix(end == std::string_view::npos ? reasons.size() : end + 1);
  }
  print("]");
}

int run_select(const Request& request) {
  const Selection selection = select(request);
  if (request.is_json) {
    print("{\"profile\": ");
    if (selection) {
      print_string(bundle.profile_name(selection.profile));
    } else {
      print("null");
    }
    print_release_json();
    print(", \"status\": ");
    print_string(name_of(selection.status));
    print(selection.is_fallback ? ", \"is_fallback\": true" : ", \"is_fallback\": false");
    print(", \"profiles\": [");
  } else if (selection) {
    print_shown(bundle.profile_name(selection.profile));
    print("\n");
  }
  if (!request.is_json) {
    print("bundle ");
    print_shown(bundle.id());
    if (bundle.revision() != 0) {
      std::printf(", revision %llu", static_cast<unsigned long long>(bundle.revision()));
    }
    print("\n");
  }
  for (uint32_t i = 0; i < bundle.profile_count(); ++i) {
    TextBuffer reasons(memory.text, sizeof memory.text);
    const bool is_match = bundle.explain_match(i, memory.facts, &reasons, request.is_json ? "\x1f" : "; ");
    if (request.is_json) {
      print(i == 0 ? "{\"name\": " : ", {\"name\": ");
      print_string(bundle.profile_name(i));
      print(is_match ? ", \"is_match\": true, \"reasons\": " : ", \"is_match\": false, \"reasons\": ");
      print_reasons_json(reasons.text());
      print("}");
    } else {
      print(is_match ? "  + " : "  - ");
      print_shown(bundle.profile_name(i));
      print(": ");
      print_shown(reasons.text());
      print("\n");
    }
  }
  if (request.is_json) print("]}\n");
  if (!selection && !request.is_json) return fail_selection(request, selection);
  if (selection.status == Status::NoSuchProfile) return kBrokenInput;
  return selection ? 0 : kUndecided;
}

void print_label(std::string_view method, std::string_view instance) {
  print("\"method\": ");
  print_string(method);
  print(", \"instance\": ");
  if (instance.empty()) {
    print("null");
  } else {
    print_string(instance);
  }
}

void print_arguments_json(bool* is_first) {
  for (uint32_t i = 0; i < memory.arguments.backend_count(); ++i) {
    const BackendArguments backend = memory.arguments.backend(i);
    print(*is_first ? "{" : ", {");
    *is_first = false;
    print_label(memory.arguments.method(), memory.arguments.instance());
    print(", \"backend\": ");
    print_string(backend.id());
    print(", \"options\": {");
    for (uint32_t at = 0; at < backend.size(); ++at) {
      if (at != 0) print(", ");
      print_string(backend[at].name());
      print(": {\"value\": ");
      etdevice::print_value(backend[at].value());
      print(", \"origin\": ");
      print_string(backend[at].origin());
      print("}");
    }
    print("}}");
  }
}

void print_arguments() {
  for (uint32_t i = 0; i < memory.arguments.size(); ++i) {
    TextBuffer line(memory.text, sizeof memory.text);
    static_cast<void>(bundle.explain(memory.arguments, i, &line));
    print_shown(line.text());
    print("\n");
  }
}

// True for a default instance that only serves the named ones, and so may lack options.
bool is_template(uint32_t profile, uint32_t slot) {
  if (!bundle.slot_instance(profile, slot).empty()) return false;
  bool has_named = false;
  for (uint32_t i = 0; i < bundle.slot_count(profile); ++i) {
    has_named = has_named ||
        (bundle.slot_method(profile, i) == bundle.slot_method(profile, slot) &&
         !bundle.slot_instance(profile, i).empty());
  }
  const uint32_t count = memory.arguments.problem_count();
  for (uint32_t i = 0; i < count; ++i) {
    if (memory.arguments.problem(i).status() != Status::MissingOption) return false;
  }
  return has_named;
}

// True if something is wrong with an option of the same backend as
// problem `index`, other than that it is not set.
bool is_backend_wrong(uint32_t index, uint32_t count) {
  const std::string_view backend = memory.arguments.problem(index).backend();
  for (uint32_t i = 0; i < count; ++i) {
    const OptionArgument other = memory.arguments.problem(i);
    if (other.backend() == backend && other.status() != Status::MissingOption) return true;
  }
  return false;
}

void print_problems(const Request& request, bool* is_first) {
  // of one backend, missing options count only if nothing else is wrong,
  // as in Python; its problems follow one another
  const uint32_t count = memory.arguments.problem_count();
  std::string_view backend;
  bool is_wrong = false;
  for (uint32_t i = 0; i < count; ++i) {
    const OptionArgument option = memory.arguments.problem(i);
    if (i == 0 || option.backend() != backend) is_wrong = is_backend_wrong(i, count);
    backend = option.backend();
    if (is_wrong && option.status() == Status::MissingOption) continue;
    if (!request.is_json) {
      char path[kPathBytes];
      TextBuffer name(path, sizeof path);
      name << option.backend() << '.' << option.name();
      TextBuffer line(memory.text, sizeof memory.text);
      static_cast<void>(bundle.explain(memory.arguments, name.text(), &line));
      std::fputs("error: ", stderr);
      print_shown(line.text(), stderr);
      std::fputc('\n', stderr);
      continue;
    }
    print(*is_first ? "{" : ", {");
    *is_first = false;
    print_label(memory.arguments.method(), memory.arguments.instance());
    print(", \"backend\": ");
    print_string(option.backend());
    print(", \"option\": ");
    print_string(option.name());
    print(", \"problem\": ");
    print_string(name_of(option.status()));
    print("}");
  }
}

Status resolve(const Selection& selection, uint32_t slot) {
  return bundle.resolve(selection, memory.facts, bundle.slot_method(selection.profile, slot),
                        bundle.slot_instance(selection.profile, slot), &memory.arguments);
}

// Says which room is missing.
int fail_too_small(const Request& request, const Selection& selection) {
  uint32_t needed = 0;
  for (uint32_t i = 0; i < bundle.slot_count(selection.profile); ++i) {
    const uint32_t count = bundle.slot_option_count(selection.profile, i);
    if (count > needed) needed = count;
  }
  char detail[160];
  char help[240];
  if (needed > kMaxOptions) {
    std::snprintf(detail, sizeof detail, "a method instance has %u options, and this etdevice keeps %u",
                  static_cast<unsigned>(needed), static_cast<unsigned>(kMaxOptions));
    std::snprintf(help, sizeof help,
                  "compile etdevice with -DETDEVICE_MAX_OPTIONS=%u; an app needs Arguments<%u>",
                  static_cast<unsigned>(needed), static_cast<unsigned>(needed));
  } else {
    std::snprintf(detail, sizeof detail,
                  "the computed values of a method instance take more than the %u bytes of this etdevice",
                  static_cast<unsigned>(kMaxValueBytes));
    std::snprintf(
        help, sizeof help,
        "compile etdevice with -DETDEVICE_MAX_VALUE_BYTES=%u, or more; an app needs as many in Arguments",
        static_cast<unsigned>(2 * kMaxValueBytes));
  }
  return fail(request, name_of(Status::TooSmall), detail, help);
}

// Options of the whole process, on which all method instances must agree.
class ProcessOptions {
 public:
  // Adds those of memory.arguments. A default for any other method
  // does not count: there may be no other method.
  void add() {
    for (uint32_t i = 0; i < memory.arguments.size(); ++i) {
      const OptionArgument option = memory.arguments[i];
      const bool is_mere_default = memory.arguments.method() == "*" && option.decider() == Decider::Default;
      if (option.scope() != Scope::Process || is_mere_default) continue;
      TextBuffer text(memory.text, sizeof memory.text);
      option.value().write(&text);
      check(option, fact_store::hash_of(text.text()));
    }
  }
  // The first option on which they disagree.
  const char* conflict() const { return conflict_[0] == '\0' ? nullptr : conflict_; }

 private:
  void check(const OptionArgument& option, uint32_t hash) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (entries_[i].backend != option.backend() || entries_[i].name != option.name()) continue;
      if (entries_[i].hash != hash && conflict() == nullptr) {
        TextBuffer text(conflict_, sizeof conflict_);
        text << option.backend() << '.' << option.name();
      }
      return;
    }
    if (count_ < kMaxOptions) entries_[count_++] = {option.backend(), option.name(), hash};
  }

  struct Entry {
    std::string_view backend, name;
    uint32_t hash = 0;
  };
  Entry entries_[kMaxOptions];
  uint32_t count_ = 0;
  char conflict_[256] = "";
};

// All method instances, or the problems of all of them.
int run_resolve(const Request& request) {
  const Selection selection = select(request);
  if (!selection) return fail_selection(request, selection);
  const uint32_t slots = bundle.slot_count(selection.profile);
  bool is_sound = true;
  static ProcessOptions process_options;
  process_options = ProcessOptions();
  for (uint32_t i = 0; i < slots; ++i) {
    const Status status = resolve(selection, i);
    if (status == Status::Ok) process_options.add();
    if (status == Status::Ok || (status == Status::MissingOption && is_template(selection.profile, i))) {
      continue;
    }
    if (status == Status::TooSmall) return fail_too_small(request, selection);
    if (memory.arguments.problem_count() == 0) return fail(request, name_of(status));
    is_sound = false;
  }
  if (is_sound && process_options.conflict() != nullptr) {
    return fail_undecided(request, "method instances disagree on an option of the process",
                          process_options.conflict());
  }
  bool is_first = true;
  if (request.is_json) {
    print(is_sound ? "{\"arguments\": [" : "{\"error\": \"invalid options\", \"problems\": [");
  }
  for (uint32_t i = 0; i < slots; ++i) {
    const Status status = resolve(selection, i);
    if (!is_sound) {
      const bool is_incomplete = status == Status::MissingOption && is_template(selection.profile, i);
      if (status != Status::Ok && !is_incomplete) print_problems(request, &is_first);
    } else if (status == Status::Ok && request.is_json) {
      print_arguments_json(&is_first);
    } else if (status == Status::Ok) {
      print_arguments();
    }
  }
  if (request.is_json) {
    print("], \"profile\": ");
    print_string(bundle.profile_name(selection.profile));
    if (is_sound) print_release_json();
    print("}\n");
  }
  return is_sound ? 0 : kUndecided;
}

// For tests: the options that change from one fact sheet to another, in
// each method instance that has arguments on both.
int run_update(const Request& request) {
  const Selection selection = select(request);
  if (!selection) return fail_selection(request, selection);
  static SheetFacts changed;
  if (!read_facts(request, request.changed_facts, &changed)) return kBrokenInput;
  bool is_first = true;
  print("{\"changed\": [");
  for (uint32_t i = 0; i < bundle.slot_count(selection.profile); ++i) {
    if (resolve(selection, i) != Status::Ok) continue;
    const Changes changes = bundle.update(changed, &memory.arguments);
    uint32_t at_execute = 0;
    uint32_t count = 0;
    for (uint32_t at = 0; changes.status == Status::Ok && at < memory.arguments.size(); ++at) {
      const OptionArgument option = memory.arguments[at];
      if (!option.is_changed()) continue;
      ++count;
      at_execute += option.applies() == Applies::Execute ? 1 : 0;
      print(is_first ? "{" : ", {");
      is_first = false;
      print_label(memory.arguments.method(), memory.arguments.instance());
      print(", \"option\": ");
      TextBuffer path(memory.text, sizeof memory.text);
      path << option.backend() << '.' << option.name();
      print_string(path.text());
      print(", \"value\": ");
      etdevice::print_value(option.value());
      print("}");
    }
    if (count != changes.count || at_execute != changes.at_execute) {
      return fail(request, "the counts are wrong");
    }
  }
  print("]}\n");
  return 0;
}

constexpr const char* kListOptions = "`etdevice resolve` lists the options of every method instance";

// True if the option of a path, without its method, is one of the problems of the arguments.
bool has_no_value(std::string_view path) {
  path.remove_prefix(path.find(':') == std::string_view::npos ? 0 : path.find(':') + 1);
  const uint32_t count = memory.arguments.problem_count();
  for (uint32_t i = 0; i < count; ++i) {
    const OptionArgument option = memory.arguments.problem(i);
    char bytes[kPathBytes];
    TextBuffer name(bytes, sizeof bytes);
    name << option.backend() << '.' << option.name();
    if (name.text() == path) return true;
  }
  return false;
}

// Prints the explanation of an option: as an error if it has no value, which is the exit status.
int print_explanation(const Request& request, std::string_view line) {
  if (!has_no_value(request.path)) {
    print_shown(line);
    print("\n");
    return 0;
  }
  std::fputs("error: ", stderr);
  print_shown(line, stderr);
  std::fputc('\n', stderr);
  return kUndecided;
}

// Explains an option of the method instance that the path names: any, if the bundle has options for any.
int explain_named(const Request& request, const Selection& selection) {
  const std::string_view path = request.path;
  const std::string_view label = path.substr(0, path.find(':'));
  const size_t at = label.find('@');
  const std::string_view instance = at == std::string_view::npos ? std::string_view() : label.substr(at + 1);
  Status status = Status::NoSuchMethod;  // no bundle has a longer name
  if (label.substr(0, at).size() <= format::kMaxNameBytes) {
    status = bundle.resolve(selection, memory.facts, label.substr(0, at), instance, &memory.arguments);
  }
  if (status == Status::TooSmall) return fail_too_small(request, selection);
  if (status == Status::NoSuchMethod || status == Status::NoSuchInstance) {
    return fail(request, name_of(status), label, kListOptions);
  }
  TextBuffer line(memory.text, sizeof memory.text);
  status = bundle.explain(memory.arguments, path, &line);
  if (status != Status::Ok) return fail(request, name_of(status), path, kListOptions);
  return print_explanation(request, line.text());
}

int run_explain(const Request& request) {
  const Selection selection = select(request);
  if (!selection) return fail_selection(request, selection);
  if (request.path == nullptr) return fail(request, "name an option: [METHOD[@INSTANCE]:]BACKEND.OPTION");
  if (std::string_view(request.path).find(':') != std::string_view::npos) {
    return explain_named(request, selection);
  }
  bool is_found = false;
  bool has_value = false;
  bool is_wrong = false;
  for (uint32_t i = 0; i < bundle.slot_count(selection.profile); ++i) {
    if (resolve(selection, i) == Status::TooSmall) return fail_too_small(request, selection);
    TextBuffer line(memory.text, sizeof memory.text);
    if (bundle.explain(memory.arguments, request.path, &line) != Status::Ok) continue;
    is_found = true;
    if (has_no_value(request.path) && is_template(selection.profile, i)) {
      continue;  // only named instances need it
    }
    const bool is_explained = print_explanation(request, line.text()) == 0;
    has_value = has_value || is_explained;
    is_wrong = is_wrong || !is_explained;
  }
  if (!is_found) return fail(request, "no such option", request.path, kListOptions);
  if (!has_value && !is_wrong) {
    return fail_undecided(request, "no method instance has a value of the option", request.path);
  }
  return is_wrong ? kUndecided : 0;
}

constexpr const char* kBackends = "runtime.backends";
constexpr const char* kGiveBackends =
    "name the backends of the runtime, which cannot be detected: "
    "--fact runtime.backends=XnnpackBackend,QnnBackend";

// The variant of a model, and the reasons of all of them, in the
// structure of `etconfig models select --json`.
int run_model(const Request& request) {
  if (request.path == nullptr) return fail(request, "name a model");
  const ModelChoice choice = bundle.select_model(request.path, memory.facts);
  if (choice.status() == Status::NoSuchModel) {
    return fail(request, name_of(choice.status()), request.path,
                "`etconfig inspect BUNDLE` lists the models of a bundle");
  }
  if (request.is_json) {
    print("{\"model\": ");
    print_string(request.path);
    print(choice.has_fallback() ? ", \"fallback\": true, \"file\": " : ", \"fallback\": false, \"file\": ");
    if (choice) {
      print_string(choice.file());
    } else {
      print("null");
    }
    print(", \"variants\": [");
  } else if (choice) {
    print_shown(choice.file());
    print("\n");
  }
  for (uint32_t i = 0; i < bundle.variant_count(choice.model()); ++i) {
    TextBuffer reasons(memory.text, sizeof memory.text);
    bundle.explain_variant(choice, i, memory.facts, &reasons, request.is_json ? "\x1f" : "; ");
    if (request.is_json) {
      print(i == 0 ? "{\"file\": " : ", {\"file\": ");
      print_string(bundle.variant_file(choice.model(), i));
      if (!bundle.variant_backend(choice.model(), i).empty()) {
        print(", \"backend\": ");
        print_string(bundle.variant_backend(choice.model(), i));
      }
      print(", \"reasons\": ");
      print_reasons_json(reasons.text());
      print("}");
    } else {
      print(choice.variant() == i ? "  + " : "  - ");
      print_shown(bundle.variant_file(choice.model(), i));
      print(": ");
      print_shown(reasons.text());
      print("\n");
    }
  }
  if (request.is_json) print("]}\n");
  if (!choice && !request.is_json) {
    const bool is_unknown =
        bundle.find_fact(kBackends) != Selection::kNone && !memory.facts.find(kBackends).is_known();
    return fail_undecided(request, name_of(choice.status()), request.path,
                          is_unknown ? kGiveBackends : nullptr);
  }
  return choice ? 0 : kUndecided;
}

void print_fact_value(const FactView& fact) {
  if (fact.type() == FactType::Text) return print_shown(fact.text());
  const auto write = [](std::string_view text) { print(text); };
  facts_json::Output output(write);
  if (fact.type() != FactType::TextList) {
    facts_json::write_value(&output, fact);
    return output.flush();
  }
  bool is_first = true;
  for (const std::string_view text : fact.list()) {
    print(is_first ? "" : ", ");
    is_first = false;
    print_shown(text);
  }
}

bool is_identifying(std::string_view name) { return bundle.is_identifying(name); }

void print_fact(const FactView& fact) {
  const detection::FactInfo* info = facts_json::info_of(fact.name());
  const char* unit = info == nullptr || info->unit == nullptr ? "" : info->unit;
  std::printf("%-22.*s  ", static_cast<int>(fact.name().size()), fact.name().data());
  if (is_identifying(fact.name())) {
    print("(set, not shown)\n");
    return;
  }
  print_fact_value(fact);
  std::printf("%s%s\n", *unit == '\0' ? "" : " ", unit);
}

// All facts, or those that a bundle reads.
int run_facts(const Request& request) {
  if (request.facts != nullptr) return fail(request, "--facts does not apply to facts, which detects them");
  if (request.bundle == nullptr && request.set_fact_count != 0) {
    return fail(request, "--fact needs a bundle, which has the types of facts", {}, "name one with --bundle");
  }
  int status = 0;
  if (request.bundle != nullptr) {
    status = open(request);
  } else {
    memory.facts.clear();
    if (!is_there(request.root)) return fail(request, "cannot read the tree", request.root);
    status = fail_detection(request, detect_all(&memory.facts, request.root));
  }
  if (status != 0) return status;
  if (request.is_json) {
    write_facts_json(memory.facts, [](std::string_view text) { print(text); }, is_identifying);
    return 0;
  }
  uint32_t unknown = 0;
  for (uint32_t i = 0; i < memory.facts.size(); ++i) {
    const FactView fact = memory.facts.at(i);
    if (fact.is_known()) {
      print_fact(fact);
    } else {
      ++unknown;
    }
  }
  if (unknown != 0) {
    std::printf("\n%u facts are unknown here; --json shows why.\n", static_cast<unsigned>(unknown));
  }
  return 0;
}

bool is_command(std::string_view command) {
  for (const std::string_view each : {"facts", "select", "resolve", "explain", "model", "update", "open"}) {
    if (command == each) return true;
  }
  return false;
}

int run(const Request& request) {
  const std::string_view command = request.command;
  if (!is_command(command)) return fail(request, "no such command", command);
  if (command == "facts") return run_facts(request);
  const int status = open(request);
  if (status != 0) return status;
  if (command == "open") {  // for tests: sheets that the bundle does not read
    print("{}\n");
    return 0;
  }
  const uint32_t wrong = bundle.wrong_fact(memory.facts);
  if (wrong != Selection::kNone) return fail(request, name_of(Status::WrongFact), bundle.fact(wrong).name);
  if (command == "select") return run_select(request);
  if (command == "resolve") return run_resolve(request);
  if (command == "explain") return run_explain(request);
  if (command == "model") return run_model(request);
  if (command == "update" && request.changed_facts != nullptr) return run_update(request);
  return fail(request, "no such command", command);
}

// Many requests in one process; each answer is one line of JSON.
int run_batch() {
  static char line[1 << 14];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char* fields[5] = {};
    uint32_t count = 0;
    char* at = line;
    for (; count < 5; ++count) {
      fields[count] = at;
      at += std::strcspn(at, "\t\n");
      if (*at == '\0') break;
      *at++ = '\0';
    }
    if (count < 3) return fail(Request(), "a line of a batch has four fields");
    Request request;
    request.command = fields[0];
    request.bundle = fields[1];
    request.facts = fields[2];
    const char* const name = fields[3] == nullptr || std::string_view(fields[3]) == "-" ? nullptr : fields[3];
    (std::string_view(request.command) == "model" ? request.path : request.profile) = name;
    request.changed_facts = fields[4];
    request.is_json = true;
    request.is_quiet = true;
    run(request);
    std::fflush(stdout);
  }
  return 0;
}

bool parse(int argc, char** argv, Request* request) {
  request->command = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const char** target = argument == "--bundle" ? &request->bundle
        : argument == "--facts"                  ? &request->facts
        : argument == "--profile"                ? &request->profile
        : argument == "--root"                   ? &request->root
                                                 : nullptr;
    if (argument == "--json") {
      request->is_json = true;
    } else if (argument == "--fact" && i + 1 < argc && request->set_fact_count < kMaxSetFacts) {
      request->set_facts[request->set_fact_count++] = argv[++i];
    } else if (target != nullptr && i + 1 < argc) {
      *target = argv[++i];
    } else if (target == nullptr && request->path == nullptr && argument.substr(0, 1) != "-") {
      request->path = argv[i];
    } else {
      const bool is_repeated = argument == "--fact" && i + 1 < argc;
      const bool lacks_value = target != nullptr || argument == "--fact";
      const char* const lacking = lacks_value ? "error: no value for " : "error: unexpected argument: ";
      std::fputs(is_repeated ? "error: more than 64 times " : lacking, stderr);
      print_shown(argument, stderr);
      std::fputc('\n', stderr);
      return false;
    }
  }
  return true;
}

bool asks_for_help(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h" || (i == 1 && argument == "help")) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "batch") return run_batch();
  if (asks_for_help(argc, argv)) {
    print(kUsage);
    return 0;
  }
  Request request;
  if (argc < 2 || !parse(argc, argv, &request)) {
    std::fputs(kUsage, stderr);
    return kBrokenInput;
  }
  return run(request);
}
