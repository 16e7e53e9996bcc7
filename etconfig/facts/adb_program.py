"""Facts of a device on a cable, as `etdevice` detects them there: pushed over adb, run and removed.

This was tried with a stand-in for adb, not with a phone.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from etconfig.diagnostics import Diagnostic
from etconfig.errors import FactError
from etconfig.facts.adb import adb_command, check_attached
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet

_DIRECTORY = "/data/local/tmp"
"""The directory on a device whose files adb may write and run."""

_PUSH_LIMIT_S = 60.0
_RUN_LIMIT_S = 30.0
_SHOWN_CHARACTERS = 300
_BUILD_HELP = (
    "build etdevice for the system and processor of the device, "
    "such as with `make device TARGET=android-arm64`"
)


class _Answer(NamedTuple):
    status: int
    output: str


def facts_by_etdevice(
    program: Path,
    *,
    serial: str | None = None,
    bundle: Path | None = None,
    registry: FactRegistry = BUILTIN_FACTS,
) -> FactSheet:
    """Run `etdevice` on the device that adb reaches, and return the facts that it detects there.

    Args:
        program: `etdevice`, built for the device.
        serial: The device's serial number in `adb devices`; None if there is only one device.
        bundle: A bundle, for the facts that it reads; None for all facts.
        registry: The facts that the answer may have.

    Raises:
        FactError: adb is not installed or does not reach the device, the program does not run there, or its
            answer is not a whole fact sheet.
    """
    _check_program(program)
    check_attached(serial)
    remote = _RemoteProgram(adb_command(serial))
    try:
        remote.push(program, remote.path)
        command = f"{remote.path} facts --json"
        if bundle is not None:
            remote.push(bundle, remote.bundle_path)
            command += f" --bundle {remote.bundle_path}"
        sheet = _parse(remote.ask(f"chmod 755 {remote.path} && {command}"), registry)
        if sheet.values.get("os.name") == "linux" and remote.is_android():
            message = f"{program} was built for Linux, but the device runs Android"
            raise _failure(message, _BUILD_HELP)
        return sheet
    finally:
        remote.remove()


def _check_program(program: Path) -> None:
    try:
        with program.open("rb") as file:
            is_program = file.read(4) == b"\x7fELF"
    except OSError as error:
        raise _failure(f"cannot read {program}: {error.strerror}", "build it with `make device`") from error
    if not is_program:
        raise _failure(f"{program} is not a program for Linux or Android", _BUILD_HELP)


class _RemoteProgram:
    """Files on the device, with names of their own."""

    def __init__(self, adb: Sequence[str]) -> None:
        self._adb = adb
        self._token = secrets.token_hex(8)
        self.path = f"{_DIRECTORY}/etdevice-{self._token}"
        self.bundle_path = f"{self.path}.etbundle"
        self._pushed: list[str] = []

    def push(self, file: Path, path: str) -> None:
        """Copy a file to the device."""
        self._pushed.append(path)
        output = self._run(("push", str(file), path), _PUSH_LIMIT_S)
        if output is None:
            message = f"adb did not copy {file} to the device within {_PUSH_LIMIT_S:.0f} s"
            raise _failure(message, "check the cable, and the free space of /data/local/tmp")
        if not self.ask(f"ls {path}").output.startswith(path):
            message = f"adb did not copy {file} to the device: {_shown(output)}"
            raise _failure(message, "check that the file exists, and the free space of /data/local/tmp")

    def ask(self, command: str) -> _Answer:
        """Run a command of the device's shell."""
        end = f"end-{self._token}"
        output = self._run(("exec-out", f"({command}) 2>&1; echo {end} $?"), _RUN_LIMIT_S)
        if output is None:
            message = f"etdevice did not answer within {_RUN_LIMIT_S:.0f} s, or printed more than 1 MiB"
            raise _failure(message, _BUILD_HELP)
        text, found, status = output.decode(errors="replace").rpartition(end)
        if not found or not status.strip().isdecimal():
            message = f"the answer of the device was cut off after {len(output)} bytes: {_shown(output)}"
            raise _failure(message, "check the cable and `adb devices`, and try again")
        return _Answer(int(status), text)

    def is_android(self) -> bool:
        """Return True if the device has Android's properties."""
        answer = self.ask("getprop ro.build.version.sdk")
        return answer.status == 0 and answer.output.strip().isdecimal()

    def remove(self) -> None:
        """Remove the files from the device, as far as it still answers."""
        if self._pushed:
            self._run(("exec-out", f"rm -f {' '.join(self._pushed)}"), _RUN_LIMIT_S)

    def _run(self, arguments: Sequence[str], limit_s: float) -> bytes | None:
        from etconfig.facts.commands import run_command

        return run_command((*self._adb, *arguments), limit_s=limit_s, with_errors=True)


def _parse(answer: _Answer, registry: FactRegistry) -> FactSheet:
    if answer.status != 0:
        message = (
            f"etdevice failed on the device with status {answer.status}: {_shown(answer.output.encode())}"
        )
        raise _failure(message, _BUILD_HELP)
    if not answer.output.lstrip().startswith("{"):
        message = f"etdevice printed something else than a fact sheet: {_shown(answer.output.encode())}"
        raise _failure(message, "give the program that `make device` builds")
    return FactSheet.from_json(answer.output, "etdevice", registry)


def _shown(output: bytes) -> str:
    """Return the first characters of an output in one line."""
    text = " ".join(output[: 4 * _SHOWN_CHARACTERS].decode(errors="replace").split())
    shown = text[:_SHOWN_CHARACTERS] + ("..." if len(text) > _SHOWN_CHARACTERS else "")
    return shown or "no output"


def _failure(message: str, help: str) -> FactError:
    return FactError(diagnostics=(Diagnostic(code="failed-device-program", message=message, help=help),))
