"""`Dependencies`: the facts that decide, by the way in which each decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property

from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.expression import Expression


@record(frozen=True, kw_only=True)
class Dependencies:
    """The facts that decide which profile is selected, or which values options get.

    Two devices that agree in all of this cannot differ in the decision: in the truth of every condition, in
    the values of the facts that something is computed from, and in the facts that functions of vendors read.

    Attributes:
        conditions: The conditions, each text once, in the order of their precedence. What counts is whether
            one holds: one that is unknown or cannot be computed does not.
        computed_from: The facts whose values count, sorted by name.
        advice: The facts that the declared advice of backends reads, sorted by name; they are among those of
            `conditions` and `computed_from`.
        functions: The ids of the backends that recommend values by a function, sorted. Which facts it reads
            is known after a call only.
        by_hand: The facts that layers set by hand, with their values, sorted by name. They replace those of
            the device, in conditions too.
    """

    conditions: tuple[Expression, ...] = ()
    computed_from: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    by_hand: Mapping[str, Sourced[object]] = field(default_factory=dict)

    @cached_property
    def facts(self) -> frozenset[str]:
        """The names of all facts of the device that decide, as far as they are known beforehand."""
        named = frozenset(self.computed_from).union(*(condition.facts for condition in self.conditions))
        return named.difference(self.by_hand)

    @property
    def is_complete(self) -> bool:
        """True if no function of a vendor decides, so that only `facts` count."""
        return not self.functions


def dependencies_on(
    conditions: Iterable[Expression],
    *,
    computed_from: Iterable[str] = (),
    advice: Iterable[str] = (),
    functions: Iterable[str] = (),
    by_hand: Mapping[str, Sourced[object]] | None = None,
) -> Dependencies:
    """Return dependencies without what is the same on every device, each once and in order."""
    fixed = by_hand or {}
    distinct: dict[str, Expression] = {}
    for condition in conditions:
        distinct.setdefault(condition.source, condition)
    return Dependencies(
        conditions=tuple(each for each in distinct.values() if not each.facts <= fixed.keys()),
        computed_from=tuple(sorted(set(computed_from) - fixed.keys())),
        advice=tuple(sorted(set(advice) - fixed.keys())),
        functions=tuple(sorted(set(functions))),
        by_hand=dict(sorted(fixed.items())),
    )
