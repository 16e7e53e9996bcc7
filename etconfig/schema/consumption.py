"""`Consumes`: what an option takes of a resource that a budget limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import NoneType
from typing import TypeAlias

from etconfig.base.budgeted_resources import MAX_AMOUNT, RESOURCES
from etconfig.base.records import record

ResourceAmount: TypeAlias = "int | str | None"
"""A number, the name of an integer fact that gives it, or None if nobody can know it."""


@record(frozen=True)
class Consumes:
    """The part of a resource that an option takes: its value, unless something else is declared.

    Example:
        >>> from etconfig.plugin.v1 import Consumes
        >>> Consumes(
        ...     "threads",
        ...     counts={0: "cpu.physical_cores"},
        ...     only_if={"execution_mode": "parallel"},
        ... ).resource
        'threads'

    Attributes:
        resource: `threads` or `memory`, in bytes. Threads include the calling thread.
        counts: What other values than numbers stand for, and numbers that stand for another one, such as 0
            for all cores: a number, the name of the fact that has it, or None if it is unknown. A value that
            is not a number and is not named here is unknown.
        only_if: Other options with the value that each must have for this one to count.
        otherwise: What counts if one has another value.
        shared_if: Options with the values with which all instances of the process share what this option
            sizes: equal values then count once. An empty mapping stands for always, None for never. An
            option in scope `process` always counts once.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: the resource is not a known one, or a number is negative or above every budget.
    """

    resource: str
    counts: Mapping[object, ResourceAmount] = field(default_factory=dict, kw_only=True)
    only_if: Mapping[str, object] = field(default_factory=dict, kw_only=True)
    otherwise: ResourceAmount = field(default=0, kw_only=True)
    shared_if: Mapping[str, object] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.resource not in RESOURCES:
            raise ValueError(f"consumes is {self.resource!r}; expected one of {', '.join(RESOURCES)}")
        for name in ("counts", "only_if", "shared_if"):
            given = getattr(self, name)
            if not isinstance(given, Mapping) and (given is not None or name != "shared_if"):
                raise TypeError(f"{name} of Consumes is {given!r}; expected a mapping")
        for amount in (*self.counts.values(), self.otherwise):
            if isinstance(amount, bool) or not isinstance(amount, (int, str, type(None))):
                raise TypeError(f"Consumes has {amount!r}; expected a number, the name of a fact, or None")
            if isinstance(amount, int) and amount < 0:
                raise ValueError(f"Consumes has {amount}; expected 0 or more")
            if isinstance(amount, int) and amount > MAX_AMOUNT:
                raise ValueError(f"Consumes has a number above {MAX_AMOUNT}")

    def amount(self, options: object, value: object) -> ResourceAmount:
        """Return what an option with this value takes, beside the other options."""
        if not _have(options, self.only_if):
            return self.otherwise
        value = getattr(value, "value", value)  # an enum's member is declared by its value
        kind = type(value)  # true is 1, and a bool is not a number
        if self.counts and kind in (int, str, NoneType) and value in self.counts:
            return self.counts[value]
        return value if isinstance(value, int) and kind is int else None

    def is_shared(self, options: object) -> bool:
        """Return True if other instances with an equal value share what this option sizes."""
        return self.shared_if is not None and _have(options, self.only_if) and _have(options, self.shared_if)


def _have(options: object, wanted: Mapping[str, object]) -> bool:
    return all(
        getattr(getattr(options, name), "value", getattr(options, name)) == value
        for name, value in wanted.items()
    )


def checked_consumption(given: object) -> Consumes | None:
    """Return what `option(consumes=...)` was given.

    Raises:
        TypeError: it is neither a resource nor a `Consumes`.
        ValueError: the resource is not a known one.
    """
    if given is None or isinstance(given, Consumes):
        return given
    if not isinstance(given, str):
        raise TypeError(f"consumes of option() is {given!r}; expected a resource, or a Consumes")
    return Consumes(given)
