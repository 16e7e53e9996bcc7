"""`DeviceOutcome`: what a device gets, or why it gets nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from etconfig.app.configuring.project_tests import TestOutcome
from etconfig.base.option_path import OptionPath
from etconfig.base.records import record


@record(frozen=True)
class ResolvedOption:
    """The value of one option.

    Attributes:
        path: The option, with its method and instance.
        value: The value as JSON text.
        origin: The source that decided.
    """

    path: OptionPath
    value: str
    origin: str

    @classmethod
    def of(cls, path: OptionPath, value: object, origin: str) -> ResolvedOption:
        """Return an option with a value of plain data."""
        return cls(path, json.dumps(value, sort_keys=True, ensure_ascii=False), origin)


@record(frozen=True, kw_only=True)
class DeviceOutcome:
    """The decision about a device.

    Attributes:
        profile: The name of the profile, or None if there is none.
        resolution: The fingerprint of the options; None if they cannot be resolved.
        options: The value of every option.
        cause: The code of the problem, if there is one.
        message: The problem.
        matched: The names of the profiles whose conditions hold.
        signature: A text of what decided; equal texts have one outcome.
        fits: True if the programs fit into the memory; None if that is not known. It is not part of the data.
        tests: The outcome of each test of the project. It is not part of the data.
        variants: The number of the variant of each model, None if none suits. It is not part of the data.
    """

    profile: str | None = None
    resolution: str | None = None
    options: tuple[ResolvedOption, ...] = ()
    cause: str | None = None
    message: str | None = None
    matched: tuple[str, ...] = ()
    signature: str = ""
    fits: bool | None = None
    tests: tuple[tuple[str, TestOutcome], ...] = ()
    variants: tuple[tuple[str, int | None], ...] = ()

    def __hash__(self) -> int:
        """Return a hash without the options, which follow from the rest and take long."""
        return hash((self.profile, self.resolution, self.cause, self.message, self.matched, self.signature))

    def to_jsonable(self) -> dict[str, Any]:
        """Return the outcome as plain data, without the options: many outcomes share them."""
        return {**{name: getattr(self, name) for name in _TEXTS}, "matched": list(self.matched)}

    @classmethod
    def from_jsonable(cls, data: Mapping[str, Any], options: tuple[ResolvedOption, ...]) -> DeviceOutcome:
        """Return the outcome with these options that `to_jsonable` described."""
        return cls(**{name: data[name] for name in _TEXTS}, matched=tuple(data["matched"]), options=options)


_TEXTS = ("profile", "resolution", "cause", "message", "signature")


def options_to_jsonable(options: Sequence[ResolvedOption]) -> list[list[str | None]]:
    """Return options as plain data."""
    return [
        [each.path.method, each.path.instance, each.path.backend, each.path.option, each.value, each.origin]
        for each in options
    ]


def options_from_jsonable(rows: Sequence[Sequence[Any]]) -> tuple[ResolvedOption, ...]:
    """Return the options that `options_to_jsonable` described; equal ones are one object."""
    return _options(tuple(map(tuple, rows)))


@lru_cache(maxsize=1024)
def _options(rows: tuple[tuple[Any, ...], ...]) -> tuple[ResolvedOption, ...]:
    return tuple(
        ResolvedOption(OptionPath(backend, option, method, instance), value, origin)
        for method, instance, backend, option, value, origin in rows
    )
