"""`etconfig env`: print options as the environment variables that engines read."""

from __future__ import annotations

import click

from etconfig.cli.rendering.shell_text import SHELLS, shell_text
from etconfig.cli.shared.command_options import models_option
from etconfig.cli.shared.environment_request import chosen_options, requested_environment
from etconfig.cli.shared.output import print_json, print_table, show, show_escaped
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options
from etconfig.cli.shared.standard_output import command_output
from etconfig.cli.shared.usage import StrictCommand


@click.command("env", cls=StrictCommand)
@models_option
@chosen_options
@click.option(
    "--shell",
    type=click.Choice([*SHELLS, "json"]),
    help="Print lines for a shell, a .env file, or data as JSON; by default a table.",
)
@configuration_options
def command(model: str | None, backend: str | None, shell: str | None, request: ConfigurationRequest) -> None:
    """Print options as the environment variables that engines read.

    For programs that start an engine themselves. A note on stderr names each option that no variable
    expresses, unless it has its default.

    \b
    Examples:
      etconfig env --models models.toml
      etconfig env --models models.toml --model camera --backend ReferenceCpuBackend --shell json
      etconfig env --device pi-5 --shell dotenv
    """
    found = requested_environment(request, model, backend)
    if shell == "json":
        print_json(found.to_jsonable())
    elif shell is not None:
        try:
            text = shell_text(shell, found.variables, command_output().encoding)
        except ValueError as error:
            raise click.ClickException(f"{error}; use `etconfig exec`, which needs no quotes") from error
        show_escaped(text)
    elif found.variables:
        rows = [
            (name, text, option.path, option.origin)
            for name, text in found.variables.items()
            for option in found.options[name]
        ]
        print_table(("VARIABLE", "VALUE", "OPTION", "FROM"), rows)
    else:
        show("No environment variable expresses a value that something sets or recommends.")
