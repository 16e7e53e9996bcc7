"""`option()`, which declares one option of a backend, and `OptionInfo`, which describes it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar

from etconfig.base.plain_data import jsonable
from etconfig.base.records import record
from etconfig.schema.consumption import Consumes, checked_consumption
from etconfig.schema.known_keys import KnownKey
from etconfig.schema.option_type import ChoiceValue, OptionType
from etconfig.schema.tuned_values import TuneRange, TuneValues, checked_tune
from etconfig.schema.units import Unit

MAX_KEY_LENGTH = 63
"""The maximum length of keys and backend ids in ExecuTorch's option map. Source: backend/options.h."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

EnvironmentWords: TypeAlias = "Mapping[str, Mapping[ChoiceValue | bool, str] | None]"
"""The environment variables that express an option, each with the text of each value, or None for all."""


_Member = TypeVar("_Member", bound=enum.Enum)


class Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"  # pickled by name, so that there is only one object


MISSING: Final = Missing()
"""The mark for no value; None and 0 are values."""


class Applies(enum.Enum):
    """The time at which an option takes effect."""

    LOAD = "load"
    """Once, when the method is loaded."""
    EXECUTE = "execute"
    """From the next execute on; the option can change while the method is loaded."""


class Scope(enum.Enum):
    """The range in which an option takes effect."""

    METHOD = "method"
    """One method instance."""
    PROCESS = "process"
    """Everything in this process that uses the backend, so methods must agree on it."""


@record(frozen=True, kw_only=True)
class Wire:
    """The form of an option in ExecuTorch's option map: a bool, 32-bit int or string under a key.

    Attributes:
        key: The key, or None if the map cannot carry the option at all.
        values: The value sent for each choice, if it is not the name of the choice.
        separator: The text that joins the items of an array, which is sent as one string.
        as_text: True if an integer is sent as a string of its decimal digits, beyond 32 bits, too.
    """

    key: str | None
    values: Mapping[str, bool | int | str] | None = None
    separator: str | None = None
    as_text: bool = False

    def __post_init__(self) -> None:
        if self.key is not None and not 1 <= len(self.key.encode()) <= MAX_KEY_LENGTH:
            raise ValueError(f"wire key {self.key!r} must have 1 to {MAX_KEY_LENGTH} bytes")
        if self.key is not None and "\0" in self.key:
            raise ValueError(f"wire key {self.key!r} contains a NUL, at which ExecuTorch ends it")


@record(frozen=True, kw_only=True)
class Declaration:
    """The arguments of `option()`, kept as the field's `json_schema_extra`."""

    doc: str
    applies: Applies
    scope: Scope
    from_fact: str | None
    unit: Unit | None
    since: str | None
    deprecated: str | None
    renamed_from: tuple[str, ...]
    wire: Wire | None
    invalidates_cache: bool = False
    known_keys: Mapping[str, KnownKey] | None = None
    keys_of_options: Mapping[str, str] | None = None
    newer_keys: str | None = None
    also_called: Mapping[ChoiceValue, ChoiceValue] | None = None
    names_methods: bool = False
    tune: TuneValues = None
    consumes: Consumes | None = None
    env: EnvironmentWords = field(default_factory=dict)

    def __call__(self, schema: dict[str, Any]) -> None:
        """Leave pydantic's JSON Schema as it is; etconfig generates its own."""


@record(frozen=True, kw_only=True)
class OptionInfo:
    """One option of a backend.

    Attributes:
        name: The option's name.
        type: Its type and constraints.
        doc: Its description for users.
        default: The value if nothing sets it, or `MISSING`.
        from_fact: The fact that gives its value; if the fact is unknown, `default` does.
        applies: The time at which it takes effect.
        scope: The range in which it takes effect.
        unit: The unit of its number, if any.
        since: The version of the plugin that introduced it.
        deprecated: Why not to set it anymore and what to do instead, or None.
        renamed_from: Its former names, which are still accepted.
        wire: Its form in ExecuTorch's option map.
        invalidates_cache: True if what the backend compiles depends on it, so that `cache_key` counts it.
        names_methods: True if the texts of its array are names of methods.
        tune: The values that `etconfig tune` tries; see `option`.
        consumes: What it takes of a resource that a budget limits, or None.
        env: The environment variables that express it; see `option`.
    """

    name: str
    type: OptionType
    doc: str
    default: object
    from_fact: str | None
    applies: Applies
    scope: Scope
    unit: Unit | None
    since: str | None
    deprecated: str | None
    renamed_from: tuple[str, ...]
    wire: Wire
    invalidates_cache: bool = False
    names_methods: bool = False
    tune: TuneValues = None
    consumes: Consumes | None = None
    env: EnvironmentWords = field(default_factory=dict)

    @property
    def is_required(self) -> bool:
        """True if it must be set, because it has neither a default nor a fact."""
        return self.default is MISSING and self.from_fact is None

    @property
    def constraints(self) -> tuple[str, ...]:
        """Its bounds in words, such as `>= 1`."""
        return self.type.constraint_texts

    @property
    def choices(self) -> tuple[ChoiceValue, ...]:
        """The allowed values, if they can be listed."""
        return self.type.choices

    @property
    def expected(self) -> str:
        """The expected value in words, such as `an integer >= 1`."""
        return self.type.expected


def option(
    default: object = MISSING,
    *,
    doc: str,
    applies: Applies | Literal["load", "execute"],
    scope: Scope | Literal["method", "process"] = Scope.METHOD,
    from_fact: str | None = None,
    unit: Unit | str | None = None,
    since: str | None = None,
    deprecated: str | None = None,
    renamed_from: str | Iterable[str] = (),
    wire: Wire | str | None = None,
    invalidates_cache: bool = False,
    known_keys: Mapping[str, KnownKey] | None = None,
    keys_of_options: Mapping[str, str] | None = None,
    newer_keys: str | None = None,
    also_called: Mapping[str | int, str | int] | None = None,
    names_methods: bool = False,
    tune: bool | Iterable[object] | TuneRange | None = None,
    consumes: str | Consumes | None = None,
    env: str | Iterable[str] | EnvironmentWords = (),
) -> Any:
    """Declare one option of a `BackendOptions` class.

    An option with neither `default` nor `from_fact` must be set. With `from_fact`, the resolver uses the
    value of the fact, or `default` if the fact is unknown.

    Args:
        default: The value if nothing sets the option. It may be written as in TOML: an enum member by value,
            a byte size or duration as text.
        doc: The description of the option for its users, in one or more sentences.
        applies: `load` (fixed when the method is loaded) or `execute` (can change later).
        scope: `method`, or `process` if the backend has one setting for all methods.
        from_fact: The dotted name of the fact that gives its value.
        unit: The unit of the number; bytes and times may then be written as text ("512 MiB").
        since: The version of the plugin that introduced the option.
        deprecated: Why not to set it anymore and what to do instead.
        renamed_from: Its former name or names; they are accepted with a warning.
        wire: Its key in ExecuTorch's option map, or a `Wire`, which also sends an array as one text
            (`separator`), an integer beyond 32 bits as its digits (`as_text`) or other values for choices
            (`values`); by default its own name.
        invalidates_cache: True if what the backend compiles depends on the value; see `cache_key`.
        known_keys: The keys that an option of the type `dict[str, str]` may have, and the texts of each; an
            engine may ignore others without an error.
        keys_of_options: Keys that another option sets, by key: they are refused with the name of that option.
        newer_keys: The option that takes the keys of an engine that is newer than `known_keys`, which the
            refusal of an unknown key names.
        also_called: Other spellings of the choices, such as in the engine's own API, and the choice of
            each: they are refused with what to write.
        names_methods: True if the texts of the array are names of methods, which are compared with methods of
            the program.
        tune: What `etconfig tune` tries: values, a `TuneRange`, True for the values that follow from the
            type (choices, true and false, numbers of threads up to the cores), False for nothing. Once an
            option of a class has it, those without it are tried only on request.
        consumes: What its value takes of a budget: `threads`, `memory` in bytes, or a `Consumes` if some
            values stand for something else.
        env: The environment variable, or variables, that the engine reads at its start for this option. A
            number is written as it is, a bool as 1 or 0. A mapping gives the engine's own texts by variable
            and value, as `{"ENGINE_PRECISION": {"high": "1"}}`; other values then have no text.

    Returns:
        A pydantic field.

    Raises:
        ValueError: `applies`, `scope`, `unit`, `wire` or `consumes` is not one of the known ones, or `env` is
            not the name of a variable.
        TypeError: `invalidates_cache` is not a bool, `tune` or `consumes` is something else than stated, or
            another argument is not a text.
    """
    from pydantic import Field  # imported late: only declarations of options need it

    declaration = Declaration(
        doc=doc,
        applies=_member(Applies, "applies", applies),
        scope=_member(Scope, "scope", scope),
        from_fact=_text("from_fact", from_fact),
        unit=None if unit is None else _member(Unit, "unit", unit),
        since=_text("since", since),
        deprecated=_text("deprecated", deprecated),
        renamed_from=_names(renamed_from),
        wire=_wire(wire),
        invalidates_cache=_flag("invalidates_cache", invalidates_cache),
        known_keys=_known_keys(known_keys),
        keys_of_options=_keys_of_options(keys_of_options, known_keys),
        newer_keys=_text("newer_keys", newer_keys),
        also_called=_spellings(also_called),
        names_methods=_flag("names_methods", names_methods),
        tune=checked_tune(tune),
        consumes=checked_consumption(consumes),
        env=_variables(env),
    )
    if default is MISSING:
        return Field(json_schema_extra=declaration)
    return Field(default, json_schema_extra=declaration)


def _member(kind: type[_Member], argument: str, given: object) -> _Member:
    try:
        return kind(given)
    except ValueError:
        known = ", ".join(repr(each.value) for each in kind)
        raise ValueError(f"{argument} of option() is {given!r}; expected one of {known}") from None


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"renamed_from of option() is {given!r}; expected a name, or names")
    return names


def _wire(given: Wire | str | None) -> Wire | None:
    if given is not None and not isinstance(given, (Wire, str)):
        raise TypeError(f"wire of option() is {given!r}; expected a key, or a Wire")
    return Wire(key=given) if isinstance(given, str) else given


def _flag(argument: str, given: object) -> bool:
    if isinstance(given, bool):
        return given
    raise TypeError(f"{argument} of option() is {given!r}; expected True or False")


def _known_keys(given: Mapping[str, KnownKey] | None) -> Mapping[str, KnownKey] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(known, KnownKey) for known in given.values()):
        raise TypeError("known_keys of option() must map keys to KnownKey")
    if not given:
        raise ValueError("known_keys of option() is empty; leave it out, or name the keys")
    return MappingProxyType(dict(given))


def _keys_of_options(
    given: Mapping[str, str] | None, known: Mapping[str, KnownKey] | None
) -> Mapping[str, str] | None:
    if given is None:
        return None
    if known is None:
        raise TypeError("keys_of_options of option() needs known_keys")
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given.values()):
        raise TypeError("keys_of_options of option() must map keys to names of options")
    both = sorted({*given} & {*known})
    if both:
        raise ValueError(
            f"keys_of_options of option() has the known key {both[0]!r}; leave it out of one of them"
        )
    return MappingProxyType(dict(given))


def _spellings(given: Mapping[str | int, str | int] | None) -> Mapping[ChoiceValue, ChoiceValue] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(f"also_called of option() is {given!r}; expected choices by their other spellings")
    return MappingProxyType(dict(given))


def _variables(given: str | Iterable[str] | EnvironmentWords) -> EnvironmentWords:
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = (given,)
    found = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    for name, texts in found.items():
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise ValueError(f"env of option() has {name!r}, which is not the name of a variable")
        if texts is not None:
            if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
                raise TypeError(f"env of option() must map the values of {name} to texts")
            found[name] = {jsonable(value): text for value, text in texts.items()}
    return found


def _text(argument: str, given: object) -> str | None:
    if given is None or (isinstance(given, str) and given.strip()):
        return given
    raise TypeError(f"{argument} of option() is {given!r}; expected a text")
