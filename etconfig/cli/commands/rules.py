"""`etconfig rules`: the codes of findings and their levels."""

from __future__ import annotations

import click

from etconfig.cli.shared.command_options import json_option, make_installation
from etconfig.cli.shared.output import print_json, print_table, show_diagnostics
from etconfig.cli.shared.usage import StrictCommand


@click.command("rules", cls=StrictCommand)
@json_option
def command(as_json: bool) -> int:
    """List the codes of findings, their levels and fixes.

    A code with several levels has the level that fits the place, unless [rules] of the project file gives
    it one; `etconfig explain CODE` prints its page. `validate --fix` makes `safe` fixes, and with
    --unsafe-fixes also a `guess`.

    \b
    Examples:
      etconfig rules
      etconfig rules --json
    """
    from etconfig.diagnostics import CODES
    from etconfig.diagnostics.rules import ALWAYS_ERRORS, Rules
    from etconfig.errors import ConfigError

    status, rules = 0, Rules()
    try:
        rules = make_installation().rules
    except ConfigError as error:  # whose help may be this list
        show_diagnostics(error.diagnostics)
        status = 2
    rows = [
        {
            "code": each.code,
            "level": rules.described(each.code) or each.levels,
            "is_default": rules.described(each.code) is None,
            "is_fixed": each.code in ALWAYS_ERRORS,
            "fix": each.fix,
            "summary": each.summary,
            "page": f"docs/diagnostics/{each.code}.md",
        }
        for each in CODES.values()
    ]
    if as_json:
        print_json(rows)
        return status
    cells = [[str(row[key] or "") for key in ("code", "level", "fix", "summary")] for row in rows]
    print_table(("CODE", "LEVEL", "FIX", "MEANING"), cells)
    return status
