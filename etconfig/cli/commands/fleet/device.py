"""`etconfig fleet explain`: one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from etconfig.cli.shared.command_options import json_option, make_installation
from etconfig.cli.shared.fleet_requests import (
    InventoryRequest,
    PlanRequest,
    inventories_argument,
    inventory_options,
    plan_options,
)
from etconfig.cli.shared.output import note, print_json, show, show_document
from etconfig.cli.shared.usage import StrictCommand


@click.command("explain", cls=StrictCommand)
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
    from etconfig.fleet.running.single_devices import find_in_fleet

    installation = make_installation(request.profile_paths)
    plan = request.plan(installation)
    with inventory.database() as database:
        parts = inventory.parts(database, installation.fact_registry)
        sheets = find_in_fleet(database, parts, device, installation.fact_registry)
    if not sheets:
        raise click.ClickException(f"no device is called {device!r} in these inventories")
    if len(sheets) > 1:
        note(f"warning: {len(sheets):,} rows are called {device!r}; this is the first of them")
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
    from etconfig.resolver.explaining.difference import reported_values

    return [str(path) for path in reported_values(resolution)]
