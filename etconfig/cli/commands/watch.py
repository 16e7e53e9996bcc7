"""`etconfig watch`: follow the facts of this device, and print the options that would change."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.options import (
    ConfigurationRequest,
    FiniteNumber,
    configuration_options,
    json_option,
    models_option,
)
from etconfig.cli.shared.output import fail, is_read, show, show_json
from etconfig.cli.shared.usage import StrictCommand
from etconfig.errors import ConfigError

if TYPE_CHECKING:
    from etconfig.app.profile_change import ProfileChange
    from etconfig.app.targets import Delegating
    from etconfig.facts.sheet import FactSheet
    from etconfig.resolver.difference import OptionChange
    from etconfig.resolver.resolution import Resolution

_MAX_INTERVAL_S = 86_400.0
"""A day: `time.sleep` refuses what the operating system cannot count."""

_EFFECTS = {"execute": "at the next execute", "load": "needs a reload"}


@click.command("watch", cls=StrictCommand)
@click.argument("program", required=False, type=click.Path(path_type=Path))
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
    With --json, each change of facts is one line. Press Ctrl-C to stop.

    \b
    Examples:
      etconfig watch model.pte --count 1 --interval 0
      etconfig watch model.pte --count 1 --interval 0 --json
    """
    loaded = request.open_together(() if program is None else (program,))
    resolution = request.resolve(loaded)
    facts = request.device.facts
    watched = "the facts of this device"
    if request.sheet is not None:
        watched = f"{request.sheet}, whose facts do not change"
    show(f"watching {watched}; press Ctrl-C to stop", err=True)
    try:
        for _ in range(count) if count else itertools.repeat(None):
            time.sleep(interval_s)
            before, facts = facts, request.installation.redetect_facts(facts)
            if facts != before:
                resolution = _follow(request, loaded, facts, resolution, as_json)
                if not is_read():
                    break
    except KeyboardInterrupt:
        show(err=True)  # after the ^C that the terminal shows


def _follow(
    request: ConfigurationRequest,
    program: Delegating | None,
    facts: FactSheet,
    before: Resolution,
    as_json: bool,
) -> Resolution:
    """Resolve on new facts and print the differences; if they do not resolve, print why."""
    from etconfig.app.profile_change import profile_change
    from etconfig.resolver.difference import differences, reported_values

    try:
        # configure again, since another profile may match now
        after = request.configure_on(facts, program).resolve()
    except ConfigError as error:
        fail(error)
        return before
    profile = profile_change(before, after)
    changes = differences(reported_values(before), reported_values(after))
    if changes or profile:
        fact_changes = _changed_facts(before.facts_used(), after.facts_used())
        (_print_json if as_json else _print)(fact_changes, profile, changes)
    return after


def _changed_facts(
    old: Mapping[str, object], new: Mapping[str, object]
) -> dict[str, tuple[object | None, object | None]]:
    """Return the facts that differ, as (old, new) by name; None for unknown."""
    names = dict.fromkeys([*old, *new])
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _print(
    fact_changes: Mapping[str, tuple[object | None, object | None]],
    profile: ProfileChange | None,
    changes: Sequence[OptionChange],
) -> None:
    from etconfig.resolver.explain import show_setting

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
