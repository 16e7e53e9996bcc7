"""`etconfig facts`: what is known about this device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.format import format_fact
from etconfig.cli.options import device_options, json_option, make_installation, read_device
from etconfig.cli.output import print_table, write_file

if TYPE_CHECKING:
    from etconfig.facts import FactSheet


@click.command("facts")
@device_options
@click.option(
    "--save", type=click.Path(path_type=Path), help="Write the facts to a sheet for other commands."
)
@click.option("--all", "show_all", is_flag=True, help="Show unknown facts too, and why they are unknown.")
@json_option
def command(
    sheet: Path | None, fact_texts: Sequence[str], save: Path | None, show_all: bool, as_json: bool
) -> None:
    """Show what is known about this device.

    \b
    Examples:
      etconfig facts
      etconfig facts --save pi5.json
      etconfig facts --facts pi5.json --fact power.source=battery
    """
    facts = read_device(make_installation(), sheet, fact_texts).known
    if save is not None:
        write_file(save, facts.to_json().encode())
    if as_json:
        click.echo(facts.to_json(), nl=False)
    elif save is None:
        _print(facts, show_all)
    else:
        click.echo(f"{len(facts.values)} facts written to {save}")


def _print(facts: FactSheet, show_all: bool) -> None:
    known = [fact for fact in facts.facts.values() if fact.is_known]
    print_table(("FACT", "VALUE", "FROM"), [(f.name, format_fact(f), f.origin.place) for f in known])
    unknown = [fact for fact in facts.facts.values() if not fact.is_known]
    if show_all:
        click.echo()
        print_table(("UNKNOWN", "WHY"), [(fact.name, fact.reason or "") for fact in unknown])
    elif unknown:
        click.echo(f"\n{len(unknown)} facts are unknown here; --all shows why.")
