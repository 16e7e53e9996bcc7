"""`etconfig resolve`: print the arguments of every method, instance and backend."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from etconfig.cli.rendering.need_text import memory_option, print_need
from etconfig.cli.shared.command_options import json_option, locked_option, models_option, programs_argument
from etconfig.cli.shared.each_device import (
    notes_of_resolution,
    on_each_device,
    opened_apart,
    show_each,
    show_notes,
)
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import (
    print_json,
    print_table,
    show,
    show_blocks,
    show_document,
)
from etconfig.cli.shared.requests import ConfigurationRequest, read_device, several_devices_options
from etconfig.cli.shared.usage import StrictCommand, refuse

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.device.bundle.tables import BundleTables
    from etconfig.memory.need import MemoryNeed
    from etconfig.resolver.deciding.arguments import BackendArguments
    from etconfig.resolver.deciding.resolution import Resolution

    _Resolved: TypeAlias = "tuple[Resolution, MemoryNeed | None]"
    """A resolution, and the need of its instances if that is asked for."""


@click.command("resolve", cls=StrictCommand)
@programs_argument
@models_option
@several_devices_options
@locked_option
@click.option(
    "--bundle",
    metavar="FILE.etbundle",
    type=click.Path(path_type=Path),
    help="Decide a bundle as a device does, without profiles or plugins.",
)
@click.option("--toml", "as_toml", is_flag=True, help="Print a profile that sets every option to its value.")
@click.option(
    "--explain", is_flag=True, help="Show for every value what it overrides and which facts decide."
)
@click.option("--no-defaults", is_flag=True, help="Leave out options that nothing sets or recommends.")
@memory_option
@json_option
def command(
    programs: Sequence[Path],
    requests: Sequence[ConfigurationRequest],
    bundle: Path | None,
    as_toml: bool,
    explain: bool,
    no_defaults: bool,
    with_memory: bool,
    as_json: bool,
) -> int:
    """Resolve the arguments of every method, instance and backend.

    Without PROGRAM and --models, resolves for the programs of the project file and its models that engines
    run. If it has none, resolves for the methods and backends that the configuration mentions. With --bundle,
    decides what a device would, from the bundle alone: --profile is then the name of a profile in it. With
    --memory, estimates the memory that the instances need together, as inspect does.

    With several devices or programs, resolves each program on each device; what fails on one device keeps no
    other from being resolved, and the exit status is then 2.

    \b
    Examples:
      etconfig resolve model.pte
      etconfig resolve model.pte --profile auto --set forward:ReferenceNpuBackend.core=1 --json
      etconfig resolve model.pte --facts pi5.json --toml
      etconfig resolve model.pte --device pixel-8 --device raspberry-pi/pi-5
      etconfig resolve --models models.toml --device pixel-8
      etconfig resolve --bundle app.etbundle --facts pi5.json
    """
    if as_toml + explain + as_json > 1:
        raise click.UsageError("give one of --toml, --explain and --json")
    if no_defaults and (as_toml or as_json or bundle is not None):
        raise click.UsageError("--no-defaults is for the table and --explain")
    if with_memory and as_toml:
        raise click.UsageError("--toml prints a profile: leave out --memory")
    show_one = partial(_show, as_json=as_json, as_toml=as_toml, explain=explain, no_defaults=no_defaults)
    if bundle is not None:
        if len(requests) > 1:
            raise click.UsageError("--bundle is decided for one device: give one --facts or --device")
        request = requests[0]
        given = {
            "PROGRAM": programs,
            "--models": request.models is not None,
            "--set": request.overrides,
            "--profile-path": request.profile_paths,
            "--require-match": request.require_match,
            "--locked": request.locked,
            "--toml and --explain": as_toml or explain,
            "--memory": with_memory,
        }
        refuse(given, "--bundle has profiles and options in it")
        _resolve_bundle(bundle, request, as_json=as_json)
        return 0
    opened = [*opened_apart(requests[0], programs)]
    is_one = len(requests) == len(opened) == 1
    if as_toml and not is_one:
        raise click.UsageError("--toml prints one profile: give one device and one PROGRAM")
    if is_one:
        program = opened[0][1]
        resolution = requests[0].resolve(program)
        show_one((resolution, _need(program, resolution) if with_memory else None))
        return 0

    def find(request: ConfigurationRequest, program: Delegating | None) -> _Resolved:
        resolution = request.resolve_silently(program)
        return resolution, _need(program, resolution) if with_memory else None

    found = list(on_each_device(requests, opened, find))
    if as_json:
        data = ({**one.to_jsonable(), **(_data(one.result) if one.result else {})} for one in found)
        print_json({"resolutions": [*data]})
        status = 2 if any(one.error for one in found) else 0
    else:
        status = show_each(found, show_one)
    show_notes(found, lambda resolved: notes_of_resolution(resolved[0]))
    return status


def _need(program: Delegating | None, resolution: Resolution) -> MemoryNeed:
    from etconfig.app.programs.memory_needs import need_of_programs

    need = need_of_programs(program, resolution)
    if need is None:
        raise click.UsageError("--memory estimates the need of programs: give PROGRAM")
    return need


def _data(resolved: _Resolved) -> dict[str, object]:
    resolution, need = resolved
    return {**resolution.to_jsonable(), **({} if need is None else {"memory_need": need.to_jsonable()})}


def _show(resolved: _Resolved, *, as_json: bool, as_toml: bool, explain: bool, no_defaults: bool) -> None:
    resolution, need = resolved
    if as_json:
        print_json(_data(resolved))
        return
    _show_options(resolution, as_toml=as_toml, explain=explain, no_defaults=no_defaults)
    if need is not None:
        print_need(need, resolution.facts)


def _show_options(resolution: Resolution, *, as_toml: bool, explain: bool, no_defaults: bool) -> None:
    if as_toml:
        show_document(resolution.to_toml())
    elif explain:
        _print_explained(resolution, no_defaults=no_defaults)
    else:
        named_by = f", named by {resolution.selected_by}" if resolution.named_by else ""
        show(f"profile {resolution.profile}{named_by}")
        show()
        count = sum(len(resolved.candidates) for a in resolution for resolved in a.backends.values())
        if not count:
            of = "models" if resolution.noun == "model" else "program"
            show(f"No backend of the {of} has options.")
            return
        named = "MODEL" if resolution.noun == "model" else "METHOD"
        headers = (named, "BACKEND", "OPTION", "VALUE", "FROM")
        if not no_defaults:
            print_table(headers, option_rows(resolution), count)
            _show_budget(resolution)
            return
        rows = [*option_rows(resolution, no_defaults=True)]
        if rows:
            print_table(headers, rows)
            show()
        show(f"{format_count(count - len(rows), 'option')} at the default")
        _show_budget(resolution)


def _show_budget(resolution: Resolution) -> None:
    budget = resolution.budget
    if budget is not None and budget.uses:
        show()
        print_table(budget.table.headers, budget.table.rows)


def _resolve_bundle(path: Path, request: ConfigurationRequest, *, as_json: bool) -> None:
    from etconfig.app.installation.installation import Installation
    from etconfig.cli.rendering.bundle_text import show_decided
    from etconfig.device.device_bundle import load_bundle

    loaded = load_bundle(path)
    device = read_device(Installation(), request.sheet, request.fact_texts)  # of no project
    tables = loaded.tables
    _check_facts(tables, 0, tables.project_fact_count, device.by_hand)
    profile = None if request.profile == "auto" else request.profile
    resolution = loaded.resolve(device.facts.with_overrides(device.by_hand), profile)
    if loaded.is_configuration(resolution.profile) and (request.sheet is not None or device.by_hand):
        raise click.UsageError(
            f"configuration {resolution.profile} was resolved when packing: leave out --facts and --fact"
        )
    row = tables.profiles[loaded.profile_names.index(resolution.profile)]
    _check_facts(tables, row.first_fact, row.fact_count, device.by_hand)
    show_decided(resolution, as_json=as_json)


def _check_facts(tables: BundleTables, first: int, count: int, by_hand: Collection[str]) -> None:
    """Refuse facts that the bundle sets itself, where another value would count for nothing."""
    for row in tables.hand_set_facts[first : first + count]:
        name = tables.texts[tables.facts[row.fact].name]
        if name in by_hand:
            place = tables.texts[row.origin]
            raise click.UsageError(
                f"the bundle sets {name} by hand ({place}), whatever the device has: leave out "
                f"--fact {name}, or pack again without it"
            )


def option_rows(
    resolution: Resolution, *, no_defaults: bool = False
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a row for each option of each method instance and backend, or for each that something sets."""
    from etconfig.resolver.explaining.explain import show_setting

    known: dict[int, list[tuple[str, str, str]]] = {}  # many instances may share their arguments
    for arguments in resolution:
        for backend, resolved in arguments.backends.items():
            if id(resolved) not in known:
                known[id(resolved)] = [
                    (
                        name,
                        show_setting(getattr(resolved.options, name)),
                        "; ".join(map(str, resolved.origins(name))),
                    )
                    for name in _shown_options(resolved, no_defaults=no_defaults)
                ]
            for row in known[id(resolved)]:
                yield arguments.label, backend, *row


def _shown_options(resolved: BackendArguments, *, no_defaults: bool) -> Iterator[str]:
    return (name for name in resolved.candidates if not (no_defaults and resolved.is_default(name)))


def _print_explained(resolution: Resolution, *, no_defaults: bool) -> None:
    from etconfig.base.option_path import OptionPath
    from etconfig.resolver.explaining.explain import explain_option

    blocks = (
        explain_option(resolution, OptionPath(backend, name, arguments.method, arguments.instance))
        for arguments in resolution
        for backend, resolved in arguments.backends.items()
        for name in _shown_options(resolved, no_defaults=no_defaults)
    )
    show_blocks(f"\n{block}" if at else block for at, block in enumerate(blocks))
