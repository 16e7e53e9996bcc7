"""`Memo`: the results of a resolver's last resolve, so that the next one repeats only what must change.

One resolve is remembered, not many: facts change one at a time, and memory stays that of one result. A
`LastResolve` never changes once it is made, and a memo takes a new one by a single assignment. So threads
need no lock: the worst that a race can do is to compute something twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.records import record
from etconfig.resolver.arguments import Arguments
from etconfig.resolver.backend_candidates import BackendResult
from etconfig.resolver.recommendation import Recommendation

MethodInstance: TypeAlias = "tuple[str, str | None]"
"""A method and one of its instances; None is the default instance."""


@record(frozen=True, kw_only=True)
class LastResolve:
    """The results of a resolve that succeeded, in the order of the `IncrementalResolver` that made them.

    Attributes:
        values: The values of the facts of the device, which do not change.
        facts: The values of the facts that the results depend on.
        conditions: For each condition, by identity, whether it holds.
        recommendations: The vendors' recommendations, by backend id.
        results: The result for each backend of each method instance.
        instances: For each method instance its arguments, or its problems.
        arguments: The arguments of the method instances that have them.
        incomplete: The problems of the others.
    """

    values: Mapping[str, object]
    facts: tuple[object, ...]
    conditions: Mapping[int, bool]
    recommendations: Mapping[str, Recommendation]
    results: Sequence[BackendResult]
    instances: Sequence[Arguments | Sequence[Diagnostic]]
    arguments: Mapping[MethodInstance, Arguments]
    incomplete: Mapping[MethodInstance, Sequence[Diagnostic]]

    def on_other_facts(
        self, values: Mapping[str, object], facts: tuple[object, ...], conditions: Mapping[int, bool]
    ) -> LastResolve:
        """Return the same results for facts that change none of them; much faster than `replace`."""
        return LastResolve(
            values=values,
            facts=facts,
            conditions=conditions,
            recommendations=self.recommendations,
            results=self.results,
            instances=self.instances,
            arguments=self.arguments,
            incomplete=self.incomplete,
        )


@dataclass
class Memo:
    """The last resolve, if there was one. It does not pickle: a copy of a resolver starts with none."""

    last: LastResolve | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Memo, ()
