"""`etconfig fleet diff`: which devices a change moves."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.rendering.fleet_text import give_tables
from etconfig.cli.shared.command_options import Share, json_option
from etconfig.cli.shared.fleet_requests import (
    InventoryRequest,
    PlanRequest,
    file_errors,
    ids_option,
    inventory_options,
    plan_options,
    workers_option,
)
from etconfig.cli.shared.output import note, show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_page, files_of_command, html_option
from etconfig.report.model import Table, View, part_text

if TYPE_CHECKING:
    from etconfig.fleet.running.moved_devices import FleetDifference


@click.command("diff", cls=StrictCommand)
@click.argument("inventories", metavar="INVENTORY... OLD NEW", nargs=-1, required=True)
@plan_options
@inventory_options
@workers_option
@click.option(
    "--max-changed",
    type=Share(),
    metavar="SHARE",
    help="Exit with 1 if more devices change, such as 1%.",
)
@click.option(
    "--devices",
    "moved",
    metavar="FILE.parquet",
    type=OutputPath(),
    help="Write the devices that change: device_id, option, old, new.",
)
@ids_option
@html_option
@json_option
def show_difference(
    inventory: InventoryRequest,
    request: PlanRequest,
    place: str | None,
    max_changed: float | None,
    moved: Path | None,
    show_ids: bool,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Show which devices a change moves, before it is made.

    OLD and NEW are each a directory of profiles, a directory with a project file, or a revision of git,
    such as main; . stands for the profiles as they are here. --profile-path and the project file apply
    inside each side. Without profiles of the user's own on either side, the profiles that are there and not
    read are an error. Counts the devices of each change of an
    option, of the profile, or from options to a problem. Exits with 1 only if --max-changed is exceeded.

    \b
    Examples:
      etconfig fleet diff devices.parquet main . --profile-path profiles --max-changed 1%
      etconfig fleet diff devices.parquet profiles-old profiles-new --program model.pte
      etconfig fleet diff devices.parquet main . --profile-path profiles --devices moved.parquet
    """
    from etconfig.fleet.running.reports import share_text

    if len(inventory.inventories) < 3:
        raise click.UsageError("give at least one inventory, then OLD and NEW")
    check_page(page)
    found = _compared(inventory, request, place, moved)
    view = View(title="Changes", tables=[_changes_table(found, with_ids=show_ids)])
    give_tables(view, found.to_jsonable(with_ids=show_ids), page, as_json=as_json)
    share = share_text(found.changed, found.devices)
    note(
        f"{part_text(found.changed, found.devices, 'device', 'change')} ({share}); "
        f"{found.moved:,} {'gets' if found.moved == 1 else 'get'} another profile"
    )
    if max_changed is not None and found.share > max_changed:
        show(f"more devices change than --max-changed {100 * max_changed:.6g}% allows", err=True)
        return 1
    return 0


def _compared(
    inventory: InventoryRequest, request: PlanRequest, place: str | None, moved: Path | None
) -> FleetDifference:
    """Compare the two sides, which are the last two words.

    Raises:
        click.ClickException: a side is neither a directory nor a revision or has nothing to compare, or a
            file has an error.
    """
    from etconfig.fleet.deciding.revisions import SideError, check_sides, side_at

    *inventories, old, new = inventory.inventories
    with ExitStack() as stack:
        try:
            sides = [
                stack.enter_context(side_at(text, request.profile_paths, Path.cwd())) for text in (old, new)
            ]
            remark = check_sides(sides)
        except SideError as error:
            raise click.ClickException(str(error)) from error
        if remark is not None:
            note(f"note: {remark}")
        before, after = (request.planned(side.installation) for side in sides)
        with file_errors():
            runs = replace(inventory, inventories=inventories).runs(place)
            return runs.compare(before, after, files_of_command(), moved)


def _changes_table(found: FleetDifference, *, with_ids: bool) -> Table:
    from etconfig.fleet.running.reports import share_text

    headers = ("OPTION", "OLD", "NEW", "DEVICES", "SHARE", *(("FIRST DEVICE",) if with_ids else ()))
    rows = [
        (
            change.path,
            change.old,
            change.new,
            count,
            share_text(count, found.devices),
            *((found.examples[change] or "",) if with_ids else ()),
        )
        for change, count in found.changes.items()
    ]
    return Table(caption="Changes", headers=headers, rows=rows)
