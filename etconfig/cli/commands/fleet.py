"""`etconfig fleet`: very many devices at once, from tables with a row for each."""

from __future__ import annotations

import atexit
import gc
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from etconfig.app.installation import Installation
from etconfig.cli.shared.completion import complete_profile
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.options import json_option, make_installation, profile_path_option, require_match_option
from etconfig.cli.shared.output import print_json, print_table, show, show_document, show_findings
from etconfig.cli.shared.usage import SuggestingGroup
from etconfig.cli.shared.writing import write_file
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.facts import FactRegistry
    from etconfig.fleet.database import Database
    from etconfig.fleet.html import FleetTable
    from etconfig.fleet.inventory import InventoryPart
    from etconfig.fleet.part_result import PartResult
    from etconfig.fleet.plan import FleetPlan
    from etconfig.fleet.validation import InventoryFinding

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])


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
    from etconfig.fleet.database import INSTALL, is_installed

    if not is_installed():
        raise click.ClickException(f"etconfig fleet needs DuckDB, which is not installed: {INSTALL}")
    atexit.unregister(gc.freeze)  # what it freezes, DuckDB's bindings would report as leaked


class _Percentage(click.ParamType):
    """The type of a share: `99.5%`, or a number from 0 to 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share from 0 to 1.

        Raises:
            click.BadParameter: it is none.
        """
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not a share, such as 99.5% or 0.995", param, ctx)
        return share


@record(frozen=True, kw_only=True)
class _InventoryRequest:
    """The inventories of a command, and how to read them."""

    inventories: Sequence[str]
    id_column: str | None
    table: str | None
    ignored: Sequence[str]
    cache: Path | None
    memory: str
    threads: int | None

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Open the database."""
        from etconfig.fleet.database import opened_database

        with opened_database(self.memory, self.threads) as database:
            yield database

    def with_inventories(self, inventories: Sequence[str]) -> _InventoryRequest:
        """Return the same with other inventories."""
        return replace(self, inventories=inventories)

    def parts(self, database: Database, registry: FactRegistry) -> list[InventoryPart]:
        """Open all inventories.

        Raises:
            FactError: with the problems of all.
        """
        from etconfig.fleet.inventory import InventoryOpener, find_sources

        opener = InventoryOpener(
            database, registry, id_column=self.id_column, ignored=self.ignored, cache=self.cache
        )
        return list(opener.open_all(find_sources(self.inventories, self.table)))


def _inventory_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read inventories; the command gets them as one `inventory`."""

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        names = ("inventories", "id_column", "table", "ignored", "cache", "memory", "threads")
        request = _InventoryRequest(**{name: parameters.pop(name) for name in names})
        return function(inventory=request, **parameters)

    options = (
        click.option("--id", "id_column", metavar="COLUMN", help="The column that names devices; by default device_id."),
        click.option("--table", metavar="NAME", help="The table of a DuckDB database; by default its only one."),
        click.option("--ignore", "ignored", multiple=True, metavar="COLUMN", help="Leave a column out. Repeatable."),
        click.option(
            "--cache",
            metavar="DIRECTORY",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where to keep converted JSON; by default .etconfig-fleet beside each inventory.",
        ),
        click.option(
            "--memory",
            default="1GiB",
            show_default=True,
            metavar="SIZE",
            callback=_check_memory,
            help="Memory for DuckDB; beyond it, it writes to the disk.",
        ),
        click.option("--threads", type=_count(), help="Threads; by default one for each core."),
    )
    found: Callable[..., Any] = with_request
    for option in reversed(options):
        found = option(found)
    return found


def _count() -> click.IntRange:
    from etconfig.cli.shared.options import count_from

    return count_from(1)


def _check_memory(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Refuse what is not an amount of memory."""
    number = text.rstrip("KMGTiBkb ")
    if not number.replace(".", "", 1).isdecimal() or number == text:
        raise click.BadParameter(f"{text!r} is not an amount of memory, such as 512MiB or 2GiB", context, parameter)
    return text


_inventories = click.argument("inventories", metavar="INVENTORY...", nargs=-1, required=True)


@record(frozen=True, kw_only=True)
class _PlanRequest:
    """What is resolved: programs, the profile and settings by hand."""

    programs: Sequence[Path]
    profile: str | None
    require_match: bool
    fact_texts: Sequence[str]
    overrides: Sequence[str]
    profile_paths: Sequence[Path]

    def plan(self, installation: Installation) -> FleetPlan:
        """Compile what decides.

        Raises:
            ConfigError: a profile or another setting is wrong.
        """
        from etconfig.app.api import load_program
        from etconfig.app.executors import NUMPY
        from etconfig.app.several_programs import SeveralPrograms
        from etconfig.app.targets import options_by_backend
        from etconfig.facts import parse_fact_assignments
        from etconfig.fleet.plan import FleetPlan
        from etconfig.resolver import layer_from_overrides

        programs = [load_program(path, executor=NUMPY, installation=installation) for path in self.programs]
        known_options = partial(options_by_backend, installation)
        return FleetPlan(
            SeveralPrograms.of(programs),
            installation,
            profile=self.profile,
            require_match=self.require_match,
            fact_overrides=parse_fact_assignments(self.fact_texts, installation.fact_registry),
            overrides=layer_from_overrides(self.overrides, "--set", known_options=known_options),
        )

    def settings(self, installation: Installation) -> str:
        """Return a text that changes with all that results depend on, but the inventories."""
        from etconfig.plugin import BACKENDS, FACTS
        from etconfig.version import __version__

        found = hashlib.sha256(f"{__version__} {self!r} {sorted(installation.environ.items())!r}".encode())
        files = [*self.programs, *(file.path for file in installation.profiles.files)]
        project = installation.project_path
        for path in (*files, *((project,) if project is not None else ())):
            found.update(str(path).encode(errors="surrogateescape") + b"\0")
            found.update(hashlib.sha256(path.read_bytes()).digest())
        for entry in (each for group in (BACKENDS, FACTS) for each in installation.index.entries(group)):
            found.update(f"{entry.name} {entry.source}\0".encode())
        return found.hexdigest()


def _plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is resolved; the command gets them as one `request`."""

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        names = ("programs", "profile", "require_match", "fact_texts", "overrides", "profile_paths")
        request = _PlanRequest(**{name: parameters.pop(name) for name in names})
        return function(request=request, **parameters)

    options = (
        click.option(
            "--program",
            "programs",
            multiple=True,
            type=click.Path(path_type=Path),
            help="Resolve for the methods of this program. Repeatable.",
        ),
        click.option(
            "--profile",
            shell_complete=complete_profile,
            help="auto, or one profile for all devices; by default that of the project file, else auto.",
        ),
        require_match_option,
        click.option(
            "--fact", "fact_texts", multiple=True, metavar="NAME=VALUE", help="Set a fact on every device. Repeatable."
        ),
        click.option(
            "--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Set an option on every device. Repeatable."
        ),
        profile_path_option,
    )
    found: Callable[..., Any] = with_request
    for option in reversed(options):
        found = option(found)
    return found


_html_option = click.option(
    "--html", "page", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the tables as HTML, too."
)
_ids_option = click.option("--show-ids", is_flag=True, help="Show the names of devices in reports.")
_coverage_option = click.option(
    "--require-coverage",
    "required",
    type=_Percentage(),
    metavar="SHARE",
    help="Exit with 1 if fewer devices get options, such as 100%.",
)


def _on_part(part: InventoryPart, number: int, count: int) -> None:
    """Show the progress on a terminal."""
    if sys.stderr.isatty():
        show(f"{number}/{count} {part.source.label}: {part.rows:,} devices", err=True)


def _show_tables(title: str, tables: Sequence[FleetTable], page: Path | None) -> None:
    """Print tables, and write them as HTML if that is requested."""
    shown = [table for table in tables if table.rows]
    for number, table in enumerate(shown):
        if number:
            show()
        show(f"{table.title}:")
        print_table(table.headers, table.texts)
    _write_page(title, shown, page)


def _write_page(title: str, tables: Sequence[FleetTable], page: Path | None) -> None:
    from etconfig.fleet.html import html_page

    if page is not None:
        write_file(page, html_page(title, tables).encode())


def _is_covered(result: PartResult, required: float | None) -> bool:
    """Return True if enough devices get options; else say so."""
    if required is None or result.resolved >= required * result.devices:
        return True
    missing = result.devices - result.resolved
    show(f"{missing:,} of {result.devices:,} devices get no options, but {required:.6g} of them must", err=True)
    return False


@command.command("validate")
@_inventories
@_inventory_options
@json_option
def validate_inventory(inventory: _InventoryRequest, as_json: bool) -> int:
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
            _on_part(part, number, len(parts))
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
        _show_findings_of_values(findings)
        if shared:
            show(f"{format_count(shared, 'device')} in several files; name each device once")
    count = len(findings) + len(opener.problems) + bool(shared)
    show(f"{devices:,} devices checked: {format_count(count, 'finding')}", err=True)
    return 1 if count else 0


def _show_findings_of_values(findings: Sequence[InventoryFinding]) -> None:
    if not findings:
        return
    several = len({finding.label for finding in findings}) > 1
    headers = ("FACT", "PROBLEM", "DEVICES", "FIRST ROWS", "VALUES")
    rows = [
        (
            *((finding.label,) if several else ()),
            finding.fact,
            finding.problem if finding.help is None else f"{finding.problem}; {finding.help}",
            f"{finding.devices:,}",
            ", ".join(map(str, finding.rows)),
            ", ".join(finding.values),
        )
        for finding in findings
    ]
    print_table(("FILE", *headers) if several else headers, rows)


@command.command("resolve")
@_inventories
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write the tables.",
)
@_plan_options
@_inventory_options
@_coverage_option
@_ids_option
@_html_option
@json_option
def resolve_devices(
    inventory: _InventoryRequest,
    output: Path,
    request: _PlanRequest,
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
      etconfig fleet resolve 'inventory/*.parquet' --profile acme/phone -o results
    """
    from etconfig.fleet.fleet_run import resolve_fleet
    from etconfig.fleet.reports import coverage_data, coverage_tables, problem_table

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        settings = request.settings(installation)
        result = resolve_fleet(database, parts, plan, output, settings, _on_part)
    data = coverage_data(result, plan)
    tables = coverage_tables(data, [problem_table(result, with_ids=show_ids)])[:2]
    if as_json:
        print_json(data)
        _write_page("Fleet", tables, page)
    else:
        _show_tables("Fleet", tables, page)
    show(
        f"{result.devices:,} devices, {format_count(len(result.resolutions), 'resolution')} written to {output}",
        err=True,
    )
    return 0 if _is_covered(result, required) else 1


@command.command("coverage")
@_inventories
@_plan_options
@_inventory_options
@_coverage_option
@_ids_option
@_html_option
@json_option
def show_coverage(
    inventory: _InventoryRequest,
    request: _PlanRequest,
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

    result, plan = _summarized(inventory, request)
    data = coverage_data(result, plan)
    tables = coverage_tables(data, [problem_table(result, with_ids=show_ids)])
    if as_json:
        print_json(data)
        _write_page("Coverage", tables, page)
    else:
        _show_tables("Coverage", tables, page)
    return 0 if _is_covered(result, required) else 1


def _summarized(inventory: _InventoryRequest, request: _PlanRequest) -> tuple[PartResult, FleetPlan]:
    from etconfig.fleet.fleet_run import summarize_fleet

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        return summarize_fleet(database, parts, plan, _on_part), plan


@command.command("histogram")
@click.argument("path", metavar="OPTION")
@_inventories
@_plan_options
@_inventory_options
@_html_option
@json_option
def show_histogram(
    path: str, inventory: _InventoryRequest, request: _PlanRequest, page: Path | None, as_json: bool
) -> None:
    """Show how many devices get each value of an option.

    OPTION is [METHOD[@INSTANCE]:]BACKEND.OPTION.

    \b
    Example:
      etconfig fleet histogram XnnpackBackend.num_threads devices.parquet --program model.pte
    """
    from etconfig.fleet.html import FleetTable
    from etconfig.fleet.reports import option_histogram, share_text
    from etconfig.option_path import parse_option_path

    try:
        parsed = parse_option_path(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    result, _ = _summarized(inventory, request)
    found = option_histogram(result, parsed)
    if not found:
        raise click.ClickException(f"no device gets an option {path!r}; `etconfig fleet coverage` shows what they get")
    if as_json:
        print_json({"devices": result.devices, "options": {name: dict(values) for name, values in found.items()}})
    tables = [
        FleetTable(
            title=name,
            headers=("VALUE", "DEVICES", "SHARE"),
            rows=[(value, count, share_text(count, result.devices)) for value, count in values.most_common()],
        )
        for name, values in found.items()
    ]
    if as_json:
        _write_page(path, tables, page)
    else:
        _show_tables(path, tables, page)


@command.command("diff")
@click.argument("inventories", metavar="INVENTORY... OLD NEW", nargs=-1, required=True)
@_plan_options
@_inventory_options
@click.option(
    "--max-changed", type=_Percentage(), metavar="SHARE", help="Exit with 1 if more devices change, such as 1%."
)
@_ids_option
@_html_option
@json_option
def show_difference(
    inventory: _InventoryRequest,
    request: _PlanRequest,
    max_changed: float | None,
    show_ids: bool,
    page: Path | None,
    as_json: bool,
) -> int:
    """Show which devices a change moves, before it is made.

    OLD and NEW are each a directory of profiles, a directory with a project file, or a revision of git,
    such as main; . is the current directory. Counts the devices of each change of an option, of the
    profile, or from options to a problem. Exits with 1 only if --max-changed is exceeded.

    \b
    Examples:
      etconfig fleet diff devices.parquet main . --max-changed 1%
      etconfig fleet diff devices.parquet profiles-old profiles-new --program model.pte
    """
    from contextlib import ExitStack

    from etconfig.fleet.difference import compare_fleet
    from etconfig.fleet.html import FleetTable
    from etconfig.fleet.reports import share_text
    from etconfig.fleet.revisions import RevisionError, installation_at

    if len(inventory.inventories) < 3:
        raise click.UsageError("give at least one inventory, then OLD and NEW")
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
        database = stack.enter_context(inventory.database())
        parts = inventory.with_inventories(inventories).parts(database, installation.fact_registry)
        found = compare_fleet(database, parts, *plans, _on_part)
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
        _write_page("Changes", tables, page)
    else:
        _show_tables("Changes", tables, page)
    share = share_text(found.changed, found.devices)
    show(f"{found.changed:,} of {found.devices:,} devices change ({share}); {found.moved:,} get another profile", err=True)
    if max_changed is not None and found.share > max_changed:
        show(f"more devices change than --max-changed {max_changed:.6g} allows", err=True)
        return 1
    return 0


@command.command("explain")
@click.argument("device", metavar="DEVICE")
@_inventories
@click.option("--option", "paths", multiple=True, metavar="PATH", help="Explain only this option. Repeatable.")
@_plan_options
@_inventory_options
@json_option
def explain_device(
    device: str, inventory: _InventoryRequest, paths: Sequence[str], request: _PlanRequest, as_json: bool
) -> None:
    """Show what one device gets, and why.

    DEVICE is its name in the inventory. Shows the profile and the reasons for it, and for each option
    the value, where it comes from, what it overrides and the facts that it depends on.

    \b
    Example:
      etconfig fleet explain device-000000017 devices.parquet --program model.pte
    """
    from etconfig.app.several_programs import SeveralPrograms
    from etconfig.fleet.devices import find_device

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        sheet = find_device(database, parts, device, installation.fact_registry)
    if sheet is None:
        raise click.ClickException(f"no device is called {device!r} in these inventories")
    resolution = plan.resolved_on(sheet)
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
@_inventories
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
@_plan_options
@_inventory_options
@_ids_option
def sample_fleet(
    inventory: _InventoryRequest, output: Path, by: str, request: _PlanRequest, show_ids: bool
) -> None:
    """Write a few fact sheets that stand for all devices.

    Each sheet is a device of the inventory. With --by group, there is one for each combination of
    conditions and values that decides; with --by result, one for each profile with its options or
    problem. They suit `etconfig validate` and `etconfig lock`, and tests. Files are numbered; with
    --show-ids, they have the names of the devices.

    \b
    Example:
      etconfig fleet sample devices.parquet --by result -o golden
    """
    from etconfig.fleet.devices import sample_devices

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        found = list(sample_devices(database, parts, plan, by_group=by == "group"))
    output.mkdir(parents=True, exist_ok=True)
    for number, (count, sheet) in enumerate(found, 1):
        name = _file_name(count.example or "") if show_ids else f"{number:04d}"
        write_file(output / f"{name}.json", sheet.to_json().encode())
    show(f"{format_count(len(found), 'sheet')} written to {output}", err=True)


def _file_name(device: str) -> str:
    """Return the name of a device as that of a file."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in device).lstrip(".") or "device"
