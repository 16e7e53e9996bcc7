"""The sources of a `System`: this device, or files and outputs captured on another.

Every method returns None if something is missing; none raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

from etconfig.facts.detecting.nvml import NvmlGpu

DEVICE_ROOT = Path("/")
"""The root of this device; any other root belongs to a captured tree."""

COMMANDS, CALLS, REGISTRY_FILE, NVML_FILE = "commands", "calls", "registry.json", "nvml.json"
"""The names in a captured tree for everything that the device does not have as files."""

_MAX_CAPTURED_BYTES = 1 << 20

RegistryValues: TypeAlias = "Mapping[str, object]"
"""The values of one key of the Windows registry, by name."""


class Source(Protocol):
    """The source of a `System`. Paths are as on the device: absolute, with slashes."""

    def read(self, path: str, max_bytes: int) -> bytes | None:
        """Return the bytes of a file, unless there are more than `max_bytes`."""

    def names(self, path: str) -> tuple[str, ...] | None:
        """Return the names in a directory, sorted."""

    def run(self, command: Sequence[str]) -> bytes | None:
        """Return the output of a command."""

    def windows_call(self, name: str) -> bytes | None:
        """Return the result of a function of Windows; `windows.py` lists these functions."""

    def registry_values(self, key: str) -> RegistryValues | None:
        r"""Return the values of a key of the Windows registry, such as `HKLM\SOFTWARE`."""

    def nvml_gpus(self) -> tuple[NvmlGpu, ...] | None:
        """Return the GPUs that NVIDIA's management library lists."""


class Tree:
    """A directory of captured files.

    `commands/<command>.txt` contains the output of a command, named by its words without the directory;
    `calls/<name>.hex` the result of a Windows function; `registry.json` the values of registry keys;
    `nvml.json` the GPUs that NVML lists.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._boundary = root.resolve()

    def read(self, path: str, max_bytes: int) -> bytes | None:
        """Do as `Source.read`, without following links out of the tree."""
        located = self._root / path.lstrip("/")
        # a link in a captured tree must not reach a file of this device
        return _HERE.read(str(located), max_bytes) if self._is_inside(located) else None

    def names(self, path: str) -> tuple[str, ...] | None:
        """Do as `Source.names`, without following links out of the tree."""
        located = self._root / path.lstrip("/")
        return _HERE.names(str(located)) if self._is_inside(located) else None

    def run(self, command: Sequence[str]) -> bytes | None:
        """Return the captured output."""
        program, *arguments = command
        words = " ".join([program.rpartition("/")[2], *arguments])
        return self._captured(f"{COMMANDS}/{words}.txt")

    def windows_call(self, name: str) -> bytes | None:
        """Return the captured result."""
        text = self._captured(f"{CALLS}/{name}.hex")
        return None if text is None else bytes.fromhex(text.decode("ascii"))

    def registry_values(self, key: str) -> RegistryValues | None:
        """Return the captured values."""
        return self._registry.get(key)

    def nvml_gpus(self) -> tuple[NvmlGpu, ...] | None:
        """Return the captured list."""
        text = self._captured(NVML_FILE)
        return None if text is None else tuple(NvmlGpu(**record) for record in json.loads(text))

    @cached_property
    def _registry(self) -> Mapping[str, RegistryValues]:
        text = self._captured(REGISTRY_FILE)
        registry: Mapping[str, RegistryValues] = {} if text is None else json.loads(text)
        return registry

    def _captured(self, name: str) -> bytes | None:
        return self.read(f"/{name}", _MAX_CAPTURED_BYTES)

    def _is_inside(self, located: Path) -> bool:
        try:
            return located.resolve().is_relative_to(self._boundary)
        except ValueError:  # the path has a null character
            return False


class ThisDevice:
    """The device that etconfig runs on."""

    def read(self, path: str, max_bytes: int) -> bytes | None:
        """Do as `Source.read`."""
        try:
            with Path(path).open("rb") as file:
                data = file.read(max_bytes + 1)
        except (OSError, ValueError):  # a path with a null character is a ValueError
            return None
        return data if len(data) <= max_bytes else None

    def names(self, path: str) -> tuple[str, ...] | None:
        """Do as `Source.names`."""
        try:
            return tuple(sorted(entry.name for entry in Path(path).iterdir()))
        except (OSError, ValueError):
            return None

    def run(self, command: Sequence[str]) -> bytes | None:
        """Run the command, for at most a second."""
        from etconfig.facts.detecting.commands import (
            run_command,
        )  # imported late: Linux runs no commands, and it takes 5 ms

        return run_command(command)

    def windows_call(self, name: str) -> bytes | None:
        """Call the function."""
        from etconfig.facts.detecting.windows_functions import windows_call

        return windows_call(name)

    def registry_values(self, key: str) -> RegistryValues | None:
        """Read the key."""
        from etconfig.facts.detecting.windows_functions import registry_values

        return registry_values(key)

    def nvml_gpus(self) -> tuple[NvmlGpu, ...] | None:
        """Load the library and list the GPUs."""
        from etconfig.facts.detecting.nvml import list_gpus, load_library

        library = load_library()
        return None if library is None else list_gpus(library)


_HERE = ThisDevice()


class RecordedFiles:
    """The files of a device that were read all at once, for example over a cable.

    Args:
        files: The contents by path.
        outputs: The outputs of commands, by their words.
    """

    def __init__(self, files: Mapping[str, bytes], outputs: Mapping[tuple[str, ...], bytes]) -> None:
        self._files = files
        self._outputs = outputs
        self._names: dict[str, set[str]] = {}
        for path in files:
            directory, _, name = path.rpartition("/")
            while name and name not in self._names.setdefault(directory, set()):
                self._names[directory].add(name)
                directory, _, name = directory.rpartition("/")

    def read(self, path: str, max_bytes: int) -> bytes | None:
        """Do as `Source.read`."""
        content = self._files.get(path)
        return content if content is not None and len(content) <= max_bytes else None

    def names(self, path: str) -> tuple[str, ...] | None:
        """Return the names that lead to a recorded file."""
        names = self._names.get(path.rstrip("/"))
        return None if names is None else tuple(sorted(names))

    def run(self, command: Sequence[str]) -> bytes | None:
        """Return the recorded output."""
        return self._outputs.get(tuple(command))

    def windows_call(self, name: str) -> None:
        """Return nothing: this is not a Windows device."""

    def registry_values(self, key: str) -> None:
        """Return nothing: this is not a Windows device."""

    def nvml_gpus(self) -> None:
        """Return nothing: the library is on the device."""
