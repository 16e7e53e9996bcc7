"""Guards that block or record what this process does with devices, the network, files and packages.

They cannot be removed, so only isolated checks use them. They see what Python code does, but not what
native code does by itself.
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
"""The device files of every machine in /dev."""

_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"})
_LOOKING_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_STARTING = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"})
_ASKING = importlib.util.find_spec.__code__
_STANDARD = str(Path(os.__file__).parent)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def hide_devices() -> None:
    """Make every device file appear to be missing from now on."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _is_device(arguments[0]):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments[0])

    sys.addaudithook(audit)


def cut_network() -> list[str]:
    """Block all connections to other machines from now on.

    Returns:
        The attempts, each with its place in the code; the list grows.
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
    """Record the files that are written and the processes that are started from now on.

    Returns:
        The actions, each with its place in the code; the list grows.
    """
    done: list[str] = []

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            done.append(f"{caller()}: writes {arguments[0]}")
        elif event in _STARTING:
            start = f"{caller()}: starts a process"
            if not (done and done[-1].startswith(start)):  # Popen may call os.posix_spawn: count it once
                done.append(f"{start} ({event})")

    sys.addaudithook(audit)
    return done


def watch_imports(packages: Collection[str]) -> dict[str, str]:
    """Record where each of these top-level packages is first imported, even if it is not installed.

    Returns:
        The place in the code by package; the dict grows.
    """
    found: dict[str, str] = {}

    class Noting:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            # importlib.util.find_spec asks the finders too, but imports nothing
            if name in packages and not any(frame.f_code is _ASKING for frame in _frames()):
                found.setdefault(name, caller())

    sys.meta_path.insert(0, Noting)  # first, to be asked for every import; None passes it on
    return found


def caller() -> str:
    """Return file and line of the code that led here, skipping Python's own and this module's."""
    for frame in _frames():
        file = frame.f_code.co_filename
        is_standard = file.startswith((_STANDARD, "<")) and "site-packages" not in file
        if not is_standard and file != __file__:
            return f"{file}:{frame.f_lineno}"
    return "Python's own code"


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
    """Return the host that is looked up or connected to; None for other events and for local sockets."""
    if event in _LOOKING_UP:
        return str(arguments[0])
    address = arguments[1] if event in _CONNECTING else None
    return address[0] if isinstance(address, tuple) and isinstance(address[0], str) else None


def _is_here(host: str) -> bool:
    # getaddrinfo takes None and "" for this machine
    return host in {"localhost", "::1", "None", ""} or host.startswith("127.")
