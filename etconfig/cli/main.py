"""The entry point of `etconfig`: what must be fast comes before click is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from etconfig import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status: 0 clean, 1 findings, 2 usage or I/O."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if list(arguments) == ["--version"]:
        sys.stdout.write(f"etconfig {__version__}\n")
        return
    from etconfig.cli.group import run

    sys.exit(run(arguments))
