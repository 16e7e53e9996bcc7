// The library behind etconfig_device.h. Build it into the app, or as a shared library:
//
//   c++ -std=c++17 -Os -shared -fPIC -fno-exceptions -fno-rtti -Iinclude etconfig_device.cpp -o libetconfig_device.so

#include <etconfig/etconfig_device.h>

#include <etconfig/device.h>

#include <new>

using namespace etconfig::device;

struct etconfig_device {
  Bundle bundle;
  FactStore<format::kMaxFacts, 32 << 10> facts;
  Selection selection;
  Arguments<1024> arguments;
  ModelChoice model;
};

static_assert(static_cast<int>(Status::NoVariant) == ETCONFIG_DEVICE_NO_VARIANT, "the statuses are those of device.h");
static_assert(static_cast<int>(Status::NoSuchOption) == ETCONFIG_DEVICE_NO_SUCH_OPTION, "in the same order");
static_assert(static_cast<int>(ValueKind::Table) == ETCONFIG_DEVICE_TABLE, "the kinds are those of device.h");

namespace {

std::string_view view(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

std::optional<OptionArgument> find(const etconfig_device* device, const char* backend, const char* option) {
  const auto found = device->arguments.find(view(backend));
  return found ? found->option(view(option)) : std::nullopt;
}

template <typename T, typename Result>
int read(const std::optional<T>& value, Result* result) {
  if (!value) return ETCONFIG_DEVICE_NO_SUCH_OPTION;
  *result = static_cast<Result>(*value);
  return ETCONFIG_DEVICE_OK;
}

// A text of the bundle, which has a NUL behind it.
const char* data_of(std::string_view text) { return text.data(); }

}  // namespace

extern "C" {

const char* etconfig_device_status_name(int status) {
  const bool is_known = status >= 0 && status <= ETCONFIG_DEVICE_NO_VARIANT;
  return is_known ? name_of(static_cast<Status>(status)) : "unknown status";
}

size_t etconfig_device_size(void) { return sizeof(etconfig_device); }

etconfig_device* etconfig_device_create(void* memory, size_t size) {
  return memory == nullptr || size < sizeof(etconfig_device) ? nullptr : new (memory) etconfig_device();
}

int etconfig_device_open(etconfig_device* device, const void* data, size_t size) {
  const Status status = device->bundle.open(data, size);
  if (status == Status::Ok) {
    device->selection = Selection();
    device->model = ModelChoice();
    device->bundle.resolve(device->selection, device->facts, {}, {}, &device->arguments);  // forgets the arguments
  }
  return static_cast<int>(status);
}

const char* etconfig_device_fact_name(const etconfig_device* device, uint32_t index) {
  return index < device->bundle.fact_count() ? data_of(device->bundle.fact(index).name) : nullptr;
}

int etconfig_device_set_boolean(etconfig_device* device, const char* fact, int value) {
  return static_cast<int>(device->bundle.set(&device->facts, view(fact), value != 0));
}
int etconfig_device_set_integer(etconfig_device* device, const char* fact, int64_t value) {
  return static_cast<int>(device->bundle.set(&device->facts, view(fact), value));
}
int etconfig_device_set_number(etconfig_device* device, const char* fact, double value) {
  return static_cast<int>(device->bundle.set(&device->facts, view(fact), value));
}
int etconfig_device_set_text(etconfig_device* device, const char* fact, const char* value) {
  return static_cast<int>(device->bundle.set(&device->facts, view(fact), view(value)));
}
int etconfig_device_set_texts(etconfig_device* device, const char* fact, const char* const* values, uint32_t count) {
  constexpr uint32_t kMost = 512;
  std::string_view views[kMost];
  if (count > kMost) return ETCONFIG_DEVICE_FACTS_FULL;
  for (uint32_t i = 0; i < count; ++i) views[i] = view(values[i]);
  return static_cast<int>(device->bundle.set_list(&device->facts, view(fact), views, count));
}
void etconfig_device_forget(etconfig_device* device, const char* fact) { device->facts.remove(view(fact)); }

int etconfig_device_select(etconfig_device* device) {
  device->selection = device->bundle.select(device->facts);
  return static_cast<int>(device->selection.status);
}
int etconfig_device_use_profile(etconfig_device* device, const char* name) {
  device->selection = device->bundle.select(view(name));
  return static_cast<int>(device->selection.status);
}
const char* etconfig_device_profile(const etconfig_device* device) {
  return device->selection ? data_of(device->bundle.profile_name(device->selection.profile)) : nullptr;
}
const char* etconfig_device_profile_name(const etconfig_device* device, uint32_t index) {
  return index < device->bundle.profile_count() ? data_of(device->bundle.profile_name(index)) : nullptr;
}
size_t etconfig_device_explain_match(const etconfig_device* device, uint32_t index, char* buffer, size_t size) {
  TextBuffer text(buffer, size);
  if (index < device->bundle.profile_count()) device->bundle.explain_match(index, device->facts, &text);
  return text.needed();
}

int etconfig_device_resolve(etconfig_device* device, const char* method, const char* instance) {
  const Status status =
      device->bundle.resolve(device->selection, device->facts, view(method), view(instance), &device->arguments);
  return static_cast<int>(status);
}
int etconfig_device_update(etconfig_device* device, uint32_t* changed, uint32_t* at_execute) {
  const Changes changes = device->bundle.update(device->facts, &device->arguments);
  if (changed != nullptr) *changed = changes.count;
  if (at_execute != nullptr) *at_execute = changes.at_execute;
  return static_cast<int>(changes.status);
}

int etconfig_device_value_kind(const etconfig_device* device, const char* backend, const char* option) {
  const auto found = find(device, backend, option);
  return found ? static_cast<int>(found->value().kind()) : -1;
}
int etconfig_device_boolean(const etconfig_device* device, const char* backend, const char* option, int* value) {
  const auto found = find(device, backend, option);
  return read(found ? found->value().boolean() : std::nullopt, value);
}
int etconfig_device_integer(const etconfig_device* device, const char* backend, const char* option, int64_t* value) {
  const auto found = find(device, backend, option);
  return read(found ? found->value().integer() : std::nullopt, value);
}
int etconfig_device_number(const etconfig_device* device, const char* backend, const char* option, double* value) {
  const auto found = find(device, backend, option);
  return read(found ? found->value().number() : std::nullopt, value);
}
size_t etconfig_device_text(const etconfig_device* device, const char* backend, const char* option, char* buffer,
                            size_t size) {
  TextBuffer text(buffer, size);
  const auto found = find(device, backend, option);
  if (!found) return 0;
  if (const auto value = found->value().text()) {
    text << *value;
  } else {
    found->value().write(&text);
  }
  return text.needed();
}
int etconfig_device_is_changed(const etconfig_device* device, const char* backend, const char* option) {
  const auto found = find(device, backend, option);
  return found ? static_cast<int>(found->is_changed()) : -1;
}
size_t etconfig_device_explain(const etconfig_device* device, const char* path, char* buffer, size_t size) {
  TextBuffer text(buffer, size);
  device->bundle.explain(device->arguments, view(path), &text);
  return text.needed();
}

int etconfig_device_select_model(etconfig_device* device, const char* model, const char** file) {
  device->model = device->bundle.select_model(view(model), device->facts);
  *file = device->model ? data_of(device->model.file()) : nullptr;
  return static_cast<int>(device->model.status());
}
int etconfig_device_next_variant(etconfig_device* device, const char* reason, const char** file) {
  const bool is_found = device->model.next(view(reason));
  *file = is_found ? data_of(device->model.file()) : nullptr;
  return is_found ? ETCONFIG_DEVICE_OK : ETCONFIG_DEVICE_NO_VARIANT;
}

}  // extern "C"
