// The library behind etconfig_device.h. Build it into the app, or as a shared library:
//
//   c++ -std=c++17 -Os -shared -fPIC -fvisibility-inlines-hidden
// -fno-exceptions -fno-rtti -Iinclude -o   libetconfig_device.so
//     etconfig_device.cpp

#include <etconfig/etconfig_device.h>

#include <etconfig/bundle_store.h>
#include <etconfig/device.h>
#include <etconfig/facts.h>
#include <etconfig/facts_json.h>
#include <etconfig/usage.h>

#ifndef _WIN32
#include <etconfig/posix_files.h>
#endif

#include <new>

// The room of an object, see etconfig_device_size: options of a method
// instance, and bytes of facts and of computed values.
#ifndef ETCONFIG_DEVICE_MAX_OPTIONS
#define ETCONFIG_DEVICE_MAX_OPTIONS 1024
#endif
#ifndef ETCONFIG_DEVICE_MAX_FACT_BYTES
#define ETCONFIG_DEVICE_MAX_FACT_BYTES 32768
#endif

using namespace etconfig::device;

struct etconfig_device {
  static constexpr uint32_t kMaxReasons = 8;
  static constexpr size_t kReasonBytes = 256;

  Bundle bundle;
  FactStore<format::kMaxFacts, ETCONFIG_DEVICE_MAX_FACT_BYTES> facts;
  Selection selection;
  Arguments<ETCONFIG_DEVICE_MAX_OPTIONS> arguments;
  ModelChoice model;
  bool is_open = false;
  bool is_selected = false;  // somebody asked for a profile, and so for arguments and a model
  bool is_resolved = false;
  bool is_model_asked = false;
  bool is_updated = false;  // the last resolve or update was an update that succeeded
  char id[17] = {};
  uint64_t loaded = 0;  // of a store
  uint32_t reason_count = 0;
  char reasons[kMaxReasons][kReasonBytes] = {};  // why variants failed to load: `model` has views of them
};

static_assert(static_cast<int>(Status::NoVariant) == ETCONFIG_DEVICE_NO_VARIANT,
              "the statuses are those of device.h");
static_assert(static_cast<int>(Status::NoSuchOption) == ETCONFIG_DEVICE_NO_SUCH_OPTION, "in the same order");
static_assert(static_cast<int>(UsageReason::Error) == ETCONFIG_USAGE_ERROR,
              "the reasons are those of usage.h");
static_assert(static_cast<int>(Status::StoreFailed) == ETCONFIG_DEVICE_STORE_FAILED, "to the last one");
static_assert(static_cast<int>(ValueKind::Table) == ETCONFIG_DEVICE_TABLE, "the kinds are those of device.h");
static_assert(static_cast<int>(FactType::TextList) + 1 == ETCONFIG_DEVICE_ARRAY,
              "the types of facts are kinds, in order");

namespace {

constexpr uint32_t kMaxTexts = format::kMaxFactItems;
constexpr std::string_view kBackends = "runtime.backends";

std::string_view view(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// A text of the bundle, which has a NUL behind it.
const char* data_of(std::string_view text) { return text.data(); }

bool is_open(const etconfig_device* device) { return device != nullptr && device->is_open; }
bool has_model(const etconfig_device* device) {
  return is_open(device) && device->is_model_asked && device->model.status() != Status::NoSuchModel;
}

int status_of(FactStatus status) {
  switch (status) {
    case FactStatus::Ok: return ETCONFIG_DEVICE_OK;
    case FactStatus::BadName: return ETCONFIG_DEVICE_NO_SUCH_FACT;
    case FactStatus::BadValue: return ETCONFIG_DEVICE_WRONG_FACT;
    case FactStatus::BadText: return ETCONFIG_DEVICE_BAD_TEXT;
    default: return ETCONFIG_DEVICE_FACTS_FULL;
  }
}

// Ok if a fact may be set now.
int check_fact(const etconfig_device* device, const char* fact) {
  if (device == nullptr || fact == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!device->is_open) return ETCONFIG_DEVICE_WRONG_ORDER;
  return device->bundle.find_fact(fact) == Selection::kNone ? ETCONFIG_DEVICE_NO_SUCH_FACT
                                                            : ETCONFIG_DEVICE_OK;
}

template <typename T>
int set_fact(etconfig_device* device, const char* fact, T value) {
  const int status = check_fact(device, fact);
  return status == ETCONFIG_DEVICE_OK ? static_cast<int>(device->bundle.set(&device->facts, fact, value))
                                      : status;
}

// A buffer that may be NULL.
TextBuffer text_buffer(char* buffer, size_t size) { return TextBuffer(buffer, buffer == nullptr ? 0 : size); }

std::optional<OptionArgument> find(const etconfig_device* device, const char* backend, const char* option) {
  if (!is_open(device) || backend == nullptr || option == nullptr) return std::nullopt;
  const auto found = device->arguments.find(backend);
  return found ? found->option(option) : std::nullopt;
}

template <typename T, typename Result>
int read(const etconfig_device* device, const char* backend, const char* option, Result* result,
         std::optional<T> (Value::*get)() const) {
  if (device == nullptr || backend == nullptr || option == nullptr || result == nullptr) {
    return ETCONFIG_DEVICE_BAD_ARGUMENT;
  }
  if (!device->is_resolved) return ETCONFIG_DEVICE_WRONG_ORDER;
  const auto found = find(device, backend, option);
  if (!found) return ETCONFIG_DEVICE_NO_SUCH_OPTION;
  const Value value = found->value();
  const std::optional<T> typed = (value.*get)();
  if (!typed) return ETCONFIG_DEVICE_OTHER_KIND;
  *result = static_cast<Result>(*typed);
  return ETCONFIG_DEVICE_OK;
}

std::optional<OptionArgument> option_at(const etconfig_device* device, uint32_t index) {
  if (!is_open(device) || index >= device->arguments.size()) return std::nullopt;
  return device->arguments[index];
}
std::optional<OptionArgument> changed_at(const etconfig_device* device, uint32_t index) {
  if (!is_open(device) || !device->is_updated) return std::nullopt;
  for (uint32_t i = 0; i < device->arguments.size(); ++i) {
    if (device->arguments[i].is_changed() && index-- == 0) return device->arguments[i];
  }
  return std::nullopt;
}
std::optional<OptionArgument> problem_at(const etconfig_device* device, uint32_t index) {
  if (!is_open(device) || index >= device->arguments.problem_count()) return std::nullopt;
  return device->arguments.problem(index);
}

// The slot of the selected profile, that is its method instance; kNone behind the last one.
uint32_t slot_at(const etconfig_device* device, uint32_t index) {
  if (!is_open(device) || !device->selection) return Selection::kNone;
  return index < device->bundle.slot_count(device->selection.profile) ? index : Selection::kNone;
}

// Forgets all that belonged to the bundle before, if another one was opened.
int opened(etconfig_device* device, Status status, uint64_t loaded) {
  if (status != Status::Ok) return static_cast<int>(status);
  device->selection = Selection();
  device->model = ModelChoice();
  // forgets the arguments
  static_cast<void>(device->bundle.resolve(device->selection, device->facts, {}, {}, &device->arguments));
  device->is_open = true;
  device->is_selected = device->is_resolved = device->is_model_asked = device->is_updated = false;
  device->reason_count = 0;
  device->bundle.id().copy(device->id, sizeof device->id - 1);
  device->loaded = loaded;
  return ETCONFIG_DEVICE_OK;
}

// The demands of an application in C.
class CallingVerifier final : public SignatureVerifier {
 public:
  explicit CallingVerifier(const etconfig_device_demands& demands) : in_c_(demands) {}
  bool verify(const uint8_t* data, size_t size, const uint8_t* signature,
              const uint8_t* public_key) const override {
    return in_c_.verify(in_c_.context, data, size, signature, public_key) == 1;
  }
  Demands demands() const {
    Demands found;
    if (in_c_.verify != nullptr) found.verifier = this;
    found.public_keys = reinterpret_cast<const uint8_t(*)[kPublicKeyBytes]>(in_c_.public_keys);
    found.key_count = in_c_.key_count;
    found.least_revision = in_c_.least_revision;
    found.now = in_c_.now;
    return found;
  }

 private:
  const etconfig_device_demands& in_c_;
};

#ifndef _WIN32
using Store = BundleStore<PosixFiles>;
#else
// There are no files, so that every function fails.
struct NoFiles {
  explicit NoFiles(const char*) {}
  bool lock() { return false; }
  void unlock() {}
  bool read(const char*, void*, size_t, size_t*, bool*) { return false; }
  bool write(const char*, const void*, size_t) { return false; }
  bool sync(const char*) { return false; }
  bool rename(const char*, const char*) { return false; }
  bool sync_directory() { return false; }
};
using Store = BundleStore<NoFiles>;
#endif

void set_file(const ModelChoice& model, bool is_found, const char** file) {
  if (file != nullptr) *file = is_found ? data_of(model.file()) : nullptr;
}

// A record of what is used now. It refers to the device.
class DeviceUsage {
 public:
  DeviceUsage(const etconfig_device& device, const etconfig_usage* usage)
      : record(device.bundle, device.facts, device.selection,
               device.is_resolved ? &device.arguments : nullptr,
               device.is_model_asked ? &device.model : nullptr) {
    if (usage == nullptr) return;
    etconfig_usage given = ETCONFIG_USAGE_INIT;  // an application of before has fewer fields
    std::memcpy(&given, usage, usage->size < sizeof given ? usage->size : sizeof given);
    record.device = view(given.device);
    record.failure = view(given.failure);
    set(given.at_ms, &record.at_ms);
    set(given.load_us, &record.load_us);
    set(given.first_run_us, &record.first_run_us);
    set(given.p50_us, &record.p50_us);
    set(given.p95_us, &record.p95_us);
    set(given.runs, &record.runs);
  }

  UsageRecord record;

 private:
  template <typename T>
  static void set(T value, std::optional<T>* field) {
    if (!(value < 0)) *field = value;  // also if it is not a number, which the record refuses
  }
};

}  // namespace

extern "C" {

uint32_t etconfig_device_version(void) { return ETCONFIG_DEVICE_VERSION; }
uint32_t etconfig_device_abi(void) { return ETCONFIG_DEVICE_ABI; }

const char* etconfig_device_status_name(int status) {
  switch (status) {
    case ETCONFIG_DEVICE_BAD_ARGUMENT: return "NULL where something is needed";
    case ETCONFIG_DEVICE_WRONG_ORDER: return "open, select or resolve first";
    case ETCONFIG_DEVICE_OTHER_KIND: return "the value has another kind";
    default: break;
  }
  const bool is_known = status >= 0 && status <= ETCONFIG_DEVICE_STORE_FAILED;
  return is_known ? name_of(static_cast<Status>(status)) : "unknown status";
}

size_t etconfig_device_size(void) { return sizeof(etconfig_device); }

etconfig_device* etconfig_device_create(void* memory, size_t size) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(memory) % alignof(etconfig_device) == 0;
  const bool is_usable = memory != nullptr && is_aligned && size >= sizeof(etconfig_device);
  return is_usable ? new (memory) etconfig_device() : nullptr;
}

// --- the bundle ---

int etconfig_device_open(etconfig_device* device, const void* data, size_t size) {
  if (device == nullptr || data == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  return opened(device, device->bundle.open(data, size), 0);
}
int etconfig_device_open_checked(etconfig_device* device, const void* data, size_t size,
                                 const etconfig_device_demands* demands) {
  if (device == nullptr || data == nullptr || demands == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  const CallingVerifier verifier(*demands);
  return opened(device, device->bundle.open(data, size, verifier.demands()), 0);
}

int etconfig_device_store_install(const char* directory, const void* data, size_t size,
                                  const etconfig_device_demands* demands) {
  if (directory == nullptr || data == nullptr || demands == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  const CallingVerifier verifier(*demands);
  return static_cast<int>(Store(directory).install(data, size, verifier.demands()));
}
size_t etconfig_device_store_size(const char* directory) {
  return directory == nullptr ? 0 : Store(directory).size();
}
int etconfig_device_store_load(etconfig_device* device, const char* directory, void* buffer, size_t capacity,
                               const etconfig_device_demands* demands) {
  const bool is_given = device != nullptr && directory != nullptr && buffer != nullptr && demands != nullptr;
  if (!is_given) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  const CallingVerifier verifier(*demands);
  Store store(directory);
  const Status status = store.load(buffer, capacity, verifier.demands(), &device->bundle);
  return opened(device, status, store.loaded());
}
int etconfig_device_store_confirm(etconfig_device* device, const char* directory) {
  if (device == nullptr || directory == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  Store store(directory);
  store.set_loaded(device->loaded);
  return static_cast<int>(store.confirm());
}
int etconfig_device_store_reject(etconfig_device* device, const char* directory) {
  if (device == nullptr || directory == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  Store store(directory);
  store.set_loaded(device->loaded);
  return static_cast<int>(store.reject());
}

const char* etconfig_device_producer(const etconfig_device* device) {
  return is_open(device) ? data_of(device->bundle.producer()) : nullptr;
}
const char* etconfig_device_fingerprint(const etconfig_device* device) {
  return is_open(device) ? data_of(device->bundle.fingerprint()) : nullptr;
}

const char* etconfig_device_id(const etconfig_device* device) {
  return is_open(device) ? device->id : nullptr;
}
const char* etconfig_device_sources(const etconfig_device* device) {
  return is_open(device) ? data_of(device->bundle.sources()) : nullptr;
}
uint64_t etconfig_device_revision(const etconfig_device* device) {
  return is_open(device) ? device->bundle.revision() : 0;
}
uint64_t etconfig_device_not_after(const etconfig_device* device) {
  return is_open(device) ? device->bundle.not_after() : 0;
}

// --- facts ---

const char* etconfig_device_fact_name(const etconfig_device* device, uint32_t index) {
  return is_open(device) && index < device->bundle.fact_count() ? data_of(device->bundle.fact(index).name)
                                                                : nullptr;
}
const char* etconfig_device_fact_unit(const etconfig_device* device, uint32_t index) {
  return is_open(device) && index < device->bundle.fact_count() ? data_of(device->bundle.fact(index).unit)
                                                                : nullptr;
}
int etconfig_device_fact_kind(const etconfig_device* device, uint32_t index) {
  if (!is_open(device) || index >= device->bundle.fact_count()) return -1;
  return static_cast<int>(device->bundle.fact(index).type) + 1;  // no fact is None
}
int etconfig_device_fact_is_live(const etconfig_device* device, uint32_t index) {
  return is_open(device) && index < device->bundle.fact_count() ? device->bundle.fact(index).is_live : -1;
}

int etconfig_device_detect(etconfig_device* device) {
  if (device == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  return device->is_open ? status_of(detect(device->bundle, &device->facts)) : ETCONFIG_DEVICE_WRONG_ORDER;
}
int etconfig_device_set_boolean(etconfig_device* device, const char* fact, int value) {
  return set_fact(device, fact, value != 0);
}
int etconfig_device_set_integer(etconfig_device* device, const char* fact, int64_t value) {
  return set_fact(device, fact, value);
}
int etconfig_device_set_number(etconfig_device* device, const char* fact, double value) {
  return set_fact(device, fact, value);
}
int etconfig_device_set_text(etconfig_device* device, const char* fact, const char* value) {
  return value == nullptr ? ETCONFIG_DEVICE_BAD_ARGUMENT : set_fact(device, fact, std::string_view(value));
}
int etconfig_device_set_texts(etconfig_device* device, const char* fact, const char* const* values,
                              uint32_t count) {
  const int status = check_fact(device, fact);
  if (values == nullptr && count != 0) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (status != ETCONFIG_DEVICE_OK) return status;
  if (count > kMaxTexts) return ETCONFIG_DEVICE_FACTS_FULL;
  std::string_view views[kMaxTexts];
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
    views[i] = values[i];
  }
  return static_cast<int>(device->bundle.set_list(&device->facts, fact, views, count));
}
int etconfig_device_set_unknown(etconfig_device* device, const char* fact, const char* reason) {
  if (reason == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  const int status = check_fact(device, fact);
  return status == ETCONFIG_DEVICE_OK ? status_of(device->facts.set_unknown(fact, reason)) : status;
}
int etconfig_device_set_backends(etconfig_device* device, const char* const* ids, uint32_t count) {
  const int status = etconfig_device_set_texts(device, kBackends.data(), ids, count);
  return status == ETCONFIG_DEVICE_NO_SUCH_FACT ? ETCONFIG_DEVICE_OK : status;
}
int etconfig_device_forget(etconfig_device* device, const char* fact) {
  const int status = check_fact(device, fact);
  if (status == ETCONFIG_DEVICE_OK) device->facts.remove(fact);
  return status;
}
size_t etconfig_device_facts_json(const etconfig_device* device, char* buffer, size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  if (device == nullptr) return text.needed();
  const auto is_hidden = [device](std::string_view name) {
    return device->is_open ? device->bundle.is_identifying(name) : name == "device.id";
  };
  write_facts_json(device->facts, [&](std::string_view part) { text << part; }, is_hidden);
  return text.needed();
}

// --- profiles ---

int etconfig_device_select(etconfig_device* device) {
  if (device == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!device->is_open) return ETCONFIG_DEVICE_WRONG_ORDER;
  device->is_selected = true;
  device->selection = device->bundle.select(device->facts);
  return static_cast<int>(device->selection.status);
}
int etconfig_device_use_profile(etconfig_device* device, const char* name) {
  if (device == nullptr || name == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!device->is_open) return ETCONFIG_DEVICE_WRONG_ORDER;
  device->is_selected = true;
  device->selection = device->bundle.select(name);
  return static_cast<int>(device->selection.status);
}
const char* etconfig_device_profile(const etconfig_device* device) {
  const bool is_found = is_open(device) && device->selection;
  return is_found ? data_of(device->bundle.profile_name(device->selection.profile)) : nullptr;
}
int etconfig_device_is_fallback(const etconfig_device* device) {
  return is_open(device) && device->selection ? device->selection.is_fallback : -1;
}
const char* etconfig_device_wrong_fact(const etconfig_device* device) {
  const bool is_wrong = is_open(device) && device->selection.status == Status::WrongFact;
  return is_wrong ? etconfig_device_fact_name(device, device->selection.fact) : nullptr;
}
const char* etconfig_device_profile_name(const etconfig_device* device, uint32_t index) {
  return is_open(device) && index < device->bundle.profile_count()
      ? data_of(device->bundle.profile_name(index))
      : nullptr;
}
size_t etconfig_device_explain_match(const etconfig_device* device, uint32_t index, char* buffer,
                                     size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  if (is_open(device)) device->bundle.explain_match(index, device->facts, &text);
  return text.needed();
}
const char* etconfig_device_method(const etconfig_device* device, uint32_t index) {
  const uint32_t slot = slot_at(device, index);
  return slot == Selection::kNone ? nullptr
                                  : data_of(device->bundle.slot_method(device->selection.profile, slot));
}
const char* etconfig_device_instance(const etconfig_device* device, uint32_t index) {
  const uint32_t slot = slot_at(device, index);
  return slot == Selection::kNone ? nullptr
                                  : data_of(device->bundle.slot_instance(device->selection.profile, slot));
}

// --- arguments ---

int etconfig_device_resolve(etconfig_device* device, const char* method, const char* instance) {
  if (device == nullptr || method == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!device->is_selected) return ETCONFIG_DEVICE_WRONG_ORDER;
  device->is_resolved = true;
  device->is_updated = false;
  return static_cast<int>(
      device->bundle.resolve(device->selection, device->facts, method, view(instance), &device->arguments));
}
int etconfig_device_update(etconfig_device* device, uint32_t* changed, uint32_t* at_execute) {
  if (changed != nullptr) *changed = 0;
  if (at_execute != nullptr) *at_execute = 0;
  if (device == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!device->is_resolved) return ETCONFIG_DEVICE_WRONG_ORDER;
  const Changes changes = device->bundle.update(device->facts, &device->arguments);
  device->is_updated = changes.status == Status::Ok;
  if (changed != nullptr) *changed = changes.count;
  if (at_execute != nullptr) *at_execute = changes.at_execute;
  return static_cast<int>(changes.status);
}

const char* etconfig_device_option_backend(const etconfig_device* device, uint32_t index) {
  const auto found = option_at(device, index);
  return found ? data_of(found->backend()) : nullptr;
}
const char* etconfig_device_option_name(const etconfig_device* device, uint32_t index) {
  const auto found = option_at(device, index);
  return found ? data_of(found->name()) : nullptr;
}
const char* etconfig_device_changed_backend(const etconfig_device* device, uint32_t index) {
  const auto found = changed_at(device, index);
  return found ? data_of(found->backend()) : nullptr;
}
const char* etconfig_device_changed_name(const etconfig_device* device, uint32_t index) {
  const auto found = changed_at(device, index);
  return found ? data_of(found->name()) : nullptr;
}
int etconfig_device_problem_status(const etconfig_device* device, uint32_t index) {
  const auto found = problem_at(device, index);
  return found ? static_cast<int>(found->status()) : -1;
}
size_t etconfig_device_problem(const etconfig_device* device, uint32_t index, char* buffer, size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  if (const auto found = problem_at(device, index)) {
    device->bundle.explain_problem(device->arguments, index, &text);
  }
  return text.needed();
}

int etconfig_device_value_kind(const etconfig_device* device, const char* backend, const char* option) {
  const auto found = find(device, backend, option);
  return found ? static_cast<int>(found->value().kind()) : -1;
}
int etconfig_device_boolean(const etconfig_device* device, const char* backend, const char* option,
                            int* value) {
  return read(device, backend, option, value, &Value::boolean);
}
int etconfig_device_integer(const etconfig_device* device, const char* backend, const char* option,
                            int64_t* value) {
  return read(device, backend, option, value, &Value::integer);
}
int etconfig_device_number(const etconfig_device* device, const char* backend, const char* option,
                           double* value) {
  return read(device, backend, option, value, &Value::number);
}
size_t etconfig_device_text(const etconfig_device* device, const char* backend, const char* option,
                            char* buffer, size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  const auto found = find(device, backend, option);
  if (!found) return 0;
  if (const auto value = found->value().text()) {
    text << *value;
  } else {
    found->value().write(&text);
  }
  return text.needed();
}
size_t etconfig_device_json(const etconfig_device* device, const char* backend, const char* option,
                            char* buffer, size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  if (const auto found = find(device, backend, option)) found->value().write_json(&text);
  return text.needed();
}
const char* etconfig_device_origin(const etconfig_device* device, const char* backend, const char* option) {
  const auto found = find(device, backend, option);
  return found ? data_of(found->origin()) : nullptr;
}
int etconfig_device_is_changed(const etconfig_device* device, const char* backend, const char* option) {
  const auto found = find(device, backend, option);
  return found ? static_cast<int>(device->is_updated && found->is_changed()) : -1;
}
int etconfig_device_applies_at_execute(const etconfig_device* device, const char* backend,
                                       const char* option) {
  const auto found = find(device, backend, option);
  return found ? static_cast<int>(found->applies() == Applies::Execute) : -1;
}
size_t etconfig_device_explain(const etconfig_device* device, const char* path, char* buffer, size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  if (is_open(device) && device->is_resolved) {
    static_cast<void>(device->bundle.explain(device->arguments, view(path), &text));
  }
  return text.needed();
}

// --- models ---

const char* etconfig_device_model_name(const etconfig_device* device, uint32_t index) {
  return is_open(device) && index < device->bundle.model_count() ? data_of(device->bundle.model_name(index))
                                                                 : nullptr;
}
int etconfig_device_select_model(etconfig_device* device, const char* model, const char** file) {
  if (file != nullptr) *file = nullptr;
  if (device == nullptr || model == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!device->is_open) return ETCONFIG_DEVICE_WRONG_ORDER;
  device->is_model_asked = true;
  device->reason_count = 0;
  device->model = device->bundle.select_model(model, device->facts);
  set_file(device->model, static_cast<bool>(device->model), file);
  return static_cast<int>(device->model.status());
}
int etconfig_device_next_variant(etconfig_device* device, const char* reason, const char** file) {
  if (file != nullptr) *file = nullptr;
  if (device == nullptr || reason == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  if (!is_open(device) || !device->is_model_asked) return ETCONFIG_DEVICE_WRONG_ORDER;
  std::string_view kept = view(reason);
  if (device->reason_count < etconfig_device::kMaxReasons) {
    TextBuffer copy(device->reasons[device->reason_count], etconfig_device::kReasonBytes);
    copy << kept;
    kept = copy.text();
  }
  const bool is_found = device->model.next(kept);
  if (is_found && device->reason_count < etconfig_device::kMaxReasons) ++device->reason_count;
  set_file(device->model, is_found, file);
  return is_found ? ETCONFIG_DEVICE_OK : ETCONFIG_DEVICE_NO_VARIANT;
}
const char* etconfig_device_variant_file(const etconfig_device* device, uint32_t index) {
  if (!has_model(device) || index >= device->bundle.variant_count(device->model.model())) return nullptr;
  return data_of(device->bundle.variant_file(device->model.model(), index));
}
const char* etconfig_device_variant_backend(const etconfig_device* device, uint32_t index) {
  if (!has_model(device) || index >= device->bundle.variant_count(device->model.model())) return nullptr;
  const std::string_view backend = device->bundle.variant_backend(device->model.model(), index);
  return backend.empty() ? nullptr : data_of(backend);
}
int etconfig_device_variant(const etconfig_device* device) {
  return has_model(device) && device->model ? static_cast<int>(device->model.variant()) : -1;
}
int etconfig_device_has_fallback(const etconfig_device* device) {
  return has_model(device) ? static_cast<int>(device->model.has_fallback()) : -1;
}
size_t etconfig_device_explain_variant(const etconfig_device* device, uint32_t index, char* buffer,
                                       size_t size) {
  TextBuffer text = text_buffer(buffer, size);
  if (has_model(device)) device->bundle.explain_variant(device->model, index, device->facts, &text);
  return text.needed();
}

// --- usage ---

int etconfig_device_usage(const etconfig_device* device, const etconfig_usage* usage, char* buffer,
                          size_t size) {
  TextBuffer line = text_buffer(buffer, size);
  if (device == nullptr || buffer == nullptr) return ETCONFIG_DEVICE_BAD_ARGUMENT;
  const DeviceUsage used(*device, usage);
  if (!device->is_selected && used.record.failure.empty()) return ETCONFIG_DEVICE_WRONG_ORDER;
  return static_cast<int>(used.record.write(&line));
}
int etconfig_device_usage_reason(const etconfig_device* device, const etconfig_usage* usage) {
  return device == nullptr ? -1 : static_cast<int>(DeviceUsage(*device, usage).record.reason());
}
const char* etconfig_device_usage_reason_name(int reason) {
  const bool is_known = reason >= ETCONFIG_USAGE_MATCHED && reason <= ETCONFIG_USAGE_ERROR;
  return is_known ? name_of(static_cast<UsageReason>(reason)) : "unknown reason";
}

}  // extern "C"
