"""The choice of a profile: by name, by path, by the project file, or by a match with the device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from etconfig.app.installation import Installation
from etconfig.errors import ProfileError
from etconfig.facts import FactSheet
from etconfig.parameters import AnyPath, as_path
from etconfig.profile import Profile, ProjectFile, Selection, load_chain, select_profile

AUTO = "auto"
"""Stands for the profile that matches the device best."""

_EXPECTED = "auto, the name of a profile, or a path, as str or pathlib.Path"


def choose_profile(
    installation: Installation, profile: AnyPath | None, facts: FactSheet
) -> tuple[tuple[Profile, ...], Selection | None]:
    """Return the chain of a profile, base first, and the reasons of the choice unless it is named.

    Args:
        installation: The profiles, and the project file that may name one.
        profile: `auto`, a name, a path, or None for the choice of the project file.
        facts: The device, for `auto`.

    Raises:
        ConfigError: the profile does not exist or is malformed, or `auto` finds none or several.
        TypeError: `profile` is not one of these.
    """
    if profile is None:
        return choose_project_profile(installation, installation.project, facts)
    if profile == AUTO:
        selection = select_profile(installation.profiles, facts.values)
        return selection.chain, selection
    named = profile if isinstance(profile, str) else as_path("profile", profile, _EXPECTED)
    return load_chain(installation.profiles, named), None


def choose_project_profile(
    installation: Installation, project: ProjectFile | None, facts: FactSheet
) -> tuple[tuple[Profile, ...], Selection | None]:
    """Choose as a project file says, else `auto`; problems point at the line of the choice.

    Raises:
        ConfigError: as for `choose_profile`.
    """
    if project is None or project.profile is None:
        return choose_profile(installation, AUTO, facts)
    target, span = project.profile.target, project.profile.span
    path = Path(project.name).parent / target if target.endswith(".toml") else target
    try:
        if path == AUTO:
            return choose_profile(installation, AUTO, facts)
        return load_chain(installation.profiles, path, (span,)), None
    except ProfileError as error:
        found = (p if p.spans else replace(p, spans=(span,)) for p in error.diagnostics)
        raise ProfileError(diagnostics=tuple(found)) from error
