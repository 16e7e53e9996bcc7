"""`etconfig inspect`: what a program holds, and what it needs to run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.inspect.packed import SUFFIX, show_package
from etconfig.cli.shared.format import format_bytes, format_count
from etconfig.cli.shared.options import data_option, json_option, make_installation, program_argument
from etconfig.cli.shared.output import print_json, print_table
from etconfig.cli.shared.writing import check_can_write, write_file

if TYPE_CHECKING:
    from etconfig.program.memory_plan import MemoryPlan


@click.command("inspect")
@program_argument
@data_option
@click.option(
    "--memory-plan",
    "picture",
    metavar="FILE.svg|-",
    type=click.Path(path_type=Path),
    help="Draw the memory plans: as a picture into a file, or as text with -.",
)
@json_option
def command(program: Path, data: Sequence[Path], picture: Path | None, as_json: bool) -> None:
    """Show what a program holds and what it needs to run here.

    Methods with their inputs, outputs, operators, delegates and memory; constants and other data; and what
    the built-in executor could not run here, and why. The installed plugins of its backends are imported
    for that.
    Of an .etargs file, the arguments in it.

    \b
    Examples:
      etconfig inspect model.pte
      etconfig inspect model.etargs
      etconfig inspect model.pte --data weights.ptd
      etconfig inspect model.pte --memory-plan memory.svg
    """
    from etconfig.app.api import load_program
    from etconfig.cli.inspect.description import describe_program
    from etconfig.program.memory_plan import read_memory_plan

    if program.suffix == SUFFIX:
        show_package(program, as_json=as_json)
        return
    is_text = picture is not None and str(picture) == "-"
    if as_json and is_text:
        raise click.UsageError("--json has the memory plan as data: leave out --memory-plan -")
    if picture is not None and not is_text:
        if picture.suffix != ".svg":
            raise click.UsageError(f"--memory-plan {picture}: expected a name that ends in .svg, or -")
        check_can_write(picture)
    with load_program(program, data=data, installation=make_installation()) as loaded:
        plans = {name: read_memory_plan(loaded.program.plan(name)) for name in loaded.method_names}
        description = describe_program(loaded, plans)
    if as_json:
        print_json(description)
    else:
        _print(description)
    if picture is not None:
        _show_memory(picture, plans)


def _show_memory(path: Path, plans: Mapping[str, MemoryPlan]) -> None:
    from etconfig.cli.inspect.memory_picture import memory_svg, memory_text

    if str(path) == "-":
        for method, plan in plans.items():
            click.echo()
            for line in memory_text(method, plan):
                click.echo(line)
    else:
        write_file(path, memory_svg(plans).encode())


def _print(data: dict[str, Any]) -> None:
    click.echo(
        f"{data['path']}: {format_bytes(data['size_bytes'])}, "
        f"constants {format_bytes(data['constant_bytes'])}, {format_count(len(data['segments']), 'segment')}"
    )
    for gap in data["unclaimed"]:
        size = format_bytes(gap["size_bytes"])
        click.echo(f"unclaimed: {size} at byte {gap['offset']}, to which nothing refers")
    for file in data["data_files"]:
        click.echo(f"{file['path']}: {format_bytes(file['size_bytes'])}, {format_count(file['keys'], 'key')}")
    constants = data["constants"]
    if constants["count"]:
        dtypes = ", ".join(f"{count} {dtype}" for dtype, count in constants["dtypes"].items())
        shared = f", {constants['shared']} in several methods" if constants["shared"] else ""
        click.echo(f"constant tensors: {dtypes}{shared}")
    if data["named_data"]:
        size = sum(entry["size_bytes"] for entry in data["named_data"])
        click.echo(f"named data: {format_count(len(data['named_data']), 'key')}, {format_bytes(size)}")
    for method in data["methods"]:
        _print_method(method)


def _print_method(method: dict[str, Any]) -> None:
    memory = sum(method["planned_memory_bytes"])
    click.echo(
        f"\nmethod {method['name']}: {format_count(method['instructions'], 'instruction')}, "
        f"{format_bytes(memory)} planned"
    )
    for role in ("inputs", "outputs"):
        click.echo(f"  {role}: {'; '.join(method[role]) or 'none'}")
    if method["attributes"]:
        click.echo(f"  attributes: {'; '.join('{name}: {tensor}'.format(**a) for a in method['attributes'])}")
    for arena in method["memory"]:
        click.echo(
            f"  memory {arena['memory_id']}: {format_bytes(arena['size_bytes'])}, "
            f"{arena['peak_use']:.0%} in use at most, {arena['mean_use']:.0%} on average"
        )
    missing = set(method["missing_operators"])
    if method["operators"]:
        rows = [(n, str(c), "no" if n in missing else "yes") for n, c in method["operators"].items()]
        print_table(("  OPERATOR", "CALLS", "RUNS HERE"), [("  " + n, c, h) for n, c, h in rows])
    if method["delegates"]:
        _print_delegates(method["delegates"])
    if method["external_tensors"]:
        print_table(
            ("  EXTERNAL TENSOR", "TYPE", "FILE"),
            [(f"  {t['key']}", t["tensor"], t["file"] or "not given") for t in method["external_tensors"]],
        )
    if method["obstacles"]:
        click.echo("  cannot run here with the built-in executor:")
    for obstacle in method["obstacles"]:
        advice = f" ({obstacle['help']})" if obstacle["help"] else ""
        click.echo(f"    {obstacle['what']}: {obstacle['why']}{advice}")


def _print_delegates(delegates: Sequence[dict[str, Any]]) -> None:
    print_table(
        ("  DELEGATE", "CALLS", "PAYLOAD", "STORED", "INSTALLED"),
        [
            (
                f"  {d['backend']}",
                str(d["calls"]),
                format_bytes(d["payload_bytes"]),
                d["stored"],
                "yes" if d["installed"] else "no",
            )
            for d in delegates
        ],
    )
    for index, delegate in enumerate(delegates):
        for spec in delegate["compile_specs"]:
            shown = format_bytes(spec["size_bytes"]) if spec["text"] is None else repr(spec["text"])
            click.echo(f"  compile spec of {delegate['backend']} #{index}: {spec['key']} = {shown}")
