"""`etconfig lsp`: the language server, which editors start."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from etconfig.base.packages import how_to_install
from etconfig.cli.shared.command_options import sheet_options
from etconfig.cli.shared.standard_output import command_output
from etconfig.cli.shared.usage import StrictCommand


@click.command("lsp", cls=StrictCommand)
@partial(sheet_options, several=False)
@click.option("--stdio", is_flag=True, hidden=True, help="Accepted: editors add it.")
def command(sheet: Path | None, stdio: bool) -> None:
    """Serve an editor on standard input and output.

    An editor starts it. In profiles, project files and files of models it shows problems while you type and
    values on a device with their origin, completes names and expressions, and offers fixes. The device is
    named by --facts or --device, or by the editor's settings etconfig.device, the name of a known device, and
    etconfig.facts, the path of a sheet. By default it is this one. It needs etconfig[lsp].

    \b
    Examples:
      etconfig lsp
      etconfig lsp --device raspberry-pi/pi-5
    """
    try:
        from etconfig.lsp.server import serve_editor
    except ImportError as error:
        if error.name is None or error.name.startswith("etconfig"):
            raise
        how = how_to_install("'etconfig[lsp]'")
        raise click.ClickException(f"the language server needs {error.name}; {how}") from error
    serve_editor(command_output().buffer, sheet)
