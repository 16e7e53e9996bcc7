"""`Lock`: the inputs and the outcome of a resolution, so that a change of either is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
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
_HELP = "write it with `etconfig lock`"
_MAX_NOTES = 50
_SHORT_HASH = len("sha256:") + 12


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


@record(frozen=True, kw_only=True)
class Lock:
    """The inputs and the outcome of a resolution. Each part maps names to plain values.

    Attributes:
        program: The program's name, its SHA-256, and the backends that each method delegates to; empty if
            options were resolved without a program.
        plugins: The versions of the distributions that declare the backends.
        schemas: What counts of the backends' schemas, see `etconfig.schema.schema_signature`.
        project: The values in the project file; empty if there is none.
        device: The device. In the file it is the only item of an array, which has room for more.
    """

    program: Mapping[str, Any]
    plugins: Mapping[str, Any]
    schemas: Mapping[str, Any]
    project: Mapping[str, Any]
    device: LockedDevice

    def to_json(self) -> str:
        """Return the lock as JSON text, one value per line; `load_lock` reads it."""
        shared = {part: getattr(self, part) for part in _SHARED_PARTS}
        device = {part: getattr(self.device, part) for part in _DEVICE_PARTS}
        data = {_VERSION_KEY: LOCK_VERSION, **shared, _DEVICES_KEY: [device]}
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    def differences(self, now: Lock) -> list[str]:
        """Return a line for each value that differs in `now`, is missing there, or is new."""
        found = list(_program_differences(self.program, now.program))
        for part in ("plugins", "schemas"):
            found += _part_differences(part, getattr(self, part), getattr(now, part))
        found += (f"project: {line}" for line in plain_differences(self.project, now.project))
        for part in ("profiles", "facts", "options"):
            found += _part_differences(part, getattr(self.device, part), getattr(now.device, part))
        # the fingerprint follows from the options, so it adds nothing to their differences
        return found or list(_part_differences("result", self.device.result, now.device.result))


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
    device = data[_DEVICES_KEY][0]
    shared = {part: data[part] for part in _SHARED_PARTS}
    return Lock(**shared, device=LockedDevice(**{part: device[part] for part in _DEVICE_PARTS}))


def check_lock(path: Path, now: Lock) -> None:
    """Compare the lock of a resolution with a lock file.

    Raises:
        SavedResultError: the file cannot be read, or something differs; it lists what.
    """
    found = load_lock(path).differences(now)
    if found:
        is_one = len(found) == 1
        more = [f"and {len(found) - _MAX_NOTES} more"] if len(found) > _MAX_NOTES else []
        raise saved_result_error(
            "lock-mismatch",
            f"{path} is out of date: {len(found)} {'difference' if is_one else 'differences'}",
            path,
            f"if {'it is' if is_one else 'they are'} intended, write the lock again: "
            "`etconfig lock` with the same program and options",
            (*found[:_MAX_NOTES], *more),
        )


_DEVICE_PARTS = tuple(part.name for part in fields(LockedDevice))
_SHARED_PARTS = tuple(part.name for part in fields(Lock) if part.name != "device")


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
    if len(devices) != 1:
        return f"covers {len(devices)} devices, expected 1"
    for parts, tables in ((_SHARED_PARTS, data), (_DEVICE_PARTS, devices[0])):
        for part in parts:
            if not isinstance(tables, dict) or not isinstance(tables.get(part), dict):
                return f"has no table {part!r}"
    return "is nested too deeply" if is_too_deep(data) else None


def _part_differences(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of one part, each after the name that it belongs to."""
    for name in dict.fromkeys([*old, *new]):
        for line in plain_differences(old.get(name, ABSENT), new.get(name, ABSENT)):
            yield f"{part}: {name}: {line}"


def _program_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of two programs; two files with the same content are one program."""
    if old.get("content") == new.get("content"):
        return
    yield f"program: {_program_text(old)} → {_program_text(new)}"
    if old and new:
        yield from _part_differences("program", *({"methods": each.get("methods")} for each in (old, new)))


def _program_text(program: Mapping[str, Any]) -> str:
    content = str(program.get("content"))
    short = content[:_SHORT_HASH] + ("…" if len(content) > _SHORT_HASH else "")
    return f"{program.get('name')} ({short})" if program else ABSENT_TEXT
