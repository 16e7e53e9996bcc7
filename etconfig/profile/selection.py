"""Selection of the profile that fits a device: `profile = "auto"`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import ConfigError, ProfileError
from etconfig.profile.expression import ClauseResult, EvaluationResult
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileLibrary, Provider
from etconfig.profile.profile import Profile
from etconfig.records import record


@record(frozen=True, kw_only=True)
class ProfileMatch:
    """The result of matching one profile against a device.

    Attributes:
        profile: The profile.
        result: The value of its condition; None if it has no condition, and so is never selected.
        facts: The known facts of the device, by name.
    """

    profile: Profile
    result: EvaluationResult | None
    facts: Mapping[str, object] = field(repr=False, compare=False)

    @property
    def is_match(self) -> bool:
        """True if the condition holds. One that is unknown or cannot be computed does not."""
        return self.result is True

    @cached_property
    def clauses(self) -> tuple[ClauseResult, ...]:
        """The result of each clause of the condition; computed on demand, since it is rarely needed."""
        return () if self.profile.match is None else self.profile.match.explain(self.facts)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why it matches or not: a sentence for each clause that decides."""
        if self.result is None:
            return ("it has no condition, so it can only be extended or named",)
        return tuple(
            clause.explanation for clause in self.clauses if (clause.result is True) is self.is_match
        )


@record(frozen=True, kw_only=True)
class Selection:
    """The profile that was selected.

    Attributes:
        chain: The profiles that it extends, base first, and at the end the profile itself.
        matches: Every profile of the library, sorted by name, with the reasons.
        outranked: Unrelated profiles that match as well, but come from a less specific kind of source.
        is_fallback: True if only a bundled profile that matches every device is left: `generic/any`.
    """

    chain: tuple[Profile, ...]
    matches: tuple[ProfileMatch, ...]
    outranked: tuple[Profile, ...] = ()
    is_fallback: bool = False

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


def match_profiles(library: ProfileLibrary, facts: Mapping[str, object]) -> tuple[ProfileMatch, ...]:
    """Match every profile of the library against a device with these facts; sorted by name.

    Facts that a profile sets by hand do not count: they describe a device that was chosen already.

    Raises:
        ConfigError: with the problems of all profiles; one that cannot be read might be the right one.
    """
    return _match_all(ProfileReader(library), facts)


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
    reader = ProfileReader(library)
    matches = _match_all(reader, facts)
    files = [library.find(match.profile.name) for match in matches if match.is_match]
    chains = {file: reader.chain(file) for file in files}
    bases = [id(base) for chain in chains.values() for base in chain[:-1]]
    candidates = [file for file, chain in chains.items() if id(chain[-1]) not in bases]
    if not candidates:
        raise ProfileError(diagnostics=(_no_match(matches),))
    highest = max(file.provider for file in candidates)
    winners = [chains[file] for file in candidates if file.provider is highest]
    if len(winners) > 1:
        raise ProfileError(diagnostics=(_ambiguity([chain[-1] for chain in winners]),))
    outranked = tuple(chains[file][-1] for file in candidates if file.provider is not highest)
    condition = winners[0][-1].match
    is_fallback = highest is Provider.BUNDLED and condition is not None and not condition.facts
    if is_fallback and require_match:
        raise ProfileError(diagnostics=(_fallback_refused(winners[0][-1]),))
    return Selection(chain=winners[0], matches=matches, outranked=outranked, is_fallback=is_fallback)


def _match_all(reader: ProfileReader, facts: Mapping[str, object]) -> tuple[ProfileMatch, ...]:
    facts = dict(facts)  # a dict pickles, unlike a sheet's view of its values
    matches: list[ProfileMatch] = []
    problems = list(reader.library.problems)
    for name in reader.library.names:
        try:
            profile = reader.profile(reader.library.find(name))
        except ConfigError as error:
            problems.extend(error.diagnostics)
        else:
            matches.append(_match(profile, facts))
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return tuple(matches)


def _match(profile: Profile, facts: Mapping[str, object]) -> ProfileMatch:
    result = None if profile.match is None else profile.match.evaluate(facts)
    return ProfileMatch(profile=profile, result=result, facts=facts)


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
    return Diagnostic(
        code="ambiguous-profile",
        message=f"profiles {names} match this device, and none extends the others",
        spans=tuple(profile.name_span for profile in winners),
        help="name one with --profile, let one extend the others, or narrow a condition",
    )
