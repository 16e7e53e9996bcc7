// The layout of bundle.fbs: read in place, little-endian, at any alignment. Nothing here checks bounds: verify.h does.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

enum class Scope : uint8_t { Method, Process };
enum class Applies : uint8_t { Load, Execute };

namespace format {

constexpr uint16_t kVersion = 1;
constexpr uint32_t kMaxBytes = 16u << 20;
constexpr uint32_t kMaxDepth = 4;         // of arrays and tables
constexpr uint32_t kMaxStack = 128;       // of an expression
constexpr uint32_t kMaxNameBytes = 256;  // of a method, instance, backend, option, fact, profile or model
constexpr uint32_t kMaxFacts = 256;
constexpr uint32_t kMaxProfiles = 1024;
constexpr uint32_t kMaxVisits = 1u << 22;  // of elements of ranges, while verifying
constexpr uint32_t kNone = 0xFFFFFFFF;

// A step is an instruction, an item of a list or table, or 8 bytes of a text: see etconfig/device/bundle/steps.py.
constexpr uint32_t kMaxSteps = 1u << 20;       // of a selection, of a profile's method instances, of a model
constexpr uint32_t kMaxValueSteps = 0xFFFF;    // of one value
constexpr uint32_t kMaxInstructions = 4096;    // of an expression
constexpr uint32_t kMaxScratchBytes = 8192;    // of the texts and lists that an expression builds
constexpr uint32_t kMaxSlots = 1024;           // method instances of a profile
constexpr uint32_t kMaxFactText = 1024;        // bytes of a text that is a fact
constexpr uint32_t kMaxFactItems = 1024;       // of a list that is a fact
constexpr uint32_t kMaxFactListBytes = 16384;  // of their texts in all
constexpr uint32_t kListItemBytes = 32;        // that an item of a built list counts

enum class ValueKind : uint8_t { None, Boolean, Integer, Number, Text, Array, Table };

enum class Op : uint8_t {
  Constant, Fact, HasFact, MakeList, Not, And, Or, Select,
  Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In,
  AddInt, SubtractInt, MultiplyInt, DivideInt, RemainderInt, NegateInt,
  AddFloat, SubtractFloat, MultiplyFloat, DivideFloat, NegateFloat,
  Join, StartsWith, EndsWith, Contains, Size, Min, Max,
  Bucket,
};
constexpr uint8_t kOps = static_cast<uint8_t>(Op::Bucket) + 1;

enum class Type : uint8_t { Bool, Int, Float, String, BoolList, IntList, FloatList, StringList, EmptyList };
constexpr uint8_t kTypes = static_cast<uint8_t>(Type::EmptyList) + 1;

enum class OptionKind : uint8_t { Boolean, Integer, Float, String, Choice, Array, Table, Record };
enum class Source : uint8_t { Literal, Expression, Unset };
enum class Layer : uint8_t {
  Default,
  Program,
  Recommendation,
  BundledProfile,
  Profile,
  Project,
  Environment,
  Override,
};
enum class Provider : uint8_t { Bundled, Package, User };

// Whether this processor reads numbers as the bundle has them; compilers do not see that the loop below is a load.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || defined(_MSC_VER)
constexpr bool kIsLittleEndian = true;
#else
constexpr bool kIsLittleEndian = false;
#endif

template <typename T>
T read(const uint8_t* at) {
  if constexpr (kIsLittleEndian) {
    T number;
    std::memcpy(&number, at, sizeof number);
    return number;
  } else {
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<uint64_t>(at[i]) << (8 * i);
    return static_cast<T>(bits);
  }
}

inline double number_of(uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// A struct of the schema; the fields are named by its offsets.
template <uint32_t kBytes, uint32_t kAlignedTo>
struct Record {
  static constexpr uint32_t kSize = kBytes;
  static constexpr uint32_t kAlignment = kAlignedTo;

  const uint8_t* at = nullptr;

  uint8_t u8(uint32_t offset) const { return at[offset]; }
  uint16_t u16(uint32_t offset) const { return read<uint16_t>(at + offset); }
  uint32_t u32(uint32_t offset) const { return read<uint32_t>(at + offset); }
  uint64_t u64(uint32_t offset) const { return read<uint64_t>(at + offset); }
  double f64(uint32_t offset) const { return number_of(u64(offset)); }
};

// `count` elements from `first` on, of the vector that the schema names.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
};

struct Value : Record<16, 8> {
  uint64_t bits() const { return u64(0); }
  uint32_t index() const { return static_cast<uint32_t>(bits()); }  // of a text, or of the first item
  uint32_t count() const { return u32(8); }
  ValueKind kind() const { return static_cast<ValueKind>(u8(12)); }
  uint8_t depth() const { return u8(13); }
  uint16_t steps() const { return u16(14); }
};
struct Instruction : Record<4, 2> {
  Op op() const { return static_cast<Op>(u8(0)); }
  uint16_t operand() const { return u16(2); }
};
struct Expression : Record<20, 4> {
  Range instructions() const { return {u32(0), u32(4)}; }
  uint32_t text() const { return u32(8); }
  Type type() const { return static_cast<Type>(u8(12)); }
  uint16_t stack() const { return u16(14); }
  uint32_t steps() const { return u32(16); }
};
struct Condition : Record<16, 4> {
  Range clauses() const { return {u32(0), u32(4)}; }
  uint32_t text() const { return u32(8); }
  uint32_t steps() const { return u32(12); }
};
struct Fact : Record<40, 8> {
  double minimum() const { return f64(0); }
  double maximum() const { return f64(8); }
  uint32_t name() const { return u32(16); }
  uint32_t unit() const { return u32(20); }
  Range choices() const { return {u32(24), u32(28)}; }
  uint8_t type() const { return u8(32); }
  uint8_t volatility() const { return u8(33); }
  uint8_t is_identifying() const { return u8(34); }
};
struct HandSetFact : Record<12, 4> {
  uint32_t fact() const { return u32(0); }
  uint32_t value() const { return u32(4); }
  uint32_t origin() const { return u32(8); }
};
struct Option : Record<88, 8> {
  double minimum() const { return f64(0); }
  double maximum() const { return f64(8); }
  double multiple_of() const { return f64(16); }
  uint32_t name() const { return u32(24); }
  uint32_t unit() const { return u32(28); }
  uint32_t doc() const { return u32(32); }
  uint32_t default_value() const { return u32(36); }
  uint32_t from_fact() const { return u32(40); }
  uint32_t default_origin() const { return u32(44); }
  uint32_t fact_origin() const { return u32(48); }
  uint32_t key() const { return u32(52); }
  uint32_t separator() const { return u32(56); }
  Range choices() const { return {u32(60), u32(64)}; }
  uint32_t min_length() const { return u32(68); }
  uint32_t max_length() const { return u32(72); }
  OptionKind kind() const { return static_cast<OptionKind>(u8(76)); }
  OptionKind item_kind() const { return static_cast<OptionKind>(u8(77)); }
  Scope scope() const { return static_cast<Scope>(u8(78)); }
  Applies applies() const { return static_cast<Applies>(u8(79)); }
  bool is_minimum_exclusive() const { return u8(80) != 0; }
  bool is_maximum_exclusive() const { return u8(81) != 0; }
  bool is_optional() const { return u8(82) != 0; }
  uint32_t choice_steps() const { return u32(84); }
};
struct Choice : Record<8, 4> {
  uint32_t value() const { return u32(0); }
  uint32_t sent() const { return u32(4); }
};
struct Advice : Record<16, 4> {
  uint32_t option() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  uint32_t expression() const { return u32(8); }
  uint32_t origin() const { return u32(12); }
};
struct Backend : Record<28, 4> {
  uint32_t id() const { return u32(0); }
  Range options() const { return {u32(4), u32(8)}; }
  Range advice() const { return {u32(12), u32(16)}; }
  bool program_beats_recommendation() const { return u8(20) != 0; }
  uint32_t steps() const { return u32(24); }
};
struct Candidate : Record<16, 4> {
  uint32_t value() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  uint32_t origin() const { return u32(8); }
  Source source() const { return static_cast<Source>(u8(12)); }
  Layer layer() const { return static_cast<Layer>(u8(13)); }
};
struct OptionSettings : Record<24, 4> {
  uint32_t option() const { return u32(0); }
  Range candidates() const { return {u32(4), u32(8)}; }
  uint32_t program_value() const { return u32(12); }
  uint32_t program_origin() const { return u32(16); }
  uint32_t steps() const { return u32(20); }
};
struct BackendSettings : Record<16, 4> {
  uint32_t backend() const { return u32(0); }
  Range options() const { return {u32(4), u32(8)}; }
  uint32_t steps() const { return u32(12); }
};
struct Slot : Record<20, 4> {
  uint32_t method() const { return u32(0); }
  uint32_t instance() const { return u32(4); }
  Range settings() const { return {u32(8), u32(12)}; }
  uint32_t steps() const { return u32(16); }
};
struct Profile : Record<40, 4> {
  uint32_t name() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  Range bases() const { return {u32(8), u32(12)}; }
  Range facts() const { return {u32(16), u32(20)}; }
  Range slots() const { return {u32(24), u32(28)}; }
  uint32_t fingerprint() const { return u32(32); }
  Provider provider() const { return static_cast<Provider>(u8(36)); }
  bool is_fallback() const { return u8(37) != 0; }
};
struct Model : Record<16, 4> {
  uint32_t name() const { return u32(0); }
  Range variants() const { return {u32(4), u32(8)}; }
  bool has_fallback() const { return u8(12) != 0; }
};
struct Variant : Record<16, 4> {
  uint32_t file() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  Range needs() const { return {u32(8), u32(12)}; }
};

// A vector of structs.
template <typename T>
class Vector {
 public:
  Vector() = default;
  Vector(const uint8_t* elements, uint32_t size) : elements_(elements), size_(size) {}

  uint32_t size() const { return size_; }
  // `index` must be below `size()`.
  T operator[](uint32_t index) const {
    T element;
    element.at = elements_ + static_cast<size_t>(index) * T::kSize;
    return element;
  }
  bool contains(Range range) const { return range.first <= size_ && range.count <= size_ - range.first; }

 private:
  const uint8_t* elements_ = nullptr;
  uint32_t size_ = 0;
};

struct Number : Record<4, 4> {
  operator uint32_t() const { return u32(0); }
};

// The texts: references that lead forward to bytes with their size in front and a NUL behind.
class Texts {
 public:
  Texts() = default;
  explicit Texts(Vector<Number> references) : references_(references) {}

  uint32_t size() const { return references_.size(); }
  std::string_view operator[](uint32_t index) const {
    const Number reference = references_[index];
    const uint8_t* text = reference.at + static_cast<uint32_t>(reference);
    return {reinterpret_cast<const char*>(text) + 4, read<uint32_t>(text)};
  }

 private:
  Vector<Number> references_;
};

// Everything that a bundle contains.
struct Tables {
  uint32_t opening = 0;  // the number of the opening in this process, from 1
  std::string_view producer, fingerprint;
  Texts texts;
  Vector<Value> values;
  Vector<Number> items;
  Vector<Instruction> instructions;
  Vector<Expression> expressions;
  Vector<Condition> conditions;
  Vector<Fact> facts;
  Vector<HandSetFact> hand_set_facts;
  uint32_t project_fact_count = 0;
  Vector<Backend> backends;
  Vector<Option> options;
  Vector<Choice> choices;
  Vector<Advice> advice;
  Vector<Candidate> candidates;
  Vector<OptionSettings> option_settings;
  Vector<BackendSettings> backend_settings;
  Vector<Slot> slots;
  Vector<Profile> profiles;
  uint32_t named_profile = kNone;
  bool require_match = false;
  Vector<Model> models;
  Vector<Variant> variants;
};

}  // namespace format
}  // inline namespace
}  // namespace etconfig::device
