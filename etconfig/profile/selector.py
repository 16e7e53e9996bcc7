"""`ProfileSelector`: the rule of `profile = "auto"`, over profiles that were read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, did_you_mean
from etconfig.errors import ConfigError, ProfileError
from etconfig.expression import Expression
from etconfig.expression.checked import Checked, Constant, FactValueOf, Logic, Operation
from etconfig.facts.deferred import DeferredValues
from etconfig.profile.evidence import TuningEvidence
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileFile, ProfileLibrary, Provider
from etconfig.profile.profile import Profile
from etconfig.profile.selection import Dependencies, ProfileMatch, Selection, dependencies_on, matches_of

ConcernsModel: TypeAlias = "Callable[[TuningEvidence], bool | None]"
"""Returns True if evidence is about a model that is configured; None if that cannot be known."""


class ConditionIndex:
    """Conditions by name, indexed by the values that facts must have for them to hold.

    Args:
        conditions: The conditions, by name.
    """

    def __init__(self, conditions: Mapping[str, Expression]) -> None:
        required = {name: dict(_required_texts(condition.tree)) for name, condition in conditions.items()}
        variety: dict[str, set[str]] = {}
        for texts in required.values():
            for fact, choices in texts.items():
                variety.setdefault(fact, set()).update(choices)
        self._numbered = [*conditions.items()]
        self._always: list[int] = []
        self._by_text: dict[str, dict[str, list[int]]] = {}
        for number, name in enumerate(conditions):
            texts = required[name]
            if not texts:
                self._always.append(number)
                continue
            fact = max(texts, key=lambda each: len(variety[each]))
            for text in set(texts[fact]):
                self._by_text.setdefault(fact, {}).setdefault(text, []).append(number)

    def holding(self, facts: Mapping[str, object]) -> Iterator[str]:
        """Yield the names of the conditions that are true on a device with these facts, in their order."""
        numbers = [*self._always]
        for fact, by_text in self._by_text.items():
            numbers += by_text.get(facts.get(fact), ())  # type: ignore[call-overload]  # an unknown one has none
        numbers.sort()
        for number in numbers:
            name, condition = self._numbered[number]
            if condition.evaluate(facts) is True:
                yield name


def _required_texts(tree: Checked) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield facts with the texts of which each must have one, or the condition does not hold."""
    if isinstance(tree, Logic) and not tree.decisive:  # `&&`
        for operand in tree.operands:
            yield from _required_texts(operand)
    elif isinstance(tree, Operation):
        match tree:
            case Operation("==", (FactValueOf(fact), Constant(str(text)))):
                yield fact, (text,)
            case Operation("==", (Constant(str(text)), FactValueOf(fact))):
                yield fact, (text,)
            case Operation("in", (FactValueOf(fact), Constant(tuple(texts)))) if texts and all(
                isinstance(each, str) for each in texts
            ):
                yield fact, texts


@record(frozen=True)
class _Chain:
    """A profile that may be selected, with all that it extends, base first."""

    profiles: tuple[Profile, ...]
    provider: Provider


class ProfileSelector:
    """The profiles of a library, all of them read, and the rule by which `auto` selects one.

    A selector keeps what it read: later changes of the files do not count. Several threads may use it at the
    same time.

    Example:
        >>> from etconfig.profile import ProfileSelector
        >>> selector = ProfileSelector(etconfig.Installation().profiles)
        >>> "device.model" in selector.dependencies.facts
        True
        >>> selector.choose({"generic/any": True, "raspberry-pi/pi-5": True}).profile.name
        'raspberry-pi/pi-5'

    Args:
        library: The profiles.
        reader: A reader of that library, to keep what it has read.

    Raises:
        ConfigError: with the problems of all profiles; one that cannot be read might be the right one.
    """

    def __init__(self, library: ProfileLibrary, reader: ProfileReader | None = None) -> None:
        self._reader = reader or ProfileReader(library)
        self._files: dict[str, ProfileFile] = {}
        self._chains: dict[str, _Chain] = {}
        profiles: list[Profile] = []
        problems = list(library.problems)
        for name in library.selectable_names:
            try:
                self._files[name] = library.find(name)
                profiles.append(self._reader.profile(self._files[name]))
            except ConfigError as error:
                problems.extend(error.diagnostics)
        if problems:
            raise ProfileError(diagnostics=tuple(problems))
        self._profiles = tuple(profiles)
        self._concerns: ConcernsModel = _cannot_know
        self._by_name = {profile.name: profile for profile in profiles}

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles, sorted by name."""
        return self._profiles

    def for_models(self, concerns: ConcernsModel) -> ProfileSelector:
        """Return the selector for some models: `auto` passes over profiles that were tuned for others.

        Where that cannot be known, they count.
        """
        if all(profile.evidence is None for profile in self._profiles):
            return self
        found = copy(self)
        found._concerns = concerns
        vars(found).pop("conditions", None)
        vars(found).pop("dependencies", None)
        return found

    @cached_property
    def conditions(self) -> Mapping[str, Expression]:
        """The condition of each profile that may be selected, by the profile's name, sorted."""
        return {name: match for name, match in self._conditions.items() if self._suits_models(name)}

    @cached_property
    def _conditions(self) -> Mapping[str, Expression]:
        return {profile.name: profile.match for profile in self._profiles if profile.match is not None}

    @cached_property
    def _index(self) -> ConditionIndex:
        return ConditionIndex(self._conditions)

    def _suits_models(self, name: str) -> bool:
        """Return False for a profile that was tuned for another model."""
        evidence = self._by_name[name].evidence
        return evidence is None or self._concerns(evidence) is not False

    @cached_property
    def dependencies(self) -> Dependencies:
        """The facts that decide which profile is selected: the facts of all conditions."""
        return dependencies_on(self.conditions.values())

    def match(self, facts: Mapping[str, object]) -> tuple[ProfileMatch, ...]:
        """Match every profile against a device with these facts; sorted by name."""
        return matches_of(self._profiles, dict(facts), None)

    def select(self, facts: Mapping[str, object], *, require_match: bool = False) -> Selection:
        """Do the same as `select_profile`, on profiles that are at hand.

        Raises:
            ConfigError: as for `select_profile`.
        """
        if not isinstance(facts, DeferredValues):
            facts = dict(facts)  # a dict pickles, unlike a sheet's view of its values
        return self._choose(self._index.holding(facts), facts, require_match)

    def choose(
        self,
        matches: Mapping[str, bool | None],
        facts: Mapping[str, object] | None = None,
        *,
        require_match: bool = False,
    ) -> Selection:
        """Select by the truth of the conditions, which were evaluated elsewhere, as `auto` does by facts.

        Args:
            matches: For each profile, by name, whether its condition holds. None counts as False, for a
                condition that is unknown or cannot be computed, and so does a name that is missing.
            facts: The known facts of the device, if there are any: the selection explains itself by them.
            require_match: Refuse the fallback, a bundled profile that matches every device.

        Raises:
            ConfigError: as for `select_profile`.
            ValueError: a profile is unknown, or has no condition.
        """
        holding = [name for name, holds in matches.items() if holds]
        for name in holding:
            if name not in self._conditions:
                raise ValueError(f"matches: {self._no_condition(name)}")
        return self._choose(sorted(holding), None if facts is None else dict(facts), require_match)

    def _no_condition(self, name: str) -> str:
        if name in self._by_name:
            return f"profile {name!r} has no condition, so it is never selected"
        help = did_you_mean(name, self._by_name)
        return f"there is no profile {name!r}" + (f" ({help})" if help else "")

    def _choose(
        self, holding: Iterable[str], facts: Mapping[str, object] | None, require_match: bool
    ) -> Selection:
        """Select among the profiles whose conditions hold, which are sorted by name."""
        matching = tuple(holding)
        holding = [name for name in matching if self._suits_models(name)]
        chains = [self._chain(name) for name in holding]
        bases = {id(base) for chain in chains for base in chain.profiles[:-1]}
        candidates = [chain for chain in chains if id(chain.profiles[-1]) not in bases]
        if not candidates:
            raise ProfileError(
                diagnostics=(_no_match(matches_of(self._profiles, facts, frozenset(holding))),)
            )
        highest = max(chain.provider for chain in candidates)
        winners = [chain.profiles for chain in candidates if chain.provider is highest]
        if len(winners) > 1:
            raise ProfileError(diagnostics=(_ambiguity([chain[-1] for chain in winners]),))
        condition = winners[0][-1].match
        is_fallback = highest is Provider.BUNDLED and condition is not None and not condition.facts
        if is_fallback and require_match:
            raise ProfileError(diagnostics=(_fallback_refused(winners[0][-1]),))
        return Selection(
            chain=winners[0],
            profiles=self._profiles,
            facts=facts,
            outranked=tuple(chain.profiles[-1] for chain in candidates if chain.provider is not highest),
            passed_over=tuple(self._by_name[name] for name in matching if name not in holding),
            is_fallback=is_fallback,
            _holding=frozenset(matching),
        )

    def _chain(self, name: str) -> _Chain:
        chain = self._chains.get(name)
        if chain is None:
            file = self._files[name]
            chain = self._chains[name] = _Chain(self._reader.chain(file), file.provider)
        return chain


def _cannot_know(evidence: TuningEvidence) -> bool | None:
    return None


def match_profiles(library: ProfileLibrary, facts: Mapping[str, object]) -> tuple[ProfileMatch, ...]:
    """Match every profile of the library against a device with these facts; sorted by name.

    Facts that a profile sets by hand do not count: they describe a device that was chosen already.

    Raises:
        ConfigError: with the problems of all profiles; one that cannot be read might be the right one.
    """
    return ProfileSelector(library).match(facts)


def select_profile(
    library: ProfileLibrary, facts: Mapping[str, object], *, require_match: bool = False
) -> Selection:
    """Select the most derived of the profiles that match a device with these facts.

    Among unrelated ones, a user's own beats a package's, and a package's beats a bundled one.

    Args:
        library: The profiles.
        facts: The known facts of the device, by name.
        require_match: Refuse the fallback, a bundled profile that matches every device.

    Raises:
        ConfigError: no profile matches, or several do of which none extends or outranks the others, or a
            profile is wrong; or only the fallback matches, and it is refused.
    """
    return ProfileSelector(library).select(facts, require_match=require_match)


def _no_match(matches: tuple[ProfileMatch, ...]) -> Diagnostic:
    return Diagnostic(
        code="no-matching-profile",
        message="no profile matches this device",
        notes=tuple(f"{match.profile.name}: {match.reasons[0]}" for match in matches),
        help="name one with --profile, or add one whose condition holds here",
    )


def _fallback_refused(fallback: Profile) -> Diagnostic:
    return Diagnostic(
        code="no-matching-profile",
        message=f"no profile is about this device: only {fallback.name!r} is left, which matches every one",
        notes=("the fallback is refused by --require-match, require_match = true, or in Python",),
        help="name one with --profile, or add one whose condition holds here; "
        "`etconfig profiles match --all` shows why the others do not",
    )


def _ambiguity(winners: list[Profile]) -> Diagnostic:
    names = " and ".join(repr(profile.name) for profile in winners)
    are_tuned = all(profile.evidence is not None for profile in winners)
    return Diagnostic(
        code="ambiguous-profile",
        message=f"profiles {names} match this device, and none extends the others",
        spans=tuple(profile.name_span for profile in winners),
        help="tune the second model with the first profile in force, which it then extends: --profile FILE"
        if are_tuned
        else "name one with --profile, let one extend the others, or narrow a condition",
    )
