"""The difference of two fact sheets, as `etconfig facts diff` and `etconfig devices diff` print it."""

from __future__ import annotations

from pathlib import Path

from etconfig.cli.shared.command_options import make_installation
from etconfig.cli.shared.format import format_known
from etconfig.cli.shared.output import print_json, show
from etconfig.cli.shared.requests import read_device


def compare_sheets(old: Path, new: Path | None, *, ignore_live: bool, as_json: bool) -> int:
    """Print a line for each fact, and return the exit status: 1 if the facts differ.

    `-` stands before a fact that only the old sheet has, `+` before one that only the new sheet has, and `~`
    before one that has another value. Without a new sheet, compares with this device.

    Raises:
        FactError: a sheet cannot be read.
    """
    from etconfig.facts.sheet_difference import diff_sheets

    installation = make_installation()
    before, after = (read_device(installation, sheet, ()).facts for sheet in (old, new))
    difference = diff_sheets(before, after, ignore_live=ignore_live)
    if as_json:
        print_json(difference.to_jsonable())
        return 1 if difference else 0
    for name in difference.removed:
        show(f"- {name}  {format_known(before, name)}")
    for name in difference.added:
        show(f"+ {name}  {format_known(after, name)}")
    for name in difference.changed:
        show(f"~ {name}  {format_known(before, name)} -> {format_known(after, name)}")
    if not difference:
        show("The facts are the same.")
    return 1 if difference else 0
