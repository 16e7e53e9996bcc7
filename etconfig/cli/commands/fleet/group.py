"""The group `etconfig fleet`, with its commands."""

from __future__ import annotations

import click

from etconfig.cli.commands.fleet.change import show_difference
from etconfig.cli.commands.fleet.check import validate_inventory
from etconfig.cli.commands.fleet.device import explain_device
from etconfig.cli.commands.fleet.device_results import (
    resolve_inventory,
    show_coverage,
    show_histogram,
    test_fleet,
)
from etconfig.cli.commands.fleet.in_use import compare_fleet_usage, show_rollouts
from etconfig.cli.commands.fleet.sample import sample_fleet
from etconfig.cli.shared.usage import SuggestingGroup


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
      etconfig fleet diff devices.parquet main . --profile-path profiles --max-changed 1%
    """


for _each in (
    validate_inventory,
    resolve_inventory,
    show_coverage,
    show_histogram,
    test_fleet,
    show_difference,
    compare_fleet_usage,
    show_rollouts,
    explain_device,
    sample_fleet,
):
    command.add_command(_each)
