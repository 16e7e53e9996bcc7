"""`etconfig doctor`: check this installation, and say what to do about problems."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.options import json_option, make_installation
from etconfig.cli.shared.output import print_json, style_for

if TYPE_CHECKING:
    from etconfig.analysis import Finding


@click.command("doctor")
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
    style = style_for(sys.stdout)
    roles = {"ok": "help", "warning": "warning", "error": "error"}
    for finding in findings:
        status = style(roles[finding.status], finding.status.rjust(7))
        click.echo(f"{status}  {finding.subject}: {finding.detail}")
        if finding.help:
            click.echo(f"         {style('help', 'help')}: {finding.help}")
