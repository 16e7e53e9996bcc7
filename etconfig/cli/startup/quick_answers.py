"""Answer help and plain listings without click: importing it takes as long as everything else together."""

from __future__ import annotations

import os
from collections.abc import Sequence

from etconfig.cli.shared.standard_output import command_output, own_standard_output

_LISTINGS = {
    "backends": ("backends", False),
    "backends --json": ("backends", True),
    "profiles": ("profiles", False),
    "profiles list": ("profiles", False),
    "profiles list --json": ("profiles", True),
}
"""By arguments, the kind of things to list, and True for JSON."""


def quick_text(arguments: Sequence[str]) -> str | None:
    """Return what a command prints into a pipe or file, or None to leave it to click.

    click takes over if arguments need parsing, if text is laid out for a terminal, and if something is
    wrong: the full command finds the error again and reports it.
    """
    if command_output().isatty():
        return None
    if list(arguments) in (["--help"], ["-h"]):
        from etconfig.cli.startup.command_list import group_help

        return None if "COLUMNS" in os.environ else group_help()
    listing = _LISTINGS.get(" ".join(arguments))
    if listing is None:
        return None
    try:
        with own_standard_output():
            return _listing_text(*listing)
    except Exception as error:
        from etconfig.errors import EtconfigError  # not needed before something goes wrong

        if not isinstance(error, (EtconfigError, OSError)):
            raise
        return None


def _listing_text(things: str, as_json: bool) -> str | None:
    from pathlib import Path

    from etconfig.app.installation.installation import Installation
    from etconfig.cli.shared.listings import list_backends, list_profiles
    from etconfig.diagnostics.escape import escape_json
    from etconfig.report.text import json_text, table_text

    installation = Installation(Path.cwd())
    if things == "backends" and installation.executor is not None:
        return None  # its runtime may have more
    listing = list_backends(installation) if things == "backends" else list_profiles(installation)
    if things == "profiles" and installation.profiles.problems:
        return None
    if as_json:
        return escape_json(json_text(listing.to_jsonable()), command_output().encoding)
    return table_text(listing) if listing.rows else None
