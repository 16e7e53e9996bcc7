"""`Host`: the properties of a device that come from system calls instead of files."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from etconfig.base.records import record

MACHINE_FILE = "machine.json"
"""The file of a captured tree that describes its `Host`."""

MAX_CPUS = 1 << 13
"""As many as Linux can be built for on any processor."""

_CPU_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


@record(frozen=True, kw_only=True)
class Host:
    """The properties of a device that come from system calls instead of files; None if unknown.

    Attributes:
        system: The operating system's name: `Linux`, `Android`, `Darwin` (macOS), `Windows`.
        release: The kernel's release.
        machine: The architecture in the form of uname, such as `aarch64`.
        affinity: The numbers of the hardware threads that this process may run on.
        python: The version of Python.
        search_path: The directories in which Python finds installed packages.
    """

    system: str | None = None
    release: str | None = None
    machine: str | None = None
    affinity: frozenset[int] | None = None
    python: str | None = None
    search_path: tuple[str, ...] = ()

    @classmethod
    def current(cls) -> Host:
        """Return this device and this process. The affinity is the calling thread's."""
        return cls(
            **_uname(),
            affinity=frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            python=".".join(map(str, sys.version_info[:3])),
            search_path=tuple(entry for entry in sys.path if Path(entry).is_absolute()),
        )

    @classmethod
    def captured(cls, root: Path) -> Host:
        """Return the device that the tree at `root` was captured on, from its `machine.json`.

        The file is an object with the attributes of `Host` as keys, each of which may be missing; `affinity`
        is a CPU list such as `"0-3,8"`. Without the file everything is unknown.

        Raises:
            ValueError: the file is malformed.
        """
        path = root / MACHINE_FILE
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            affinity = record.pop("affinity", None)
            return cls(
                **record | {"search_path": tuple(record.get("search_path", ()))},
                affinity=None if affinity is None else parse_cpu_list(affinity),
            )
        except FileNotFoundError:
            return cls()
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not describe a machine: {error}") from error


def _uname() -> dict[str, str]:
    """Return the name, release and machine of this device."""
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        release = f"{version.major}.{version.minor}.{version.build}"
        # a 32-bit Python on a 64-bit Windows has the machine's architecture in the first variable
        machine = os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get("PROCESSOR_ARCHITECTURE", "")
        return {"system": "Windows", "release": release, "machine": machine}
    uname = os.uname()
    # Android's kernel calls itself Linux too
    name = "Android" if hasattr(sys, "getandroidapilevel") else uname.sysname
    return {"system": name, "release": uname.release, "machine": uname.machine}


def parse_cpu_list(text: str) -> frozenset[int]:
    """Parse a list such as `0-3,8`, in which the kernel writes sets of CPUs.

    Raises:
        ValueError: `text` is not such a list, or contains a CPU number above 8,191.
    """
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        match = _CPU_RANGE.fullmatch(part)
        low = int(match[1]) if match else 0
        high = int(match[2] or match[1]) if match else -1
        if not low <= high < MAX_CPUS:
            raise ValueError(f"{text!r} is not a CPU list")
        cpus.update(range(low, high + 1))
    return frozenset(cpus)
