// The layout of a bundle: limits, the numbers of enumerations, rows, and the checks of their fields.
// Written by tools/write_bundle_layout.py.
//
// A bundle is one FlatBuffer: a root table with flat vectors of structs, the rows. Rows refer to one another
// by index; `kNone` refers to nothing. `bundle.fbs` explains every field. The accessors of rows check no
// bounds: `are_fields_sound` verifies the indices, ranges and numbers of all rows before anything else reads
// them.

#pragma once

#include <cmath>
#include <string_view>

#include "format.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

enum class Scope : uint8_t { Method, Process };
enum class Applies : uint8_t { Load, Execute };

namespace format {

constexpr uint32_t kVersion = 2;
constexpr uint64_t kMaxRevision = 9007199254740991ull;
constexpr uint64_t kMaxNotAfter = 253402300799ull;  // in seconds since 1970
constexpr uint32_t kNone = 0xFFFFFFFF;  // the index of nothing
constexpr uint32_t kMaxBytes = 1u << 24;  // of a bundle
constexpr uint32_t kMaxDepth = 4;  // of arrays and tables
constexpr uint32_t kMaxStack = 128;  // of an expression
constexpr uint32_t kMaxNameBytes = 256;  // of a method, backend, option, fact, profile, model and so on
constexpr uint32_t kMaxFacts = 256;
constexpr uint32_t kMaxProfiles = 1024;
constexpr uint32_t kMaxVisits = 1u << 22;  // of elements of ranges, while verifying
constexpr uint32_t kMaxSteps = 1u << 20;  // of a selection, of the method instances of a profile, of a model
constexpr uint32_t kMaxInstructions = 4096;  // of an expression
constexpr uint32_t kMaxScratchBytes = 8192;  // of the texts and lists that an expression builds
constexpr uint32_t kMaxSlots = 1024;  // method instances of a profile
constexpr uint32_t kMaxFactText = 1024;  // bytes of a text that is a fact
constexpr uint32_t kMaxFactItems = 1024;  // of a list that is a fact
constexpr uint32_t kMaxFactListBytes = 16384;  // of their texts in all
constexpr uint32_t kListItemBytes = 32;  // that an item of a built list counts

enum class ValueKind : uint8_t { None, Boolean, Integer, Number, Text, Array, Table };
enum class Op : uint8_t {
  Constant, Fact, HasFact, MakeList, Not, And, Or, Select, Equal, NotEqual, Less, LessEqual, Greater,
  GreaterEqual, In, AddInt, SubtractInt, MultiplyInt, DivideInt, RemainderInt, NegateInt, AddFloat,
  SubtractFloat, MultiplyFloat, DivideFloat, NegateFloat, Join, StartsWith, EndsWith, Contains, Size, Min,
  Max, Bucket, Version,
};
enum class Type : uint8_t { Bool, Int, Float, String, BoolList, IntList, FloatList, StringList, EmptyList };
enum class OptionKind : uint8_t { Boolean, Integer, Float, String, Choice, Array, Table, Record };
enum class Source : uint8_t { Literal, Expression, Unset };
enum class Layer : uint8_t {
  Default, Program, Recommendation, BundledProfile, Profile, Project, Environment, Override,
};
enum class Provider : uint8_t { Bundled, Package, User };

// The number of operands that an instruction takes from the stack. If there may be more, it says how many.
struct Operands {
  uint8_t count;
  bool or_more;
};
inline constexpr Operands kOperands[] = {
    {0, false},  // Constant
    {0, false},  // Fact
    {0, false},  // HasFact
    {1, true},  // MakeList
    {1, false},  // Not
    {2, true},  // And
    {2, true},  // Or
    {3, false},  // Select
    {2, false},  // Equal
    {2, false},  // NotEqual
    {2, false},  // Less
    {2, false},  // LessEqual
    {2, false},  // Greater
    {2, false},  // GreaterEqual
    {2, false},  // In
    {2, false},  // AddInt
    {2, false},  // SubtractInt
    {2, false},  // MultiplyInt
    {2, false},  // DivideInt
    {2, false},  // RemainderInt
    {1, false},  // NegateInt
    {2, false},  // AddFloat
    {2, false},  // SubtractFloat
    {2, false},  // MultiplyFloat
    {2, false},  // DivideFloat
    {1, false},  // NegateFloat
    {2, false},  // Join
    {2, false},  // StartsWith
    {2, false},  // EndsWith
    {2, false},  // Contains
    {1, false},  // Size
    {2, true},  // Min
    {2, true},  // Max
    {2, false},  // Bucket
    {1, false},  // Version
};

// By kind of an option, the kinds of its values: bit n stands for the ValueKind n.
inline constexpr uint8_t kStoredKinds[] = {
    1u << 1,  // Boolean: Boolean
    1u << 2,  // Integer: Integer
    1u << 3,  // Float: Number
    1u << 4,  // String: Text
    1u << 4 | 1u << 2,  // Choice: Text, Integer
    1u << 5,  // Array: Array
    1u << 6,  // Table: Table
    1u << 6,  // Record: Table
};

// By type of an expression, the kinds of options that take its value: bit n stands for the OptionKind n.
inline constexpr uint8_t kComputedKinds[] = {
    1u << 0,  // Bool: Boolean
    1u << 1 | 1u << 4,  // Int: Integer, Choice
    1u << 2,  // Float: Float
    1u << 3 | 1u << 4,  // String: String, Choice
    0,  // BoolList: none
    0,  // IntList: none
    0,  // FloatList: none
    0,  // StringList: none
    0,  // EmptyList: none
};

// A literal value.
struct Value : Record<16, 8> {
  uint64_t bits() const { return u64(0); }
  uint32_t index() const { return static_cast<uint32_t>(bits()); }  // of a text, or of the first item
  uint32_t count() const { return u32(8); }
  ValueKind kind() const { return static_cast<ValueKind>(u8(12)); }
  uint8_t depth() const { return u8(13); }
  uint16_t steps() const { return u16(14); }
};

// One step of an expression.
struct Instruction : Record<4, 2> {
  Op op() const { return static_cast<Op>(u8(0)); }
  uint16_t operand() const { return u16(2); }
};

// An expression: its instructions, its text, and its type.
struct Expression : Record<20, 4> {
  Range instructions() const { return {u32(0), u32(4)}; }
  uint32_t text() const { return u32(8); }
  Type type() const { return static_cast<Type>(u8(12)); }
  uint16_t stack() const { return u16(14); }
  uint32_t steps() const { return u32(16); }
};

// A condition: its clauses, which are expressions, and its text.
struct Condition : Record<16, 4> {
  Range clauses() const { return {u32(0), u32(4)}; }
  uint32_t text() const { return u32(8); }
  uint32_t steps() const { return u32(12); }
};

// A fact that is read; one that identifies the device is not shown in reports.
struct Fact : Record<40, 8> {
  double minimum() const { return f64(0); }
  double maximum() const { return f64(8); }
  uint32_t name() const { return u32(16); }
  uint32_t unit() const { return u32(20); }
  Range choices() const { return {u32(24), u32(28)}; }
  uint8_t type() const { return u8(32); }
  uint8_t volatility() const { return u8(33); }
  bool is_identifying() const { return u8(34) != 0; }
};

// A fact that a document sets.
struct HandSetFact : Record<12, 4> {
  uint32_t fact() const { return u32(0); }
  uint32_t value() const { return u32(4); }
  uint32_t origin() const { return u32(8); }
};

// A backend.
struct Backend : Record<28, 4> {
  uint32_t id() const { return u32(0); }
  Range options() const { return {u32(4), u32(8)}; }
  Range advice() const { return {u32(12), u32(16)}; }
  bool program_beats_recommendation() const { return u8(20) != 0; }
  uint32_t steps() const { return u32(24); }
};

// An option of a backend.
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

// A value that an option accepts, and what is sent for it.
struct Choice : Record<8, 4> {
  uint32_t value() const { return u32(0); }
  uint32_t sent() const { return u32(4); }
};

// A value that a vendor recommends.
struct Advice : Record<16, 4> {
  uint32_t option() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  uint32_t expression() const { return u32(8); }
  uint32_t origin() const { return u32(12); }
};

// One assignment, as one option sees it.
struct Candidate : Record<16, 4> {
  uint32_t value() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  uint32_t origin() const { return u32(8); }
  Source source() const { return static_cast<Source>(u8(12)); }
  Layer layer() const { return static_cast<Layer>(u8(13)); }
};

// The candidates of one option.
struct OptionSettings : Record<24, 4> {
  uint32_t option() const { return u32(0); }
  Range candidates() const { return {u32(4), u32(8)}; }
  uint32_t program_value() const { return u32(12); }
  uint32_t program_origin() const { return u32(16); }
  uint32_t steps() const { return u32(20); }
};

// The options of one backend that are set.
struct BackendSettings : Record<16, 4> {
  uint32_t backend() const { return u32(0); }
  Range options() const { return {u32(4), u32(8)}; }
  uint32_t steps() const { return u32(12); }
};

// A method instance, and the settings of its backends.
struct Slot : Record<20, 4> {
  uint32_t method() const { return u32(0); }
  uint32_t instance() const { return u32(4); }
  Range settings() const { return {u32(8), u32(12)}; }
  uint32_t steps() const { return u32(16); }
};

// A profile.
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

// A model, of which one variant is chosen.
struct Model : Record<16, 4> {
  uint32_t name() const { return u32(0); }
  Range variants() const { return {u32(4), u32(8)}; }
  bool fallback() const { return u8(12) != 0; }
};

// A variant of a model.
struct Variant : Record<20, 4> {
  uint32_t file() const { return u32(0); }
  uint32_t condition() const { return u32(4); }
  Range needs() const { return {u32(8), u32(12)}; }
  uint32_t backend() const { return u32(16); }
};

// Everything that a bundle contains.
struct Tables {
  uint32_t opening = 0;  // the number of the opening in this process, from 1
  std::string_view producer;
  std::string_view fingerprint;
  std::string_view sources;
  uint64_t revision = 0;
  uint64_t not_after = 0;
  uint32_t least_reader = 0;
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

// The width of each field of the root table.
inline constexpr uint8_t kFieldBytes[] = {
    2, 4, 4, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 4, 4,
};

// Reads the root table; false if a field is absent or leads out of the file.
template <typename Reader>
bool read_tables(const Reader& reader, Tables* t) {
  t->revision = reader.template scalar<uint64_t>(4);
  t->not_after = reader.template scalar<uint64_t>(5);
  t->least_reader = reader.template scalar<uint32_t>(6);
  t->project_fact_count = reader.template scalar<uint32_t>(15);
  t->named_profile = reader.template scalar<uint32_t>(25);
  t->require_match = reader.template scalar<uint8_t>(26) != 0;
  return reader.string(1, &t->producer) && reader.string(2, &t->fingerprint) &&
      reader.string(3, &t->sources) && reader.texts(7, &t->texts) && reader.vector(8, &t->values) &&
      reader.vector(9, &t->items) && reader.vector(10, &t->instructions) &&
      reader.vector(11, &t->expressions) && reader.vector(12, &t->conditions) &&
      reader.vector(13, &t->facts) && reader.vector(14, &t->hand_set_facts) &&
      reader.vector(16, &t->backends) && reader.vector(17, &t->options) &&
      reader.vector(18, &t->choices) && reader.vector(19, &t->advice) &&
      reader.vector(20, &t->candidates) && reader.vector(21, &t->option_settings) &&
      reader.vector(22, &t->backend_settings) && reader.vector(23, &t->slots) &&
      reader.vector(24, &t->profiles) && reader.vector(27, &t->models) &&
      reader.vector(28, &t->variants);
}

inline bool is_none_or_below(uint32_t index, uint32_t size) { return index == kNone || index < size; }

// True if an index is below a size, or if it is none and the field that needs it is, too.
inline bool is_there_for(uint32_t needing, uint32_t index, uint32_t size) {
  return index < size || (index == kNone && needing == kNone);
}

// `are_fields_sound` verifies the fields of a row, each by itself. `check` has what needs more than the row:
// `visit(vector, range)` verifies a range, and counts its elements against a limit, since ranges of a damaged
// file may overlap; `are_items_below(range, size)` also verifies the indices in a range of `items`;
// `is_short(text)` is true of a text that is short enough for a name.

template <typename Checks>
bool are_fields_sound(const Value& row, const Tables&, Checks&) {
  return row.u8(12) < 7;
}

template <typename Checks>
bool are_fields_sound(const Instruction& row, const Tables&, Checks&) {
  return row.u8(0) < 35;
}

template <typename Checks>
bool are_fields_sound(const Expression& row, const Tables& t, Checks& check) {
  return check.visit(t.instructions, row.instructions()) && row.text() < t.texts.size() && row.u8(12) < 9;
}

template <typename Checks>
bool are_fields_sound(const Condition& row, const Tables& t, Checks& check) {
  return check.visit(t.expressions, row.clauses()) && row.text() < t.texts.size();
}

template <typename Checks>
bool are_fields_sound(const Fact& row, const Tables& t, Checks& check) {
  return !std::isnan(row.minimum()) && !std::isnan(row.maximum()) && row.name() < t.texts.size() &&
      check.is_short(row.name()) && is_none_or_below(row.unit(), t.texts.size()) &&
      check.are_items_below(row.choices(), t.texts.size()) && row.u8(32) < 5 && row.u8(33) < 3 &&
      row.u8(34) < 2;
}

template <typename Checks>
bool are_fields_sound(const HandSetFact& row, const Tables& t, Checks&) {
  return row.fact() < t.facts.size() && row.value() < t.values.size() && row.origin() < t.texts.size();
}

template <typename Checks>
bool are_fields_sound(const Backend& row, const Tables& t, Checks& check) {
  return row.id() < t.texts.size() && check.is_short(row.id()) && check.visit(t.options, row.options()) &&
      check.visit(t.advice, row.advice()) && row.u8(20) < 2;
}

template <typename Checks>
bool are_fields_sound(const Option& row, const Tables& t, Checks& check) {
  return !std::isnan(row.minimum()) && !std::isnan(row.maximum()) &&
      std::isfinite(row.multiple_of()) && row.multiple_of() >= 0 && row.name() < t.texts.size() &&
      check.is_short(row.name()) && is_none_or_below(row.unit(), t.texts.size()) &&
      is_none_or_below(row.doc(), t.texts.size()) &&
      is_none_or_below(row.default_value(), t.values.size()) &&
      is_none_or_below(row.from_fact(), t.facts.size()) &&
      is_there_for(row.default_value(), row.default_origin(), t.texts.size()) &&
      is_there_for(row.from_fact(), row.fact_origin(), t.texts.size()) &&
      is_none_or_below(row.key(), t.texts.size()) && is_none_or_below(row.separator(), t.texts.size()) &&
      check.visit(t.choices, row.choices()) && row.u8(76) < 8 && row.u8(77) < 8 && row.u8(78) < 2 &&
      row.u8(79) < 2 && row.u8(80) < 2 && row.u8(81) < 2 && row.u8(82) < 2;
}

template <typename Checks>
bool are_fields_sound(const Choice& row, const Tables& t, Checks&) {
  return row.value() < t.values.size() && row.sent() < t.values.size();
}

template <typename Checks>
bool are_fields_sound(const Advice& row, const Tables& t, Checks&) {
  return row.option() < t.options.size() && is_none_or_below(row.condition(), t.conditions.size()) &&
      row.expression() < t.expressions.size() && row.origin() < t.texts.size();
}

template <typename Checks>
bool are_fields_sound(const Candidate& row, const Tables& t, Checks&) {
  return is_none_or_below(row.condition(), t.conditions.size()) && row.origin() < t.texts.size() &&
      row.u8(12) < 3 && row.u8(13) < 8;
}

template <typename Checks>
bool are_fields_sound(const OptionSettings& row, const Tables& t, Checks& check) {
  return row.option() < t.options.size() && check.visit(t.candidates, row.candidates()) &&
      is_none_or_below(row.program_value(), t.values.size()) &&
      is_there_for(row.program_value(), row.program_origin(), t.texts.size());
}

template <typename Checks>
bool are_fields_sound(const BackendSettings& row, const Tables& t, Checks& check) {
  return row.backend() < t.backends.size() && check.visit(t.option_settings, row.options());
}

template <typename Checks>
bool are_fields_sound(const Slot& row, const Tables& t, Checks& check) {
  return row.method() < t.texts.size() && check.is_short(row.method()) &&
      is_none_or_below(row.instance(), t.texts.size()) && check.is_short(row.instance()) &&
      check.are_items_below(row.settings(), t.backend_settings.size());
}

template <typename Checks>
bool are_fields_sound(const Profile& row, const Tables& t, Checks& check) {
  return row.name() < t.texts.size() && check.is_short(row.name()) &&
      is_none_or_below(row.condition(), t.conditions.size()) &&
      check.are_items_below(row.bases(), t.profiles.size()) &&
      check.visit(t.hand_set_facts, row.facts()) && check.visit(t.slots, row.slots()) &&
      is_none_or_below(row.fingerprint(), t.texts.size()) && row.u8(36) < 3 && row.u8(37) < 2;
}

template <typename Checks>
bool are_fields_sound(const Model& row, const Tables& t, Checks& check) {
  return row.name() < t.texts.size() && check.is_short(row.name()) &&
      check.visit(t.variants, row.variants()) && row.u8(12) < 2;
}

template <typename Checks>
bool are_fields_sound(const Variant& row, const Tables& t, Checks& check) {
  return row.file() < t.texts.size() && is_none_or_below(row.condition(), t.conditions.size()) &&
      check.are_items_below(row.needs(), t.texts.size()) &&
      is_none_or_below(row.backend(), t.texts.size()) && check.is_short(row.backend());
}

// Verifies the fields of all rows of a vector.
template <typename T, typename Checks>
bool are_rows_sound(const Vector<T>& rows, const Tables& t, Checks& check) {
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (!are_fields_sound(rows[i], t, check)) return false;
  }
  return true;
}

// Verifies the fields of all rows of a bundle.
template <typename Checks>
bool are_fields_sound(const Tables& t, Checks& check) {
  return are_rows_sound(t.values, t, check) && are_rows_sound(t.instructions, t, check) &&
      are_rows_sound(t.expressions, t, check) && are_rows_sound(t.conditions, t, check) &&
      are_rows_sound(t.facts, t, check) && are_rows_sound(t.hand_set_facts, t, check) &&
      are_rows_sound(t.backends, t, check) && are_rows_sound(t.options, t, check) &&
      are_rows_sound(t.choices, t, check) && are_rows_sound(t.advice, t, check) &&
      are_rows_sound(t.candidates, t, check) && are_rows_sound(t.option_settings, t, check) &&
      are_rows_sound(t.backend_settings, t, check) && are_rows_sound(t.slots, t, check) &&
      are_rows_sound(t.profiles, t, check) && are_rows_sound(t.models, t, check) &&
      are_rows_sound(t.variants, t, check);
}

}  // namespace format
}  // inline namespace
}  // namespace etconfig::device
