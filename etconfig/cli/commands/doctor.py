"""`etconfig doctor`: check this installation, and say what to do about problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import json_option, make_installation
from etconfig.cli.shared.output import print_json, show_styled, style_for
from etconfig.cli.shared.standard_output import command_output
from etconfig.cli.shared.usage import StrictCommand
from etconfig.diagnostics.escape import escape_line, shorten

if TYPE_CHECKING:
    from etconfig.analysis import Finding


@click.command("doctor", cls=StrictCommand)
@json_option
def command(as_json: bool) -> int:
    """Check this installation, and say how to fix problems.

    Imports every plugin. Exits with 1 if something is broken.

    \b
    Example:
      etconfig doctor
    """
    from etconfig.analysis import examine_installation

    report = examine_installation(make_installation())
    if as_json:
        print_json(report.to_jsonable())
    else:
        _print(report.findings)
    return 0 if report.is_sound else 1


def _print(findings: Iterable[Finding]) -> None:
    style = style_for(command_output())
    roles = {"ok": "help", "warning": "warning", "error": "error"}
    for finding in findings:
        status = style(roles[finding.status], finding.status.rjust(7))
        text = f"{status}  {escape_line(shorten(f'{finding.subject}: {finding.detail}'))}\n"
        if finding.help:
            text += f"         {style('help', 'help')}: {escape_line(shorten(finding.help))}\n"
        show_styled(text, style)
