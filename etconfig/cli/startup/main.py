"""The entry point of `etconfig`. Help and plain listings are answered without click.

Importing it takes as long as everything else together.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from etconfig.base.version import __version__
from etconfig.cli.shared.standard_output import (
    command_errors,
    command_output,
    own_standard_output,
    show_unencodable,
    write_error,
)

_INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended, by the convention of shells: 128 + SIGINT."""

_ABANDONED = ("etconfig-facts", "etconfig-import", "etconfig-payload")
"""The names of threads that are not waited for beyond a time limit."""

_COLLECT_EVERY = 500_000
"""The number of new objects after which the garbage collector runs. Imports make many objects and no
garbage: collecting after every 700, Python's default, takes a tenth of a short command's time."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with its status unless that is 0: 1 findings, 2 usage or I/O."""
    is_process, arguments = arguments is None, sys.argv[1:] if arguments is None else arguments
    gc.set_threshold(_COLLECT_EVERY)
    sys.excepthook = _print_traceback
    atexit.register(gc.freeze)  # the process ends: no need to search for cycles
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  (open until the end, no pathlib)
    show_unencodable()
    try:
        status = _run(arguments, is_process=is_process)
    except KeyboardInterrupt as stopped:
        from etconfig.diagnostics.escape import escape_line

        during = f"stopped during {escape_line(str(stopped))}\n" if str(stopped) else ""
        write_error(f"\n{during}")  # after the ^C that the terminal shows
        status = _INTERRUPTED
    except (ImportError, MemoryError, OSError, RuntimeError, SystemError) as error:
        if _is_short_of_memory(error):
            write_error("error: the system gives this process too little memory, or too few threads\n")
            status = 2
        elif isinstance(error, OSError):
            status = _give_up_output(error)
        else:
            raise
    if is_process and _has_abandoned_threads():
        _end_at_once(status)
    if status:
        sys.exit(status)


def _has_abandoned_threads() -> bool:
    """Return True if a detector, an import or a description still runs for nobody, as after Ctrl-C."""
    threading = sys.modules.get("threading")
    return threading is not None and any(
        each.name.startswith(_ABANDONED) for each in threading.enumerate() if each.daemon
    )


def _end_at_once(status: int) -> None:
    """End the process without ending its interpreter, which would unwind threads inside libraries in C++.

    They would call `std::terminate`, and the process would end with SIGABRT.
    """
    for stream in (command_output(), command_errors(), sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


def _run(arguments: Sequence[str], *, is_process: bool) -> int:
    text = (
        f"etconfig {__version__}\n" if list(arguments) in (["--version"], ["-V"]) else quick_text(arguments)
    )
    if text is not None:
        command_output().write(text)
        command_output().flush()
        return 0
    environ = {**os.environ}  # for the commands that it starts
    # Plugins of pydantic itself are not used, and looking for them scans every distribution.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from etconfig.base.interrupts import own_process
    from etconfig.cli.startup.command_group import run

    if is_process:
        own_process()
    return run(arguments, environ)


_SHORT_OF_MEMORY = (
    "returned NULL without setting",  # an extension module whose own allocation failed
    "can't start new thread",
    "failed to map segment",
    "annot allocate memory",
)


def _is_short_of_memory(error: BaseException | None) -> bool:
    """Return True if a limit of the system is the cause, as under `ulimit -v`, and not a bug."""
    from etconfig.diagnostics.error_text import error_message

    while error is not None:
        message = error_message(error)
        if isinstance(error, MemoryError) or any(each in message for each in _SHORT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _print_traceback(_kind: object, error: BaseException, _trace: object) -> None:
    """Print the traceback of a bug as Python does, escaped: its texts may come from a file or a plugin."""
    from traceback import format_exception

    from etconfig.diagnostics.escape import escape_lines

    write_error(escape_lines("".join(format_exception(error))))


def _give_up_output(error: OSError) -> int:
    """Report that stdout cannot be written; return the exit status.

    A reader that closed the pipe (`| head`) is not an error; a full disk is. stdout is redirected, since
    Python would flush it again at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), command_output().fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    from etconfig.diagnostics.escape import escape_line

    place = escape_line(str(error.filename or "cannot write to stdout"))
    write_error(f"error: {place}: {error.strerror}\n")
    return 2


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
