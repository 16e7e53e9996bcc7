// Reads .etargs files, which `etconfig pack` writes, in place.
//
// C++17; needs nothing but the standard library, allocates nothing, throws nothing. `Package::open` verifies the
// whole file once, in time proportional to its size; what it gives refers into the file's bytes, which must stay
// as they are for as long as any of it is used. Bytes need no alignment.
//
//   etconfig::etargs::Package package;
//   if (etconfig::etargs::Package::open(data, size, &package) != etconfig::etargs::Status::Ok) ...
//   auto configuration = package.find("raspberry-pi/pi-5");
//   auto method = configuration->find("forward");
//   auto threads = method->find("XnnpackBackend")->find("num_threads")->value().integer();
//
// The layout is that of etargs.fbs.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace etconfig {
namespace etargs {

enum class Status : uint8_t {
  Ok,
  NotEtargs,     // something else
  OtherVersion,  // written by another version of etconfig
  Damaged,
};

enum class Kind : uint8_t { None, Boolean, Integer, Number, Text, Array, Table };
enum class Scope : uint8_t { Method, Process };
enum class Applies : uint8_t { Load, Execute };

constexpr uint16_t kVersion = 1;
constexpr uint32_t kMaxBytes = 16u << 20;
constexpr int kMaxDepth = 16;

namespace internal {

// The slots of etargs.fbs.
enum ValueSlot { kKind, kInteger, kNumber, kText, kItems, kKeys };
enum OptionSlot { kOptionName, kValue, kKey, kSent, kScope, kApplies, kIsSet };
enum BackendSlot { kId, kOptions };
enum MethodSlot { kMethodName, kInstance, kBackends };
enum ConfigurationSlot { kConfigurationName, kFingerprint, kMethods };
enum PackageSlot { kFileVersion, kProducer, kConfigurations };

template <typename T>
T read(const uint8_t* at) {
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    bits |= static_cast<uint64_t>(at[i]) << (8 * i);  // little-endian, whatever the host is
  }
  return static_cast<T>(bits);
}

// A table in bytes that were verified.
struct Table {
  const uint8_t* data = nullptr;
  uint32_t at = 0;

  uint16_t offset(int slot) const {
    const uint8_t* vtable = data + at - static_cast<int64_t>(read<int32_t>(data + at));
    const uint32_t entry = 4 + 2 * static_cast<uint32_t>(slot);
    return entry + 2 <= read<uint16_t>(vtable) ? read<uint16_t>(vtable + entry) : 0;
  }
  bool has(int slot) const { return offset(slot) != 0; }

  template <typename T>
  T scalar(int slot) const {
    const uint16_t to_field = offset(slot);
    return to_field == 0 ? T{} : read<T>(data + at + to_field);
  }
  uint32_t target(int slot) const {
    const uint32_t field = at + offset(slot);
    return field + read<uint32_t>(data + field);
  }
  Table table(int slot) const { return {data, target(slot)}; }
};

inline std::string_view text_at(const uint8_t* data, uint32_t at) {
  return {reinterpret_cast<const char*>(data) + at + 4, read<uint32_t>(data + at)};
}

inline std::string_view text(const Table& table, int slot) {
  return text_at(table.data, table.target(slot));
}

inline std::optional<std::string_view> optional_text(const Table& table, int slot) {
  if (!table.has(slot)) return std::nullopt;
  return text(table, slot);
}

}  // namespace internal

// Items of a vector: tables, or texts.
template <typename T>
class List {
 public:
  class Iterator {
   public:
    Iterator(const List* list, uint32_t index) : list_(list), index_(index) {}
    T operator*() const { return (*list_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const List* list_;
    uint32_t index_;
  };

  List() = default;
  List(const internal::Table& table, int slot) : data_(table.data), at_(table.has(slot) ? table.target(slot) : 0) {}

  uint32_t size() const { return at_ == 0 ? 0 : internal::read<uint32_t>(data_ + at_); }
  // `index` must be below `size()`.
  T operator[](uint32_t index) const {
    const uint32_t entry = at_ + 4 + 4 * index;
    const uint32_t item = entry + internal::read<uint32_t>(data_ + entry);
    if constexpr (std::is_same_v<T, std::string_view>) {
      return internal::text_at(data_, item);
    } else {
      return T(internal::Table{data_, item});
    }
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  const uint8_t* data_ = nullptr;
  uint32_t at_ = 0;
};

// A typed value; asked for as another kind, it has none.
class Value {
 public:
  explicit Value(const internal::Table& table) : table_(table) {}

  Kind kind() const { return static_cast<Kind>(table_.scalar<uint8_t>(internal::kKind)); }
  std::optional<bool> boolean() const {
    if (kind() != Kind::Boolean) return std::nullopt;
    return table_.scalar<int64_t>(internal::kInteger) != 0;
  }
  std::optional<int64_t> integer() const {
    if (kind() != Kind::Integer) return std::nullopt;
    return table_.scalar<int64_t>(internal::kInteger);
  }
  std::optional<double> number() const {
    if (kind() != Kind::Number) return std::nullopt;
    const uint64_t bits = table_.scalar<uint64_t>(internal::kNumber);
    double number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
  }
  // UTF-8, with a NUL behind it.
  std::optional<std::string_view> text() const {
    if (kind() != Kind::Text) return std::nullopt;
    return internal::text(table_, internal::kText);
  }
  // The items of an array or the values of a table; of others, none.
  List<Value> items() const {
    const bool has_items = kind() == Kind::Array || kind() == Kind::Table;
    return has_items ? List<Value>(table_, internal::kItems) : List<Value>();
  }
  // The keys of a table, as many as it has items.
  List<std::string_view> keys() const {
    return kind() == Kind::Table ? List<std::string_view>(table_, internal::kKeys) : List<std::string_view>();
  }

 private:
  internal::Table table_;
};

class Option {
 public:
  explicit Option(const internal::Table& table) : table_(table) {}

  std::string_view name() const { return internal::text(table_, internal::kOptionName); }
  Value value() const { return Value(table_.table(internal::kValue)); }
  // Its key in ExecuTorch's option map, if that has one for it.
  std::optional<std::string_view> key() const { return internal::optional_text(table_, internal::kKey); }
  // The value as it is sent under the key.
  Value sent() const { return table_.has(internal::kSent) ? Value(table_.table(internal::kSent)) : value(); }
  Scope scope() const { return static_cast<Scope>(table_.scalar<uint8_t>(internal::kScope)); }
  Applies applies() const { return static_cast<Applies>(table_.scalar<uint8_t>(internal::kApplies)); }
  // Whether somebody set it: it is neither a default nor a recommendation.
  bool is_set() const { return table_.scalar<uint8_t>(internal::kIsSet) != 0; }

 private:
  internal::Table table_;
};

class Backend {
 public:
  explicit Backend(const internal::Table& table) : table_(table) {}

  std::string_view id() const { return internal::text(table_, internal::kId); }
  List<Option> options() const { return {table_, internal::kOptions}; }
  std::optional<Option> find(std::string_view name) const {
    for (Option option : options()) {
      if (option.name() == name) return option;
    }
    return std::nullopt;
  }

 private:
  internal::Table table_;
};

// The arguments of one method instance.
class Method {
 public:
  explicit Method(const internal::Table& table) : table_(table) {}

  std::string_view name() const { return internal::text(table_, internal::kMethodName); }
  std::optional<std::string_view> instance() const { return internal::optional_text(table_, internal::kInstance); }
  List<Backend> backends() const { return {table_, internal::kBackends}; }
  std::optional<Backend> find(std::string_view id) const {
    for (Backend backend : backends()) {
      if (backend.id() == id) return backend;
    }
    return std::nullopt;
  }

 private:
  internal::Table table_;
};

// What was resolved for one device or profile.
class Configuration {
 public:
  explicit Configuration(const internal::Table& table) : table_(table) {}

  std::string_view name() const { return internal::text(table_, internal::kConfigurationName); }
  std::string_view fingerprint() const { return internal::text(table_, internal::kFingerprint); }
  List<Method> methods() const { return {table_, internal::kMethods}; }
  // The arguments of a method's default or named instance, exactly as the file has them: `*` is for any method.
  std::optional<Method> find(std::string_view method, std::optional<std::string_view> instance = std::nullopt) const {
    for (Method each : methods()) {
      if (each.name() == method && each.instance() == instance) return each;
    }
    return std::nullopt;
  }

 private:
  internal::Table table_;
};

namespace internal {

// Checks every table, vector, text and number before anything relies on it. Tables of a sound file do not overlap, so
// a budget of tables keeps the time in proportion to the file.
class Verifier {
 public:
  Verifier(const uint8_t* data, uint32_t size) : data_(data), size_(size), tables_left_(size / 8) {}

  Status package(uint32_t at) {
    if (!frame(at) || !scalar(at, kFileVersion, 2)) return Status::Damaged;
    if (Table{data_, at}.scalar<uint16_t>(kFileVersion) != kVersion) return Status::OtherVersion;
    const bool is_sound = text(at, kProducer, true) &&
        tables(at, kConfigurations, [this](uint32_t item) { return configuration(item); });
    return is_sound ? Status::Ok : Status::Damaged;
  }

 private:
  bool in_range(int64_t at, int64_t bytes) const { return at <= size_ && bytes <= size_ - at; }

  bool frame(uint32_t at) {
    if (tables_left_ == 0 || !in_range(at, 4)) return false;
    --tables_left_;
    const int64_t vtable = static_cast<int64_t>(at) - read<int32_t>(data_ + at);
    if (vtable < 0 || !in_range(vtable, 4)) return false;
    const uint16_t vtable_bytes = read<uint16_t>(data_ + vtable);
    const uint16_t bytes = read<uint16_t>(data_ + vtable + 2);
    return vtable_bytes >= 4 && vtable_bytes % 2 == 0 && in_range(vtable, vtable_bytes) && bytes >= 4 &&
        in_range(at, bytes);
  }
  uint16_t table_bytes(uint32_t at) const {
    return read<uint16_t>(data_ + at - static_cast<int64_t>(read<int32_t>(data_ + at)) + 2);
  }
  bool scalar(uint32_t at, int slot, uint32_t bytes) const {
    const uint32_t offset = Table{data_, at}.offset(slot);
    return offset == 0 || (offset >= 4 && offset + bytes <= table_bytes(at));
  }
  bool choice(uint32_t at, int slot, uint8_t count) const {
    return scalar(at, slot, 1) && Table{data_, at}.scalar<uint8_t>(slot) < count;
  }
  // Where a field leads to; 0 when it is absent.
  bool reference(uint32_t at, int slot, bool is_required, uint32_t* target) const {
    const uint32_t offset = Table{data_, at}.offset(slot);
    *target = 0;
    if (offset == 0) return !is_required;
    if (!scalar(at, slot, 4)) return false;
    const uint64_t found = uint64_t{at} + offset + read<uint32_t>(data_ + at + offset);
    *target = static_cast<uint32_t>(found);
    return found < static_cast<uint64_t>(size_);
  }
  bool text_at(uint32_t at) const {
    if (!in_range(at, 4)) return false;
    const uint32_t bytes = read<uint32_t>(data_ + at);
    return in_range(int64_t{at} + 4, int64_t{bytes} + 1) && data_[at + 4 + bytes] == 0;
  }
  bool text(uint32_t at, int slot, bool is_required) const {
    uint32_t target = 0;
    return reference(at, slot, is_required, &target) && (target == 0 || text_at(target));
  }
  template <typename Check>
  bool vector(uint32_t at, int slot, const Check& check) const {
    uint32_t start = 0;
    if (!reference(at, slot, true, &start) || !in_range(start, 4)) return false;
    const uint32_t count = read<uint32_t>(data_ + start);
    if (!in_range(int64_t{start} + 4, 4 * int64_t{count})) return false;
    for (uint32_t entry = start + 4; entry < start + 4 + 4 * count; entry += 4) {
      const uint64_t item = uint64_t{entry} + read<uint32_t>(data_ + entry);
      if (item >= static_cast<uint64_t>(size_) || !check(static_cast<uint32_t>(item))) return false;
    }
    return true;
  }
  template <typename Check>
  bool tables(uint32_t at, int slot, const Check& check) {
    return vector(at, slot, [&](uint32_t item) { return frame(item) && check(item); });
  }

  bool configuration(uint32_t at) {
    return text(at, kConfigurationName, true) && text(at, kFingerprint, true) &&
        tables(at, kMethods, [this](uint32_t item) { return method(item); });
  }
  bool method(uint32_t at) {
    return text(at, kMethodName, true) && text(at, kInstance, false) &&
        tables(at, kBackends, [this](uint32_t item) { return backend(item); });
  }
  bool backend(uint32_t at) {
    return text(at, kId, true) && tables(at, kOptions, [this](uint32_t item) { return option(item); });
  }
  bool option(uint32_t at) {
    return text(at, kOptionName, true) && text(at, kKey, false) && choice(at, kScope, 2) && choice(at, kApplies, 2) &&
        choice(at, kIsSet, 2) && value_of(at, kValue, true) && value_of(at, kSent, false);
  }
  bool value_of(uint32_t at, int slot, bool is_required) {
    uint32_t target = 0;
    return reference(at, slot, is_required, &target) && (target == 0 || (frame(target) && value(target, 0)));
  }
  bool value(uint32_t at, int depth) {
    if (depth > kMaxDepth || !choice(at, kKind, 7)) return false;
    const Value found(Table{data_, at});
    switch (found.kind()) {
      case Kind::Boolean:
        return scalar(at, kInteger, 8) && Table{data_, at}.scalar<uint64_t>(kInteger) <= 1;
      case Kind::Integer:
        return scalar(at, kInteger, 8);
      case Kind::Number:
        return scalar(at, kNumber, 8) && std::isfinite(*found.number());
      case Kind::Text:
        return text(at, kText, true);
      case Kind::Array:
        return items(at, depth);
      case Kind::Table:
        return items(at, depth) && vector(at, kKeys, [this](uint32_t item) { return text_at(item); }) &&
            found.keys().size() == found.items().size();
      default:
        return true;
    }
  }
  bool items(uint32_t at, int depth) {
    return tables(at, kItems, [this, depth](uint32_t item) { return value(item, depth + 1); });
  }

  const uint8_t* data_;
  int64_t size_;
  uint32_t tables_left_;
};

}  // namespace internal

// A whole file.
class Package {
 public:
  Package() = default;

  // Verifies a file and opens it; unless it is `Ok`, `*package` stays as it was.
  static Status open(const void* data, size_t size, Package* package) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    if (size < 8 || std::memcmp(bytes + 4, "ETAR", 4) != 0) return Status::NotEtargs;
    if (size > kMaxBytes) return Status::Damaged;
    const uint32_t root = internal::read<uint32_t>(bytes);
    internal::Verifier verifier(bytes, static_cast<uint32_t>(size));
    const Status status = verifier.package(root);
    if (status == Status::Ok) package->table_ = {bytes, root};
    return status;
  }

  std::string_view producer() const { return internal::text(table_, internal::kProducer); }
  List<Configuration> configurations() const { return {table_, internal::kConfigurations}; }
  std::optional<Configuration> find(std::string_view name) const {
    for (Configuration configuration : configurations()) {
      if (configuration.name() == name) return configuration;
    }
    return std::nullopt;
  }

 private:
  internal::Table table_;
};

}  // namespace etargs
}  // namespace etconfig
