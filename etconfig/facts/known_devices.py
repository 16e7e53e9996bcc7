"""Known devices: the fact sheets that come with etconfig, found by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, nearest
from etconfig.errors import FactError, InternalError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet
from etconfig.facts.sheet_json import load_text

_SUFFIX = ".json"
_MODELS = ("device.model", "soc.model", "cpu.model")
_MIN_PART = 2
"""The fewest characters of a part of a name for which all names that contain it are listed."""


@record(frozen=True, kw_only=True)
class DeviceSummary:
    """A known device in a line.

    Attributes:
        name: Its name, such as `raspberry-pi/pi-5`.
        system: The operating system and the architecture, as far as they are known.
        model: The model of the device, else of its chip or processor, else empty.
        facts: The number of known facts.
        sources: How the facts are known: `captured` on such a device, `cited` from a document, or both.
    """

    name: str
    system: str
    model: str
    facts: int
    sources: tuple[str, ...]

    @classmethod
    def of(cls, name: str, sheet: FactSheet) -> DeviceSummary:
        """Return the summary of a sheet."""
        values = {fact: str(value) for fact, value in sheet.values.items()}
        details = (sheet[fact].origin.detail or "" for fact in values)
        return cls(
            name=name,
            system=" ".join(values[fact] for fact in ("os.name", "cpu.arch") if fact in values),
            model=next((values[fact] for fact in _MODELS if fact in values), ""),
            facts=len(values),
            sources=tuple(sorted({detail.partition(" ")[0] for detail in details})),
        )

    def to_jsonable(self) -> dict[str, object]:
        """Return the summary as plain data."""
        return {
            "name": self.name,
            "system": self.system,
            "model": self.model,
            "facts": self.facts,
            "sources": list(self.sources),
        }


@lru_cache(1)
def _directory() -> Path:
    """Return the directory of the sheets: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    for directory in (package / "sheets", package.parent / "sheets"):
        if directory.is_dir():
            return directory
    raise InternalError(detail=f"{package} has no sheets of known devices")


@lru_cache(1)
def device_names() -> tuple[str, ...]:
    """Return the names of the known devices, sorted, such as `raspberry-pi/pi-5`.

    Every bundled profile of a device has a sheet of the same name; some products have one besides
    their chip's.

    Example:
        >>> "raspberry-pi/pi-5" in etconfig.device_names()
        True
    """
    directory = _directory()
    found = (
        (Path(folder) / name).relative_to(directory).as_posix().removesuffix(_SUFFIX)
        for folder, _, names in os.walk(directory)
        for name in names
        if name.endswith(_SUFFIX)
    )
    return tuple(sorted(found))


def load_device(name: str, registry: FactRegistry = BUILTIN_FACTS) -> FactSheet:
    """Read the fact sheet of a known device. The origin of each fact names the source of its value.

    Example:
        >>> facts = etconfig.load_device("raspberry-pi/pi-5")
        >>> facts["cpu.logical_cores"].value
        4
        >>> etconfig.load_device("pi-5") == facts
        True

    Args:
        name: A name of `device_names`, or its last part if no other name ends with it.
        registry: The facts that the sheet may hold.

    Raises:
        FactError: no device has this name, or several do.
        TypeError: `name` is not a string.
    """
    full_name = find_device(name)
    return FactSheet.from_json(load_device_text(full_name), full_name, registry)


def load_device_text(full_name: str) -> str:
    """Return the text of the sheet of a known device, by its full name."""
    return load_text(device_path(full_name))


def describe_devices() -> tuple[DeviceSummary, ...]:
    """Return a summary of each known device, sorted by name."""
    return tuple(DeviceSummary.of(name, load_device(name)) for name in device_names())


def find_device(name: str, names: Sequence[str] | None = None) -> str:
    """Return the full name of a known device.

    Args:
        name: The name, or its last part.
        names: The names of all devices; by default the bundled ones.

    Raises:
        FactError: no device has this name, or several do.
        TypeError: `name` is not a string.
    """
    check_type("name", name, str, "the name of a known device")
    names = device_names() if names is None else names
    if name in names:
        return name
    fitting = [known for known in names if known.endswith(f"/{name}")]
    if len(fitting) == 1:
        return fitting[0]
    raise FactError(diagnostics=(_unknown_device(name, names, fitting),))


def matching_devices(pattern: str) -> tuple[str, ...]:
    """Return the full names of the known devices that a pattern matches, such as `google/*` or `pi-?`.

    Raises:
        FactError: it matches none.
    """
    parts = {name: (name, name.rpartition("/")[2]) for name in device_names()}
    found = tuple(name for name, texts in parts.items() if any(fnmatchcase(text, pattern) for text in texts))
    if not found:
        message = f"no known device matches {pattern!r}"
        help = "`etconfig devices list` lists the known ones"
        raise FactError(diagnostics=(Diagnostic(code="unknown-device", message=message, help=help),))
    return found


def device_path(full_name: str) -> Path:
    """Return the path of the sheet of a known device, by its full name."""
    return _directory() / f"{full_name}{_SUFFIX}"


def short_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the last parts of names that stand for one device each, sorted."""
    last_parts = [name.rpartition("/")[2] for name in names]
    return tuple(sorted(part for part in last_parts if last_parts.count(part) == 1))


def _unknown_device(name: str, names: Sequence[str], fitting: Sequence[str]) -> Diagnostic:
    if fitting:
        message = f"{name!r} stands for {len(fitting)} devices"
        help = f"write one of {', '.join(fitting)}"
    else:
        message, help = f"no known device is called {name!r}", _guess(name, names)
    return Diagnostic(code="unknown-device", message=message, help=help)


def _guess(name: str, names: Sequence[str]) -> str:
    if name.endswith(_SUFFIX):
        return "give the path of a fact sheet to --facts; names of devices do not end in .json"
    folded = name.casefold()
    containing = [known for known in names if folded in known.casefold()] if len(name) >= _MIN_PART else []
    if len(containing) > 1:
        return f"similar names are {', '.join(containing)}"
    near = containing[0] if containing else nearest(name, (*names, *short_names(names)))
    if near is None:
        return "`etconfig devices list` shows the known ones"
    return f"did you mean {find_device(near, names)!r}?"
