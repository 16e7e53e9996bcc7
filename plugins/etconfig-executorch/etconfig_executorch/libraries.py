"""`Libraries`: loads libraries of operators and backends into the process, at most once each.

ExecuTorch ends the process if an operator is registered twice, and ignores a second backend of an id. So a
library of the user is first loaded in another process, which lists what the library registers; it is loaded
here only if nothing of that is registered already.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from etconfig.plugin.v1 import LibraryError
from etconfig_executorch import _registry
from etconfig_executorch.wheel_backends import wheel_directory
from etconfig_executorch.wheel_libraries import WHEEL_LIBRARIES, WheelLibrary

_ROOM: Mapping[str, int] = {"operator": 2000, "backend": 16}
"""The most kernels and backends of a process; one kernel more ends it.

Source: runtime/kernel/operator_registry.cpp, runtime/backend/interface.cpp.
"""

_PROBE = Path(__file__).parent / "library_probe.py"
_TIME_LIMIT_S = 120


class Registration(NamedTuple):
    """One entry of the runtime's registries.

    Attributes:
        kind: `operator` or `backend`.
        name: The name of the operator, or the id of the backend.
        key: The types of tensors that a kernel is for; empty if it is for all, and for backends.
        file: The library that registered it.
    """

    kind: str
    name: str
    key: str
    file: str


class Libraries:
    """The libraries that were loaded into the process on request. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: set[str] = set()

    def load(self, libraries: Sequence[str]) -> None:
        """Load libraries, in order, unless they are loaded.

        Args:
            libraries: Names of `WHEEL_LIBRARIES`, and absolute paths.

        Raises:
            LibraryError: one cannot be loaded; those before it stay loaded, and the process goes on.
        """
        with self._lock:
            for library in libraries:
                if library not in self._loaded:
                    self._load(library)
                    self._loaded.add(library)

    def _load(self, library: str) -> None:
        if library in WHEEL_LIBRARIES:
            _load_from_wheel(library, WHEEL_LIBRARIES[library])
        elif not Path(library).is_absolute():
            names = " and ".join(map(repr, WHEEL_LIBRARIES))
            help_text = f"expected {names}, or a path: with a slash, or a name that ends in .so"
            raise LibraryError(library=library, reason="executorch has none of this name", help=help_text)
        else:
            _check_conflicts(library, _ask_probe(library))
            _open(library, library)


def _load_from_wheel(name: str, library: WheelLibrary) -> None:
    path = wheel_directory() / library.path
    if not path.exists():
        raise LibraryError(library=name, reason=f"this executorch was built without it: no {path}")
    brought = (Registration("operator", operator, "", str(path)) for operator in library.operators)
    _check_conflicts(name, brought)
    if library.needs_torch:
        if importlib.util.find_spec("torch") is None:
            raise LibraryError(
                library=name, reason="it needs torch, which is not installed", help="pip install torch"
            )
        import torch  # noqa: F401  # its libraries must be in the process first
    _open(name, str(path))


def _open(library: str, path: str) -> None:
    try:
        ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(library=library, reason=str(error)) from error


def _ask_probe(library: str) -> list[Registration]:
    """Return what a library registers, from another process, which it may end."""
    command = [sys.executable, "-I", str(_PROBE), str(_registry.__file__), library]
    try:
        done = subprocess.run(  # noqa: S603  # this Python, without a shell
            command, capture_output=True, timeout=_TIME_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        reason = f"loading it takes more than {_TIME_LIMIT_S} s"
        raise LibraryError(
            library=library, reason=reason, help="look for what its initializers wait for"
        ) from None
    said = done.stdout.decode(errors="replace").splitlines()
    if done.returncode != 0 or not said:
        raise LibraryError(library=library, reason=_why_it_ended(done), help=_ENDED_HELP)
    answer = json.loads(said[-1])
    if "error" in answer:
        raise LibraryError(library=library, reason=answer["error"], help=_NOT_OPENED_HELP)
    found = [Registration(*each) for each in answer["registered"]]
    if not found:
        reason = "it registers no operator and no backend with this runtime"
        raise LibraryError(library=library, reason=reason, help=_NOTHING_HELP)
    return found


_ENDED_HELP = "run its initializers in a debugger; a second registration of an operator ends the process, too"
_NOT_OPENED_HELP = (
    "link it against libexecutorch.so of the installed executorch wheel, and put the libraries that it needs "
    "on its rpath"
)
_NOTHING_HELP = (
    "link it dynamically against the wheel's libexecutorch.so: with its own runtime inside, it registers "
    "there"
)


def _why_it_ended(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    said = "; ".join(dict.fromkeys([*lines[:1], *lines[-1:]])) or "it prints nothing"
    if done.returncode >= 0:
        return f"it ends the process that loads it with status {done.returncode}: {said}"
    name = signal.Signals(-done.returncode).name
    return f"it ends the process that loads it with {name}: {said}"


def _check_conflicts(library: str, brought: Iterable[Registration]) -> None:
    """Check that nothing that a library registers is registered by another library.

    Raises:
        LibraryError: something is, or the registry has no room for it.
    """
    present = {
        (each.kind, each.name, each.key): each.file for each in map(Registration._make, _registry.entries())
    }
    new: Counter[str] = Counter()
    for each in brought:
        file = present.get((each.kind, each.name, each.key))
        if file is None:
            new[each.kind] += 1
        elif not _is_same_file(file, each.file):
            reason = f"{each.kind} {each.name!r} is already registered by {_shown(file)}"
            raise LibraryError(library=library, reason=reason, help=_CONFLICT_HELP)
    used = Counter(kind for kind, _, _ in present)
    for kind, room in _ROOM.items():
        if used[kind] + new[kind] > room:
            reason = (
                f"ExecuTorch has room for {room} {kind}s in a process: {used[kind]} are registered, and the "
            )
            reason += f"library has {new[kind]}"
            raise LibraryError(library=library, reason=reason, help="load fewer libraries")


_CONFLICT_HELP = "load one of the two libraries only, or rename what it registers"


def _shown(file: str) -> str:
    name = Path(file).name
    return "etconfig, for a backend written in Python" if name.startswith("_native") else name


def _is_same_file(first: str, second: str) -> bool:
    try:
        return Path(first).samefile(second)
    except OSError:
        return False
