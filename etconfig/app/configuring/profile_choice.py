"""The choice of a profile: by name, by path, by the project file, or by a match with the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from etconfig.app.configuring.tuned_models import models_in_use
from etconfig.app.installation.installation import Installation
from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import ConfigError, ProfileError
from etconfig.facts.sheet import FactSheet
from etconfig.profile.profile import Profile, Reference
from etconfig.profile.project import ProjectFile
from etconfig.profile.selection import Selection
from etconfig.profile.selector import ConcernsModel

AUTO = "auto"
"""Stands for the profile that matches the device best."""

EXPECTED = "auto, the name of a profile, or a path, as str or pathlib.Path"


@record(frozen=True, kw_only=True)
class ProfileChoice:
    """The profile that was chosen, and by what.

    Attributes:
        chain: The profile and all that it extends, base first.
        selection: The reasons of `auto`; None if the profile was named.
        named_by: The place in the project file that names it; None if `auto` or the caller chose.
    """

    chain: tuple[Profile, ...]
    selection: Selection | None = None
    named_by: Reference | None = None

    @property
    def profile(self) -> Profile:
        """The chosen profile."""
        return self.chain[-1]

    @property
    def note(self) -> Diagnostic | None:
        """The note that `auto` fell back to a profile that matches every device, or None."""
        return None if self.selection is None else self.selection.note

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """The same note, and the one on profiles that were tuned for other models."""
        return () if self.selection is None else self.selection.notes


@record(frozen=True, kw_only=True)
class ProfileChoices:
    """The profiles that commands use here: the project file's profile, and the choice of `auto`.

    Each is a choice, or the error that prevents it.

    Attributes:
        named_by: The name or path in the project file; None if it names none, and `auto` decides.
        named: The profile of that name.
        auto: The profile that `auto` selects, or would select if none was named.
    """

    named_by: Reference | None
    named: ProfileChoice | ConfigError | None
    auto: ProfileChoice | ConfigError


def choose_profile(
    installation: Installation,
    profile: AnyPath | None,
    facts: FactSheet,
    *,
    require_match: bool = False,
    concerns: ConcernsModel | None = None,
) -> ProfileChoice:
    """Choose a profile, and read all that it extends.

    Args:
        installation: The profiles, and the project file that may name one.
        profile: `auto`, a name, a path, or None for the choice of the project file.
        facts: The device, for `auto`.
        require_match: Refuse the fallback of `auto`; the project file may refuse it, too.
        concerns: Compares a tuned profile with the models; by default with the project file's. `auto`
            passes over profiles that were tuned for others.

    Raises:
        ConfigError: the profile does not exist or is malformed, or `auto` finds none or several.
        TypeError: `profile` is not one of these.
    """
    if profile is None:
        project = installation.project
        return choose_project_profile(
            installation, project, facts, require_match=require_match, concerns=concerns
        )
    if profile == AUTO:
        return _select(installation, installation.project, facts, require_match, concerns)
    named = profile if isinstance(profile, str) else as_path("profile", profile, EXPECTED)
    return ProfileChoice(chain=installation.profile_chain(named))


def facts_of_choice(
    installation: Installation, facts: FactSheet, by_hand: Mapping[str, Sourced[object]]
) -> FactSheet:
    """Return the facts that options see: a device's facts, as its profile and the project file correct them.

    Args:
        installation: The profiles, and the project file.
        facts: The device.
        by_hand: Facts set by hand, by name; they win.

    Raises:
        ConfigError: as for `choose_profile`, or a hand-set fact is wrong.
    """
    known = installation.known_facts(facts, by_hand)
    for profile in choose_profile(installation, None, known).chain:
        facts = facts.with_overrides(profile.settings.facts)
    return installation.known_facts(facts, by_hand)


def choose_project_profile(
    installation: Installation,
    project: ProjectFile | None,
    facts: FactSheet,
    *,
    require_match: bool = False,
    concerns: ConcernsModel | None = None,
) -> ProfileChoice:
    """Choose as a project file says, else `auto`; problems point at the line of the choice.

    Raises:
        ConfigError: as for `choose_profile`.
    """
    if project is None or project.profile is None:
        return _select(installation, project, facts, require_match, concerns)
    path, span = named_profile(project, project.profile), project.profile.span
    try:
        if path == AUTO:
            return _select(installation, project, facts, require_match, concerns)
        chain = installation.profile_chain(path, (span,))
        return ProfileChoice(chain=chain, named_by=project.profile)
    except ProfileError as error:
        found = (_at_its_name(problem, path, span) for problem in error.diagnostics)
        raise ProfileError(diagnostics=tuple(found)) from error


def named_profile(project: ProjectFile, reference: Reference) -> str | Path:
    """Return the profile that a project file names: its name, or its path beside the file."""
    target = reference.target
    return Path(project.name).parent / target if target.endswith(".toml") else target


def _at_its_name(problem: Diagnostic, path: str | Path, span: Span) -> Diagnostic:
    """Return a problem without a place, or that the named file cannot be read, as one of its name."""
    is_unreadable = problem.code == "unreadable-file" and [each.file for each in problem.spans] == [str(path)]
    return replace(problem, spans=(span,)) if is_unreadable or not problem.spans else problem


def profile_choices(
    installation: Installation, facts: FactSheet, *, require_match: bool = False
) -> ProfileChoices:
    """Return the profile that the project file names, if any, and the choice of `auto`.

    Raises:
        ConfigError: the project file is wrong, or a directory of profiles is missing.
    """
    project = installation.project
    named_by = project.profile if project and project.profile and project.profile.target != AUTO else None
    return ProfileChoices(
        named_by=named_by,
        named=None if named_by is None else _attempt(installation, None, facts, require_match),
        auto=_attempt(installation, AUTO, facts, require_match),
    )


def _attempt(
    installation: Installation, profile: str | None, facts: FactSheet, require_match: bool
) -> ProfileChoice | ConfigError:
    try:
        return choose_profile(installation, profile, facts, require_match=require_match)
    except ConfigError as error:
        return error


def _select(
    installation: Installation,
    project: ProjectFile | None,
    facts: FactSheet,
    require_match: bool,
    concerns: ConcernsModel | None,
) -> ProfileChoice:
    require_match = require_match or (project is not None and project.require_match)
    selector = installation.selector.for_models(concerns or models_in_use(installation, None))
    selection = selector.select(facts.values, require_match=require_match)
    return ProfileChoice(chain=selection.chain, selection=selection)
