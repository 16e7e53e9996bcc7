"""`PackedConfiguration`: the arguments that a bundle has for one device, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from etconfig.base.records import record
from etconfig.schema.declaration import Applies, Scope
from etconfig.wire.runtime_limits import RuntimeLimits

PlainValue: TypeAlias = "bool | int | float | str | tuple[PlainValue, ...] | Mapping[str, PlainValue] | None"
"""An option's value: a choice by its name, an array as a tuple, a table as a mapping."""


@record(frozen=True, kw_only=True)
class PackedOption:
    """One option of one backend in one method instance.

    Attributes:
        name: Its name.
        value: Its value; None leaves it to the runtime.
        key: Its key in ExecuTorch's option map, or None if it has no key there.
        sent: The value as it is sent under that key, which differs for choices and arrays.
        scope: One method instance, or the whole process.
        applies: When it takes effect.
        is_set: True if somebody set it: its value is not a default, a recommendation, or the program's own.
        origin: The place that its value comes from.
    """

    name: str
    value: PlainValue
    key: str | None
    sent: PlainValue
    scope: Scope
    applies: Applies
    is_set: bool
    origin: str

    def obstacle(self, limits: RuntimeLimits) -> str | None:
        """Return the reason why a binding cannot carry it, or None if it can."""
        if self.key is None:
            return "the runtime has no key for it"
        if self.scope is Scope.PROCESS and not limits.has_process_scope:
            return "it applies to the whole process, and there is no call for that"
        return limits.problem(self.sent)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the option as plain data, without its name."""
        return {
            "value": self.value,
            "key": self.key,
            "sent": self.sent,
            "scope": self.scope.value,
            "applies": self.applies.value,
            "is_set": self.is_set,
            "origin": self.origin,
        }


@record(frozen=True)
class PackedBackend:
    """The options of one backend, by its id."""

    id: str
    options: tuple[PackedOption, ...]


@record(frozen=True)
class PackedMethod:
    """The arguments of one method instance.

    Attributes:
        method: The method, or `*` for any.
        instance: The named instance, or None for the default one.
        backends: The backends.
    """

    method: str
    instance: str | None
    backends: tuple[PackedBackend, ...]

    @property
    def label(self) -> str:
        """`forward` or `forward@left`."""
        return self.method if self.instance is None else f"{self.method}@{self.instance}"

    def options(self) -> Iterator[tuple[str, PackedOption]]:
        """Yield the id of its backend and the option, for every option."""
        for backend in self.backends:
            for option in backend.options:
                yield backend.id, option


@record(frozen=True)
class PackedConfiguration:
    """The arguments of one device or profile, resolved when packing.

    Attributes:
        name: The name by which a device selects it.
        fingerprint: The fingerprint of the resolution.
        methods: The arguments of each method instance.
    """

    name: str
    fingerprint: str
    methods: tuple[PackedMethod, ...]

    def __repr__(self) -> str:
        return f"<PackedConfiguration {self.name}: {', '.join(method.label for method in self.methods)}>"

    def to_jsonable(self) -> list[dict[str, Any]]:
        """Return the arguments as plain data, as `etconfig inspect --json` prints them for a bundle."""
        return [
            {"method": method.method, "instance": method.instance, "backend": backend.id}
            | {"options": {option.name: option.to_jsonable() for option in backend.options}}
            for method in self.methods
            for backend in method.backends
        ]
