"""`System`: everything that a detector may read, on this device or in a tree captured on another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.base.parameters import AnyPath
from etconfig.facts.detecting.device_text import MAX_LINE_BYTES, decimal_number, is_short
from etconfig.facts.detecting.host import Host, parse_cpu_list
from etconfig.facts.detecting.sources import DEVICE_ROOT, RegistryValues, Source, ThisDevice, Tree

if TYPE_CHECKING:
    from etconfig.facts.detecting.nvml import NvmlGpu

MAX_FILE_BYTES = 4 << 20
"""More than the size of /proc/cpuinfo on a machine with two thousand cores."""


class System:
    """Files, commands and calls of a device. Paths are as on the device: absolute, with slashes.

    Args:
        where: The root of the file tree, `/` for this device; or any other source.
        host: The properties that files do not contain.
    """

    def __init__(self, where: AnyPath | Source, host: Host) -> None:
        self.host = host
        self._outputs: dict[tuple[str, ...], str | None] = {}
        if isinstance(where, (str, os.PathLike)):
            where = Path(where)
            where = ThisDevice() if where == DEVICE_ROOT else Tree(where)
        self._source = where

    def read_text(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> str | None:
        """Return the text of a file, or None if it is missing, unreadable or larger than `max_bytes`.

        Invalid UTF-8 becomes U+FFFD.
        """
        data = self._source.read(path, max_bytes)
        return None if data is None else data.decode(errors="replace")

    def read_line(self, path: str) -> str | None:
        """Return the stripped text of a file of one value, or None if it is missing, empty or over 8 KiB."""
        text = self.read_text(path, MAX_LINE_BYTES)
        return text.strip() or None if text is not None and is_short(text) else None

    def read_int(self, path: str) -> int | None:
        """Return the decimal number in a file, or None if there is none of at most 64 bits."""
        text = self.read_line(path)
        return None if text is None else decimal_number(text)

    def read_cpus(self, path: str) -> frozenset[int] | None:
        """Return the CPU list in a file, or None if there is none or it is empty."""
        text = self.read_line(path)
        try:
            return parse_cpu_list(text) or None if text is not None else None
        except ValueError:
            return None

    def list_directory(self, path: str) -> tuple[str, ...] | None:
        """Return the names in a directory, sorted, or None if it cannot be listed."""
        return self._source.names(path)

    def run(self, *command: str) -> str | None:
        """Return the output of a command of the operating system, or None.

        The result is None if the command is missing, or is killed because it takes more than a second or
        prints more than a megabyte. A `System` runs the same command only once.
        """
        if command not in self._outputs:
            output = self._source.run(command)
            self._outputs[command] = None if output is None else output.decode(errors="replace")
        return self._outputs[command]

    def windows_call(self, name: str) -> bytes | None:
        """Return the structure that a function in `windows_functions` fills in, or None."""
        return self._source.windows_call(name)

    def registry_values(self, key: str) -> RegistryValues:
        r"""Return the values of a key of the Windows registry such as `HKLM\SOFTWARE`, or nothing."""
        return self._source.registry_values(key) or {}

    def nvml_gpus(self) -> Sequence[NvmlGpu] | None:
        """Return the GPUs that NVIDIA's management library lists, or None without the library."""
        return self._source.nvml_gpus()
