"""`Lock`: the inputs and the outcomes of resolutions, so that a change of either is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from etconfig.app.plain_difference import ABSENT, is_too_deep, plain_differences
from etconfig.records import record
from etconfig.resolver.difference import ABSENT_TEXT
from etconfig.resolver.saved import load_json, saved_result_error

LOCK_FILE = "etconfig.lock"
LOCK_VERSION = 1

_VERSION_KEY = "etconfig_lock"
_DEVICES_KEY = "devices"
_NAME_KEY = "name"
_HELP = "write it with `etconfig lock`"
_MAX_NOTES = 50
_SHORT_HASH = len("sha256:") + 12


@record(frozen=True)
class LockDifference:
    """A difference between a lock and the present.

    Attributes:
        part: The part of the lock, such as `program`, `schemas` or `options`; `devices` for a device that
            the lock lacks.
        text: What differs there, with both values.
        device: The locked device; None for a part that all devices share, or if there is one device.
    """

    part: str
    text: str
    device: str | None = None

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.device, self.part, self.text)))


@record(frozen=True, kw_only=True)
class LockedDevice:
    """The part of a lock that is about one device. Each field maps names to plain values.

    Attributes:
        profiles: The values in the profile and in all that it extends, by name; descriptions are left out.
        facts: The known facts that the options depend on.
        options: The value of every option of every method instance, by option path.
        result: The resolution's fingerprint.
    """

    profiles: Mapping[str, Any]
    facts: Mapping[str, Any]
    options: Mapping[str, Any]
    result: Mapping[str, Any]

    def differences(self, now: LockedDevice) -> list[LockDifference]:
        """Return each value that differs in `now`, is missing there, or is new."""
        found: list[LockDifference] = []
        for part in ("profiles", "facts", "options"):
            found += _part_differences(part, getattr(self, part), getattr(now, part))
        # the fingerprint follows from the options, so it adds nothing to their differences
        return found or list(_part_differences("result", self.result, now.result))


@record(frozen=True, kw_only=True)
class Lock:
    """The inputs and the outcomes of the resolutions on one or several devices.

    Each part maps names to plain values.

    Attributes:
        program: The program's name, its SHA-256, and the backends that each method delegates to; empty if
            options were resolved without a program.
        plugins: The versions of the distributions that declare the backends.
        schemas: What counts of the backends' schemas, see `etconfig.schema.schema_signature`.
        project: The values in the project file; empty if there is none.
        devices: What is about one device, by the device's name. In the file they are an array.
    """

    program: Mapping[str, Any]
    plugins: Mapping[str, Any]
    schemas: Mapping[str, Any]
    project: Mapping[str, Any]
    devices: Mapping[str, LockedDevice]

    def to_json(self) -> str:
        """Return the lock as JSON text, one value per line; `load_lock` reads it."""
        shared = {part: getattr(self, part) for part in _SHARED_PARTS}
        devices = [
            {_NAME_KEY: name, **{part: getattr(device, part) for part in _DEVICE_PARTS}}
            for name, device in self.devices.items()
        ]
        data = {_VERSION_KEY: LOCK_VERSION, **shared, _DEVICES_KEY: devices}
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    def differences(self, now: Lock) -> list[LockDifference]:
        """Return each value that differs in `now`, is missing there, or is new.

        A device of `now` is compared with the locked one of its name, else with the one from which it differs
        least: on a device of a kind that is locked by a sheet, nothing differs, whatever its name.
        """
        found = list(_program_differences(self.program, now.program))
        for part in ("plugins", "schemas"):
            locked, current = getattr(self, part), getattr(now, part)
            if len(self.devices) > 1:  # other devices may use other backends
                locked = {name: value for name, value in locked.items() if name in current}
            found += _part_differences(part, locked, current)
        project = plain_differences(self.project, now.project)
        found += (LockDifference("project", text) for text in project)
        for name, device in now.devices.items():
            found += self._device_differences(name, device)
        return found

    def _device_differences(self, name: str, now: LockedDevice) -> list[LockDifference]:
        if name in self.devices:
            found = self.devices[name].differences(now)
            return [replace(each, device=name) for each in found] if len(self.devices) > 1 else found
        every = {locked: device.differences(now) for locked, device in self.devices.items()}
        nearest = min(every, key=lambda locked: len(every[locked]))
        if not every[nearest]:
            return []
        known = ", ".join(map(repr, self.devices))
        unknown = LockDifference("devices", f"{name!r} is not among {known}; compared with {nearest!r}")
        return [unknown, *every[nearest]]


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
    devices = {
        device[_NAME_KEY]: LockedDevice(**{part: device[part] for part in _DEVICE_PARTS})
        for device in data[_DEVICES_KEY]
    }
    return Lock(**shared, devices=devices)


def check_lock(path: Path, now: Lock) -> None:
    """Compare the lock of a resolution with a lock file.

    Raises:
        SavedResultError: the file cannot be read, or something differs; it lists what.
    """
    found = load_lock(path).differences(now)
    if found:
        is_one = len(found) == 1
        more = [f"and {len(found) - _MAX_NOTES} more"] if len(found) > _MAX_NOTES else []
        parts = ", ".join(dict.fromkeys(each.part for each in found))
        raise saved_result_error(
            "lock-mismatch",
            f"{path} is out of date: {len(found)} {'difference' if is_one else 'differences'} in {parts}",
            path,
            f"if {'it is' if is_one else 'they are'} intended, write the lock again: "
            "`etconfig lock` with the same program and options",
            (*map(str, found[:_MAX_NOTES]), *more),
        )


_DEVICE_PARTS = tuple(part.name for part in fields(LockedDevice))
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
    names = [device.get(_NAME_KEY) for device in devices]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return f"has devices without a {_NAME_KEY!r} of their own"
    return "is nested too deeply" if is_too_deep(data) else None


def _part_differences(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[LockDifference]:
    """Yield the differences of one part, each after the name that it belongs to."""
    for name in dict.fromkeys([*old, *new]):
        for line in plain_differences(old.get(name, ABSENT), new.get(name, ABSENT)):
            yield LockDifference(part, f"{name}: {line}")


def _program_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[LockDifference]:
    """Yield the differences of two programs; two files with the same content are one program."""
    if old.get("content") == new.get("content"):
        return
    yield LockDifference("program", f"{_program_text(old)} → {_program_text(new)}")
    if old and new:
        yield from _part_differences("program", *({"methods": each.get("methods")} for each in (old, new)))


def _program_text(program: Mapping[str, Any]) -> str:
    content = str(program.get("content"))
    short = content[:_SHORT_HASH] + ("…" if len(content) > _SHORT_HASH else "")
    return f"{program.get('name')} ({short})" if program else ABSENT_TEXT
