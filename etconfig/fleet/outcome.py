"""`DeviceOutcome`: what a device gets, or why it gets nothing."""

from __future__ import annotations

import json
from typing import Any

from etconfig.option_path import OptionPath
from etconfig.records import record


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
    """

    profile: str | None = None
    resolution: str | None = None
    options: tuple[ResolvedOption, ...] = ()
    cause: str | None = None
    message: str | None = None
    matched: tuple[str, ...] = ()
    signature: str = ""

    def to_jsonable(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        names = ("profile", "resolution", "cause", "message", "signature")
        options = [
            [
                each.path.method,
                each.path.instance,
                each.path.backend,
                each.path.option,
                each.value,
                each.origin,
            ]
            for each in self.options
        ]
        return {
            **{name: getattr(self, name) for name in names},
            "matched": list(self.matched),
            "options": options,
        }

    @classmethod
    def from_jsonable(cls, data: dict[str, Any]) -> DeviceOutcome:
        """Return the outcome that `to_jsonable` described."""
        names = ("profile", "resolution", "cause", "message", "signature")
        options = (
            ResolvedOption(OptionPath(backend, option, method, instance), value, origin)
            for method, instance, backend, option, value, origin in data["options"]
        )
        return cls(
            **{name: data[name] for name in names},
            matched=tuple(data["matched"]),
            options=tuple(options),
        )
