"""Problems of profiles that `auto` can never select beside others, found on example devices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, Span
from etconfig.errors import ConfigError
from etconfig.expression import Expression
from etconfig.expression.checked import Checked
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_facts import SearchLimitError, example_facts
from etconfig.expression.proof.proof_steps import ProofLimitError, ProofSteps
from etconfig.facts.registry import FactRegistry
from etconfig.profile.directory import SUFFIX
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileFile, Provider
from etconfig.profile.profile import Profile
from etconfig.profile.selector import ConditionIndex

_MAX_STEPS = 2_000_000
"""The most steps of reasoning about profiles of one directory: about a second."""

_MAX_RIVALS = 64
"""The most profiles with which one is compared."""


@record(frozen=True)
class Contestant:
    """A profile that `auto` may select: the parts that count.

    Attributes:
        file: Its file.
        name: Its name.
        bases: The names of all profiles that it extends, directly or not.
        match: Its condition.
        model: The model for which it was tuned; None for all.
    """

    file: ProfileFile
    name: str
    bases: frozenset[str]
    match: Expression
    model: str | None = None

    @classmethod
    def of(cls, file: ProfileFile, chain: Sequence[Profile]) -> Contestant | None:
        """Return the contestant that is last in a chain, None if it has no condition.

        It keeps no text of a file in memory.
        """
        profile, span = chain[-1], Span(file=str(file.path))
        if profile.match is None:
            return None
        bases = frozenset(each.name for each in chain[:-1])
        model = None if profile.evidence is None else profile.evidence.model or None
        return cls(file, profile.name, bases, profile.match.found_at(lambda: span), model)

    @property
    def root(self) -> Path | None:
        """The directory of profiles in which its file lies where its name says, or None."""
        place = Path(os.path.abspath(self.file.path))  # noqa: PTH100  (`resolve` follows links)
        lies_there = self.name and place.as_posix().endswith(f"/{self.name}{SUFFIX}")
        return place.parents[self.name.count("/")] if lies_there else None


class Selectability:
    """The profiles among which `auto` selects.

    A profile A can never be selected if another one, B, matches wherever A does, A does not extend B, and
    either B extends A, or neither B nor a selectable profile that extends it comes from a less preferred kind
    of source than A. For on each device that A matches, B or a profile that extends it is then a candidate
    that A neither replaces nor outranks. On one example device of A, few others match; for each of these, a
    device is looked for that A matches and the other one does not.

    Args:
        contestants: Every profile that may be selected.
        registry: The facts that conditions may name.
    """

    def __init__(self, contestants: Iterable[Contestant], registry: FactRegistry) -> None:
        self._by_name = {each.name: each for each in contestants}
        self._nothing = Assumptions.none(registry, ProofSteps(_MAX_STEPS))
        self._index = ConditionIndex({name: each.match for name, each in self._by_name.items()})
        self._by_condition: dict[Checked, list[Contestant]] = {}
        for each in self._by_name.values():
            self._by_condition.setdefault(each.match.tree, []).append(each)
        self._least_provider = {name: each.file.provider for name, each in self._by_name.items()}
        for each in self._by_name.values():
            for base in each.bases & self._by_name.keys():
                self._least_provider[base] = min(self._least_provider[base], each.file.provider)

    def winner_over(self, loser: Contestant) -> Contestant | None:
        """Return a profile because of which another one can never be selected, or None if there is none.

        Raises:
            ProofLimitError: the search takes more steps than allowed.
        """
        match = loser.match
        met = self._nothing.assume(match.tree, True)
        if met is None:
            return None  # it never holds, which is reported
        equal = (each for each in self._by_condition.get(match.tree, ()) if self._beats(each, loser))
        winner = next(equal, None)
        device = self._example([(match, True)]) if winner is None else None
        if not isinstance(device, dict):
            return winner  # there is no example, or the search for one gave up
        self._nothing.steps.spend(len(self._by_name) >> 3)
        beside = (self._by_name[name] for name in self._index.holding(device))
        for rival in islice((each for each in beside if self._beats(each, loser)), _MAX_RIVALS):
            if met.implies(rival.match.tree) or self._example([(match, True), (rival.match, False)]) is None:
                return rival
        return None

    def _beats(self, other: Contestant, loser: Contestant) -> bool:
        """Return True if a profile is not selected where the other one matches, too."""
        if other.name == loser.name or other.name in loser.bases or other.model not in (None, loser.model):
            return False
        return loser.name in other.bases or self._least_provider[other.name] >= loser.file.provider

    def _example(self, truths: Sequence[tuple[Expression, bool]]) -> object:
        """Return the facts of a device; None if there is none, and the error if the search gave up."""
        assumed = self._nothing.assume_all((each.tree, is_met) for each, is_met in truths)
        try:
            return None if assumed is None else example_facts(truths, assumed)
        except SearchLimitError as error:
            return error


def unselectable_profiles(checked: Sequence[Contestant], reader: ProfileReader) -> Iterator[Diagnostic]:
    """Yield a problem for each profile that `auto` can never select.

    Args:
        checked: The profiles in question.
        reader: Reads the profiles of the library, which compete with the checked ones.
    """
    known = {each.file.real_path: each for each in checked}
    by_root: dict[Path | None, list[Contestant]] = {}
    for each in checked:
        root = None if each.file.name is not None else each.root
        if each.file.name is not None or root is not None:
            by_root.setdefault(root, []).append(each)
    for root, losers in by_root.items():
        least = min(each.file.provider for each in losers)
        # bundled ones extend no others, and beside a directory elsewhere, only packages are there for sure
        beside = [
            file
            for file in reader.library.files
            if file.provider is Provider.PACKAGE or (root is None and file.provider >= least)
        ]
        others = [each for each in (known.get(f.real_path) or _read(f, reader) for f in beside) if each]
        contest = Selectability((*losers, *others), reader.expressions.registry)
        with suppress(ProofLimitError):
            for loser in losers if len(losers) + len(others) > 1 else ():
                winner = contest.winner_over(loser)
                if winner is not None:
                    names = {loser.name, winner.name}
                    is_settled = any(names <= each.bases for each in (*losers, *others))
                    yield _problem(loser, winner, reader, is_settled=is_settled)


def _read(file: ProfileFile, reader: ProfileReader) -> Contestant | None:
    """Read a profile that was not checked; one that is wrong is reported where it is checked."""
    try:
        return Contestant.of(file, reader.chain(file))
    except ConfigError:
        return None
    finally:
        reader.forget(file)


def _problem(loser: Contestant, winner: Contestant, reader: ProfileReader, *, is_settled: bool) -> Diagnostic:
    """Return the problem of a profile that is never selected: an error if nothing is, wherever it matches.

    Args:
        loser: The profile.
        winner: The one that keeps it from being selected.
        reader: Reads what the library has.
        is_settled: True if a third profile extends both: it is selected where it matches.
    """
    # a reader of its own: what another profile extends was read under another path
    read = (ProfileReader(reader.library).profile(each.file).match for each in (loser, winner))
    way_out, reason = "let one extend the other, narrow a condition", "neither extends the other"
    severity = Severity.WARNING
    if loser.name in winner.bases:
        way_out, reason = f"narrow the condition of {winner.name!r}", "extends it"
    elif winner.file.provider > loser.file.provider:
        reason = "comes from a source that is preferred"
    elif winner.file.provider == loser.file.provider and not is_settled:
        severity = Severity.ERROR
    verb = "auto never selects" if severity is Severity.WARNING else "auto fails instead of selecting"
    return Diagnostic(
        code="unselectable-profile",
        message=f"{verb} {loser.name!r}: {winner.name!r} matches wherever it does, and {reason}",
        spans=tuple(match.span for match in read if match is not None),
        help=f"{way_out}, or remove `match` from {loser.name!r}, which can then be extended and named",
        severity=severity,
    )
