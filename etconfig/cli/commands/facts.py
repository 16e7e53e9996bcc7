"""`etconfig facts`: show, save and compare the facts of a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import (
    device_options,
    executor_option,
    json_option,
    make_installation,
)
from etconfig.cli.shared.fact_difference import compare_sheets
from etconfig.cli.shared.format import format_fact, format_known
from etconfig.cli.shared.input_files import KnownDevicePath, SheetPath
from etconfig.cli.shared.output import print_json, print_table, show, show_json
from etconfig.cli.shared.requests import chosen_executor, read_device
from etconfig.cli.shared.usage import SuggestingGroup, given_parameters
from etconfig.cli.shared.writing import OutputPath, force_option, write_file
from etconfig.facts.sheet_json import SHEET

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation
    from etconfig.facts.fact import Fact
    from etconfig.facts.sheet import FactSheet


@click.group("facts", cls=SuggestingGroup, invoke_without_command=True)
@device_options
@click.option(
    "--adb",
    "serial",
    is_flag=False,
    flag_value="",
    metavar="[SERIAL]",
    help="Detect the facts of an Android device over adb; SERIAL selects one of several.",
)
@executor_option
@click.option("--save", type=OutputPath(), help="Save the facts as a sheet for other commands.")
@force_option
@click.option("--all", "show_all", is_flag=True, help="Show unknown facts too, and why they are unknown.")
@click.option(
    "--redact",
    "is_redacted",
    is_flag=True,
    help="Remove what identifies the device or its user, also from the sheet that --save writes.",
)
@click.option(
    "--show-identifying",
    "is_identifying_shown",
    is_flag=True,
    help="Show the values of facts that identify the device, such as device.id.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    sheet: Path | None,
    fact_texts: Sequence[str],
    serial: str | None,
    executor: str | None,
    save: Path | None,
    force: bool,
    show_all: bool,
    is_redacted: bool,
    is_identifying_shown: bool,
    as_json: bool,
) -> None:
    """Show what is known about this device.

    With --executor, also the backends that it and the installed plugins can run here, which are the fact
    runtime.backends: finding it imports the plugins.

    A fact that identifies the device, such as device.id, is shown as set, without its value. A sheet that
    --save writes contains it, unless --redact is given.

    \b
    Examples:
      etconfig facts
      etconfig facts --save pi5.json
      etconfig facts --facts pi5.json --fact power.source=battery
      etconfig facts --adb --save phone.json
      etconfig facts --executor executorch --save board.json
      etconfig facts --facts board.json --redact --save public.json
    """
    if context.invoked_subcommand is not None:
        for parameter in given_parameters(context):  # which the subcommand would ignore
            raise click.UsageError(
                f"{parameter.opts[0]} does not apply to `facts {context.invoked_subcommand}`"
            )
        return
    if is_redacted and is_identifying_shown:
        raise click.UsageError("--redact removes what --show-identifying shows; give one of them")
    _check_is_one_device(serial, sheet, executor)
    installation = make_installation()
    facts = (
        read_device(installation, sheet, fact_texts).known
        if serial is None
        else _facts_over_adb(installation, serial, fact_texts)
    )
    if executor is not None:
        from etconfig.app.programs.runtime_backends import with_runtime_backends

        facts = with_runtime_backends(installation, facts, chosen_executor(installation, executor))
    if is_redacted:
        from etconfig.facts.privacy import redact

        facts = redact(facts)
    if save is not None:
        write_file(save, facts.to_json().encode(), SHEET)
    if as_json:
        from etconfig.facts.privacy import hide_identifying

        show_json((facts if is_identifying_shown else hide_identifying(facts)).to_json())
    elif save is None:
        _print(facts, show_all, is_identifying_shown)
    else:
        show(f"{len(facts.values)} facts written to {save}", err=not save.is_file())


@command.command("diff")
@click.argument("old", type=SheetPath())
@click.argument("new", type=SheetPath(), required=False)
@click.option("--ignore-live", is_flag=True, help="Leave out facts that may change at any time.")
@json_option
def diff(old: Path, new: Path | None, ignore_live: bool, as_json: bool) -> int:
    """Compare two fact sheets, or one with this device.

    Compares the values of known facts, wherever they come from. Exits with 0 if they are the
    same, with 1 if they differ, and with 2 if a sheet cannot be read. - is standard input, and what is not
    a file may be the name of a known device, such as raspberry-pi/pi-5.

    \b
    Examples:
      etconfig facts diff before.json after.json
      etconfig facts diff pi5.json --ignore-live
    """
    return compare_sheets(old, new, ignore_live=ignore_live, as_json=as_json)


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema (draft 2020-12) of a fact sheet.

    \b
    Example:
      etconfig facts schema > sheet.schema.json
    """
    from etconfig.facts.json_schema import sheet_schema

    print_json(sheet_schema(make_installation().fact_registry))


def _check_is_one_device(serial: str | None, sheet: Path | None, executor: str | None) -> None:
    """Raise UsageError if several devices are named."""
    if serial is not None and sheet is not None:
        option = "--device" if isinstance(sheet, KnownDevicePath) else "--facts"
        raise click.UsageError(f"--adb and {option} name two devices; give one of them")
    if executor is not None and (serial is not None or sheet is not None):
        raise click.UsageError(
            "--executor is about this device; --adb, --facts and --device name another one"
        )


def _facts_over_adb(installation: Installation, serial: str, fact_texts: Sequence[str]) -> FactSheet:
    from etconfig.facts.assignment import parse_fact_assignments
    from etconfig.facts.detecting.adb import attached_device
    from etconfig.facts.detecting.detection import detect

    registry = installation.fact_registry
    facts = detect(attached_device(serial or None), registry=registry)
    return installation.known_facts(facts, dict(parse_fact_assignments(fact_texts, registry)))


def _print(facts: FactSheet, show_all: bool, is_identifying_shown: bool) -> None:
    def text(fact: Fact) -> str:
        return format_fact(fact) if is_identifying_shown else format_known(facts, fact.name)

    known = [fact for fact in facts.facts.values() if fact.is_known]
    print_table(("FACT", "VALUE", "FROM"), [(f.name, text(f), f.origin.place) for f in known])
    unknown = [fact for fact in facts.facts.values() if not fact.is_known]
    if show_all:
        show()
        print_table(("UNKNOWN", "WHY"), [(fact.name, fact.reason or "") for fact in unknown])
    elif unknown:
        show()
        show(f"{len(unknown)} facts are unknown here; --all shows why.")
