"""The versions of installed packages, from the names of metadata directories, without importing anything.

Importing `importlib.metadata` alone takes longer than this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from etconfig.facts.detecting.detector import FunctionDetector, Reading
from etconfig.facts.detecting.system import System

_DISTRIBUTIONS = ("etconfig", "executorch", "torch", "numpy")
_BACKENDS = "runtime.backends"
_METADATA = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-py[^-]*)?\.(dist|egg)-info")


def _detect(system: System) -> Iterator[Reading]:
    yield Reading.of("runtime.python", system.host.python, "Python", otherwise="no Python is known")
    installed = _installed(system)
    for name in _DISTRIBUTIONS:
        version, source = installed.get(name, (None, "installed distributions"))
        yield Reading.of(f"runtime.{name}", version, source, otherwise="not installed")
    yield Reading.of(
        _BACKENDS, None, "the executor", otherwise="it depends on the executor that runs programs"
    )


def _installed(system: System) -> dict[str, tuple[str, str]]:
    """Return version and metadata directory by distribution; the first on the search path counts."""
    found: dict[str, tuple[str, str]] = {}
    for directory in system.host.search_path:
        for entry in system.list_directory(directory) or ():
            # listing thousands of entries is fast, matching each with a pattern is not
            if not entry.endswith("-info") or not entry.lower().startswith(_DISTRIBUTIONS):
                continue
            match = _METADATA.fullmatch(entry)
            if match is not None and match["name"].lower() in _DISTRIBUTIONS:
                found.setdefault(match["name"].lower(), (match["version"], f"{directory}/{entry}"))
    return found


RUNTIME = FunctionDetector(
    "runtime",
    ("runtime.python", *(f"runtime.{name}" for name in _DISTRIBUTIONS), _BACKENDS),
    _detect,
)
