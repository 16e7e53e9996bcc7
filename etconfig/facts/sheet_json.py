"""Fact sheets as JSON text: the writer, and a strict reader that reports line and column.

    {
      "etconfig_fact_sheet": 1,
      "facts": {
        "cpu.arch": {"value": "arm64", "origin": "detected uname"},
        "memory.total": {"value": 8454275072, "unit": "bytes", "origin": "detected /proc/meminfo"},
        "gpu.count": {"unknown": "no detector looks for it", "origin": "detected nothing"}
      }
    }

`unit` and `origin` are optional; a unit must be the one in the registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from etconfig.diagnostics import Diagnostic, Span, did_you_mean
from etconfig.diagnostics.conflict import CONFLICT_HELP, conflict_line
from etconfig.errors import FactError
from etconfig.facts.fact import Fact
from etconfig.facts.json_text import JsonMember, JsonSpan, JsonText
from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, shown_value
from etconfig.flatbuffer.identifier import has_program_identifier
from etconfig.parameters import home_help
from etconfig.provenance import Origin, OriginKind
from etconfig.written_files import FileKind

SHEET_VERSION = 1
MAX_SHEET_BYTES = 256 << 10
MAX_SHEET_FACTS = 1000

VERSION_KEY = "etconfig_fact_sheet"
SHEET_KEYS = (VERSION_KEY, "facts")
ENTRY_KEYS = ("value", "unit", "unknown", "origin")
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


def parse_sheet(text: str, source: str, registry: FactRegistry) -> dict[str, Fact]:
    """Return the facts in the text of a sheet.

    Raises:
        FactError: the text has problems; the error contains all of them.
    """
    if len(text) > MAX_SHEET_BYTES:
        raise FactError(diagnostics=(_too_large(source),))
    document = JsonText(text, source)
    reader = _Reader(document, registry)
    try:
        facts = reader.read()
    except json.JSONDecodeError as error:
        span = document.source.span(error.pos, error.pos + 1)
        message, help = f"the text is not valid JSON: {error.msg}", _GUIDE
        line = conflict_line(text)
        if line is not None:
            span, message, help = Span(file=source, line=line), "the file has a merge conflict", CONFLICT_HELP
        raise FactError(diagnostics=(_not_a_sheet(message, span, help),)) from error
    except RecursionError:
        message = "the text nests too deeply for a fact sheet"
        raise FactError(diagnostics=(_not_a_sheet(message, Span(file=source)),)) from None
    if reader.problems:
        raise FactError(diagnostics=tuple(reader.problems))
    return facts


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
    """A reader of one text, from the outside in, which collects the problems."""

    def __init__(self, document: JsonText, registry: FactRegistry) -> None:
        self.problems: list[Diagnostic] = []
        self._document = document
        self._registry = registry

    def read(self) -> dict[str, Fact]:
        start = JsonSpan(0, 1)
        if not isinstance(self._document.decode(), dict):
            self._refuse("expected a JSON object", start)
            return {}
        sheet = self._members(start, "the fact sheet")
        if VERSION_KEY not in sheet:
            self._refuse(f"the key {VERSION_KEY!r} with the format's version is missing", start)
            return {}
        if not self._check_version(sheet[VERSION_KEY]):
            return {}
        self._check_keys(sheet, "the fact sheet", SHEET_KEYS)
        if "facts" not in sheet:
            self._refuse("the key 'facts' is missing", start)
            return {}
        return self._facts(sheet["facts"])

    def _check_version(self, version: JsonMember) -> bool:
        if type(version.value) is int and version.value == SHEET_VERSION:
            return True
        problem = Diagnostic(
            code="unsupported-fact-sheet",
            message=f"the fact sheet has format version {shown_value(version.value)}, "
            f"but this etconfig reads version {SHEET_VERSION}",
            spans=(self._document.source.span(*version.value_place),),
            help="save the sheet again with this version of etconfig, or install a newer etconfig",
        )
        self.problems.append(problem)
        return False

    def _facts(self, section: JsonMember) -> dict[str, Fact]:
        if not isinstance(section.value, dict):
            self._refuse("expected an object under the key 'facts'", section.value_place)
            return {}
        if len(section.value) > MAX_SHEET_FACTS:
            self._refuse(f"the sheet has more than {MAX_SHEET_FACTS} facts", section.key_place)
            return {}
        entries = self._members(section.value_place, "the facts")
        facts = (self._fact(entry) for entry in entries.values())
        return {fact.name: fact for fact in facts if fact is not None}

    def _fact(self, entry: JsonMember) -> Fact | None:
        name = entry.key
        info = self._registry.get(name)
        if info is None:
            span = self._document.source.span(*entry.key_place)
            self.problems.append(unknown_fact(name, self._registry, span))
            return None
        if not isinstance(entry.value, dict):
            self._refuse(f'fact {name!r}: expected an object such as {{"value": ...}}', entry.value_place)
            return None
        parts = self._members(entry.value_place, f"fact {name!r}")
        self._check_keys(parts, f"fact {name!r}", ENTRY_KEYS)
        self._check_unit(name, info, parts.get("unit"))
        origin = self._origin(entry, parts)
        if ("value" in parts) == ("unknown" in parts):
            self._refuse(f"fact {name!r}: expected either 'value' or 'unknown'", entry.key_place)
            return None
        if "unknown" in parts:
            return Fact.unknown(name, info, self._string(parts["unknown"]), origin)
        return self._known(name, info, parts["value"], origin)

    def _known(self, name: str, info: FactInfo, member: JsonMember, origin: Origin) -> Fact | None:
        try:
            return Fact.known(name, info, info.check(member.value), origin)
        except ValueError as error:
            span = self._document.source.span(*member.value_place)
            self.problems.append(invalid_value(name, info, member.value, error, span))
            return None

    def _origin(self, entry: JsonMember, parts: Mapping[str, JsonMember]) -> Origin:
        line, column = self._document.source.line_and_column(entry.key_place.start)
        detail = self._string(parts["origin"]) if "origin" in parts else None
        return Origin(OriginKind.SHEET, self._document.source.name, line, column, detail)

    def _check_unit(self, name: str, info: FactInfo, unit: JsonMember | None) -> None:
        if unit is None or unit.value == info.unit:
            return
        expected = "no unit" if info.unit is None else f"the unit {info.unit!r}"
        message = f"fact {name!r}: expected {expected}, found {shown_value(unit.value)}"
        guide = "leave the unit out" if info.unit is None else f"give the value in {info.unit}"
        self._refuse(message, unit.value_place, guide)

    def _string(self, member: JsonMember) -> str:
        if isinstance(member.value, str) and member.value.isprintable():
            return member.value
        message = f"expected a string of printable characters under the key {member.key!r}"
        self._refuse(message, member.value_place)
        return ""

    def _members(self, place: JsonSpan, what: str) -> dict[str, JsonMember]:
        """The members of the object at `place`; reports duplicates."""
        members: dict[str, JsonMember] = {}
        for member in self._document.members(place.start):
            if member.key in members:
                message = f"{what}: the key {member.key!r} appears twice"
                self._refuse(message, member.key_place, guide="keep one of the two")
            members[member.key] = member
        return members

    def _check_keys(self, members: Mapping[str, JsonMember], what: str, allowed: Sequence[str]) -> None:
        for key, member in members.items():
            if key not in allowed:
                guide = did_you_mean(key, allowed) or f"the keys are {', '.join(map(repr, allowed))}"
                self._refuse(f"{what}: unknown key {key!r}", member.key_place, guide)

    def _refuse(self, message: str, place: JsonSpan, guide: str = _GUIDE) -> None:
        self.problems.append(_not_a_sheet(message, self._document.source.span(*place), guide))
