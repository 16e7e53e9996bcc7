"""`System`: all that a detector may look at, on this device or in a tree captured on another."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

DEVICE_ROOT = Path("/")
"""The root of this device; any other is that of a captured tree."""

MAX_FILE_BYTES = 4 << 20
"""More than /proc/cpuinfo takes on a machine with two thousand cores."""

MACHINE_FILE = "machine.json"
"""What a captured tree says of its `Host`."""

_MAX_CPUS = 1 << 16
_CPU_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


@dataclass(frozen=True, kw_only=True)
class Host:
    """What an operating system tells through calls instead of files; None is not known.

    Attributes:
        system: The operating system's name as uname has it, such as `Linux`.
        release: The kernel's release.
        machine: The architecture as uname has it, such as `aarch64`.
        affinity: The numbers of the hardware threads that this process may run on.
        python: The version of Python.
        search_path: The directories in which Python finds what is installed.
    """

    system: str | None = None
    release: str | None = None
    machine: str | None = None
    affinity: frozenset[int] | None = None
    python: str | None = None
    search_path: tuple[str, ...] = ()

    @classmethod
    def current(cls) -> Host:
        """This device and this process. The affinity is that of the calling thread."""
        uname = os.uname() if hasattr(os, "uname") else None
        return cls(
            system=uname and uname.sysname,
            release=uname and uname.release,
            machine=uname and uname.machine,
            affinity=frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            python=".".join(map(str, sys.version_info[:3])),
            search_path=tuple(entry for entry in sys.path if Path(entry).is_absolute()),
        )

    @classmethod
    def captured(cls, root: Path) -> Host:
        """The device that the tree at `root` was captured on, from its `machine.json`.

        The file is an object with the attributes of `Host` as keys, each of which may be
        left out; `affinity` is a CPU list such as `"0-3,8"`. Without the file nothing is known.

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


class System:
    """A file tree and a host. Paths are those of the device: absolute, with slashes.

    Attributes:
        host: What is not told by files.
    """

    def __init__(self, root: Path, host: Host) -> None:
        self.host = host
        self._root = root
        self._boundary = None if root == DEVICE_ROOT else root.resolve()

    def read_text(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> str | None:
        """The text of a file, or None when it is missing, unreadable or larger than `max_bytes`.

        Bytes that are not UTF-8 become U+FFFD.
        """
        try:
            with self._locate(path).open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError:
            return None
        return data.decode(errors="replace") if len(data) <= max_bytes else None

    def read_line(self, path: str) -> str | None:
        """The text of a file of one line without the space around it, or None; also when it is empty."""
        text = self.read_text(path)
        return text.strip() or None if text is not None else None

    def read_int(self, path: str) -> int | None:
        """The decimal number in a file, or None when there is none."""
        text = self.read_line(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def read_cpus(self, path: str) -> frozenset[int] | None:
        """The CPU list in a file, or None when there is none or it is empty."""
        text = self.read_line(path)
        try:
            return parse_cpu_list(text) or None if text is not None else None
        except ValueError:
            return None

    def list_directory(self, path: str) -> tuple[str, ...] | None:
        """The names in a directory, sorted, or None when it cannot be listed."""
        try:
            return tuple(sorted(entry.name for entry in self._locate(path).iterdir()))
        except OSError:
            return None

    def _locate(self, path: str) -> Path:
        located = self._root / path.lstrip("/")
        # a link in a captured tree must not lead to a file of this device
        if self._boundary is not None and not located.resolve().is_relative_to(self._boundary):
            raise FileNotFoundError(f"{path} leads out of {self._root}")
        return located


def parse_cpu_list(text: str) -> frozenset[int]:
    """Parse a list such as `0-3,8`, the kernel's way to write a set of CPUs.

    Raises:
        ValueError: `text` is no such list, or names a CPU beyond the 65,536th.
    """
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        match = _CPU_RANGE.fullmatch(part)
        low = int(match[1]) if match else 0
        high = int(match[2] or match[1]) if match else -1
        if not low <= high < _MAX_CPUS:
            raise ValueError(f"{text!r} is no CPU list")
        cpus.update(range(low, high + 1))
    return frozenset(cpus)
