"""`etconfig models`: list models, select a variant for a device, and check all variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from etconfig.cli.shared.command_options import (
    device_options,
    executor_option,
    json_option,
    make_installation,
)
from etconfig.cli.shared.completion import complete_model
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.input_files import expanded_sheets, sheet_names
from etconfig.cli.shared.output import note, print_json, print_table, show, show_findings
from etconfig.cli.shared.requests import chosen_executor, read_device
from etconfig.cli.shared.usage import SuggestingGroup

if TYPE_CHECKING:
    from etconfig.app.validating.model_check import CheckedModel
    from etconfig.facts.sheet import FactSheet
    from etconfig.models.catalog import CatalogModel

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])


def _models_option(command: _CommandT) -> _CommandT:
    return click.option(
        "--models",
        "file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A file of models; by default the models of the project file.",
    )(command)


@click.group("models", cls=SuggestingGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Select the variant of a model for a device; check them all.

    \b
    Examples:
      etconfig models list
      etconfig models select detector
      etconfig models check --facts phone.json
    """
    if context.invoked_subcommand is None:
        context.invoke(list_variants)


@command.command("list")
@_models_option
@json_option
def list_variants(file: Path | None = None, as_json: bool = False) -> None:
    """List the models: their variants, in the order in which they are tried, or their backends.

    With --json, also the hash, the size and the source of each file, as far as they are declared.

    \b
    Example:
      etconfig models list --models models.toml
    """
    from etconfig.app.programs.model_choice import find_catalog
    from etconfig.models.variant_selection import variant_data

    catalog = find_catalog(make_installation(), file)
    if as_json:
        print_json(
            [
                {
                    "model": m.name,
                    "fallback": m.fallback,
                    "variants": [variant_data(v) for v in m.variants],
                    "backends": [each.target for each in m.backends],
                }
                for m in catalog
            ]
        )
        return
    if not len(catalog):
        show("No models are declared.")
        return
    variants = [(model.name, variant) for model in catalog for variant in model.variants]
    has_backends = any(variant.backend is not None for _, variant in variants)
    headers = ("MODEL", "VARIANT", "FILE", *(("BACKEND",) if has_backends else ()), "WHEN")
    rows = []
    for name, variant in variants:
        backend = ("" if variant.backend is None else variant.backend.target,) if has_backends else ()
        when = "" if variant.when is None else str(variant.when)
        rows.append((name, str(variant.number), str(variant), *backend, when))
    if rows:
        print_table(headers, rows)
    of_engines = [
        (model.name, ", ".join(each.target for each in model.backends))
        for model in catalog
        if not model.variants
    ]
    if rows and of_engines:
        show()
    if of_engines:
        print_table(("MODEL", "BACKENDS"), of_engines)


@command.command("select")
@click.argument("name", shell_complete=complete_model)
@_models_option
@device_options
@executor_option
@json_option
def select_variant(
    name: str,
    file: Path | None,
    sheet: Path | None,
    fact_texts: Sequence[str],
    executor: str | None,
    as_json: bool,
) -> None:
    """Select the variant of a model for a device, and say why not the others.

    The first variant is selected whose condition holds and whose backends are all in the fact
    runtime.backends. On this device, etconfig finds that fact itself, for the executor; for a fact
    sheet without it, set it with --fact runtime.backends=XnnpackBackend.

    \b
    Examples:
      etconfig models select detector
      etconfig models select detector --facts phone.json --json
    """
    from etconfig.app.programs.model_choice import select_model
    from etconfig.models.variant_selection import VERDICT_HEADERS, verdict_rows

    installation = make_installation()
    device = read_device(installation, sheet, fact_texts)
    known = device.known
    choice = select_model(
        name,
        models=file,
        facts=None if sheet is None else known,
        fact_overrides=cast("dict[str, object]", device.by_hand),
        executor=chosen_executor(installation, executor),
        installation=installation,
    )
    if as_json:
        print_json(choice.to_jsonable())
        return
    show(f"variant {choice.variant.number} of model {choice.name}: {choice.variant.path}")
    show()
    print_table(VERDICT_HEADERS, verdict_rows(choice.verdicts))


@command.command("check")
@click.argument("names", nargs=-1, shell_complete=complete_model)
@_models_option
@partial(device_options, several=True)
@json_option
def check_variants(
    names: Sequence[str], file: Path | None, sheet: Sequence[Path], fact_texts: Sequence[str], as_json: bool
) -> int:
    """Check models and their programs; exit with 1 if there are errors.

    The files of all variants must exist, with the size and the hash that are declared. Programs must
    agree in their methods, inputs and outputs, with the data that lie outside them. A plugin must
    declare the options of every backend, and each device that --facts names must get a variant. A
    variant that no device selects is a warning. The format of each file that an engine runs is shown,
    with its version, and the target of each payload, which each device that gets it must have. With
    NAMES, checks only these models.

    \b
    Examples:
      etconfig models check
      etconfig models check detector --facts phone.json --facts board.json
    """
    from etconfig.app.programs.model_choice import find_catalog
    from etconfig.app.validating.model_check import check_models
    from etconfig.diagnostics import Severity
    from etconfig.models.catalog import ModelCatalog

    installation = make_installation()
    catalog = find_catalog(installation, file)
    if names:
        catalog = ModelCatalog({name: catalog.find(name) for name in names})
    if not len(catalog):
        raise click.UsageError("no models are declared; name a file of models with --models")
    sheets = expanded_sheets(sheet)
    known = [read_device(installation, each, fact_texts).known for each in sheets]
    devices = dict(zip(sheet_names(sheets), known, strict=True)) if sheets else {}
    if fact_texts and not sheet:
        raise click.UsageError("--fact goes with --facts")
    checked = check_models(installation, catalog, devices)
    problems = [problem for each in checked for problem in each.problems]
    if as_json:
        print_json([each.to_jsonable() for each in checked])
    else:
        _print_checked(checked)
        show_findings(problems)
        _note_unknown_backends(devices, checked)
    errors = sum(problem.is_error for problem in problems)
    warnings = sum(problem.severity is Severity.WARNING for problem in problems)
    counts = f"{format_count(errors, 'error')}, {format_count(warnings, 'warning')}"
    note(f"{format_count(len(checked), 'model')} checked: {counts}")
    return 1 if errors else 0


def _print_checked(checked: Sequence[CheckedModel]) -> None:
    """Print the contents of files, and the variant that each device gets, if there are devices."""
    formats = [
        (each.model.name, str(number), _file(each.model, number), text)
        for each in checked
        for number in each.needs
        for text in each.contents(number)
    ]
    if formats:
        print_table(("MODEL", "VARIANT", "FILE", "FORMAT"), formats)
    rows = [
        (each.model.name, device, "none" if number is None else str(number), _file(each.model, number))
        for each in checked
        for device, number in each.selected.items()
    ]
    if rows and formats:
        show()
    if rows:
        print_table(("MODEL", "DEVICE", "VARIANT", "FILE"), rows)


def _note_unknown_backends(devices: Mapping[str, FactSheet], checked: Sequence[CheckedModel]) -> None:
    """Say which devices get no delegated program, since their sheets do not say what they can run."""
    from etconfig.models.variant_selection import BACKENDS_FACT

    if not any(needs.backends for each in checked for needs in each.needs.values()):
        return
    for name, facts in devices.items():
        if not facts[BACKENDS_FACT].is_known:
            note(
                f"note: {name} lacks {BACKENDS_FACT}, so it gets programs without delegates only; "
                f"set it, as with --fact {BACKENDS_FACT}=XnnpackBackend"
            )


def _file(model: CatalogModel, number: int | None) -> str:
    return "" if number is None else str(model.variants[number - 1])
