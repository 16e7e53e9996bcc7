"""The profile that `profile = "auto"` selected, and why; and the facts on which a decision depends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.expression import ClauseResult, EvaluationResult, Expression
from etconfig.profile.profile import Profile


@record(frozen=True, kw_only=True)
class ProfileMatch:
    """The result of matching one profile against a device.

    Attributes:
        profile: The profile.
        result: The value of its condition; None if it has no condition, and so is never selected.
        facts: The known facts of the device, by name; None if only the results are known.
    """

    profile: Profile
    result: EvaluationResult | None
    facts: Mapping[str, object] | None = field(repr=False, compare=False)

    @property
    def is_match(self) -> bool:
        """True if the condition holds. One that is unknown or cannot be computed does not."""
        return self.result is True

    @cached_property
    def clauses(self) -> tuple[ClauseResult, ...]:
        """The result of each clause of the condition; computed on demand, since it is rarely needed."""
        if self.profile.match is None or self.facts is None:
            return ()
        return self.profile.match.explain(self.facts)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why it matches or not: a sentence for each clause that decides."""
        if self.result is None:
            return ("it has no condition, so it can only be extended or named",)
        if self.facts is None:
            return (f"its condition {'holds' if self.is_match else 'does not hold'}",)
        return tuple(
            clause.explanation for clause in self.clauses if (clause.result is True) is self.is_match
        )


@record(frozen=True, kw_only=True)
class Selection:
    """The profile that was selected.

    Attributes:
        chain: The profiles that it extends, base first, and at the end the profile itself.
        profiles: Every profile of the library, sorted by name.
        facts: The known facts of the device, by name; None if the truth of the conditions was given instead.
        outranked: Unrelated profiles that match as well, but come from a less specific kind of source.
        passed_over: Profiles that match as well, but were tuned for another model.
        is_fallback: True if only a bundled profile that matches every device is left: `generic/any`.
    """

    chain: tuple[Profile, ...]
    profiles: tuple[Profile, ...] = field(repr=False)
    facts: Mapping[str, object] | None = field(repr=False)
    outranked: tuple[Profile, ...] = ()
    passed_over: tuple[Profile, ...] = ()
    is_fallback: bool = False
    _holding: frozenset[str] | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        mine, others = (
            (each.chain, each.outranked, each.is_fallback, each.matches) for each in (self, other)
        )
        return mine == others

    def __hash__(self) -> int:
        return hash((self.chain, self.outranked, self.is_fallback))

    @cached_property
    def matches(self) -> tuple[ProfileMatch, ...]:
        """Every profile of the library, sorted by name, with the reasons; computed on demand."""
        return matches_of(self.profiles, self.facts, self._holding)

    @property
    def profile(self) -> Profile:
        """The selected profile."""
        return self.chain[-1]

    def stays_on(self, facts: Mapping[str, object]) -> bool:
        """Return True if every condition gives what it gave before, so that nothing else is selected."""
        conditions = ((match.profile.match, match.result) for match in self.matches)
        return all(found is None or found.evaluate(facts) == result for found, result in conditions)

    @property
    def note(self) -> Diagnostic | None:
        """The note that this is the fallback, or None if the profile is about this device."""
        if not self.is_fallback:
            return None
        message = f"no profile is about this device: auto falls back to {self.profile.name!r}"
        return Diagnostic(code="no-matching-profile", message=message, severity=Severity.NOTE)

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """The same note, and one that profiles were tuned for other models only, if none is for this one."""
        notes = () if self.note is None else (self.note,)
        if not self.passed_over or any(profile.evidence is not None for profile in self.chain):
            return notes
        names = " and ".join(repr(profile.name) for profile in self.passed_over)
        tuned = Diagnostic(
            code="stale-evidence",
            message=f"auto passes over {names}, tuned for another model than this",
            spans=tuple(profile.name_span for profile in self.passed_over),
            help="measure again: `etconfig tune MODEL --output FILE`; or name it with --profile",
            severity=Severity.NOTE,
        )
        return (*notes, tuned)


def matches_of(
    profiles: Sequence[Profile], facts: Mapping[str, object] | None, holding: Collection[str] | None
) -> tuple[ProfileMatch, ...]:
    """Return the result of matching each profile.

    Args:
        profiles: The profiles.
        facts: The known facts of the device, by name; None if they are not known.
        holding: The names of the profiles whose conditions hold; None if the facts decide.
    """
    results = (
        None
        if profile.match is None
        else profile.name in holding
        if facts is None and holding is not None
        else profile.match.evaluate(facts or {})
        for profile in profiles
    )
    return tuple(
        ProfileMatch(profile=profile, result=result, facts=facts)
        for profile, result in zip(profiles, results, strict=True)
    )


@record(frozen=True, kw_only=True)
class Dependencies:
    """The facts that decide which profile is selected, or which values options get.

    Two devices that agree in all of this cannot differ in the decision: in the truth of every condition, in
    the values of the facts that something is computed from, and in the facts that functions of vendors read.

    Attributes:
        conditions: The conditions, each text once, in the order of their precedence. What counts is whether
            one holds: one that is unknown or cannot be computed does not.
        computed_from: The facts whose values count, sorted by name.
        advice: The facts that the declared advice of backends reads, sorted by name; all of them are in
            `conditions` or `computed_from`.
        functions: The ids of the backends that recommend values by a function, sorted. Which facts it reads
            is known after a call only.
        by_hand: The facts that layers set by hand, with their values, sorted by name. They replace facts of
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
