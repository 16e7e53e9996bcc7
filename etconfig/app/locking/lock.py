"""`Lock`: the inputs and the outcomes of resolutions, so that a change of either is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from etconfig.app.locking.plain_difference import ABSENT, is_too_deep, plain_differences
from etconfig.base.records import record
from etconfig.base.written_files import FileKind, head_of
from etconfig.resolver.explaining.saved import load_json, saved_result_error

LOCK_FILE = "etconfig.lock"
LOCK_VERSION = 1

_VERSION_KEY = "etconfig_lock"
_DEVICES_KEY = "devices"
LOCK = FileKind("a lock", lambda path: f'"{_VERSION_KEY}"'.encode() in head_of(path))
"""The kind of file, also with the marks of a merge conflict in it."""
_HELP = "write it with `etconfig lock`"


@record(frozen=True)
class LockDifference:
    """A difference between a lock and the present.

    Attributes:
        part: The part of the lock, such as `program`, `schemas` or `options`; `devices` for a device that
            only one side has.
        text: What differs there, with both values.
        device: The locked device; None for a part that all devices share, or if there is one device.
        program: The name of the locked program; None if it does not matter, or if there is one program.
    """

    part: str
    text: str
    device: str | None = None
    program: str | None = None

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.device, self.program, self.part, self.text)))


@record(frozen=True, kw_only=True)
class LockedDevice:
    """The part of a lock that is about one program on one device. Each table maps names to plain values.

    Attributes:
        name: The name of the device.
        program: The name of the program; None if options were resolved without one.
        profiles: The values in the profile and in all that it extends, by name; descriptions are left out.
        facts: The known facts that the options depend on.
        options: The value of every option of every method instance, by option path.
        result: The resolution's fingerprint.
    """

    name: str
    program: str | None
    profiles: Mapping[str, Any]
    facts: Mapping[str, Any]
    options: Mapping[str, Any]
    result: Mapping[str, Any]

    def differences(self, now: LockedDevice) -> list[LockDifference]:
        """Return each value that differs in `now`, is missing there, or is new."""
        found: list[LockDifference] = []
        for part in ("profiles", "facts", "options"):
            found += part_differences(part, getattr(self, part), getattr(now, part))
        # the fingerprint follows from the options, so it adds nothing to their differences
        return found or list(part_differences("result", self.result, now.result))


@record(frozen=True, kw_only=True)
class Lock:
    """The inputs and the outcomes of the resolutions of one or several programs on one or several devices.

    Each part maps names to plain values.

    Attributes:
        programs: Of each program, by its name, the SHA-256 and the backends that each method delegates to; of
            each file of models, the backends of each model. Empty if options were resolved without any.
        plugins: The versions of the distributions that declare the backends.
        schemas: What counts of the backends' schemas, see `etconfig.schema.signature.schema_signature`.
        project: The values in the project file; empty if there is none.
        devices: What is about one program on one device.
    """

    programs: Mapping[str, Any]
    plugins: Mapping[str, Any]
    schemas: Mapping[str, Any]
    project: Mapping[str, Any]
    devices: Sequence[LockedDevice]

    def to_json(self) -> str:
        """Return the lock as JSON text, one value per line; `load_lock` reads it."""
        shared = {part: getattr(self, part) for part in _SHARED_PARTS}
        devices = [
            {part: getattr(device, part) for part in (*_KEY_PARTS, *_DEVICE_PARTS)} for device in self.devices
        ]
        data = {_VERSION_KEY: LOCK_VERSION, **shared, _DEVICES_KEY: devices}
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def load_lock(path: Path) -> Lock:
    """Read a lock file.

    Raises:
        SavedResultError: the file cannot be read, is not a lock file, or has another version.
    """
    if path.exists() and not path.is_file():  # reading a named pipe would wait forever
        message = f"cannot read {path}: it is not a regular file"
        raise saved_result_error("unreadable-file", message, path, f"remove it, and {_HELP}")
    data = load_json(path, "invalid-lock-file", _HELP)
    problem = _problem(data)
    if problem:
        raise saved_result_error("invalid-lock-file", f"{path} {problem}", path, _HELP)
    shared = {part: data[part] for part in _SHARED_PARTS}
    devices = [
        LockedDevice(**{part: device[part] for part in (*_KEY_PARTS, *_DEVICE_PARTS)})
        for device in data[_DEVICES_KEY]
    ]
    return Lock(**shared, devices=devices)


_KEY_PARTS = ("name", "program")
_DEVICE_PARTS = tuple(part.name for part in fields(LockedDevice) if part.name not in _KEY_PARTS)
_SHARED_PARTS = tuple(part.name for part in fields(Lock) if part.name != "devices")


def _problem(data: object) -> str | None:
    """Return what is wrong with the contents of a lock file, or None."""
    version = data.get(_VERSION_KEY) if isinstance(data, dict) else None
    if not isinstance(data, dict) or version is None:
        return "is not a lock file"
    if version != LOCK_VERSION:
        return f"has version {version}, expected {LOCK_VERSION}"
    devices = data.get(_DEVICES_KEY)
    if not isinstance(devices, list):
        return f"has no array {_DEVICES_KEY!r}"
    if not devices:
        return "covers no device"
    for parts, tables in ((_SHARED_PARTS, data), *((_DEVICE_PARTS, device) for device in devices)):
        for part in parts:
            if not isinstance(tables, dict) or not isinstance(tables.get(part), dict):
                return f"has no table {part!r}"
    return _problem_of_devices(devices, data["programs"]) or (
        "is nested too deeply" if is_too_deep(data) else None
    )


def _problem_of_devices(
    devices: Sequence[Mapping[str, object]], programs: Mapping[str, object]
) -> str | None:
    pairs = [(device.get("name"), device.get("program")) for device in devices]
    if not all(isinstance(name, str) for name, _ in pairs):
        return "has devices without a 'name'"
    if not all(isinstance(program, dict) for program in programs.values()):
        return "has a program that is not a table"
    known: list[object] = [*programs] if programs else [None]
    if any(program not in known for _, program in pairs):
        return "has devices with a 'program' that is not among 'programs'"
    if len(set(pairs)) < len(pairs):
        return "has a device twice for one program"
    return None


def part_differences(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[LockDifference]:
    """Yield the differences of one part, each after the name that it belongs to."""
    for name in dict.fromkeys([*old, *new]):
        for line in plain_differences(old.get(name, ABSENT), new.get(name, ABSENT)):
            yield LockDifference(part, f"{name}: {line}")
