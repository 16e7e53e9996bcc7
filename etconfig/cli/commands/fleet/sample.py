"""`etconfig fleet sample`: a few devices that stand for all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from etconfig.cli.shared.fleet_options import (
    ids_option,
    inventories_argument,
    inventory_options,
    plan_options,
)
from etconfig.cli.shared.fleet_requests import InventoryRequest, PlanRequest
from etconfig.cli.shared.options import make_installation
from etconfig.cli.shared.output import show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import write_file
from etconfig.display import count_text

_LONGEST_NAME = 60
"""The longest name of a sheet, in characters: file systems take 255 bytes."""


@click.command("sample", cls=StrictCommand)
@inventories_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write the sheets.",
)
@click.option(
    "--by",
    type=click.Choice(["group", "result"]),
    default="group",
    show_default=True,
    help="One sheet for each way of deciding, or for each result.",
)
@plan_options
@inventory_options
@ids_option
def sample_fleet(
    inventory: InventoryRequest, output: Path, by: str, request: PlanRequest, show_ids: bool
) -> None:
    """Write a few fact sheets that stand for all devices.

    Each sheet is a device of the inventory. With --by group, there is one for each combination of
    conditions and values that decides; with --by result, one for each profile with its options or
    problem. They suit `etconfig validate`, `lock` and `matrix`, and tests. Files are numbered, and the
    sheets lack device.id; with --show-ids, they have the names of the devices.

    \b
    Example:
      etconfig fleet sample devices.parquet --by result -o golden
    """
    from etconfig.fleet.devices import sample_devices

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        found = list(sample_devices(database, parts, plan, by_group=by == "group", with_ids=show_ids))
    names = [f"{number:04d}" for number in range(1, len(found) + 1)]
    if show_ids:
        names = _file_names([count.example or "" for count, _ in found])
    _check_has_no_others(output, names)
    output.mkdir(parents=True, exist_ok=True)
    for name, (_, sheet) in zip(names, found, strict=True):
        write_file(output / f"{name}.json", sheet.to_json().encode())
    show(f"{count_text(len(found), 'sheet')} written to {output}", err=True)


def _check_has_no_others(directory: Path, names: Sequence[str]) -> None:
    """Check that a directory has no sheets of an earlier sample, which would stand for devices, too.

    Raises:
        click.ClickException: it has.
    """
    wanted = {f"{name}.json" for name in names}
    others = sorted(path.name for path in directory.glob("*.json") if path.name not in wanted)
    if others:
        raise click.ClickException(
            f"{directory} has {count_text(len(others), 'other sheet')}, such as {others[0]}; "
            "remove what is no longer needed, or give another directory"
        )


def _file_names(devices: Sequence[str]) -> list[str]:
    """Return names of devices as names of files, each of them once, also where case does not count."""
    names: list[str] = []
    seen: set[str] = set()
    for device in devices:
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in device)
        plain = plain.lstrip(".")[:_LONGEST_NAME] or "device"
        name, number = plain, 1
        while name.casefold() in seen:
            number += 1
            name = f"{plain}-{number}"
        seen.add(name.casefold())
        names.append(name)
    return names
