"""`etconfig fleet compare` and `rollout`: the use of decisions, and the reach of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from etconfig.cli.rendering.fleet_text import give_tables
from etconfig.cli.shared.command_options import Share, json_option, make_installation
from etconfig.cli.shared.fleet_requests import (
    InventoryRequest,
    PlanRequest,
    file_errors,
    inventories_argument,
    inventory_options,
    plan_options,
    workers_option,
)
from etconfig.cli.shared.output import note, show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_page, files_of_command, html_option, note_reads
from etconfig.report.model import Table, View, count_text

_UNDECIDED = 3
"""The exit status if a guard has too few devices, and none is broken."""
_ADVICE = {"broken": "go back", "undecided": "wait, do not raise"}


@click.command("compare", cls=StrictCommand)
@inventories_argument
@click.option(
    "--usage",
    multiple=True,
    required=True,
    metavar="PATTERN",
    help="Files with usage records: .jsonl or .parquet. Repeatable.",
)
@click.option(
    "--revision",
    type=click.IntRange(min=0),
    help="The revision that devices should have; by default the highest one in any record.",
)
@plan_options
@inventory_options
@workers_option
@click.option(
    "-o",
    "--output",
    metavar="DIRECTORY",
    type=OutputPath(is_directory=True),
    help="Keep the tables of fleet resolve there, and usage.parquet: the outcome of each device.",
)
@html_option
@json_option
def compare_fleet_usage(
    inventory: InventoryRequest,
    request: PlanRequest,
    usage: Sequence[str],
    revision: int | None,
    place: str | None,
    output: Path | None,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Compare what devices used with what is decided for them, and how fast they are.

    Reads usage records, which an application writes with UsageRecord. The last record of a device counts.
    Compares durations by profile, value of an option and side of a rollout; each device counts once. A claim
    needs an interval without 1. Exits with 1 if a [[guard]] of the project file is broken, with 3 if none is
    and one has too few devices.

    \b
    Examples:
      etconfig fleet compare devices.parquet --usage 'usage/*.jsonl'
      etconfig fleet compare devices.parquet --usage usage/a.jsonl --revision 7 --json
    """
    from etconfig.fleet.deciding.rollout_settings import rollout_settings
    from etconfig.fleet.inventory.inventory import find_sources
    from etconfig.fleet.usage.usage_comparison import compare_usage
    from etconfig.fleet.usage.usage_report import GuardOutcome, usage_data, usage_tables

    if place is not None and output is None:
        raise click.UsageError("with --on, give --output, a directory that all workers share")
    check_page(page)
    sources = find_sources(usage)
    note_reads(each.path for each in sources)
    installation = make_installation(request.profile_paths)
    planned = request.planned(installation)
    with file_errors(), TemporaryDirectory(prefix="etconfig-usage-") as scratch:
        directory = output or Path(scratch)
        runs, files = inventory.runs(place), files_of_command()
        counts = compare_usage(runs, planned, sources, directory, files, revision)
    project = installation.project
    guards = [GuardOutcome.of(each, counts.latency) for each in (project.guards if project else ())]
    view = View(title="Usage", tables=usage_tables(counts, guards))
    data = {**usage_data(counts, guards), "rollouts": [*rollout_settings(planned.plan)]}
    give_tables(view, data, page, as_json=as_json)
    wrong = sum(each[2] for each in counts.problems)
    remarks = ((counts.unnamed, "without a device"), (wrong, "wrong"))
    left_out = ", ".join(f"{count:,} {why}" for count, why in remarks if count)
    note(count_text(counts.records, "record") + (f"; left out: {left_out}" if left_out else ""))
    if counts.repeated:
        note(f"warning: {count_text(counts.repeated, 'device')} in the inventory more than once")
    for each in guards:
        if each.note:
            note(f"guard {each.guard}: {each.note}")
        if each.verdict != "held":
            show(f"guard {each.verdict}: {each.guard}: {each}; {_ADVICE[each.verdict]}", err=True)
    verdicts = {each.verdict for each in guards}
    return 1 if "broken" in verdicts else _UNDECIDED if "undecided" in verdicts else 0


@click.command("rollout", cls=StrictCommand)
@inventories_argument
@click.option(
    "--to", "share", type=Share(), default="10%", show_default=True, metavar="SHARE", help="Another bound."
)
@plan_options
@inventory_options
@html_option
@json_option
def show_rollouts(
    inventory: InventoryRequest,
    request: PlanRequest,
    share: float,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show how far each rollout is, and how many devices another bound moves.

    A rollout is a comparison with bucket in a condition. Counts the devices on which it decides.

    \b
    Example:
      etconfig fleet rollout devices.parquet --to 10%
    """
    from etconfig.fleet.running.reports import share_text
    from etconfig.fleet.usage.rollout_reach import reach_of_rollouts

    check_page(page)
    planned = request.planned(make_installation(request.profile_paths))
    with file_errors():
        found = reach_of_rollouts(inventory.runs(None), planned, share)
    headers = ("ROLLOUT", "DEVICES", "REACHED", "SHARE", f"MOVED BY {100 * share:.6g} %")
    rows = [
        (name, n["decides"], n["reached"], share_text(n["reached"], n["decides"]), n["moved"])
        for name, n in found.items()
    ]
    view = View(title="Rollouts", tables=[Table(caption="Rollouts", headers=headers, rows=rows)])
    data = [{"rollout": name, **counts} for name, counts in found.items()]
    give_tables(view, {"to": share, "rollouts": data}, page, as_json=as_json)
    if not found:
        note("no condition compares bucket with a bound")
