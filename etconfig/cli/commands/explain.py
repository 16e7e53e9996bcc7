"""`etconfig explain`: show where the value of an option comes from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from etconfig.cli.shared.command_options import json_option, models_option, optional_program
from etconfig.cli.shared.completion import complete_option_path
from etconfig.cli.shared.output import print_json, show_blocks, show_document
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options
from etconfig.cli.shared.usage import StrictCommand, given_parameters


@click.command("explain", cls=StrictCommand)
@click.argument("path", shell_complete=complete_option_path)
@optional_program
@models_option
@configuration_options
@json_option
def command(path: str, program: Path | None, request: ConfigurationRequest, as_json: bool) -> None:
    """Show where an option's value comes from and what it overrides.

    PATH is [METHOD[@INSTANCE]:]BACKEND.OPTION; without a method, all method instances are shown. It may
    also be the code of a finding, whose page is shown.

    \b
    Examples:
      etconfig explain ReferenceNpuBackend.core model.pte
      etconfig explain forward@left:ReferenceNpuBackend.core model.pte --json
      etconfig explain camera:ReferenceCpuBackend.num_threads --models models.toml
      etconfig explain unusual-value
    """
    from etconfig.diagnostics import CODES, did_you_mean

    code = _code_in(path)
    if code in CODES:
        _show_page(code)
        return
    from etconfig.app.configuring.targets import options_by_backend
    from etconfig.base.option_path import parse_option_path
    from etconfig.errors import OptionError
    from etconfig.resolver.compiling.overrides import path_problem
    from etconfig.resolver.explaining.explain import explain_option, find_provenance

    try:
        option_path = parse_option_path(path)
    except ValueError as error:
        known_options = partial(options_by_backend, request.installation)
        problem = path_problem(error, path, known_options)
        problem = replace(problem, help=did_you_mean(code, CODES) or problem.help)
        raise OptionError(diagnostics=(problem,)) from error
    resolution = request.resolve_files(() if program is None else (program,))
    if as_json:
        found = find_provenance(resolution, option_path)
        print_json([{"path": str(full), **provenance.to_jsonable()} for full, provenance in found])
    else:
        lines = explain_option(resolution, option_path).removesuffix("\n").split("\n")
        show_blocks(f"{line}\n" for line in lines)


def _code_in(text: str) -> str:
    """Return a text in the spelling of codes, also for `error[unknown-fact]` and `UNKNOWN_FACT`."""
    return text.rpartition("[")[2].rstrip("]").lower().replace("_", "-")


def _show_page(code: str) -> None:
    from etconfig.diagnostics.pages import page_of

    context = click.get_current_context()
    for parameter in given_parameters(context):
        if parameter.name != "path":
            raise click.UsageError(f"{code} is the code of a finding: leave out {parameter.opts[0]}")
    show_document(page_of(code))
