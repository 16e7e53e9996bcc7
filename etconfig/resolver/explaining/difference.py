"""Differences between two results: values count, origins do not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from etconfig.base.option_path import OptionPath
from etconfig.base.plain_data import jsonable
from etconfig.base.records import record
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.resolved import Resolved
from etconfig.schema.coerce import show_value
from etconfig.schema.declaration import Applies

ABSENT_TEXT = "(absent)"
"""What a difference shows for a side that lacks the value; `none` is a value."""


@record(frozen=True)
class ReportedValue:
    """A value of an option with its origin in words, as in a saved result.

    Attributes:
        value: The value as plain data for JSON.
        origin: The origin, such as `profile board.toml:3:1`.
        applies: When a change takes effect; None if that is unknown.
    """

    value: Any
    origin: str
    applies: Applies | None = None

    def __str__(self) -> str:
        return f"{show_value(self.value)} from {self.origin}"

    def to_jsonable(self) -> dict[str, Any]:
        """Return the value and its origin as plain data."""
        return {"value": self.value, "origin": self.origin}


@record(frozen=True, kw_only=True)
class OptionChange:
    """An option that differs between two results.

    Attributes:
        path: The option of one method instance.
        old: The old value; None if the option is new.
        new: The new value; None if the option is gone.
    """

    path: OptionPath
    old: ReportedValue | None
    new: ReportedValue | None

    @property
    def applies(self) -> Applies | None:
        """When the change takes effect; None if that is unknown, or if one side is missing."""
        return self.new.applies if self.old and self.new else None

    def __str__(self) -> str:
        """Return a line such as `forward:CpuBackend.num_threads: 2 → 4`."""
        old, new = (ABSENT_TEXT if side is None else show_value(side.value) for side in (self.old, self.new))
        return f"{self.path}: {old} → {new}"

    def to_jsonable(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return {
            "method": self.path.method,
            "instance": self.path.instance,
            "backend": self.path.backend,
            "option": self.path.option,
            "old": None if self.old is None else self.old.to_jsonable(),
            "new": None if self.new is None else self.new.to_jsonable(),
        }


def reported_values(resolution: Resolved) -> dict[OptionPath, ReportedValue]:
    """Return every option of every method instance of a resolution."""
    return {
        OptionPath(backend, name, arguments.method, arguments.instance): ReportedValue(
            jsonable(getattr(resolved.options, name)),
            str(arguments.origin(backend, name)),
            option.info.applies,
        )
        for arguments in resolution
        for backend, resolved in arguments.backends.items()
        for name, option in resolved.candidates.items()
    }


def option_values(resolution: Resolved) -> dict[str, Any]:
    """Return the value of every option of every method instance as plain data, by option path."""
    return {
        str(OptionPath(backend, name, arguments.method, arguments.instance)): value
        for arguments in resolution
        for backend, resolved in arguments.backends.items()
        for name, value in resolved.options.to_jsonable().items()
    }


def differences(
    old: Mapping[OptionPath, ReportedValue], new: Mapping[OptionPath, ReportedValue]
) -> tuple[OptionChange, ...]:
    """Return the options that `new` changes, lacks or adds, in the order of `old` and then of `new`."""
    changes = (
        OptionChange(path=path, old=old.get(path), new=new.get(path)) for path in dict.fromkeys([*old, *new])
    )
    return tuple(change for change in changes if not _is_same(change.old, change.new))


def standalone_differences(old: Resolved, new: Resolved) -> tuple[OptionChange, ...]:
    """Return the options that differ between two results without a program.

    These have the methods and backends that their layers mention. A method that only one of them mentions is
    compared with any method of the other one. Of a backend that only one of them mentions, the options count
    that a layer sets.
    """
    sides = reported_values(old), reported_values(new)
    unset = {*_unset_options(old), *_unset_options(new)}
    return tuple(
        change
        for change in (_beside_any_method(each, *sides) for each in differences(*sides))
        if not _is_same(change.old, change.new)
        and not ((change.old is None or change.new is None) and change.path in unset)
    )


def _beside_any_method(
    change: OptionChange,
    old: Mapping[OptionPath, ReportedValue],
    new: Mapping[OptionPath, ReportedValue],
) -> OptionChange:
    """Return a change with the value of any method on a side that lacks its own method."""
    any_method = OptionPath(change.path.backend, change.path.option, ANY_METHOD)
    return replace(change, old=change.old or old.get(any_method), new=change.new or new.get(any_method))


def _unset_options(resolution: Resolved) -> Iterator[OptionPath]:
    """Yield the options that no layer sets."""
    for arguments in resolution:
        for backend, resolved in arguments.backends.items():
            for name in resolved.candidates:
                if resolved.place_of(name) is None:
                    yield OptionPath(backend, name, arguments.method, arguments.instance)


def _is_same(old: ReportedValue | None, new: ReportedValue | None) -> bool:
    if old is None or new is None:
        return False
    if type(old.value) is type(new.value) and type(old.value) in (bool, int, str, type(None)):
        return bool(old.value == new.value)  # nearly all; the same as comparing their texts
    return canonical(old.value) == canonical(new.value)


def canonical(value: object) -> str:
    """Return the canonical JSON text of a value; it keeps true, 1 and 1.0 apart, unlike Python."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
