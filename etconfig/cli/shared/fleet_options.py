"""Options of `etconfig fleet`."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from etconfig.base.packages import how_to_install
from etconfig.cli.shared.completion import complete_profile
from etconfig.cli.shared.fleet_requests import InventoryRequest, PlanRequest
from etconfig.cli.shared.options import count_from, models_option, profile_path_option, require_match_option
from etconfig.cli.shared.writing import OutputPath, force_option


class Share(click.FloatRange):
    """The type of a share: `99.5%`, or a number from 0 to 1."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(min=0, max=1)

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


def _check_installed() -> None:
    """Check that DuckDB is installed.

    Raises:
        click.ClickException: it is not; with the command that installs it.
    """
    from etconfig.fleet.inventory.database import is_installed

    if not is_installed():
        install = how_to_install("'etconfig[fleet]'")
        raise click.ClickException(f"etconfig fleet needs DuckDB, which is not installed: {install}")
    atexit.unregister(gc.freeze)  # what it freezes, DuckDB's bindings would report as leaked


def inventory_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read inventories; the command gets them as one `inventory`."""

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        _check_installed()
        names = ("inventories", "id_column", "table", "ignored", "cache", "memory", "threads")
        request = InventoryRequest(**{name: parameters.pop(name) for name in names})
        return function(inventory=request, **parameters)

    options = (
        click.option(
            "--id", "id_column", metavar="COLUMN", help="The column that names devices; by default device_id."
        ),
        click.option(
            "--table", metavar="NAME", help="The table of a DuckDB database; by default its only one."
        ),
        click.option(
            "--ignore", "ignored", multiple=True, metavar="COLUMN", help="Leave a column out. Repeatable."
        ),
        click.option(
            "--cache",
            metavar="DIRECTORY",
            type=OutputPath(is_directory=True),
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
        click.option("--threads", type=count_from(1), help="Threads; by default one for each core."),
    )
    found: Callable[..., Any] = with_request
    for option in reversed(options):
        found = option(found)
    return found


def _check_memory(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Refuse what is not an amount of memory."""
    number = text.rstrip("KMGTiBkb ")
    if not number.replace(".", "", 1).isdecimal() or number == text:
        raise click.BadParameter(
            f"{text!r} is not an amount of memory, such as 512MiB or 2GiB", context, parameter
        )
    return text


inventories_argument = click.argument("inventories", metavar="INVENTORY...", nargs=-1, required=True)


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is resolved; the command gets them as one `request`."""

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        names = ("programs", "models", "profile", "require_match", "fact_texts", "overrides", "profile_paths")
        request = PlanRequest(**{name: parameters.pop(name) for name in names})
        return function(request=request, **parameters)

    options = (
        click.option(
            "--program",
            "programs",
            multiple=True,
            type=click.Path(path_type=Path),
            help="Resolve for the methods of this program. Repeatable.",
        ),
        models_option,
        click.option(
            "--profile",
            shell_complete=complete_profile,
            help="auto, or one profile for all devices; by default that of the project file, else auto.",
        ),
        require_match_option,
        click.option(
            "--fact",
            "fact_texts",
            multiple=True,
            metavar="NAME=VALUE",
            help="Set a fact on every device. Repeatable.",
        ),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="PATH=VALUE",
            help="Set an option on every device. Repeatable.",
        ),
        profile_path_option,
    )
    found: Callable[..., Any] = with_request
    for option in reversed(options):
        found = option(found)
    return found


def workers_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--on`; the command gets the address as `place`, or None."""
    return click.option(
        "--on",
        "place",
        metavar="ADDRESS",
        callback=_check_workers,
        help="Resolve on a cluster of Dask (etconfig[dask]), such as dask://host:8786.",
    )(function)


def _check_workers(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    from etconfig.fleet.running.clusters import parse_cluster_address

    try:
        address = parse_cluster_address(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    if address.missing is not None:
        raise click.ClickException(address.missing)
    return text


def html_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--html`; the command gets the path as `page`; and `--force`."""
    page = click.option(
        "--html", "page", metavar="FILE", type=OutputPath(), help="Write the tables as HTML, too."
    )
    return page(force_option(function))


ids_option = click.option("--show-ids", is_flag=True, help="Show the names of devices in reports.")
coverage_option = click.option(
    "--require-coverage",
    "required",
    type=Share(),
    metavar="SHARE",
    help="Exit with 1 if fewer devices get options, such as 100%.",
)
