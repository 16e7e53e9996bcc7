"""`etconfig watch`: follow the facts of this device, and print the options that would change."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import FiniteNumber, json_option, models_option, optional_program
from etconfig.cli.shared.output import fail, is_read, note, show, show_diagnostics, show_json
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options
from etconfig.cli.shared.usage import StrictCommand
from etconfig.errors import ConfigError, ProgramError

if TYPE_CHECKING:
    from etconfig.app.configuring.configuration import Configuration
    from etconfig.app.configuring.targets import Delegating
    from etconfig.app.live.profile_change import ProfileChange
    from etconfig.facts.sheet import FactSheet
    from etconfig.resolver.deciding.resolution import Resolution
    from etconfig.resolver.explaining.difference import OptionChange

_MAX_INTERVAL_S = 86_400.0
"""A day: `time.sleep` refuses what the operating system cannot count."""

_EFFECTS = {"execute": "at the next execute", "load": "needs a reload"}


@click.command("watch", cls=StrictCommand)
@optional_program
@click.option(
    "--interval",
    "interval_s",
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    type=FiniteNumber(_MAX_INTERVAL_S),
    help="The pause between two detections.",
)
@click.option("--count", type=click.IntRange(min=1), help="Detect this many times; by default until Ctrl-C.")
@models_option
@configuration_options
@json_option
def command(
    program: Path | None, interval_s: float, count: int | None, request: ConfigurationRequest, as_json: bool
) -> None:
    """Follow this device's facts; show which options would change.

    Detects repeatedly the facts that may change at any time: cores, memory, battery, temperature.
    If auto selects another profile, it says which and why. For each option that changes, it says
    whether a loaded method can take the new value at its next execute or must be loaded again.
    Facts of a sheet or of --fact stay as they are. To keep the profile, name it with --profile.
    Edits of profiles, models and the project file count from the next detection on. With --json,
    each change is one line. Press Ctrl-C to stop.

    \b
    Examples:
      etconfig watch model.pte --count 1 --interval 0
      etconfig watch model.pte --count 1 --interval 0 --json
    """
    watch = _Watch(request, () if program is None else (program,), as_json)
    watched = "the facts of this device"
    if request.sheet is not None:
        watched = f"{request.sheet}, whose facts do not change"
    note(f"watching {watched}; press Ctrl-C to stop")
    try:
        for _ in range(count) if count else itertools.repeat(None):
            time.sleep(interval_s)
            if watch.look() and not is_read():
                break
    except KeyboardInterrupt:
        show(err=True)  # after the ^C that the terminal shows


class _Watch:
    """The configuration of a device, as its facts and files change.

    Args:
        request: The configuration and the device.
        programs: The program, if one is given.
        as_json: True to print changes as JSON.
    """

    def __init__(self, request: ConfigurationRequest, programs: Sequence[Path], as_json: bool) -> None:
        from etconfig.resolver.deciding.device_problems import notes_on_device

        self._programs = programs
        self._as_json = as_json
        self._request = request
        self._program = request.open_together(programs)
        self._configuration = request.configure(self._program)
        self._resolution = self._configuration.resolve()
        show_diagnostics(notes_on_device(self._resolution))
        self._facts = request.device.facts
        self._files = self._look_at_files()
        self._has_pending_edits = False
        self._error: ConfigError | ProgramError | None = None

    def look(self) -> bool:
        """Detect the facts again, look at the files, and print what changes; return True if any differ.

        If the new facts or files do not resolve, it prints why, once until that changes, and the state before
        stays in force.
        """
        before, self._facts = self._facts, self._request.installation.redetect_facts(self._facts)
        files, self._files = self._files, self._look_at_files()
        if self._facts == before and self._files == files:
            return False
        self._has_pending_edits |= self._files != files
        try:
            if self._has_pending_edits:
                request = self._request.reloaded()
                self._configure(request, request.open_together(self._programs))
            else:
                self._configure(self._request, self._program)
            self._has_pending_edits, self._error = False, None
        except (ConfigError, ProgramError) as error:
            if str(error) != str(self._error):
                fail(error)
            self._error = error
        return True

    def _configure(self, request: ConfigurationRequest, program: Delegating | None) -> None:
        """Configure again, since another profile may match now, and print the differences."""
        configuration = request.configure_on(self._facts, program)
        before, after = self._resolution, configuration.resolve()
        self._request, self._program = request, program
        self._configuration, self._resolution = configuration, after
        _print_differences(before, after, self._as_json)

    def _look_at_files(self) -> object:
        """Return what differs after a file was edited, added or removed."""
        try:
            paths = {*_files(self._request, self._configuration), *self._programs}
        except ConfigError as error:
            return str(error)  # reading the files again says more
        return {path: _stamp(path) for path in paths}


def _files(request: ConfigurationRequest, configuration: Configuration) -> Iterator[Path]:
    """Yield the files that the configuration depends on, and the files that `auto` would find now.

    Raises:
        ConfigError: the project file is wrong, or the profiles cannot be found.
    """
    from etconfig.app.configuring.project_programs import programs_of_project

    installation = request.installation.refreshed()
    yield from (each.path for each in configuration.chain if each.path is not None)
    if request.models is not None:
        yield request.models
    project_path = installation.project_path
    if project_path is not None:
        yield project_path
        yield from (path for _, path in programs_of_project(installation))
    if installation.project is not None and project_path is not None:
        yield from (project_path.parent / each.target for each in installation.project.models)
    yield from (each.path for each in installation.readable_profiles.files)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return the identity, size and time of a file; nothing if it cannot be found."""
    with suppress(OSError):
        status = os.stat(path)  # noqa: PTH116  (called for each of a thousand files)
        return status.st_ino, status.st_size, status.st_mtime_ns
    return ()


def _print_differences(before: Resolution, after: Resolution, as_json: bool) -> None:
    from etconfig.app.live.profile_change import profile_change
    from etconfig.resolver.explaining.difference import differences, reported_values

    profile = profile_change(before, after)
    changes = differences(reported_values(before), reported_values(after))
    if changes or profile:
        (_print_json if as_json else _print)(_changed_facts(before, after), profile, changes)


def _changed_facts(before: Resolution, after: Resolution) -> dict[str, tuple[object | None, object | None]]:
    """Return the facts that some option depends on and that differ, as (old, new) by name; None for unknown.

    A fact that only one of the two depends on is compared, too.
    """
    found = {}
    for name in dict.fromkeys([*before.facts_used(), *after.facts_used()]):
        old, new = (_shown(each.facts, name) for each in (before, after))
        if old != new:
            found[name] = (old, new)
    return found


def _shown(facts: FactSheet, name: str) -> object | None:
    """Return the value of a fact as reports show it, or None if it is unknown."""
    from etconfig.facts.registry import HIDDEN_VALUE

    value = facts.values.get(name)
    return HIDDEN_VALUE if value is not None and facts.is_hidden(name) else value


def _print(
    fact_changes: Mapping[str, tuple[object | None, object | None]],
    profile: ProfileChange | None,
    changes: Sequence[OptionChange],
) -> None:
    from etconfig.resolver.explaining.explain import show_setting

    for name, sides in fact_changes.items():
        old, new = ("unknown" if value is None else show_setting(value) for value in sides)
        show(f"{name}: {old} → {new}")
    if profile is not None:
        show(str(profile))
        for reason in profile.reasons:
            show(f"  {reason}")
    for change in changes:
        effect = _EFFECTS[change.applies.value] if change.applies else "needs a reload"
        show(f"  {change}, {effect}")


def _print_json(
    fact_changes: Mapping[str, tuple[object | None, object | None]],
    profile: ProfileChange | None,
    changes: Sequence[OptionChange],
) -> None:
    data = {
        "facts": {name: {"old": old, "new": new} for name, (old, new) in fact_changes.items()},
        "profile": None if profile is None else profile.to_jsonable(),
        "changes": [
            {**change.to_jsonable(), "applies": change.applies.value if change.applies else "load"}
            for change in changes
        ],
    }
    show_json(json.dumps(data, ensure_ascii=False) + "\n")
