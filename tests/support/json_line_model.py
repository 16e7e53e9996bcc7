"""The meaning of lines of JSON by Python's own reader: values of facts, and what is wrong, line by line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from etconfig.facts.registry import FactInfo, FactRegistry, FactType

ENTRY_KEYS = ("value", "unit", "unknown", "origin")
SHEET_KEYS = ("etconfig_fact_sheet", "facts")
EXPECTED = {
    FactType.BOOL: "expected true or false",
    FactType.INT: "expected an int of at most 64 bits",
    FactType.FLOAT: "expected a finite number",
    FactType.STRING: "expected a string",
    FactType.STRING_LIST: "expected a list of strings",
}
Problem = tuple[str, str]
"""A fact, and what is wrong with it; an empty name for the whole line."""


class Pairs(list[tuple[str, Any]]):
    """The members of an object, also those whose key is repeated."""

    def get(self, key: str) -> Any:
        """The first value of a key; `...` if there is none."""
        return next((value for name, value in self if name == key), ...)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self]

    @property
    def repeated(self) -> list[str]:
        return sorted(name for name, count in Counter(self.names).items() if count > 1)


def fact_of(key: str) -> str:
    return key.replace("__", ".")


class LineModel:
    """The meaning of lines.

    Args:
        registry: The facts.
        id_column: The key that names the devices.
        ignored: Keys to leave out.
    """

    def __init__(self, registry: FactRegistry, id_column: str | None, ignored: Collection[str]) -> None:
        self.registry = registry
        self.ignored = ignored
        self.device_keys = [
            *([] if id_column is None else [id_column]),
            "device_id",
            "device.id",
            "device__id",
        ]

    def read(self, line: bytes) -> tuple[str | None, dict[str, Any], list[Problem]]:
        """The name of the device, the other facts that have a value, and the problems in their order."""
        found = parsed(line)
        if not isinstance(found, Pairs):
            return None, {}, [("", "the line is not a JSON object")]
        facts, is_sheet = found, isinstance(found.get("facts"), Pairs)
        if is_sheet:
            facts = found.get("facts")
        repeated = facts.repeated or (found.repeated if is_sheet else [])
        problems = [(fact_of(key), "its key is repeated") for key in repeated if key not in self.ignored]
        problems += self.of_line(found, facts, is_sheet)
        masked = {key for key in repeated if key not in self.ignored}
        kept = {key: facts.get(key) for key in facts.names if key not in masked}
        values: dict[str, Any] = {}
        for fact, keys in self.keys_of_facts(kept):
            values[fact], wrong = self.fact(fact, keys, kept)
            problems += wrong
        known = {name: value for name, value in values.items() if value is not None and name != "device.id"}
        return self.device(found, facts), known, problems

    def of_line(self, found: Pairs, facts: Pairs, is_sheet: bool) -> Iterator[Problem]:
        version = found.get("etconfig_fact_sheet")
        if "etconfig_fact_sheet" not in self.ignored and (
            version not in (..., None) and (type(version) is not int or version != 1)
        ):
            yield "", "the version of the sheet is not 1"
        if "facts" not in self.ignored and "facts" in facts.names:
            yield (
                "",
                "a whole sheet is under the key 'facts'"
                if is_sheet
                else "expected an object under the key 'facts'",
            )
        if not is_sheet:
            return
        for key in sorted({*found.names} - {*SHEET_KEYS, *self.device_keys, *self.ignored}):
            if self.registry.get(fact_of(key)) is not None:
                yield "", f"the fact {fact_of(key)!r} is beside the key 'facts'"
            else:
                yield "", f"unknown key {key!r} beside the key 'facts'"

    def keys_of_facts(self, kept: dict[str, Any]) -> list[tuple[str, list[str]]]:
        groups: dict[str, list[str]] = {}
        for key in kept:
            is_fact = self.registry.get(fact_of(key)) is not None
            if key not in (*SHEET_KEYS, *self.ignored) and (is_fact or key not in self.device_keys):
                groups.setdefault(fact_of(key), []).append(key)
        return sorted(groups.items())

    def fact(self, fact: str, keys: Sequence[str], kept: dict[str, Any]) -> tuple[Any, list[Problem]]:
        if len(keys) > 1:
            return None, [(fact, "its key is repeated")]
        info, entry = self.registry.get(fact), kept[keys[0]]
        if info is None:
            return None, [("", f"no fact is called {fact!r}")]
        value = entry
        if isinstance(entry, Pairs):
            value = entry.get("value")
            value = None if value is ... else value
        typed = None if value is None else value_of(info, value)
        problem = entry_problem(info, entry, value) if isinstance(entry, Pairs) else None
        if problem is None and value is not None and typed is None:
            problem = EXPECTED[info.type]
        return typed, [] if problem is None else [(fact, problem)]

    def device(self, found: Pairs, facts: Pairs) -> str | None:
        for key in self.device_keys:
            for place in (found, facts):
                value = place.get(key)
                if isinstance(value, Pairs):
                    value = value.get("value")
                if value not in (..., None) and not isinstance(value, list):
                    return value if isinstance(value, str) else json.dumps(value)
        return None


def entry_problem(info: FactInfo, entry: Pairs, value: Any) -> str | None:
    names, unit = entry.names, entry.get("unit")
    if entry.repeated:
        return "a key in its object is repeated"
    if not {*names} <= {*ENTRY_KEYS}:
        return "unknown key in its object"
    has_both = {"value", "unknown"} <= {*names} and value is not None and entry.get("unknown") is not None
    if not {"value", "unknown"} & {*names} or has_both:
        return "expected either 'value' or 'unknown' in its object"
    if unit not in (..., None) and unit != info.unit:
        return "it has no unit" if info.unit is None else f"its unit is {info.unit}"
    return None


def value_of(info: FactInfo, value: Any) -> Any:
    """The value in the type of its fact, None if it has another."""
    kinds: dict[FactType, tuple[type, ...]] = {
        FactType.BOOL: (bool,),
        FactType.INT: (int,),
        FactType.FLOAT: (int, float),
        FactType.STRING: (str,),
        FactType.STRING_LIST: (list,),
    }
    if type(value) not in kinds[info.type]:
        return None
    if info.type is FactType.INT:
        return value if -(2**63) <= value < 2**63 else None
    if info.type is FactType.FLOAT:
        try:
            return float(value) + 0.0
        except OverflowError:
            return float("inf") if value > 0 else -float("inf")
    if info.type is FactType.STRING_LIST and not all(each is None or type(each) is str for each in value):
        return None
    return value


def parsed(line: bytes) -> Any:
    """Return the value in a line; `...` if that is not one value in JSON."""
    try:
        text = line.decode().strip(" \t\r\n")
        value = json.loads(text, object_pairs_hook=Pairs)
        json.dumps(value, ensure_ascii=False).encode()  # no halves of characters
    except (ValueError, RecursionError):
        return ...
    return value


OWN_WAY = re.compile(rb"nan|inf|,\s*[\]}]|[\x00-\x08\x0b\x0c\x0e-\x1f]|\r.", re.IGNORECASE)
"""Texts that DuckDB reads in its own way, beyond JSON: NaN, last commas, and control characters."""


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file that are not empty."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    return [line for line in text.split(b"\n") if line.strip()]
