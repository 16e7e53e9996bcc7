"""Comparison of a lock with the present: what differs, and between which programs and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from etconfig.app.locking.lock import Lock, LockDifference, LockedDevice, load_lock, part_differences
from etconfig.app.locking.plain_difference import plain_differences
from etconfig.base.records import record
from etconfig.errors import SavedResultError
from etconfig.resolver.explaining.difference import ABSENT_TEXT
from etconfig.resolver.explaining.saved import saved_result_error

_MAX_NOTES = 50
_SHORT_HASH = len("sha256:") + 12


def check_lock(path: Path, now: Lock) -> None:
    """Compare the lock of some resolutions with a lock file, which may cover more.

    Raises:
        SavedResultError: the file cannot be read, or something differs; it lists what.
    """
    locked = load_lock(path)
    found = lock_differences(locked, now)
    known = {each.name for each in locked.devices}
    others = sorted({each.name for each in now.devices} - known)
    is_new = any(each.part == "devices" for each in found)
    if found:
        raise _mismatch(path, found, _add_help(others) if is_new and others else None)


def whole_lock_mismatch(path: Path, now: Lock) -> SavedResultError | None:
    """Compare the lock of some resolutions with a lock file, which must cover the same programs and devices.

    Returns:
        The error that lists what differs, or None.

    Raises:
        SavedResultError: the file cannot be read.
    """
    locked = load_lock(path)
    found = lock_differences(locked, now, is_whole=True)
    if not found:
        return None
    covered, compared = map(_coverage, (locked, now))
    if covered == compared:
        return _mismatch(path, found, None)
    return _mismatch(path, found, _coverage_help(covered, compared), is_of_others=True)


def _coverage(lock: Lock) -> str:
    """Return the programs and devices of a lock, as `a.pte, b.pte on pixel-8`."""
    devices = dict.fromkeys(each.name for each in lock.devices)
    return f"{', '.join(lock.programs) or 'no program'} on {', '.join(devices)}"


def _coverage_help(covered: str, compared: str) -> str:
    return (
        f"the lock is of {covered}, and this command compares {compared}: name the programs and devices that "
        "it was written for; without --check, the command replaces the lock by one of what it names"
    )


def _mismatch(
    path: Path, found: Sequence[LockDifference], help_text: str | None, *, is_of_others: bool = False
) -> SavedResultError:
    """Return the error that lists the differences from a lock file."""
    is_one = len(found) == 1
    verb = "has other programs or devices" if is_of_others else "is out of date"
    more = [f"and {len(found) - _MAX_NOTES} more"] if len(found) > _MAX_NOTES else []
    parts = ", ".join(dict.fromkeys(each.part for each in found))
    return saved_result_error(
        "lock-mismatch",
        f"{path} {verb}: {len(found)} {'difference' if is_one else 'differences'} in {parts}",
        path,
        help_text
        or f"if {'it is' if is_one else 'they are'} intended, write the lock again: "
        "`etconfig lock` with the same program and options",
        (*map(str, found[:_MAX_NOTES]), *more),
    )


def _add_help(names: Sequence[str]) -> str:
    devices, which = ", ".join(map(repr, names)), "it" if len(names) == 1 else "them"
    return (
        f"to lock {devices}, too, add {which} to the command that wrote the lock: "
        "`etconfig lock` with the same program and options, and --device or --facts for every device"
    )


def lock_differences(locked: Lock, now: Lock, *, is_whole: bool = False) -> list[LockDifference]:
    """Return each value that differs in `now`, is missing there, or is new.

    A program is compared with the locked one of its content, else of its name. A device is compared with the
    locked one of its name, else with the one from which it differs least: on a device of a kind that is
    locked by a sheet, nothing differs, whatever its name.

    Args:
        locked: The lock.
        now: The present.
        is_whole: Both must cover the same programs and devices, by their names.
    """
    return [*_Comparison(locked=locked, now=now, is_whole=is_whole).differences()]


@record(frozen=True, kw_only=True)
class _Comparison:
    """One comparison; the attributes are the arguments of `lock_differences`."""

    locked: Lock
    now: Lock
    is_whole: bool

    def differences(self) -> Iterator[LockDifference]:
        """Yield the differences, beginning with the parts that all devices share."""
        pairs = {name: self._locked_program(name) for name in self.now.programs or (None,)}
        for name, found in pairs.items():
            yield from self._program_differences(name, found)
        if self.is_whole:
            rest = [name for name in self.locked.programs if name not in pairs.values()]
            yield from (self._program_change(self.locked.programs[name], name, {}, None) for name in rest)
        for part in ("plugins", "schemas"):
            locked, current = getattr(self.locked, part), getattr(self.now, part)
            if len(self.locked.devices) > 1 and not self.is_whole:  # others may use other backends
                locked = {name: value for name, value in locked.items() if name in current}
            yield from part_differences(part, locked, current)
        project = plain_differences(self.locked.project, self.now.project)
        yield from (LockDifference("project", text) for text in project)
        for name, found in pairs.items():
            if found is not _NO_PROGRAM:
                yield from self._device_differences(name, found)

    def _locked_program(self, name: str | None) -> str | None:
        """Return the name of the locked program that a program is compared with, or `_NO_PROGRAM`."""
        locked = self.locked.programs
        if name is None or not locked:
            return next(iter(locked or (None,))) if len(locked) < 2 else _NO_PROGRAM
        content = self.now.programs[name].get("content")
        same = [each for each, program in locked.items() if program.get("content") == content]
        if same:
            return name if name in same else same[0]
        if name in locked:
            return name
        return next(iter(locked)) if len(locked) == len(self.now.programs) == 1 else _NO_PROGRAM

    def _program_differences(self, name: str | None, found: str | None) -> Iterator[LockDifference]:
        now = {} if name is None else self.now.programs[name]
        if found is _NO_PROGRAM and self.is_whole:
            if name is not None:  # else every locked program is missing now
                yield self._program_change({}, None, now, name)
            return
        if found is _NO_PROGRAM:
            known = ", ".join(map(repr, self.locked.programs))
            yield LockDifference("program", f"{_program_text(name, now)} is not among {known}")
            return
        locked = {} if found is None else self.locked.programs.get(found, {})
        if locked.get("content") == now.get("content"):
            return
        yield self._program_change(locked, found, now, name)
        if locked and now:
            parts = [key for key in ("methods", "models") if key in locked or key in now]
            yield from part_differences(
                "program", *({key: each.get(key) for key in parts} for each in (locked, now))
            )

    def _program_change(
        self, locked: Mapping[str, Any], old: str | None, now: Mapping[str, Any], new: str | None
    ) -> LockDifference:
        return LockDifference("program", f"{_program_text(old, locked)} → {_program_text(new, now)}")

    def _device_differences(self, name: str | None, found: str | None) -> Iterator[LockDifference]:
        """Yield the differences of all devices for one program."""
        locked = {each.name: each for each in self.locked.devices if each.program == found}
        now = [each for each in self.now.devices if each.program == name]
        program = found if len(self.locked.programs) > 1 else None
        several = len({each.name for each in self.locked.devices}) > 1
        for device in now:
            for each in self._of_device(device, locked):
                of_device = device.name if several and device.name in locked else None
                yield replace(each, device=of_device, program=program)
        if self.is_whole:
            known = {each.name for each in now}
            for missing in (each for each in locked if each not in known):
                yield LockDifference("devices", f"{missing!r} → {ABSENT_TEXT}", program=program)

    def _of_device(self, now: LockedDevice, locked: Mapping[str, LockedDevice]) -> list[LockDifference]:
        if now.name in locked:
            return locked[now.name].differences(now)
        if self.is_whole:
            return [LockDifference("devices", f"{ABSENT_TEXT} → {now.name!r}")]
        known = ", ".join(map(repr, locked))
        if not locked:
            return [LockDifference("devices", f"{now.name!r} is not locked")]
        every = {name: device.differences(now) for name, device in locked.items()}
        nearest = min(every, key=lambda name: len(every[name]))
        if not every[nearest]:
            return []
        unknown = LockDifference("devices", f"{now.name!r} is not among {known}; compared with {nearest!r}")
        return [unknown, *every[nearest]]


_NO_PROGRAM = "\0"
"""Stands for the locked program that a program is compared with if there is none; no file is called so."""


def _program_text(name: str | None, program: Mapping[str, Any]) -> str:
    content = str(program.get("content"))
    short = content[:_SHORT_HASH] + ("…" if len(content) > _SHORT_HASH else "")
    return ABSENT_TEXT if name is None else f"{name} ({short})"
