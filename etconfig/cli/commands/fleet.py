"""`etconfig fleet`: very many devices at once, from tables with a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.rendering.fleet_text import (
    is_covered,
    show_file,
    show_fleet_tables,
    show_inventory_findings,
    show_part,
    write_fleet_page,
)
from etconfig.cli.shared.fleet_options import (
    InventoryRequest,
    PlanRequest,
    Share,
    coverage_option,
    html_option,
    ids_option,
    inventories_argument,
    inventory_options,
    plan_options,
    workers_option,
)
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.options import json_option, make_installation
from etconfig.cli.shared.output import print_json, show, show_document, show_findings
from etconfig.cli.shared.usage import SuggestingGroup
from etconfig.cli.shared.writing import check_can_write, check_is_not_read, write_file

if TYPE_CHECKING:
    from etconfig.fleet.database import Database
    from etconfig.fleet.part_result import PartResult
    from etconfig.fleet.plan import FleetPlan
    from etconfig.fleet.validation import InventoryFinding

_LONGEST_NAME = 60
"""The longest name of a sheet, in characters: file systems take 255 bytes."""


@click.group("fleet", cls=SuggestingGroup)
def command() -> None:
    """Resolve very many devices from tables; needs etconfig[fleet].

    An inventory is a Parquet file, a JSONL file, a DuckDB table, or a directory of fact sheets. It has a
    row for each device: the column device_id names it, and each other column is a fact, such as
    cpu.available_cores or cpu__available_cores. NULL is unknown.

    \b
    Examples:
      etconfig fleet validate devices.parquet
      etconfig fleet resolve 'inventory/*.parquet' --program model.pte --output results
      etconfig fleet coverage devices.parquet --require-coverage 100%
      etconfig fleet diff devices.parquet main . --max-changed 1%
    """


@command.command("validate")
@inventories_argument
@inventory_options
@json_option
def validate_inventory(inventory: InventoryRequest, as_json: bool) -> int:
    """Check every value of every device; exit with 1 if there are findings.

    Checks the names of columns, their types, and the units, types and ranges of values; that each device
    has a name of its own; and that no number is NaN or infinite. Values that are wrong for the same reason
    are one finding, with the number of devices and the first rows. Of a JSONL file, rows are lines
    without the empty ones.

    \b
    Examples:
      etconfig fleet validate devices.parquet
      etconfig fleet validate devices.jsonl --json
    """
    from etconfig.fleet.inventory import InventoryOpener, find_sources
    from etconfig.fleet.validation import duplicates_of, validate_part

    sources = find_sources(inventory.inventories, inventory.table)
    findings: list[InventoryFinding] = []
    registry = make_installation().fact_registry
    with inventory.database() as database:
        opener = InventoryOpener(
            database,
            registry,
            id_column=inventory.id_column,
            ignored=inventory.ignored,
            cache=inventory.cache,
        )
        parts = [part for part in map(opener.open, sources) if part is not None]
        for number, part in enumerate(parts, 1):
            show_part(part, number, len(parts))
            findings += validate_part(database, part)
        shared = duplicates_of(database, parts)
    devices = sum(part.rows for part in parts)
    if as_json:
        print_json(
            {
                "devices": devices,
                "findings": [finding.to_jsonable() for finding in findings],
                "problems": [str(problem) for problem in opener.problems],
                "devices_in_several_files": shared,
            }
        )
    else:
        show_findings(opener.problems)
        show_inventory_findings(findings)
        if shared:
            noun = "device is" if shared == 1 else "devices are"
            show(f"{shared:,} {noun} in several files; name each device once")
    count = len(findings) + len(opener.problems) + bool(shared)
    show(f"{devices:,} devices checked: {format_count(count, 'finding')}", err=True)
    return 1 if count else 0


@command.command("resolve")
@inventories_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write the tables.",
)
@click.option("--force", is_flag=True, help="Replace tables there that etconfig has not written, too.")
@plan_options
@inventory_options
@workers_option
@coverage_option
@ids_option
@html_option
@json_option
def resolve_inventory(
    inventory: InventoryRequest,
    output: Path,
    force: bool,
    request: PlanRequest,
    place: str | None,
    required: float | None,
    show_ids: bool,
    page: Path | None,
    as_json: bool,
) -> int:
    """Resolve every device of a fleet, and write three tables.

    \b
    assignments.parquet  a row for each device: device_id, profile, resolution
    resolutions.parquet  the options of each distinct resolution, with values as JSON and origins
    problems.parquet     why devices get none: cause, message, profile, devices, example

    A resolution is the fingerprint of its options, so that tables of several runs can be joined. A run
    that was interrupted continues after the last whole file, if it is started again with the same
    options.

    \b
    Examples:
      etconfig fleet resolve devices.parquet --program model.pte -o results
      etconfig fleet resolve 'inventory/*.parquet' --profile generic/any -o results
    """
    from etconfig.fleet.clusters import connected
    from etconfig.fleet.fleet_run import resolve_fleet
    from etconfig.fleet.reports import coverage_data, coverage_tables, problem_table
    from etconfig.fleet.workers import resolve_on

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        if not force:
            _check_replaces_own(database, output)
        if place is None:
            parts = inventory.parts(database, installation.fact_registry)
            settings = request.settings(installation)
            result = resolve_fleet(database, parts, plan, output, settings, show_part)
        else:
            sources, job = inventory.sources(), inventory.job(request.recipe(plan))
            with connected(place) as workers:
                result = resolve_on(workers, database, sources, job, output, show_file)
    data = coverage_data(result, plan)
    tables = coverage_tables(data, [problem_table(result, with_ids=show_ids)])[:2]
    if as_json:
        print_json(data)
        write_fleet_page("Fleet", tables, page)
    else:
        show_fleet_tables("Fleet", tables, page)
    show(
        f"{result.devices:,} devices, "
        f"{format_count(len(result.resolutions), 'resolution')} written to {output}",
        err=True,
    )
    return 0 if is_covered(result, required) else 1


def _check_replaces_own(database: Database, output: Path) -> None:
    """Check that tables in a directory are those of an earlier run."""
    from etconfig.fleet.resolving import foreign_table

    foreign = foreign_table(database, output)
    if foreign is not None:
        reason = "`etconfig fleet resolve` has not written it; give another directory, or --force"
        raise click.ClickException(f"cannot replace {foreign}: {reason}")


@command.command("coverage")
@inventories_argument
@plan_options
@inventory_options
@workers_option
@coverage_option
@ids_option
@html_option
@json_option
def show_coverage(
    inventory: InventoryRequest,
    request: PlanRequest,
    place: str | None,
    required: float | None,
    show_ids: bool,
    page: Path | None,
    as_json: bool,
) -> int:
    """Show which devices get options, and which profiles and options are never used.

    Counts the devices without a profile, with several that match equally well, and with one that
    cannot be resolved, by cause; lists the profiles that match no device, and the options that nothing
    sets on any device.

    \b
    Examples:
      etconfig fleet coverage devices.parquet --program model.pte
      etconfig fleet coverage devices.parquet --require-coverage 100%
    """
    from etconfig.fleet.reports import coverage_data, coverage_tables, problem_table

    result, plan = _summarized(inventory, request, place)
    data = coverage_data(result, plan)
    tables = coverage_tables(data, [problem_table(result, with_ids=show_ids)])
    if as_json:
        print_json(data)
        write_fleet_page("Coverage", tables, page)
    else:
        show_fleet_tables("Coverage", tables, page)
    return 0 if is_covered(result, required) else 1


def _summarized(
    inventory: InventoryRequest, request: PlanRequest, place: str | None
) -> tuple[PartResult, FleetPlan]:
    from etconfig.fleet.fleet_run import summarize_fleet

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    if place is not None:
        from etconfig.fleet.clusters import connected
        from etconfig.fleet.workers import summarize_on

        sources, job = inventory.sources(), inventory.job(request.recipe(plan))
        with connected(place) as workers:
            return summarize_on(workers, sources, job, show_file), plan
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        return summarize_fleet(database, parts, plan, show_part), plan


@command.command("histogram")
@click.argument("path", metavar="OPTION")
@inventories_argument
@plan_options
@inventory_options
@workers_option
@html_option
@json_option
def show_histogram(
    path: str,
    inventory: InventoryRequest,
    request: PlanRequest,
    place: str | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Show how many devices get each value of an option.

    OPTION is [METHOD[@INSTANCE]:]BACKEND.OPTION.

    \b
    Example:
      etconfig fleet histogram ReferenceCpuBackend.num_threads devices.parquet --program model.pte
    """
    from etconfig.fleet.html import FleetTable
    from etconfig.fleet.reports import option_histogram, share_text
    from etconfig.option_path import parse_option_path

    try:
        parsed = parse_option_path(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    result, _ = _summarized(inventory, request, place)
    found = option_histogram(result, parsed)
    if not found:
        raise click.ClickException(
            f"no device gets an option {path!r}; `etconfig fleet coverage` shows what they get"
        )
    if as_json:
        print_json(
            {"devices": result.devices, "options": {name: dict(values) for name, values in found.items()}}
        )
    tables = [
        FleetTable(
            title=name,
            headers=("VALUE", "DEVICES", "SHARE"),
            rows=[
                (value, count, share_text(count, result.devices))
                for value, count in sorted(values.items(), key=_most_first)
            ],
        )
        for name, values in found.items()
    ]
    if as_json:
        write_fleet_page(path, tables, page)
    else:
        show_fleet_tables(path, tables, page)


def _most_first(item: tuple[str, int]) -> tuple[object, ...]:
    """Return the key by which values are sorted: those of most devices first, then short ones."""
    value, count = item
    return -count, len(value), value


@command.command("diff")
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
    type=click.Path(dir_okay=False, path_type=Path),
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
    as_json: bool,
) -> int:
    """Show which devices a change moves, before it is made.

    OLD and NEW are each a directory of profiles, a directory with a project file, or a revision of git,
    such as main; . stands for the profiles as they are here. Counts the devices of each change of an
    option, of the profile, or from options to a problem. Exits with 1 only if --max-changed is exceeded.

    \b
    Examples:
      etconfig fleet diff devices.parquet main . --max-changed 1%
      etconfig fleet diff devices.parquet profiles-old profiles-new --program model.pte
      etconfig fleet diff devices.parquet main . --devices moved.parquet
    """
    from contextlib import ExitStack

    from etconfig.fleet.clusters import connected
    from etconfig.fleet.difference import compare_fleet
    from etconfig.fleet.html import FleetTable
    from etconfig.fleet.reports import share_text
    from etconfig.fleet.revisions import RevisionError, installation_at
    from etconfig.fleet.workers import compare_on

    if len(inventory.inventories) < 3:
        raise click.UsageError("give at least one inventory, then OLD and NEW")
    if moved is not None:
        if place is not None:
            raise click.UsageError("--devices is written by this process: leave out --on")
        check_is_not_read(moved, [Path(each) for each in inventory.inventories])
        check_can_write(moved)
    *inventories, old, new = inventory.inventories
    installation = make_installation(request.profile_paths)
    with ExitStack() as stack:
        try:
            sides = [
                stack.enter_context(installation_at(text, request.profile_paths, Path.cwd()))
                for text in (old, new)
            ]
        except RevisionError as error:
            raise click.ClickException(str(error)) from error
        plans = [request.plan(side) for side in sides]
        inventory = inventory.with_inventories(inventories)
        if place is None:
            database = stack.enter_context(inventory.database())
            parts = inventory.parts(database, installation.fact_registry)
            found = compare_fleet(database, parts, plans[0], plans[1], show_part, moved)
        else:
            sources, job = inventory.sources(), inventory.job(*map(request.recipe, plans))
            workers = stack.enter_context(connected(place))
            found = compare_on(workers, sources, job, show_file)
    headers = ("OPTION", "OLD", "NEW", "DEVICES", "SHARE", *(("FIRST DEVICE",) if show_ids else ()))
    rows = [
        (
            change.path,
            change.old,
            change.new,
            count,
            share_text(count, found.devices),
            *((found.examples[change] or "",) if show_ids else ()),
        )
        for change, count in found.changes.items()
    ]
    tables = [FleetTable(title="Changes", headers=headers, rows=rows)]
    if as_json:
        print_json(found.to_jsonable(with_ids=show_ids))
        write_fleet_page("Changes", tables, page)
    else:
        show_fleet_tables("Changes", tables, page)
    share = share_text(found.changed, found.devices)
    show(
        f"{found.changed:,} of {found.devices:,} devices change ({share}); "
        f"{found.moved:,} get another profile",
        err=True,
    )
    if max_changed is not None and found.share > max_changed:
        show(f"more devices change than --max-changed {max_changed:.6g} allows", err=True)
        return 1
    return 0


@command.command("explain")
@click.argument("device", metavar="DEVICE")
@inventories_argument
@click.option(
    "--option", "paths", multiple=True, metavar="PATH", help="Explain only this option. Repeatable."
)
@plan_options
@inventory_options
@json_option
def explain_device(
    device: str, inventory: InventoryRequest, paths: Sequence[str], request: PlanRequest, as_json: bool
) -> None:
    """Show what one device gets, and why.

    DEVICE is its name in the inventory. Shows the profile and the reasons for it, and for each option
    the value, where it comes from, what it overrides and the facts that it depends on.

    \b
    Example:
      etconfig fleet explain device-17 devices.parquet --program model.pte
    """
    from etconfig.fleet.devices import find_in_fleet

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        sheets = find_in_fleet(database, parts, device, installation.fact_registry)
    if not sheets:
        raise click.ClickException(f"no device is called {device!r} in these inventories")
    if len(sheets) > 1:
        show(f"warning: {len(sheets):,} rows are called {device!r}; this is the first of them", err=True)
    resolution = plan.resolved_on(sheets[0])
    explained = [resolution.explain(path) for path in paths or _all_options(resolution)]
    reasons = () if resolution.selection is None else _reasons(resolution.selection)
    if as_json:
        print_json(
            {
                **resolution.to_jsonable(),
                "reasons": list(reasons),
                "explanations": [row for each in explained for row in each.to_jsonable()],
            }
        )
        return
    show(f"profile {resolution.profile}")
    for reason in reasons:
        show(f"  {reason}")
    for each in explained:
        show()
        show_document(f"{each}\n")


def _reasons(selection: Any) -> tuple[str, ...]:
    match = next(each for each in selection.matches if each.profile.name == selection.profile.name)
    return tuple(match.reasons)


def _all_options(resolution: Any) -> list[str]:
    from etconfig.resolver import reported_values

    return [str(path) for path in reported_values(resolution)]


@command.command("sample")
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
    show(f"{format_count(len(found), 'sheet')} written to {output}", err=True)


def _check_has_no_others(directory: Path, names: Sequence[str]) -> None:
    """Check that a directory has no sheets of an earlier sample, which would stand for devices, too.

    Raises:
        click.ClickException: it has.
    """
    wanted = {f"{name}.json" for name in names}
    others = sorted(path.name for path in directory.glob("*.json") if path.name not in wanted)
    if others:
        raise click.ClickException(
            f"{directory} has {format_count(len(others), 'other sheet')}, such as {others[0]}; "
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
