"""`RemoteDevice`: a device that measures for this machine, reached by the commands `ssh` and `adb`."""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from typing import Any

from etconfig.analysis.machine import MachineReport
from etconfig.base.version import __version__
from etconfig.errors import RemoteDeviceError
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_ADDRESS = re.compile(
    rf"ssh://(?:(?P<user>{_NAME})@)?(?P<host>{_NAME}|\[[0-9A-Fa-f:]+(?:%{_NAME})?\])(?::(?P<port>[0-9]{{1,5}}))?"
    r"(?P<program>/[^?#]*)?"
)
_ADB_ADDRESS = re.compile(r"adb://(?P<serial>[A-Za-z0-9_\[][A-Za-z0-9_.:%\[\]-]*)?(?P<program>/[^?#]+)")
_RUNNER = "etrunner"
"""How the name of a program begins that measures without Python: `etrunner`, `etrunner-arm64`."""
_GREETING = '0 {"etconfig_agent": '
_GREETING_KEYS = frozenset({"facts", "machine", "packages", "directory"})
_MAX_GREETING_BYTES = 1 << 22
"""The most bytes before the end of a greeting; the messages of a login come before it."""
_MAX_DIGITS = 19
_CHUNK_BYTES = 1 << 20
_END_S = 10.0
"""The time that the device has to end its workers and to remove the files."""
_COMPANIONS = (".data", "_data", ".weights")
"""What follows the name of a model in the names of files with its weights."""


def device_command(address: str) -> tuple[Sequence[str], str]:
    """Return the command that reaches a device, and the Python or the etrunner there.

    No part can be an option of `ssh` or `adb`: none begins with a hyphen.

    Args:
        address: `ssh://[user@]host[:port][/path]` or `adb://[serial]/path`.

    Raises:
        ValueError: it is no such address.
    """
    if match := _ADB_ADDRESS.fullmatch(address):
        serial = ["-s", match["serial"]] if match["serial"] else []
        return ["adb", *serial, "shell", "-T"], match["program"]
    match = _ADDRESS.fullmatch(address)
    if match is None:
        expected = "ssh://[user@]host[:port][/path] or adb://[serial]/path"
        raise ValueError(f"expected {expected}, given {address!r}")
    user, port = match["user"], ["-p", match["port"]] if match["port"] else []
    host = match["host"].strip("[]")
    program = match["program"] if len(match["program"] or "") > 1 else "python3"
    # the process has no terminal, so that Ctrl-C is for this one: nothing may ask for a password
    return ["ssh", "-T", "-o", "BatchMode=yes", *port, "--", f"{user}@{host}" if user else host], program


class RemoteDevice:
    """A device with etrunner, or a Python with etconfig and the plugins, in the same versions as here.

    Its facts, the files of models and all workers share one connection. The files are removed there when it
    ends, however it ends.

    Attributes:
        name: The address.
        machine: What else a measurement depends on there.
        packages: The versions of plugins there, by distribution.
        is_lost: True once the connection is cut.

    Args:
        address: As for `device_command`.

    Raises:
        RemoteDeviceError: it cannot be reached, or lacks what is needed; the error says what to do.
        ValueError: the address is malformed.
    """

    def __init__(self, address: str) -> None:
        self._command, self._program = device_command(address)
        self._is_runner = self._program.rpartition("/")[2].startswith(_RUNNER)
        self.name = address
        self._said = TemporaryFile()  # noqa: SIM115  (closed with the device)
        self._queues: dict[int, SimpleQueue[str]] = defaultdict(SimpleQueue)
        self._numbers = count(1)
        self._sent: dict[Path, str] = {}
        self._lock = threading.Lock()
        self.is_lost = self._has_ended = False
        module = [] if self._is_runner else ["-m", "etconfig.measuring.agent"]
        words = shlex.join([self._program, *module])
        try:
            self._process = subprocess.Popen(  # noqa: S603  (each part of the address is checked)
                [*self._command, words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,
            )
        except OSError as error:
            self._said.close()
            problem = f"{self._command[0]} cannot be started: {error.strerror}"
            help = "install adb, of Android's platform tools, or OpenSSH's client, whose command is ssh"
            raise self._error(problem, help) from error
        self._reader = threading.Thread(target=self._read_all, daemon=True)
        greeting = self._greeting()
        self._facts_text: str = greeting["facts"]
        self.machine = MachineReport(**greeting["machine"])
        self.packages: dict[str, str] = greeting["packages"]
        self._directory: str = greeting["directory"]
        self._reader.start()

    def _greeting(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        read = 0
        for line in iter(partial(self._process.stdout.readline, _MAX_GREETING_BYTES), b""):
            text = line.decode(errors="replace")
            read += len(line)
            if text.startswith(_GREETING):
                greeting = _parsed(text)
                version = greeting.get("etconfig_agent")
                if greeting and version != __version__:
                    self.close()
                    problem = f"it has etconfig {version}, and here is {__version__}"
                    raise self._error(
                        problem, self._build() or "install the same version there, and of the plugins"
                    )
                if greeting.keys() >= _GREETING_KEYS:
                    return greeting
            if text.startswith(_GREETING) or read > _MAX_GREETING_BYTES:
                self._process.kill()
                self.close()
                help = f"see what it writes: {' '.join(self._command)} true"
                raise self._error("it does not answer as etconfig does", help)
        status = self._process.wait()
        said = self._last_words()
        self.close()
        tool = self._command[0]
        if status == 255 if tool == "ssh" else said.startswith(("adb: ", "error: ")):
            raise self._error(f"{tool} cannot reach it: {said}", f"try: {' '.join(self._command)} true")
        if status in (126, 127):
            help = f"install Python 3.10 or newer there, or give its path: {self._with_python()}"
            raise self._error(f"it has no {self._program}: {said}", self._build() or help)
        if "No module named" in said:
            help = f"install etconfig {__version__} and the plugins there, or give the Python that has them: "
            raise self._error(f"its {self._program} has no etconfig: {said}", help + self._with_python())
        raise self._error(f"etconfig does not start there: {said or f'status {status}'}")

    def _with_python(self) -> str:
        return f"{self.name.removesuffix(self._program if self._program[0] == '/' else '/')}/path/of/python"

    def _build(self) -> str | None:
        """Return how to get etrunner; None if the device has a Python."""
        return f"build etrunner of etconfig {__version__}, and copy it there" if self._is_runner else None

    def facts(self, registry: FactRegistry) -> FactSheet:
        """Return its facts. Raises FactError if they are none."""
        return FactSheet.from_json(self._facts_text, self.name, registry)

    def check_package(self, distribution: str, version: str) -> None:
        """Check that a plugin is there, in the version that is here.

        Raises:
            RemoteDeviceError: it is not.
        """
        there = self.packages.get(distribution)
        if there != version:
            has = f"has no {distribution}" if there is None else f"has {distribution} {there}"
            help = "etrunner has the options of XnnpackBackend; others need a Python there"
            help = help if self._is_runner else "install the same version there"
            raise self._error(f"it {has}, and here is {version}", help)

    def send(self, path: Path) -> str:
        """Send a file with its weights, once; return its path there.

        Raises:
            RemoteDeviceError: it is a directory, or the connection is cut.
            OSError: it cannot be read.
        """
        if path.is_dir():
            raise self._error(f"{path} is a directory, and only files can be sent", "give a file")
        if path not in self._sent:
            beside = [path.with_suffix(".bin")] if path.suffix == ".xml" else []
            beside += [path.with_suffix(".ptd")] if path.suffix == ".pte" else []
            beside += [path.with_name(path.name + end) for end in _COMPANIONS]
            folder = f"files{len(self._sent)}"
            for each in (path, *filter(Path.is_file, beside)):
                self._send(folder, each)
            self._sent[path] = f"{self._directory}/{folder}/{path.name}"
        return self._sent[path]

    def _send(self, folder: str, path: Path) -> None:
        with path.open("rb") as file:
            blocks = iter(lambda: file.read(_CHUNK_BYTES), b"")
            for block in (b"", *blocks) if not path.stat().st_size else blocks:
                data = base64.b64encode(block).decode()
                self.tell(0, json.dumps({"folder": folder, "name": path.name, "data": data}))

    def open_channel(self) -> RemoteChannel:
        """Return a channel, which starts a worker there with its first line."""
        return RemoteChannel(self, next(self._numbers))

    def tell(self, channel: int, line: str) -> None:
        """Send a line to a channel.

        Raises:
            RemoteDeviceError: the connection is cut.
        """
        assert self._process.stdin is not None
        try:
            with self._lock:
                self._process.stdin.write(f"{channel} {line}\n".encode())
                self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._lost() from error

    def hear(self, channel: int) -> str:
        """Return the next line from a channel.

        Raises:
            RemoteDeviceError: the connection is cut.
        """
        queue = self._queues[channel]  # first: what is known here gets an empty line at the end
        if self._has_ended and queue.empty():
            raise self._lost()
        line = queue.get()
        if not line:
            raise self._lost()
        return line

    def _lost(self) -> RemoteDeviceError:
        self.is_lost = True
        said = self._last_words()
        return self._error(
            f"the connection is cut{f': {said}' if said else ''}", "run it again: a study goes on"
        )

    def close(self) -> None:
        """End the connection; the device then removes the files."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock, suppress(OSError):  # it is cut
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader.ident is not None:
            self._reader.join()
        self._process.stdout.close()
        self._said.close()

    def _read_all(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, _, text = line.decode(errors="replace").partition(" ")
            if number.isdecimal() and len(number) < _MAX_DIGITS:
                self._queues[int(number)].put(text)
        self._has_ended = True
        for each in [*self._queues.values()]:
            each.put("")

    def _last_words(self) -> str:
        """Return the last line that ssh or the device wrote on stderr."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        return next((each.strip() for each in reversed(lines) if each.strip()), "")

    def _error(self, problem: str, help: str | None = None) -> RemoteDeviceError:
        return RemoteDeviceError(device=self.name, problem=problem, help=help)


def _parsed(greeting: str) -> dict[str, Any]:
    """Return a greeting; an empty one if it is damaged."""
    try:
        found: dict[str, Any] = json.loads(greeting.partition(" ")[2])
    except (ValueError, RecursionError):
        return {}
    return found


class RemoteChannel:
    """A worker on a device, with which lines are exchanged; both methods raise RemoteDeviceError."""

    def __init__(self, device: RemoteDevice, number: int) -> None:
        self._device, self._number = device, number

    def ask(self, line: str) -> str:
        """Send a line, and return the answer."""
        self._device.tell(self._number, line)
        return self._device.hear(self._number)

    def close(self) -> None:
        """Let the worker end."""
        if not self._device.is_lost:
            self._device.tell(self._number, "")
