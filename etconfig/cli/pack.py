"""`etconfig pack`: resolved arguments for runtimes elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from etconfig import __version__
from etconfig.cli.options import ConfigurationRequest, configuration_options
from etconfig.cli.output import write_file

_LANGUAGES = ("kotlin",)


@click.command("pack")
@click.argument("program", required=False, type=click.Path(path_type=Path))
@click.option(
    "--emit", "language", required=True, type=click.Choice(_LANGUAGES), help="Write code of this language."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to; by default, code goes to stdout."
)
@configuration_options
def command(program: Path | None, language: str, output: Path | None, request: ConfigurationRequest) -> None:
    """Write resolved arguments for a runtime elsewhere.

    As code, the options that somebody set must fit what the language's way to ExecuTorch can
    carry; of those that nobody set, the others are left out and listed in a comment.

    \b
    Examples:
      etconfig pack model.pte --facts pi5.json --emit kotlin
    """
    from etconfig.packing import pack_resolution
    from etconfig.transport import emit

    resolution = request.resolve_file(program)
    configuration = pack_resolution(resolution.profile or "default", resolution)
    code = emit(configuration, language, f"etconfig {__version__}")
    if output is None:
        click.echo(code, nl=False)
    else:
        write_file(output, code.encode())
