"""Standard output belongs to the command alone: what plugins and libraries print goes to standard error.

A process gives its descriptor 1 away for good, since libraries in C write what they have buffered when the
process ends. Where `sys.stdout` is another stream, as in tests, it is replaced until the command ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

_STDOUT, _STDERR = 1, 2

_streams: tuple[TextIO, TextIO] | None = None
"""The streams of the command for output and for errors, from the time when it may call plugins."""

_is_moved = False
"""True once descriptor 1 is standard error."""


def command_output() -> TextIO:
    """Return the stream to which only the command writes."""
    return sys.stdout if _streams is None else _streams[0]


def command_errors() -> TextIO:
    """Return the stream for messages of the command, whatever a plugin does to `sys.stderr`."""
    return sys.stderr if _streams is None else _streams[1]


def write_error(text: str) -> None:
    """Write a message; if standard error takes none, as on a full disk, the command goes on."""
    with suppress(OSError):
        command_errors().write(text)
        command_errors().flush()


@contextmanager
def own_standard_output() -> Iterator[None]:
    """Let only the command write to standard output."""
    global _is_moved, _streams  # standard output is the process's
    if _streams is not None:
        yield
    elif _is_of_process(sys.stdout):
        _streams = _copy(sys.stdout), _copy(sys.stderr)
        _send_stdout_to_stderr()
        _is_moved = True
        yield
    else:
        _streams = replaced = sys.stdout, sys.stderr
        sys.stdout = sys.stderr
        try:
            yield
        finally:
            sys.stdout, sys.stderr = replaced
            _streams = None


def moved_paths() -> dict[str, Path]:
    """Return the paths of standard output, which are another stream's now, with the paths that lead to it."""
    from pathlib import Path

    if _streams is None or not _is_moved:
        return {}
    place = Path(f"/dev/fd/{_streams[0].fileno()}")
    return dict.fromkeys(("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"), place)


def show_unencodable() -> None:
    """Let standard output show the characters that its encoding lacks as escapes, as standard error does."""
    if _is_of_process(sys.stdout):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def terminal_width(default: int) -> int:
    """Return the width of the terminal that shows the output; the default if there is none."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen):
        return int(chosen)
    try:
        return os.get_terminal_size(command_output().fileno()).columns or default
    except (AttributeError, OSError, ValueError):
        return default


def _is_of_process(stream: TextIO | None) -> bool:
    is_original = stream is sys.__stdout__
    try:
        return stream is not None and is_original and stream.fileno() == _STDOUT
    except (AttributeError, OSError, ValueError):
        return False


def _copy(stream: TextIO) -> TextIO:
    """Return a stream with a descriptor of its own, which stays open if a plugin closes the other."""
    try:
        descriptor = os.dup(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return stream
    is_line_buffered = os.isatty(descriptor)
    copy = open(  # noqa: PTH123, SIM115  (open until the end, no pathlib)
        descriptor, "w", encoding=stream.encoding, errors="backslashreplace", newline=None
    )
    copy.reconfigure(line_buffering=is_line_buffered or stream is sys.stderr)
    return copy


def _send_stdout_to_stderr() -> None:
    # now, since it looks for its position, and the other descriptor may have none
    sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    sys.stdout.flush()
    try:
        os.dup2(_STDERR, _STDOUT)
    except OSError:  # the caller has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
