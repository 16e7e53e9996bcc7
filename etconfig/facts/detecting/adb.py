"""Facts of a phone on a cable: everything that detectors read on Android, read over adb at once.

`adb` is the debug bridge in Android's platform tools. Each call takes some tens of milliseconds, so files are
not read one by one. This was tried with a stand-in for adb, not with a phone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.errors import FactError
from etconfig.facts.detecting.detectors.android import ADRENO_MODEL, COMMANDS, MALI_INFO
from etconfig.facts.detecting.host import Host, parse_cpu_list
from etconfig.facts.detecting.sources import RecordedFiles
from etconfig.facts.detecting.system import System

_CPU = "/sys/devices/system/cpu"
_FILES = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/status",
    *(f"{_CPU}/{name}" for name in ("online", "present", "isolated")),
    f"{_CPU}/cpu*/cpu_capacity",
    f"{_CPU}/cpu*/cpufreq/cpuinfo_max_freq",
    f"{_CPU}/cpu*/topology/*_list",
    *(f"{_CPU}/cpu*/cache/index*/{name}" for name in ("level", "type", "size")),
    ADRENO_MODEL,
    MALI_INFO,
)
"""The files to read, as patterns for the device's shell."""

_READ_FILES = f"grep -saH '' {' '.join(_FILES)}"
"""Prints each line of the files after the path and a colon. No path contains a colon."""

_LIMIT_S = 10.0
"""The limit for one call, in seconds; the first may have to start adb's server."""

RunCommand: TypeAlias = "Callable[[Sequence[str]], bytes | None]"


def attached_device(serial: str | None = None, *, run: RunCommand | None = None) -> System:
    """Return the device that adb reaches, for `detect`. It is read once, so `redetect` sees no change.

    Args:
        serial: The device's serial number in `adb devices`; None if there is only one device.
        run: Runs a command and returns its output, or None; the default allows 10 s.

    Raises:
        FactError: adb is not installed, or does not reach the device.
    """
    run = run or _run
    adb = ("adb",) if serial is None else ("adb", "-s", serial)
    _check_attached(adb, serial, run)

    def ask(command: str) -> bytes:
        return run((*adb, "exec-out", command)) or b""

    files = _files(ask(_READ_FILES))
    outputs: dict[tuple[str, ...], bytes] = {command: ask(" ".join(command)) for command in COMMANDS}
    release, _, machine = ask("uname -rm").decode(errors="replace").strip().partition(" ")
    host = Host(
        system="Android",
        release=release or None,
        machine=machine or None,
        affinity=_affinity(files.get("/proc/self/status", b"")),
    )
    return System(RecordedFiles(files, outputs), host)


def _check_attached(adb: Sequence[str], serial: str | None, run: RunCommand) -> None:
    """Check that adb reaches a device. Raises FactError with the reason that it prints."""
    command = (*adb, "get-state")
    if (run(command) or b"").strip() != b"device":
        raise FactError(diagnostics=(_unreachable(serial, _reason(command) if run is _run else None),))


def _run(command: Sequence[str]) -> bytes | None:
    from etconfig.facts.detecting.commands import run_command

    return run_command(command, limit_s=_LIMIT_S)


def _reason(command: Sequence[str]) -> str | None:
    """Return the first error that adb prints; None if it prints none."""
    from etconfig.facts.detecting.commands import run_command

    output = run_command(command, limit_s=_LIMIT_S, with_errors=True) or b""
    lines = output.decode(errors="replace").splitlines()
    return next((line[:200] for line in lines if line.startswith(("error:", "adb:"))), None)


def _files(lines: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for line in lines.splitlines(keepends=True):
        path, colon, text = line.partition(b":")
        if colon:
            name = path.decode(errors="replace")
            files[name] = files.get(name, b"") + text
    return files


def _affinity(status: bytes) -> frozenset[int] | None:
    for line in status.decode(errors="replace").splitlines():
        name, _, cpus = line.partition(":")
        if name == "Cpus_allowed_list":
            return parse_cpu_list(cpus)
    return None


def _unreachable(serial: str | None, reason: str | None) -> Diagnostic:
    return Diagnostic(
        code="unreachable-device",
        message="adb reaches no device" if serial is None else f"adb reaches no device {serial!r}",
        notes=() if reason is None else (f"adb says: {reason}",),
        help="install adb (of Android's platform tools), allow debugging on the device, and check that "
        "`adb devices` lists it; of several devices, name one: --adb SERIAL",
    )
