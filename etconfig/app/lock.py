"""`Lock`: the inputs and the outcome of a resolution, so that a change of either is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.plugin import BACKENDS
from etconfig.records import record
from etconfig.resolver import Resolution, reported_values
from etconfig.resolver.difference import canonical
from etconfig.resolver.saved import load_json, saved_result_error

if TYPE_CHECKING:
    from etconfig.app.configuration import Configuration

LOCK_FILE = "etconfig.lock"
LOCK_VERSION = 1

_VERSION_KEY = "etconfig_lock"
_HELP = "write it with `etconfig lock`"
_MAX_NOTES = 50


@record(frozen=True, kw_only=True)
class Lock:
    """The inputs and the outcome of a resolution. Each part maps names to plain values.

    Attributes:
        plugins: The versions of the distributions that declare the backends.
        profiles: The SHA-256 of the file of the profile and of all that it extends.
        project: The SHA-256 of the project file, by its name; empty if there is none.
        facts: The known facts that the options depend on.
        options: The value of every option of every method instance, by option path.
        result: The resolution's fingerprint.
    """

    plugins: Mapping[str, Any]
    profiles: Mapping[str, Any]
    project: Mapping[str, Any]
    facts: Mapping[str, Any]
    options: Mapping[str, Any]
    result: Mapping[str, Any]

    def to_json(self) -> str:
        """Return the lock as JSON text, one value per line; `load_lock` reads it."""
        return json.dumps({_VERSION_KEY: LOCK_VERSION, **asdict(self)}, indent=2, ensure_ascii=False) + "\n"

    def differences(self, now: Lock) -> list[str]:
        """Return a line for each value that differs in `now`, is missing there, or is new."""
        found = [
            line for part in fields(self) if part.name != "result" for line in self._changed(now, part.name)
        ]
        # the fingerprint follows from the options, so it adds nothing to their differences
        return found or list(self._changed(now, "result"))

    def _changed(self, now: Lock, part: str) -> Iterator[str]:
        old, new = getattr(self, part), getattr(now, part)
        for name in dict.fromkeys([*old, *new]):
            before, after = (canonical(side[name]) if name in side else "none" for side in (old, new))
            if before != after:
                yield f"{part}: {name}: {before} → {after}"


def make_lock(configuration: Configuration, resolution: Resolution) -> Lock:
    """Make the lock of a resolution.

    Raises:
        SavedResultError: one of its files can no longer be read.
    """
    installation = configuration.installation
    entries = (
        installation.index.find(BACKENDS, backend) for arguments in resolution for backend in arguments
    )
    project = installation.project
    return Lock(
        plugins=dict(sorted({entry.distribution: entry.version for entry in entries}.items())),
        profiles={profile.name: _sha256(profile.path) for profile in configuration.chain if profile.path},
        project={Path(project.name).name: _sha256(Path(project.name))} if project else {},
        facts=resolution.facts_used(),
        options={str(path): option.value for path, option in reported_values(resolution).items()},
        result={"fingerprint": resolution.fingerprint()},
    )


def lock_path(configuration: Configuration) -> Path:
    """Return the path of the lock file: beside the project file, or in the current directory."""
    project = configuration.installation.project
    return Path(project.name).with_name(LOCK_FILE) if project else Path(LOCK_FILE)


def load_lock(path: Path) -> Lock:
    """Read a lock file.

    Raises:
        SavedResultError: the file cannot be read, is not a lock file, or has another version.
    """
    if path.exists() and not path.is_file():  # reading a named pipe would wait forever
        message = f"cannot read {path}: it is not a regular file"
        raise saved_result_error("unreadable-file", message, path, f"remove it, and {_HELP}")
    data = load_json(path, "invalid-lock-file", _HELP)
    version = data.get(_VERSION_KEY) if isinstance(data, dict) else None
    if version != LOCK_VERSION:
        problem = (
            "is not a lock file" if version is None else f"has version {version}, expected {LOCK_VERSION}"
        )
        raise saved_result_error("invalid-lock-file", f"{path} {problem}", path, _HELP)
    parts = {part.name: data.get(part.name) for part in fields(Lock)}
    wrong = [name for name, part in parts.items() if not isinstance(part, dict)]
    if wrong:
        problem = f"{path} has no table {wrong[0]!r}"
        raise saved_result_error("invalid-lock-file", problem, path, _HELP)
    return Lock(**parts)


def check_lock(path: Path, configuration: Configuration, resolution: Resolution) -> None:
    """Compare a resolution with a lock file.

    Raises:
        SavedResultError: the file cannot be read, or something differs; it lists what.
    """
    found = load_lock(path).differences(make_lock(configuration, resolution))
    if found:
        is_one = len(found) == 1
        more = [f"and {len(found) - _MAX_NOTES} more"] if len(found) > _MAX_NOTES else []
        raise saved_result_error(
            "lock-mismatch",
            f"{path} is out of date: {len(found)} {'difference' if is_one else 'differences'}",
            path,
            f"if {'it is' if is_one else 'they are'} intended, write the lock again with `etconfig lock`",
            (*found[:_MAX_NOTES], *more),
        )


def _sha256(path: Path) -> str:
    try:
        return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise saved_result_error("unreadable-file", message, path, "restore it, or resolve again") from error
