"""Write the layout of bundles for C++, from `etconfig/device/bundle/tables.py` and the modules beside it.

    python tools/write_bundle_layout.py

writes etconfig/device/include/etconfig/device/layout.h.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from etconfig.device.bundle import instruction_checks, row_fields, table_checks, tables
from etconfig.device.bundle import step_counter as steps
from etconfig.device.bundle.row_fields import RowField
from etconfig.device.bundle.tables import BUNDLE_TABLE, ROWS, Rows
from etconfig.expression.operations import OPERANDS, Op
from etconfig.flatbuffer.layout import F64, U8

HEADER = Path(__file__).parents[1] / "etconfig/device/include/etconfig/device/layout.h"

CONSTANTS = (
    ("kVersion", tables.BUNDLE_VERSION, ""),
    ("kMaxRevision", tables.MAX_REVISION, ""),
    ("kMaxNotAfter", tables.MAX_NOT_AFTER, "in seconds since 1970"),
    ("kNone", row_fields.NONE, "the index of nothing"),
    ("kMaxBytes", tables.MAX_BYTES, "of a bundle"),
    ("kMaxDepth", tables.MAX_DEPTH, "of arrays and tables"),
    ("kMaxStack", tables.MAX_STACK, "of an expression"),
    (
        "kMaxNameBytes",
        row_fields.MAX_NAME_BYTES,
        "of a method, backend, option, fact, profile, model and so on",
    ),
    ("kMaxFacts", tables.MAX_FACTS, ""),
    ("kMaxProfiles", tables.MAX_PROFILES, ""),
    ("kMaxVisits", table_checks.MAX_VISITED, "of elements of ranges, while verifying"),
    ("kMaxSteps", steps.MAX_STEPS, "of a selection, of the method instances of a profile, of a model"),
    ("kMaxInstructions", steps.MAX_INSTRUCTIONS, "of an expression"),
    ("kMaxScratchBytes", steps.MAX_SCRATCH_BYTES, "of the texts and lists that an expression builds"),
    ("kMaxSlots", steps.MAX_SLOTS, "method instances of a profile"),
    ("kMaxFactText", tables.MAX_FACT_TEXT_BYTES, "bytes of a text that is a fact"),
    ("kMaxFactItems", tables.MAX_FACT_ITEMS, "of a list that is a fact"),
    ("kMaxFactListBytes", tables.MAX_FACT_LIST_BYTES, "of their texts in all"),
    ("kListItemBytes", instruction_checks.ITEM_BYTES, "that an item of a built list counts"),
)

PUBLIC: Mapping[str, Sequence[enum.Enum]] = {"Scope": tables.SCOPES, "Applies": tables.APPLIES}
"""The enumerations that applications use."""

ENUMERATIONS: Mapping[str, Sequence[enum.Enum]] = {
    "ValueKind": tuple(tables.StoredKind),
    "Op": tuple(Op),
    "Type": tables.EXPRESSION_TYPES,
    "OptionKind": tables.OPTION_KINDS,
    "Source": tuple(tables.CandidateSource),
    "Layer": tuple(tables.CandidateLayer),
    "Provider": tables.PROVIDERS,
}

TEXT = """\
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

@PUBLIC
namespace format {

@CONSTANTS
@ENUMERATIONS
// The number of operands that an instruction takes from the stack. If there may be more, it says how many.
struct Operands {
  uint8_t count;
  bool or_more;
};
inline constexpr Operands kOperands[] = {
@OPERANDS};

// By kind of an option, the kinds of its values: bit n stands for the ValueKind n.
inline constexpr uint8_t kStoredKinds[] = {
@STORED};

// By type of an expression, the kinds of options that take its value: bit n stands for the OptionKind n.
inline constexpr uint8_t kComputedKinds[] = {
@COMPUTED};

@STRUCTS
// Everything that a bundle contains.
struct Tables {
  uint32_t opening = 0;  // the number of the opening in this process, from 1
@TABLES};

// The width of each field of the root table.
inline constexpr uint8_t kFieldBytes[] = {
    @WIDTHS,
};

// Reads the root table; false if a field is absent or leads out of the file.
template <typename Reader>
bool read_tables(const Reader& reader, Tables* t) {
@SCALARS  return @VECTORS;
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

@CHECKS
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
  return @ALL;
}

}  // namespace format
}  // inline namespace
}  // namespace etconfig::device
"""


def camel(member: enum.Enum) -> str:
    return member.name.title().replace("_", "")


def shown(number: int) -> str:
    """Return a number as one writes it: large powers of two as such."""
    if number == row_fields.NONE:
        return f"0x{number:X}"
    if number >= 1 << 32:
        return f"{number}ull"
    power = number.bit_length() - 1
    return f"1u << {power}" if number == 1 << power > 1 << 14 else str(number)


def wrapped(head: str, parts: Iterable[str], tail: str) -> str:
    """Return one line, or lines of at most 110 columns with `parts` joined by commas."""
    parts = list(parts)
    if len(line := f"{head} {', '.join(parts)} {tail}") <= 110:
        return line
    lines = [head]
    for part in parts:
        if len(lines) == 1 or len(lines[-1]) + len(part) > 107:
            lines.append("  ")
        lines[-1] += f"{'' if lines[-1] == '  ' else ' '}{part},"
    return "\n".join((*lines, tail))


def enumeration(name: str, members: Sequence[enum.Enum]) -> str:
    return wrapped(f"enum class {name} : uint8_t {{", map(camel, members), "};") + "\n"


def all_of(conditions: Iterable[str]) -> str:
    """Join conditions with `&&`, in lines of at most 110 columns, the first after a `return`."""
    lines = [""]
    for each in conditions:
        if lines[-1] and len(lines[-1]) + len(each) > 93:
            lines.append("")
        lines[-1] += f"{' && ' if lines[-1] else ''}{each}"
    return " &&\n      ".join(lines)


def struct_of(rows: Rows) -> str:
    return rows.row.__name__.removesuffix("Row")


def cpp_type(field: RowField) -> str:
    if field.meanings == (False, True):
        return "bool"
    named = {**ENUMERATIONS, **PUBLIC}.items()
    # members of different `IntEnum` are equal
    found = next((name for name, members in named if [*map(id, members)] == [*map(id, field.meanings)]), None)
    sizes = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
    return found or ("double" if field.kind is F64 else sizes[field.kind.size_bytes])


def raw(field: RowField, offset: int) -> str:
    return f"{'f' if field.kind is F64 else 'u'}{8 * field.kind.size_bytes}({offset})"


def offsets(rows: Rows) -> Iterator[tuple[str, RowField, int]]:
    end = 0
    for name, field in rows.fields.items():
        offset = end + -end % field.kind.size_bytes
        end = offset + field.kind.size_bytes
        yield name, field, offset


def accessor(name: str, field: RowField, offset: int) -> str:
    if field.range_of:
        return f"  Range {field.range_name}() const {{ return {{u32({offset}), u32({offset + 4})}}; }}\n"
    type_, value = cpp_type(field), raw(field, offset)
    if type_ == "bool":
        value += " != 0"
    elif not type_.startswith(("uint", "double")):
        value = f"static_cast<{type_}>({value})"
    return f"  {type_} {'count' if name == 'length' else name}() const {{ return {value}; }}\n"


def struct(rows: Rows) -> str:
    lines, is_count = [f"// {rows.row.__doc__.splitlines()[0]}\n"], False
    lines.append(f"struct {struct_of(rows)} : Record<{rows.layout.size_bytes}, {rows.layout.alignment}> {{\n")
    for name, field, offset in offsets(rows):
        if not is_count:
            lines.append(accessor(name, field, offset))
        if name == "bits":
            lines.append(
                "  uint32_t index() const { return static_cast<uint32_t>(bits()); }"
                "  // of a text, or of the first item\n"
            )
        is_count = bool(field.range_of)
    return "".join((*lines, "};\n"))


def conditions(rows: Rows) -> Iterator[str]:
    """Yield what is true of the fields of a sound row."""
    for name, field, offset in offsets(rows):
        value = f"row.{name}()"
        if field.kind is F64:
            yield f"std::isfinite({value}) && {value} >= 0" if field.is_step else f"!std::isnan({value})"
        elif field.meanings:
            assert field.kind is U8
            yield f"row.u8({offset}) < {len(field.meanings)}"
        elif field.items_of:
            yield f"check.are_items_below(row.{field.range_name}(), t.{field.items_of}.size())"
        elif field.range_of:
            yield f"check.visit(t.{field.range_of}, row.{field.range_name}())"
        elif field.needed_by:
            yield f"is_there_for(row.{field.needed_by}(), {value}, t.{field.to}.size())"
        elif field.to:
            size = f"t.{field.to}.size()"
            yield f"is_none_or_below({value}, {size})" if field.may_be_none else f"{value} < {size}"
            if field.is_name:
                yield f"check.is_short({value})"


def check(rows: Rows) -> str:
    found = all_of(conditions(rows))
    t, checks = (f" {name}" if f"{name}." in found else "" for name in ("t", "check"))
    head = f"const {struct_of(rows)}& row, const Tables&{t}, Checks&{checks}"
    return f"template <typename Checks>\nbool are_fields_sound({head}) {{\n  return {found};\n}}\n"


def flag_table(kinds: Iterable[tuple[enum.Enum, Sequence[enum.Enum]]], numbers: Sequence[enum.Enum]) -> str:
    lines = []
    for kind, accepted in kinds:
        bits = " | ".join(f"1u << {numbers.index(each)}" for each in accepted) or "0"
        names = ", ".join(map(camel, accepted)) or "none"
        lines.append(f"    {bits},  // {camel(kind)}: {names}\n")
    return "".join(lines)


def table_fields() -> Iterator[tuple[int, str, str, str]]:
    """Yield the number, the name, the type and the kind of each field of the root table but the version."""
    for slot, (name, type_) in enumerate(tables.FIELD_TYPES.items(), 1):
        if name in ROWS:
            yield slot, name, f"Vector<{struct_of(ROWS[name])}>", "vector"
        elif name in ("texts", "items"):
            yield (
                slot,
                name,
                {"texts": "Texts", "items": "Vector<Number>"}[name],
                name.replace("items", "vector"),
            )
        else:
            cpp = {str: "std::string_view", int: "uint32_t", tables.Long: "uint64_t", bool: "bool"}[type_]
            yield slot, name, cpp, "string" if type_ is str else "scalar"


def header() -> str:
    fields = [*table_fields()]
    initial = {"uint32_t": " = 0", "uint64_t": " = 0", "bool": " = false"}
    defaults = {name: initial.get(type_, "") for _, name, type_, _ in fields} | {"named_profile": " = kNone"}
    scalars = [
        f"  t->{name} = reader.template scalar<{'uint8_t' if type_ == 'bool' else type_}>({slot})"
        f"{' != 0' if type_ == 'bool' else ''};\n"
        for slot, name, type_, kind in fields
        if kind == "scalar"
    ]
    parts = {
        "PUBLIC": "".join(enumeration(*each) for each in PUBLIC.items()),
        "CONSTANTS": "".join(
            f"constexpr uint{32 if number < 1 << 32 else 64}_t {name} = {shown(number)};"
            f"{f'  // {about}' if about else ''}\n"
            for name, number, about in CONSTANTS
        ),
        "ENUMERATIONS": "".join(enumeration(*each) for each in ENUMERATIONS.items()),
        "OPERANDS": "".join(
            f"    {{{OPERANDS[op][0]}, {str(OPERANDS[op][1]).lower()}}},  // {camel(op)}\n" for op in Op
        ),
        "STORED": flag_table(
            ((kind, table_checks.STORED[kind]) for kind in tables.OPTION_KINDS), tuple(tables.StoredKind)
        ),
        "COMPUTED": flag_table(
            ((type_, table_checks.COMPUTED.get(type_, ())) for type_ in tables.EXPRESSION_TYPES),
            tables.OPTION_KINDS,
        ),
        "STRUCTS": "\n".join(map(struct, ROWS.values())),
        "TABLES": "".join(f"  {type_} {name}{defaults.get(name, '')};\n" for _, name, type_, _ in fields),
        "WIDTHS": ", ".join(str(field.kind.size_bytes) for field in BUNDLE_TABLE.fields),
        "SCALARS": "".join(scalars),
        "VECTORS": all_of(
            f"reader.{kind}({slot}, &t->{name})" for slot, name, _, kind in fields if kind != "scalar"
        ),
        "CHECKS": "\n".join(map(check, ROWS.values())),
        "ALL": all_of(f"are_rows_sound(t.{name}, t, check)" for name in ROWS),
    }
    text = TEXT
    for name, part in parts.items():
        text = text.replace(f"@{name}", part)
    return text


if __name__ == "__main__":
    HEADER.write_text(header(), "utf-8")
