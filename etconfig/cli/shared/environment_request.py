"""The options and notes that `etconfig env` and `etconfig exec` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.shared.completion import complete_backend
from etconfig.cli.shared.output import note

if TYPE_CHECKING:
    from etconfig.app.programs.engine_environment import EngineEnvironment
    from etconfig.cli.shared.requests import ConfigurationRequest


def chosen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--model` and `--backend`."""
    command = click.option(
        "--backend", metavar="ID", shell_complete=complete_backend, help="Only the options of this backend."
    )(command)
    return click.option("--model", metavar="NAME[@INSTANCE]", help="Only the options of this model.")(command)


def requested_environment(
    request: ConfigurationRequest, model: str | None, backend: str | None
) -> EngineEnvironment:
    """Return the variables that a request resolves to; options without one are noted on stderr."""
    from etconfig.app.programs.engine_environment import environment_of

    found = environment_of(request.resolve_files(()), model, backend)
    for each in found.inexpressible:
        note(f"note: {each}, is left out: {each.reason}")
    return found
