"""Take something away from this process for good: devices, the network, packages. For isolated checks alone.

Audit hooks and finders see what Python code does. What native code does by itself they do not see.
"""

from __future__ import annotations

import errno
import importlib.util
import inspect
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

HARMLESS_DEVICES = frozenset(
    {"fd", "null", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
)
"""What every machine has in /dev."""

_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"})
_LOOKING_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_STARTING = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"})
_ASKING = importlib.util.find_spec.__code__
_STANDARD = str(Path(os.__file__).parent)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def hide_devices() -> None:
    """Let no device file be opened from now on: it is not found."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _is_device(arguments[0]):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments[0])

    sys.addaudithook(audit)


def cut_network() -> list[str]:
    """Let nothing outside this machine be reached from now on.

    Returns:
        What was tried all the same, with the place; it grows.
    """
    tried: list[str] = []

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        host = _host(event, arguments)
        if host is not None and not _is_here(host):
            tried.append(f"{caller()}: {event} {host}")
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    sys.addaudithook(audit)
    return tried


def watch_actions() -> list[str]:
    """Note the files that are written and the processes that are started from now on.

    Returns:
        What was done, with the place; it grows.
    """
    done: list[str] = []

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            done.append(f"{caller()}: writes {arguments[0]}")
        elif event in _STARTING:
            start = f"{caller()}: starts a process"
            if not (done and done[-1].startswith(start)):  # Popen may start it by os.posix_spawn
                done.append(f"{start} ({event})")

    sys.addaudithook(audit)
    return done


def watch_imports(packages: Collection[str]) -> dict[str, str]:
    """Note where the first import of each of these top-level packages is, also if it is not installed.

    Returns:
        The places by package; it grows.
    """
    found: dict[str, str] = {}

    class Noting:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            # to ask whether a package is there imports nothing
            if name in packages and not any(frame.f_code is _ASKING for frame in _frames()):
                found.setdefault(name, caller())

    sys.meta_path.insert(0, Noting)
    return found


def caller() -> str:
    """File and line of the code that led here, apart from Python's own and this module's."""
    for frame in _frames():
        file = frame.f_code.co_filename
        is_standard = file.startswith((_STANDARD, "<")) and "site-packages" not in file
        if not is_standard and file != __file__:
            return f"{file}:{frame.f_lineno}"
    return "Python itself"


def _frames() -> Iterator[FrameType]:
    frame = inspect.currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_device(path: object) -> bool:
    if not isinstance(path, (str, bytes)):
        return False
    parts = os.path.normpath(os.fsdecode(path)).split("/")
    return parts[:2] == ["", "dev"] and len(parts) > 2 and parts[2] not in HARMLESS_DEVICES


def _host(event: str, arguments: tuple[Any, ...]) -> str | None:
    """The host that is looked up or connected to; None for other events, and for local sockets."""
    if event in _LOOKING_UP:
        return str(arguments[0])
    address = arguments[1] if event in _CONNECTING else None
    return address[0] if isinstance(address, tuple) and isinstance(address[0], str) else None


def _is_here(host: str) -> bool:
    return host in {"localhost", "::1", "None", ""} or host.startswith("127.")
