"""Write the tables of the C++ headers that detect facts, from the modules of etconfig.facts and from Unicode.

    python tools/write_device_tables.py

writes etconfig/device/include/etconfig/facts/unicode.h, fact_table.h and name_tables.h.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting import device_text
from etconfig.facts.detecting.detectors import BUILTIN_DETECTORS, accelerator_names, cpuinfo, macos
from etconfig.facts.registry import _MISNOMERS, FactInfo, FactType

DIRECTORY = Path(__file__).parents[1] / "etconfig/device/include/etconfig/facts"
PER_LINE = 24

FRAME = """\
// {about} Written by tools/write_device_tables.py.

#pragma once

{includes}#include "../version.h"

namespace etconfig::device {{
inline namespace ETCONFIG_INLINE_NAMESPACE {{
namespace detection {{

{body}
}}  // namespace detection
}}  // inline namespace
}}  // namespace etconfig::device
"""

IS_PRINTABLE = """
inline bool is_printable(uint32_t c) {
  if (c < 0x7f) return c >= 0x20;
  uint32_t end = 0;
  bool is_in_run = false;
  for (uint32_t i = 0; i < sizeof kPrintableRuns && c >= end; is_in_run = !is_in_run) {
    uint32_t shift = 0;
    uint8_t digit = 0;
    do {
      digit = kPrintableRuns[i++];
      end += static_cast<uint32_t>(digit & 0x7f) << shift;
      shift += 7;
    } while (digit >= 0x80);
  }
  return is_in_run && c < end;
}
"""

TYPES = {
    FactType.BOOL: "Boolean",
    FactType.INT: "Integer",
    FactType.FLOAT: "Number",
    FactType.STRING: "Text",
    FactType.STRING_LIST: "TextList",
}


def frame(about: str, body: str, *includes: str) -> str:
    lines = "".join(f"#include {include}\n" for include in includes) + "\n" * bool(includes)
    return FRAME.format(about=about, includes=lines, body=body)


def runs() -> Iterator[int]:
    """Yield the lengths of the runs of printable and other characters, in turn, the printable first."""
    is_printable, start = True, 0
    for code_point in range(sys.maxunicode + 1):
        if chr(code_point).isprintable() != is_printable:
            yield code_point - start
            is_printable, start = not is_printable, code_point
    yield sys.maxunicode + 1 - start


def digits(number: int) -> Iterator[int]:
    while number >= 128:
        yield number % 128 + 128
        number //= 128
    yield number


def unicode_header() -> str:
    numbers = [str(digit) for run in runs() for digit in digits(run)]
    lines = [", ".join(numbers[at : at + PER_LINE]) for at in range(0, len(numbers), PER_LINE)]
    body = (
        f'inline constexpr char kUnicodeVersion[] = "{unicodedata.unidata_version}";\n\n'
        "// In turn how many code points are printable and how many are not, in base 128, lowest first;\n"
        "// a digit that another one follows is 128 more.\n"
        "inline constexpr uint8_t kPrintableRuns[] = {\n"
        + "".join(f"    {line},\n" for line in lines)
        + "};\n"
        + IS_PRINTABLE
    )
    return frame("The characters that `str.isprintable` of Python accepts.", body, "<cstdint>")


def topic_of(detector: str) -> str:
    return "".join(map(str.capitalize, detector.split("-")))


def bound_text(name: str, bound: float | None) -> str:
    """Return a bound as the header has it.

    Raises:
        ValueError: it is not a whole number that fits: widen the fields of `FactInfo` in the header first.
    """
    if bound is None:
        return "kUnbounded"
    if bound != int(bound) or not -127 <= bound <= 127:
        raise ValueError(f"{name}: the bound {bound} is not a whole number between -127 and 127")
    return str(int(bound))


def fact_line(info: FactInfo) -> str:
    topic = next((topic_of(d.name) for d in BUILTIN_DETECTORS if info.name in d.provides), "None")
    unit = f'"{info.unit}"' if info.unit else "nullptr"
    choices = f'"{" ".join(info.choices)}"' if info.choices else "nullptr"
    low, high = (bound_text(info.name, bound) for bound in (info.minimum, info.maximum))
    volatility = info.volatility.value.capitalize()
    head = f'    {{"{info.name}", {unit}, {choices}, FactType::{TYPES[info.type]},'
    tail = f"Volatility::{volatility}, Topic::{topic}, {low}, {high}}},\n"
    return f"{head} {tail}" if len(head) + len(tail) <= 110 else f"{head}\n     {tail}"


def fact_header() -> str:
    topics = "".join(f"  {topic_of(d.name)},\n" for d in BUILTIN_DETECTORS)
    names = "".join(f'    "{d.name}",\n' for d in BUILTIN_DETECTORS)
    body = (
        f"enum class Topic : uint8_t {{\n{topics}  None,  // no built-in detector finds it\n}};\n\n"
        f"inline constexpr const char* kTopicNames[] = {{\n{names}}};\n"
        "inline constexpr int8_t kUnbounded = -128;\n\n"
        "struct FactInfo {\n"
        "  const char* name;  // with <n> for the index of a family\n"
        "  const char* unit;  // or null\n"
        "  const char* choices;  // joined by spaces, or null\n"
        "  FactType type;\n"
        "  Volatility volatility;\n"
        "  Topic topic;  // the detector that finds it\n"
        "  int8_t minimum;\n"
        "  int8_t maximum;\n"
        "};\n\n"
        "inline constexpr FactInfo kFacts[] = {\n" + "".join(map(fact_line, BUILTIN_FACTS.infos)) + "};\n"
    )
    return frame("The facts that etconfig itself knows.", body, "<cstdint>\n", '"etconfig/facts/types.h"')


def packed(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    # one text per table: pointers would have to be relocated when a program starts
    lines = "".join(f'    "{key}\\0" "{value}\\0"\n' for key, value in pairs)
    return f"inline constexpr char {name}[] =\n{lines.rstrip()};\n\n"


def name_header() -> str:
    def hexadecimal(table: Mapping[int, str]) -> Iterator[tuple[str, str]]:
        return ((f"{number:x}", name) for number, name in table.items())

    body = (
        "// Keys and values in turn, each followed by a NUL.\n\n"
        + packed("kX86Vendors", cpuinfo._X86_VENDORS.items())
        + packed("kArmImplementers", hexadecimal(cpuinfo._ARM_IMPLEMENTERS))
        + packed("kArmParts", hexadecimal(cpuinfo._ARM_PARTS))
        + packed("kDeviceVendors", accelerator_names.VENDORS.items())
        + packed("kGpus", accelerator_names.GPUS.items())
        + packed("kNpus", accelerator_names.NPUS.items())
        + packed("kAppleFeatures", macos._ARM_FEATURES.items())
        + packed("kIntelFeatures", macos._INTEL_FEATURES.items())
        + packed("kArchitectures", _MISNOMERS["cpu.arch"].items())
        + packed("kSystems", _MISNOMERS["os.name"].items())
        + packed("kPlaceholders", ((text, "") for text in sorted(device_text._PLACEHOLDERS)))
    )
    return frame("The names of processors and devices.", body)


def tables() -> Mapping[str, str]:
    return {
        "unicode.h": unicode_header(),
        "fact_table.h": fact_header(),
        "name_tables.h": name_header(),
    }


if __name__ == "__main__":
    for name, text in tables().items():
        (DIRECTORY / name).write_text(text, "utf-8")
