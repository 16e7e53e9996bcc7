"""`etconfig fleet resolve`, `coverage` and `histogram`: what devices get."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.rendering.fleet_text import give_tables, is_covered
from etconfig.cli.shared.command_options import json_option, make_installation
from etconfig.cli.shared.fleet_requests import (
    InventoryRequest,
    PlanRequest,
    coverage_option,
    file_errors,
    ids_option,
    inventories_argument,
    inventory_options,
    plan_options,
    workers_option,
)
from etconfig.cli.shared.output import judged, note, show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import OutputPath, check_page, files_of_command, html_option
from etconfig.report.model import Table, View, count_text

if TYPE_CHECKING:
    from etconfig.fleet.deciding.plan import FleetPlan
    from etconfig.fleet.running.part_result import PartResult

_INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended."""


@click.command("resolve", cls=StrictCommand)
@inventories_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIRECTORY",
    type=OutputPath(is_directory=True),
    help="Where to write the tables.",
)
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
    request: PlanRequest,
    place: str | None,
    required: float | None,
    show_ids: bool,
    page: Path | None,
    force: bool,
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
    from etconfig.fleet.running.reports import coverage_data, coverage_tables, problem_table
    from etconfig.fleet.running.resumable_run import RunInterruptedError

    check_page(page)
    planned = request.planned(make_installation(request.profile_paths))
    with file_errors():
        try:
            result = inventory.runs(place).resolve(planned, output, files_of_command())
        except RunInterruptedError as run:
            show(err=True)  # after the ^C that the terminal shows
            verb = "is" if run.finished == 1 else "are"
            files = f"{run.finished:,} of {count_text(run.files, 'file')} {verb} finished"
            show(f"interrupted: {files}; the same command continues from there", err=True)
            return _INTERRUPTED
    data = coverage_data(result, planned.plan)
    tables = coverage_tables(data, [problem_table(result, with_ids=show_ids)])[:2]
    give_tables(View(title="Fleet", tables=tables), data, page, as_json=as_json)
    note(
        f"{count_text(result.devices, 'device')}, "
        f"{count_text(len(result.resolutions), 'resolution')} written to {output}"
    )
    return 0 if is_covered(result, required) else 1


@click.command("coverage", cls=StrictCommand)
@inventories_argument
@plan_options
@inventory_options
@workers_option
@click.option(
    "--fits", "with_memory", is_flag=True, help="Count the devices whose memory suffices for the programs."
)
@click.option(
    "--variants", "with_variants", is_flag=True, help="Count the devices that get each variant of the models."
)
@coverage_option
@ids_option
@html_option
@json_option
def show_coverage(
    inventory: InventoryRequest,
    request: PlanRequest,
    place: str | None,
    with_memory: bool,
    with_variants: bool,
    required: float | None,
    show_ids: bool,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Show which devices get options, and which profiles and options are never used.

    Counts the devices without a profile, with several that match equally well, and with one that
    cannot be resolved, by cause. Lists the profiles that match no device, and the options that nothing
    sets on any device. With --fits, also counts the devices that have the memory for the programs, as
    inspect --memory estimates it. With --variants, also counts the devices that get each variant of a
    model, as models select selects it.

    \b
    Examples:
      etconfig fleet coverage devices.parquet --program model.pte
      etconfig fleet coverage devices.parquet --program model.pte --fits
      etconfig fleet coverage devices.parquet --require-coverage 100%
    """
    from etconfig.fleet.running.reports import coverage_data, coverage_tables, problem_table

    if (with_memory or with_variants) and place is not None:
        named = "--fits" if with_memory else "--variants"
        raise click.UsageError(f"programs do not travel to workers: leave out {named} or --on")
    check_page(page)
    result, plan = _summarized(
        inventory, request, place, with_memory=with_memory, with_variants=with_variants
    )
    data = coverage_data(result, plan)
    tables = coverage_tables(data, [problem_table(result, with_ids=show_ids)])
    give_tables(View(title="Coverage", tables=tables), data, page, as_json=as_json)
    return 0 if is_covered(result, required) else 1


def _summarized(
    inventory: InventoryRequest,
    request: PlanRequest,
    place: str | None,
    *,
    with_memory: bool = False,
    with_variants: bool = False,
) -> tuple[PartResult, FleetPlan]:
    planned = request.planned(
        make_installation(request.profile_paths), with_memory=with_memory, with_variants=with_variants
    )
    with file_errors():
        return inventory.runs(place).summarize(planned), planned.plan


@click.command("test", cls=StrictCommand)
@inventories_argument
@plan_options
@inventory_options
@html_option
@json_option
def test_fleet(
    inventory: InventoryRequest, request: PlanRequest, page: Path | None, force: bool, as_json: bool
) -> int:
    """Count the devices on which the project's tests hold; exit with 1 if one fails.

    The tests are [[test]] of the project file, as for etconfig test; that the options of a device resolve
    is one more. A test that needs a fact which a device lacks is undecided, which fails, too, unless
    [rules] give it another level.

    \b
    Examples:
      etconfig fleet test devices.parquet
      etconfig fleet test devices.parquet --program model.pte --json
    """
    from etconfig.app.configuring.project_tests import OUTCOMES, check_tests
    from etconfig.diagnostics import Diagnostic
    from etconfig.fleet.running.reports import share_text
    from etconfig.profile.device_tests import RESOLVES

    check_page(page)
    installation = make_installation(request.profile_paths)
    project = installation.project
    tests = check_tests(installation, () if project is None else project.tests)
    planned = request.planned(installation, tests=tests)
    with file_errors():
        result = inventory.runs(None).summarize(planned)
    counts, unresolved = result.tests, result.devices - result.resolved
    counts[RESOLVES, "passed"] += result.resolved
    counts[RESOLVES, "failed"] += unresolved
    counts.update({(each.test.name, "skipped"): unresolved for each in tests})
    names = (RESOLVES, *(each.test.name for each in tests))
    rows = {name: [counts[name, outcome] for outcome in OUTCOMES] for name in names}
    data = {
        "devices": result.devices,
        "tests": [{"test": name, **dict(zip(OUTCOMES, row, strict=True))} for name, row in rows.items()],
    }
    table = Table(
        caption="Tests",
        headers=("TEST", *map(str.upper, OUTCOMES), "SHARE PASSED"),
        rows=[(name, *row, share_text(row[0], sum(row[:3]))) for name, row in rows.items()],
    )
    give_tables(View(title="Tests", tables=[table]), data, page, as_json=as_json)
    codes = ("failed-test", "undecided-test")
    found = [
        Diagnostic(code=code, message=each.test.name, spans=(each.test.assertion.span,))
        for each in tests
        for code, count in zip(codes, rows[each.test.name][1:3], strict=True)
        if count
    ]
    bad = len({each.message for each in judged(found) if each.is_error})
    bad += any(rows[RESOLVES][1:3])
    note(f"{count_text(result.devices, 'device')}: {bad:,} of {count_text(len(rows), 'test')} failed")
    return 1 if bad or not result.devices else 0


@click.command("histogram", cls=StrictCommand)
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
    force: bool,
    as_json: bool,
) -> None:
    """Show how many devices get each value of an option.

    OPTION is [METHOD[@INSTANCE]:]BACKEND.OPTION.

    \b
    Example:
      etconfig fleet histogram ReferenceCpuBackend.num_threads devices.parquet --program model.pte
    """
    from etconfig.base.option_path import parse_option_path
    from etconfig.fleet.running.reports import option_histogram, share_text

    try:
        parsed = parse_option_path(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    check_page(page)
    result, _ = _summarized(inventory, request, place)
    found = option_histogram(result, parsed)
    if not found:
        raise click.ClickException(
            f"no device gets an option {path!r}; `etconfig fleet coverage` shows what they get"
        )
    data = {"devices": result.devices, "options": {name: dict(values) for name, values in found.items()}}
    tables = [
        Table(
            caption=name,
            headers=("VALUE", "DEVICES", "SHARE"),
            rows=[
                (value, count, share_text(count, result.devices))
                for value, count in sorted(values.items(), key=_most_first)
            ],
        )
        for name, values in found.items()
    ]
    give_tables(View(title=path, tables=tables), data, page, as_json=as_json)


def _most_first(item: tuple[str, int]) -> tuple[object, ...]:
    """Return the key by which values are sorted: values of most devices first, then short ones."""
    value, count = item
    return -count, len(value), value
