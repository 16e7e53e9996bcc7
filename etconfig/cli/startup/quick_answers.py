"""What is listing most plainly is answered without click, whose import takes as long as all else together."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_LISTINGS = {
    "backends": ("backends", False),
    "backends --json": ("backends", True),
    "profiles": ("profiles", False),
    "profiles list": ("profiles", False),
    "profiles list --json": ("profiles", True),
}
"""What these arguments list, and whether as JSON."""


def quick_text(arguments: Sequence[str]) -> str | None:
    """What a command prints into a pipe or file, or None where click is to decide.

    That is where arguments need parsing, where text is laid out for a terminal, and where something is wrong:
    the long way finds it again and tells it.
    """
    if sys.stdout.isatty():
        return None
    if list(arguments) in (["--help"], ["-h"]):
        from etconfig.cli.startup.command_list import group_help

        return None if "COLUMNS" in os.environ else group_help()
    listing = _LISTINGS.get(" ".join(arguments))
    if listing is None:
        return None
    try:
        return _listing_text(*listing)
    except Exception as error:
        from etconfig.errors import EtconfigError  # no need of them before something goes wrong

        if not isinstance(error, (EtconfigError, OSError)):
            raise
        return None


def _listing_text(things: str, as_json: bool) -> str | None:
    from pathlib import Path

    from etconfig.app.installation import Installation
    from etconfig.cli.shared.listings import aligned_text, json_text, list_backends, list_profiles

    installation = Installation(Path.cwd())
    listing = list_backends(installation) if things == "backends" else list_profiles(installation)
    if as_json:
        return json_text(listing.to_jsonable())
    return aligned_text(listing.headers, listing.rows) if listing.rows else None
