"""Fact sheets as JSON text: the writer, and a strict reader that reports line and column.

    {
      "etconfig_fact_sheet": 1,
      "facts": {
        "cpu.arch": {"value": "arm64", "origin": "detected uname"},
        "memory.total": {"value": 8454275072, "unit": "bytes", "origin": "detected /proc/meminfo"},
        "gpu.count": {"unknown": "no detector looks for it", "origin": "detected nothing"}
      }
    }

`unit` and `origin` are optional; a unit must match the registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from etconfig.base.parameters import home_help
from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.records import record
from etconfig.base.written_files import FileKind
from etconfig.diagnostics import Diagnostic, Span, did_you_mean
from etconfig.diagnostics.source_text import CONFLICT_HELP, SourceText, conflict_line
from etconfig.errors import FactError
from etconfig.facts.fact import Fact
from etconfig.facts.json_text import JsonObject, JsonSpan, decode_json, plain_json
from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactValue, shown_value
from etconfig.flatbuffer.identifier import has_program_identifier

SHEET_VERSION = 1
MAX_SHEET_BYTES = 256 << 10
MAX_SHEET_FACTS = 1000

VERSION_KEY = "etconfig_fact_sheet"
SHEET_KEYS = (VERSION_KEY, "facts")
ENTRY_KEYS = ("value", "unit", "unknown", "origin")
_ENTRY = frozenset(ENTRY_KEYS)
SHEET = FileKind("a fact sheet", lambda path: _is_sheet(path))
_GUIDE = "write the sheet as `etconfig facts --save` does"


def _is_sheet(path: Path) -> bool:
    found = json.loads(path.read_bytes())
    return isinstance(found, dict) and VERSION_KEY in found


def sheet_text(facts: Iterable[Fact]) -> str:
    """Return the facts as the text of a sheet, one per line, ending in a newline."""
    body = ",\n".join(f"    {json.dumps(fact.name)}: {json.dumps(_entry(fact))}" for fact in facts)
    return f'{{\n  "{VERSION_KEY}": {SHEET_VERSION},\n  "facts": {{\n{body}\n  }}\n}}\n'


def _entry(fact: Fact) -> dict[str, object]:
    # a fact from a sheet keeps the origin that is written there
    is_replayed = fact.origin.kind is OriginKind.SHEET and fact.origin.detail is not None
    origin = _printable(fact.origin.detail if is_replayed else fact.origin)
    if not fact.is_known:
        return {"unknown": _printable(fact.reason), "origin": origin}
    if fact.unit is None:
        return {"value": fact.value, "origin": origin}
    return {"value": fact.value, "unit": fact.unit, "origin": origin}


def _printable(text: object) -> str:
    # a path or an exception may contain characters that the reader refuses
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def load_text(path: Path) -> str:
    """Read a file, up to the maximum size of a sheet.

    Raises:
        FactError: the file is missing, unreadable or too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SHEET_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        problem = Diagnostic(
            code="unreadable-file",
            message=f"cannot read {path}: {getattr(error, 'strerror', None) or error}",
            help=home_help(path) or "give the path of a file that `etconfig facts --save` wrote",
        )
        raise FactError(diagnostics=(problem,)) from error
    if len(data) > MAX_SHEET_BYTES:
        raise FactError(diagnostics=(_too_large(str(path)),))
    if has_program_identifier(data):
        problem = _not_a_sheet(f"{path} is an ExecuTorch program, not a fact sheet", Span(file=str(path)))
        raise FactError(diagnostics=(problem,))
    # invalid UTF-8 becomes surrogates, which `parse_sheet` refuses with their place
    return data.decode("utf-8-sig", errors="surrogateescape")


class SheetEntry(NamedTuple):
    """A fact in the text of a sheet.

    Attributes:
        name: Its name.
        info: Its declaration.
        value: The value; None if it is unknown.
        reason: Why it is unknown.
        detail: Where the value came from when the sheet was written, or None.
        position: Its position in the text, among the facts.
    """

    name: str
    info: FactInfo
    value: FactValue | None
    reason: str | None
    detail: str | None
    position: int


@record(frozen=True, eq=False)
class ReadSheet:
    """The facts in the text of a sheet that has nothing wrong.

    Attributes:
        source: The text.
        section: The object with the facts.
        entries: The facts.
    """

    source: SourceText
    section: JsonObject
    entries: Sequence[SheetEntry]

    @property
    def values(self) -> dict[str, FactValue]:
        """The values of the known facts, by name."""
        return {each.name: each.value for each in self.entries if each.value is not None}

    def facts(self) -> dict[str, Fact]:
        """Return the facts by name, with the line of each as its origin."""
        return {each.name: self._fact(each) for each in self.entries}

    def _fact(self, entry: SheetEntry) -> Fact:
        line, column = self.source.line_and_column(self.section.key_place(entry.position).start)
        origin = Origin(OriginKind.SHEET, self.source.name, line, column, entry.detail)
        if entry.value is None:
            return Fact.unknown(entry.name, entry.info, entry.reason or "", origin)
        return Fact.known(entry.name, entry.info, entry.value, origin)


def parse_sheet(text: str, source: str, registry: FactRegistry) -> ReadSheet:
    """Read the text of a sheet.

    Raises:
        FactError: the text has problems; the error contains all of them.
    """
    if len(text) > MAX_SHEET_BYTES:
        raise FactError(diagnostics=(_too_large(source),))
    reader = _Reader(SourceText(source, text), registry)
    try:
        sheet = reader.read()
    except json.JSONDecodeError as error:
        span = reader.source.span(error.pos, error.pos + 1)
        message, help = f"the text is not valid JSON: {error.msg}", _GUIDE
        line = conflict_line(text)
        if line is not None:
            span, message, help = Span(file=source, line=line), "the file has a merge conflict", CONFLICT_HELP
        raise FactError(diagnostics=(_not_a_sheet(message, span, help),)) from error
    except RecursionError:
        message = "the text nests too deeply for a fact sheet"
        raise FactError(diagnostics=(_not_a_sheet(message, Span(file=source)),)) from None
    if sheet is None or reader.problems:
        raise FactError(diagnostics=tuple(reader.problems))
    return sheet


def _too_large(source: str) -> Diagnostic:
    return Diagnostic(
        code="document-too-large",
        message=f"the fact sheet is larger than {MAX_SHEET_BYTES} bytes",
        spans=(Span(file=source),),
        help="a sheet takes a few kilobytes; check that this is the right file",
    )


def _not_a_sheet(message: str, span: Span, guide: str = _GUIDE) -> Diagnostic:
    return Diagnostic(code="invalid-fact-sheet", message=message, spans=(span,), help=guide)


class _Reader:
    """A reader of one text, from the outside in, which collects the problems.

    Places are looked for only where something is wrong, which takes most of the time of reading.
    """

    def __init__(self, source: SourceText, registry: FactRegistry) -> None:
        self.source = source
        self.problems: list[Diagnostic] = []
        self._registry = registry

    def read(self) -> ReadSheet | None:
        """Return the facts, or None; there are problems then, and there may be others, too."""
        start, text = JsonSpan(0, 1), self.source.text
        decoded = decode_json(text)
        if not isinstance(decoded, tuple):
            self._refuse("expected a JSON object", start)
            return None
        sheet = JsonObject(text, decoded, lambda: 0)
        self._check_repeats(sheet, "the fact sheet")
        if VERSION_KEY not in sheet.members:
            self._refuse(f"the key {VERSION_KEY!r} with the format's version is missing", start)
            return None
        if not self._check_version(sheet):
            return None
        self._check_keys(sheet, "the fact sheet", SHEET_KEYS)
        if "facts" not in sheet.members:
            self._refuse("the key 'facts' is missing", start)
            return None
        position = sheet.position("facts")
        if not isinstance(sheet.members["facts"], tuple):
            self._refuse("expected an object under the key 'facts'", sheet.value_place(position))
            return None
        section = sheet.object_at(position)
        if len(section.members) > MAX_SHEET_FACTS:
            self._refuse(f"the sheet has more than {MAX_SHEET_FACTS} facts", sheet.key_place(position))
            return None
        self._check_repeats(section, "the facts")
        positions = {name: index for index, (name, _) in enumerate(section.pairs)}
        entries = (self._entry(section, index) for index in positions.values())
        return ReadSheet(self.source, section, [entry for entry in entries if entry is not None])

    def _check_version(self, sheet: JsonObject) -> bool:
        version = sheet.members[VERSION_KEY]
        if type(version) is int and version == SHEET_VERSION:
            return True
        problem = Diagnostic(
            code="unsupported-fact-sheet",
            message=f"the fact sheet has format version {shown_value(plain_json(version))}, "
            f"but this etconfig reads version {SHEET_VERSION}",
            spans=(self.source.span(*sheet.value_place(sheet.position(VERSION_KEY))),),
            help="save the sheet again with this version of etconfig, or install a newer etconfig",
        )
        self.problems.append(problem)
        return False

    def _entry(self, section: JsonObject, index: int) -> SheetEntry | None:
        name, value = section.pairs[index]
        info = self._registry.get(name)
        if info is None:
            span = self.source.span(*section.key_place(index))
            self.problems.append(unknown_fact(name, self._registry, span))
            return None
        if type(value) is not tuple:
            message = f'fact {name!r}: expected an object such as {{"value": ...}}'
            self._refuse(message, section.value_place(index))
            return None
        entry = section.object_at(index)
        members = entry.members
        if len(members) < len(value) or not members.keys() <= _ENTRY:
            self._check_repeats(entry, f"fact {name!r}")
            self._check_keys(entry, f"fact {name!r}", ENTRY_KEYS)
        if "unit" in members and members["unit"] != info.unit:
            self._refuse_unit(name, info, entry)
        detail = self._string(entry, "origin") if "origin" in members else None
        if ("value" in members) == ("unknown" in members):
            self._refuse(f"fact {name!r}: expected either 'value' or 'unknown'", section.key_place(index))
            return None
        if "unknown" in members:
            return SheetEntry(name, info, None, self._string(entry, "unknown"), detail, index)
        raw = plain_json(members["value"])
        try:
            return SheetEntry(name, info, info.check(raw), None, detail, index)
        except ValueError as error:
            span = self.source.span(*entry.value_place(entry.position("value")))
            self.problems.append(invalid_value(name, info, raw, error, span))
            return None

    def _refuse_unit(self, name: str, info: FactInfo, entry: JsonObject) -> None:
        expected = "no unit" if info.unit is None else f"the unit {info.unit!r}"
        found = shown_value(plain_json(entry.members["unit"]))
        message = f"fact {name!r}: expected {expected}, found {found}"
        guide = "leave the unit out" if info.unit is None else f"give the value in {info.unit}"
        self._refuse(message, entry.value_place(entry.position("unit")), guide)

    def _string(self, entry: JsonObject, key: str) -> str:
        value = entry.members[key]
        if isinstance(value, str) and value.isprintable():
            return value
        message = f"expected a string of printable characters under the key {key!r}"
        self._refuse(message, entry.value_place(entry.position(key)))
        return ""

    def _check_repeats(self, members: JsonObject, what: str) -> None:
        for index in members.repeated:
            message = f"{what}: the key {members.pairs[index][0]!r} appears twice"
            self._refuse(message, members.key_place(index), guide="keep one of the two")

    def _check_keys(self, members: JsonObject, what: str, allowed: Sequence[str]) -> None:
        for key in members.members:
            if key not in allowed:
                guide = did_you_mean(key, allowed) or f"the keys are {', '.join(map(repr, allowed))}"
                place = members.key_place(members.position(key))
                self._refuse(f"{what}: unknown key {key!r}", place, guide)

    def _refuse(self, message: str, place: JsonSpan, guide: str = _GUIDE) -> None:
        self.problems.append(_not_a_sheet(message, self.source.span(*place), guide))
