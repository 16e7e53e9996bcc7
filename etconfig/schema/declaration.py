"""`option()` declares one option of a backend; `OptionInfo` is all that is known about it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from etconfig.records import record
from etconfig.schema.option_type import ChoiceValue, OptionType
from etconfig.schema.units import Unit

MAX_KEY_LENGTH = 63
"""The longest key and backend id that ExecuTorch's option map holds. Source: backend/options.h."""


class Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"  # pickles by name, so that there is only one


MISSING: Final = Missing()
"""No value was given; None and 0 are values."""


class Applies(enum.Enum):
    """When an option takes effect."""

    LOAD = "load"
    """Once, when the method is loaded."""
    EXECUTE = "execute"
    """From the next execute on; it can be changed while the method is loaded."""


class Scope(enum.Enum):
    """How far an option reaches."""

    METHOD = "method"
    """One method instance."""
    PROCESS = "process"
    """Everything that uses the backend in this process, so methods must agree on it."""


@record(frozen=True, kw_only=True)
class Wire:
    """How ExecuTorch's option map carries an option: bool, 32-bit int or string under a key.

    Attributes:
        key: The key, or None when the map cannot carry the option at all.
        values: What each choice is sent as, when it is not sent by its own name.
        separator: What joins the items of an array, which is sent as one string.
    """

    key: str | None
    values: Mapping[str, bool | int | str] | None = None
    separator: str | None = None

    def __post_init__(self) -> None:
        if self.key is not None and not 1 <= len(self.key.encode()) <= MAX_KEY_LENGTH:
            raise ValueError(f"wire key {self.key!r} must have 1 to {MAX_KEY_LENGTH} bytes")


@record(frozen=True, kw_only=True)
class Declaration:
    """What `option()` was told. It travels as the field's `json_schema_extra`."""

    doc: str
    applies: Applies
    scope: Scope
    from_fact: str | None
    unit: Unit | None
    since: str | None
    deprecated: str | None
    renamed_from: tuple[str, ...]
    wire: Wire | None

    def __call__(self, schema: dict[str, Any]) -> None:
        """Leave pydantic's own JSON Schema as it is: etconfig generates another one."""


@record(frozen=True, kw_only=True)
class OptionInfo:
    """One option of a backend.

    Attributes:
        name: The option's name.
        type: Its type and constraints.
        doc: What it does, for users.
        default: The value when nothing sets it, or `MISSING`.
        from_fact: The fact that it takes its value from; when the fact is unknown, `default` holds.
        applies: When it takes effect.
        scope: How far it reaches.
        unit: What its number counts, if anything.
        since: The version of the plugin that introduced it.
        deprecated: Why not to set it any more and what to do instead, or None.
        renamed_from: Its former names, which are still accepted.
        wire: How ExecuTorch's option map carries it.
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

    @property
    def is_required(self) -> bool:
        """Whether somebody must set it: it has neither a default nor a fact."""
        return self.default is MISSING and self.from_fact is None

    @property
    def constraints(self) -> tuple[str, ...]:
        """Its bounds in words, such as `>= 1`."""
        return self.type.constraint_texts

    @property
    def choices(self) -> tuple[ChoiceValue, ...]:
        """The values it may have, when they can be listed."""
        return self.type.choices

    @property
    def expected(self) -> str:
        """What a value must be, in words, such as `an integer >= 1`."""
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
) -> Any:
    """Declare one option of a `BackendOptions` class.

    Without `default` and `from_fact` somebody must set the option. With `from_fact` the
    resolver takes the fact's value; when the fact is unknown it falls back to `default`.

    Args:
        default: The value when nothing sets the option. May be written as in TOML: an enum
            member by name, a byte size or duration as text.
        doc: What the option does, one or more sentences for its users.
        applies: `load` (fixed when the method is loaded) or `execute` (can be changed later).
        scope: `method`, or `process` when the backend has one setting for all methods.
        from_fact: The dotted name of the fact it takes its value from.
        unit: What the number counts; bytes and times may then be given as text ("512 MiB").
        since: The version of the plugin that introduced the option.
        deprecated: Why not to set it any more and what to do instead.
        renamed_from: Its former name or names; they are accepted with a warning.
        wire: Its key in ExecuTorch's option map, or a `Wire`; by default its own name.

    Returns:
        A pydantic field.

    Raises:
        ValueError: `applies`, `scope`, `unit` or `wire` is not one of the known ones.
    """
    from pydantic import Field  # only who declares options needs it

    declaration = Declaration(
        doc=doc,
        applies=Applies(applies),
        scope=Scope(scope),
        from_fact=from_fact,
        unit=None if unit is None else Unit(unit),
        since=since,
        deprecated=deprecated,
        renamed_from=(renamed_from,) if isinstance(renamed_from, str) else tuple(renamed_from),
        wire=Wire(key=wire) if isinstance(wire, str) else wire,
    )
    if default is MISSING:
        return Field(json_schema_extra=declaration)
    return Field(default, json_schema_extra=declaration)
