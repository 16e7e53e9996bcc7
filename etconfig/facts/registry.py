"""The registry of facts: their names, types, units and meanings. `BUILTIN_FACTS` is in builtin.py."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeAlias, TypeGuard

from etconfig.base.records import record

_MISNOMERS: Mapping[str, Mapping[str, str]] = {
    "cpu.arch": {
        "aarch64": "arm64",
        "amd64": "x86_64",
        "armv6l": "arm",
        "armv7l": "arm",
        "armv8l": "arm",
        "i386": "x86",
        "i686": "x86",
        "x64": "x86_64",
        "x86-64": "x86_64",
    },
    "os.name": {"darwin": "macos", "mac": "macos", "osx": "macos", "nt": "windows", "win32": "windows"},
}
"""The common names by fact; the values of these facts are in lower case."""

FactValue: TypeAlias = "bool | int | float | str | tuple[str, ...]"
"""The value of a fact; the fact's `FactType` decides which of these types it has."""

INDEX = "<n>"
"""The placeholder for a number in the name of a family: `gpu.<n>.name` has the member `gpu.0.name`."""

INDEX_PATTERN = "(0|[1-9][0-9]{0,3})"
"""A regular expression for these numbers."""

INT_FACT_MIN, INT_FACT_MAX = -(2**63), 2**63 - 1
"""The bounds of every integer fact, in addition to its own."""

HIDDEN_VALUE = "(set, not shown)"
"""Stands in reports for a value that identifies the device."""

HIDDEN_FACTS = frozenset(("device.id",))
"""The built-in facts whose values identify the device."""

_NAME = re.compile(rf"[a-z][a-z0-9_]*(\.({INDEX}|[a-z][a-z0-9_]*))+")

_NUMBER = re.compile(rf"(?:\A|(?<=\.)){INDEX_PATTERN}(?=\.|\Z)")

_SHOWN_CHARACTERS = 60

MAX_CHARACTERS = 1 << 20
"""The most characters of a fact, which is a text or a list of texts, and of the texts about it."""


def meant_value(fact: str, value: object) -> str | None:
    """Return the fact's own spelling of `value`, or None if `value` may be right."""
    if fact not in _MISNOMERS or not isinstance(value, str):
        return None
    lower = value.lower()
    meant = _MISNOMERS[fact].get(lower, lower)
    return None if meant == value else meant


class FactType(enum.Enum):
    """The type of a fact's value."""

    BOOL = "bool"
    INT = "int"
    """Signed, 64 bits."""
    FLOAT = "float"
    """Finite. An int is accepted as the same number."""
    STRING = "string"
    """Printable: no line breaks and no control characters."""
    STRING_LIST = "string list"
    """A tuple in Python; a list is accepted too."""

    def check(self, value: object) -> FactValue:
        """Return `value` as a value of this type.

        Raises:
            ValueError: it has another type; the message says what was expected and found.
        """
        size = _size(value)
        if size > MAX_CHARACTERS:
            raise ValueError(f"expected at most {MAX_CHARACTERS:,} characters, found {size:,}")
        checked = self._convert(value)
        if checked is None:
            raise ValueError(f"expected {_EXPECTED[self]}, found {shown_value(value)}")
        return checked

    def _convert(self, value: object) -> FactValue | None:
        # bool is a subclass of int, but TOML, JSON and conditions distinguish the two
        if isinstance(value, bool):
            return value if self is FactType.BOOL else None
        if self is FactType.INT:
            return value if isinstance(value, int) and INT_FACT_MIN <= value <= INT_FACT_MAX else None
        if self is FactType.FLOAT:
            return _finite(value) if isinstance(value, (int, float)) else None
        if self is FactType.STRING:
            return str.__str__(value) if _is_text(value) else None  # not a class of its own
        if self is FactType.STRING_LIST and isinstance(value, (list, tuple)):
            return tuple(map(str.__str__, value)) if all(map(_is_text, value)) else None
        return None


_EXPECTED = {
    FactType.BOOL: "true or false",
    FactType.INT: "an int of at most 64 bits",
    FactType.FLOAT: "a finite number",
    FactType.STRING: "a string of printable characters",
    FactType.STRING_LIST: "a list of strings of printable characters",
}


def _finite(number: int | float) -> float | None:
    try:
        converted = float(number)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def _size(value: object) -> int:
    """Return the characters of a text, or of all texts of a list, where each item counts one, too."""
    if isinstance(value, str):
        return str.__len__(value)
    if isinstance(value, (list, tuple)):
        return len(value) + sum(str.__len__(each) for each in value if isinstance(each, str))
    return 0


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.isprintable()


def shown_value(value: object) -> str:
    """Return `value` for a message: shortened, and with `true` for True."""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except Exception as error:
        text = f"a {type(value).__name__} whose text raises {type(error).__name__}"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


class Volatility(enum.Enum):
    """The time for which a fact stays true."""

    STATIC = "static"
    """As long as the hardware stays the same."""
    BOOT = "boot"
    """Until the device restarts, or its software is reinstalled or upgraded."""
    LIVE = "live"
    """It may change at any time."""


@record(frozen=True, kw_only=True)
class FactInfo:
    """The declaration of a fact.

    Attributes:
        name: Dotted, such as `cpu.cache.l2`; a part `<n>` makes it an indexed family.
        type: The type of its value.
        doc: Its meaning, in a sentence.
        volatility: The time for which it stays true.
        unit: The unit of its value, such as `bytes`; None if it has no unit.
        choices: The allowed values of a string; empty if any is allowed. Of a list of strings, the usual
            items: it may have others, but a condition may not ask for a misspelt one.
        minimum: The smallest value of a number, or None.
        maximum: The largest value of a number, or None.
        is_identifying: True if a value identifies one device or its user, rather than a model: a serial
            number, a name that somebody chose. Such values are not shown in reports. None if it is not
            declared: then a text counts as identifying where a sheet is redacted.
    """

    name: str
    type: FactType
    doc: str
    volatility: Volatility
    unit: str | None = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    is_identifying: bool | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not a fact name; expected lower-case words joined by dots, "
                f"for example cpu.cache.l2 or gpu.{INDEX}.name"
            )

    @property
    def namespace(self) -> str:
        """The first part of the name, such as `cpu`."""
        return self.name.partition(".")[0]

    @property
    def is_family(self) -> bool:
        """True if the name stands for many facts, one for each index."""
        return INDEX in self.name.split(".")

    def check(self, value: object) -> FactValue:
        """Return `value` as a value of this fact.

        Raises:
            ValueError: the value has another type, or is out of bounds.
        """
        checked = self.type.check(value)
        if self.choices and self.type is FactType.STRING and checked not in self.choices:
            expected = " or ".join(map(repr, self.choices))
            raise ValueError(f"expected {expected}, found {shown_value(value)}")
        meant = meant_value(self.name, checked)
        if meant is not None and meant == str(checked).lower():
            raise ValueError(f"expected a text in lower case, found {shown_value(value)}")
        if meant is not None:
            raise ValueError(f"it is called {meant!r} here, found {shown_value(value)}")
        if isinstance(checked, (int, float)):
            if self.minimum is not None and checked < self.minimum:
                raise ValueError(f"expected at least {self.minimum:g}, found {checked}")
            if self.maximum is not None and checked > self.maximum:
                raise ValueError(f"expected at most {self.maximum:g}, found {checked}")
        return checked


@record(frozen=True)
class FactRegistry:
    """The known facts. A registry never changes; `extended` returns a new one.

    Raises:
        ValueError: two facts have the same name.
    """

    infos: tuple[FactInfo, ...]
    _by_name: dict[str, FactInfo] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[str, FactInfo] = {}
        for info in self.infos:
            if by_name.setdefault(info.name, info) is not info:
                raise ValueError(f"fact {info.name!r} is declared twice")
        object.__setattr__(self, "_by_name", by_name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the order of declaration; families by their pattern, such as `gpu.<n>.name`."""
        return tuple(self._by_name)

    @cached_property
    def plain_names(self) -> tuple[str, ...]:
        """The names of all facts but families, in the order of declaration."""
        return tuple(info.name for info in self.infos if not info.is_family)

    def in_order(self, values: dict[str, FactValue]) -> dict[str, FactValue]:
        """Return values in the order of the facts, then members of families in their own order."""
        ordered = {name: values[name] for name in self.plain_names if name in values}
        return ordered if len(ordered) == len(values) else {**ordered, **values}

    def begins_with(self, other: FactRegistry) -> bool:
        """Return True if the first facts are the facts of another registry, in the same order."""
        return self.infos[: len(other.infos)] == other.infos

    def get(self, name: str) -> FactInfo | None:
        """Return the fact of this name, or None.

        `gpu.0.name` gives the family `gpu.<n>.name`; the pattern itself is not the name of a fact.
        """
        info = self._by_name.get(name)
        if info is None:
            return self._by_name.get(_NUMBER.sub(INDEX, name))
        return None if info.is_family else info

    def extended(self, infos: Iterable[FactInfo]) -> FactRegistry:
        """Return a registry with the facts of one plugin added, which have their own namespaces.

        Raises:
            ValueError: a namespace is already taken, or two of the facts have the same name.
        """
        added = tuple(infos)
        taken = {info.namespace for info in self.infos}
        for info in added:
            if info.namespace in taken:
                raise ValueError(
                    f"fact {info.name!r} lies in the namespace {info.namespace!r}, which is taken; "
                    "choose one of your own, such as your plugin's name"
                )
        return FactRegistry(self.infos + added)


class LazyFactRegistry(FactRegistry):
    """The facts of one registry, and the facts that plugins add in their own namespaces.

    A plugin that hangs or breaks when it is imported affects only users who name a fact outside of the first
    registry, or who list all facts.

    Args:
        first: The facts that need no plugin.
        declared: Returns the other facts that are known without importing a plugin.
        complete: Returns the registry of all facts, which begins with the first. It may import plugins.
    """

    _first: FactRegistry
    _find_declared: Callable[[], FactRegistry]
    _find_all: Callable[[], FactRegistry]

    def __init__(
        self,
        first: FactRegistry,
        declared: Callable[[], FactRegistry],
        complete: Callable[[], FactRegistry],
    ) -> None:
        vars(self).update(_first=first, _find_declared=declared, _find_all=complete)

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return frozenset(info.namespace for info in self._first.infos)

    @cached_property
    def _declared(self) -> FactRegistry:
        return self._find_declared()

    @cached_property
    def _complete(self) -> FactRegistry:
        return self._find_all()

    @property
    def infos(self) -> tuple[FactInfo, ...]:
        """All facts."""
        return self._complete.infos

    @property
    def _by_name(self) -> dict[str, FactInfo]:
        return self._complete._by_name

    def begins_with(self, other: FactRegistry) -> bool:
        """Return True if the first facts are the facts of another registry, in the same order."""
        return self._first.begins_with(other) or super().begins_with(other)

    def in_order(self, values: dict[str, FactValue]) -> dict[str, FactValue]:
        """Return values in the order of the facts, then members of families in their own order."""
        known = (self._first, self._declared)
        if not all(any(name in registry for registry in known) for name in values):
            return super().in_order(values)
        names = (*self._first.plain_names, *self._declared.plain_names)
        return {**{name: values[name] for name in names if name in values}, **values}

    def get(self, name: str) -> FactInfo | None:
        """Return the fact of this name, or None. Plugins add no facts to the namespaces of the first ones."""
        found = self._first.get(name)
        if found is None and "." in name and name.partition(".")[0] not in self._namespaces:
            found = self._declared.get(name) or self._complete.get(name)
        return found

    def __eq__(self, other: object) -> bool:
        return self.infos == other.infos if isinstance(other, FactRegistry) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.infos)

    def __reduce__(self) -> tuple[object, ...]:
        return FactRegistry, (self.infos,)  # what finds the plugins may not pickle
