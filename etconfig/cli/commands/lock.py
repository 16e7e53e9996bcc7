"""`etconfig lock`: record resolutions and everything that they depend on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import models_option, programs_argument
from etconfig.cli.shared.each_device import (
    notes_of_resolution,
    on_each_device,
    opened_apart,
    show_failures,
    show_notes,
)
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import fail, show
from etconfig.cli.shared.requests import ConfigurationRequest, several_devices_options
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import write_file

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.app.locking.lock import Lock
    from etconfig.app.locking.lock_contents import ResolvedForLock


@click.command("lock", cls=StrictCommand)
@programs_argument
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the file would change.")
@models_option
@partial(several_devices_options, of_project=True)
def command(programs: Sequence[Path], check: bool, requests: Sequence[ConfigurationRequest]) -> int:
    """Record resolutions and what they depend on, for --locked.

    Writes etconfig.lock next to the project file, or into the current directory. It has the content of
    each program, the backends of each model, versions and schemas of plugins, and the values in the
    profiles and in the project file. For each program on each device, it has the facts that were used
    and the value of every option. With --locked, `resolve`, `run` and `verify` fail if any of these
    differs, and say which. Comments, layout and descriptions do not count. Profiles that `etconfig
    tune` wrote for another program, or another version of its engine, are refused.

    The devices come from `devices` in the project file, unless others are given; without any, this one.

    With --check, lists what differs from the file, and exits with 1 if anything does, also a program or a
    device that only one of them has.

    \b
    Examples:
      etconfig lock model.pte
      etconfig lock model.pte --facts pi5.json
      etconfig lock encoder.pte decoder.pte --facts pi5.json --device pixel-8
      etconfig lock --models models.toml --device pixel-8
      etconfig lock encoder.pte decoder.pte --facts pi5.json --device pixel-8 --check
    """
    from etconfig.app.locking.evidence_check import check_evidence
    from etconfig.app.locking.lock import LOCK
    from etconfig.app.locking.lock_contents import ResolvedForLock, lock_path, make_lock

    def resolve(request: ConfigurationRequest, program: Delegating | None) -> ResolvedForLock:
        configuration = request.configure_on(request.device.facts, program)
        return ResolvedForLock(
            device=request.device_name,
            configuration=configuration,
            resolution=configuration.resolve(),
        )

    different = {os.path.abspath(program): program for program in programs}  # noqa: PTH100  (keeps links)
    found = [*on_each_device(requests, opened_apart(requests[0], [*different.values()]), resolve)]
    show_notes(found, lambda each: notes_of_resolution(each.resolution))
    if show_failures(found):
        return 2
    resolved = [each.result for each in found if each.result is not None]
    check_evidence(resolved)
    lock, path = make_lock(resolved), lock_path(resolved[0].configuration)
    if check:
        return _check(path, lock)
    # a file name that is not UTF-8 has parts that only an escape can spell
    write_file(path, lock.to_json().encode(errors="backslashreplace"), LOCK, is_named=False)
    show(f"{_count(lock)} written to {path}")
    return 0


def _check(path: Path, lock: Lock) -> int:
    """Compare with the lock file, and return the exit status."""
    from etconfig.app.locking.lock_comparison import whole_lock_mismatch

    mismatch = whole_lock_mismatch(path, lock)
    if mismatch is not None:
        fail(mismatch)
        return 1
    show(f"{_count(lock)} as locked in {path}")
    return 0


def _count(lock: Lock) -> str:
    """Return how many options there are, of how many programs and devices."""
    options = format_count(sum(len(each.options) for each in lock.devices), "option")
    devices = len({each.name for each in lock.devices})
    counts = {"program": len(lock.programs), "device": devices}
    several = [format_count(count, noun) for noun, count in counts.items() if count > 1]
    return f"{options} of {' on '.join(several)}" if several else options
