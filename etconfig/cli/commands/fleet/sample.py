"""`etconfig fleet sample`: a few devices that stand for all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from etconfig.base.written_files import replace_files
from etconfig.cli.shared.command_options import make_installation
from etconfig.cli.shared.fleet_requests import (
    InventoryRequest,
    PlanRequest,
    file_errors,
    ids_option,
    inventories_argument,
    inventory_options,
    plan_options,
)
from etconfig.cli.shared.output import note
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, files_of_command, writing
from etconfig.facts.sheet_json import SHEET
from etconfig.report.model import count_text

_LONGEST_NAME = 60
"""The longest name of a sheet, in characters: file systems take 255 bytes."""


@click.command("sample", cls=StrictCommand)
@inventories_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIRECTORY",
    type=OutputPath(is_directory=True),
    help="Where to write the sheets.",
)
@click.option(
    "--by",
    type=click.Choice(["group", "result"]),
    default="group",
    show_default=True,
    help="One sheet for each way of deciding, or for each result.",
)
@click.option("--force", is_flag=True, help="Replace all sheets that are there.")
@plan_options
@inventory_options
@ids_option
def sample_fleet(
    inventory: InventoryRequest, output: Path, by: str, force: bool, request: PlanRequest, show_ids: bool
) -> None:
    """Write a few fact sheets that stand for all devices.

    Each sheet is a device of the inventory. With --by group, there is one for each combination of
    conditions and values that decides; with --by result, one for each profile with its options or
    problem. They suit `etconfig validate`, `lock` and `matrix`, and tests. Files are numbered, and the
    sheets lack device.id; with --show-ids, they have the names of the devices. A directory that has sheets
    is refused, as the sheets of two samples together stand for neither.

    \b
    Example:
      etconfig fleet sample devices.parquet --by result -o golden
    """
    from etconfig.fleet.running.single_devices import sample_devices

    (_check_has_only_sheets if force else _check_has_no_sheets)(output)
    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        found = list(sample_devices(database, parts, plan, by_group=by == "group", with_ids=show_ids))
    names = [f"{number:04d}" for number in range(1, len(found) + 1)]
    if show_ids:
        names = _file_names([count.example or "" for count, _ in found])
    sheets = {
        output / f"{name}.json": sheet.to_json().encode()
        for name, (_, sheet) in zip(names, found, strict=True)
    }
    with writing():
        output.mkdir(parents=True, exist_ok=True)
        earlier = _sheets_in(output)
        for path in {*earlier, *sheets}:
            files_of_command().check(path, SHEET, is_named=False)
        replace_files(sheets, removed=earlier)
    note(f"{count_text(len(found), 'sheet')} written to {output}")


def _sheets_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.json"))


def _check_has_only_sheets(directory: Path) -> None:
    """Check that what is replaced is sheets.

    Raises:
        click.ClickException: something else is there, too, or it cannot be read.
    """
    with file_errors():
        other = next((path for path in _sheets_in(directory) if not SHEET.has(path)), None)
    if other is not None:
        message = "is not a fact sheet, and is not replaced; give another directory"
        raise click.ClickException(f"{other} {message}")


def _check_has_no_sheets(directory: Path) -> None:
    """Check that a directory has no sheets, such as sheets of an earlier sample.

    Raises:
        click.ClickException: it has.
    """
    found = _sheets_in(directory)
    if found:
        raise click.ClickException(
            f"{directory} has {count_text(len(found), 'sheet')}, such as {found[0].name}; "
            "give another directory, or --force to replace all of them"
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
