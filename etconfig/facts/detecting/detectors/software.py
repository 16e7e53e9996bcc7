"""The operating system, on Linux from uname and os-release, and the versions of installed packages.

The versions come from the names of metadata directories: importing `importlib.metadata` alone takes longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from etconfig.facts.detecting.detector import FunctionDetector, Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.device_text import text_lines
from etconfig.facts.detecting.system import System

_OS_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_NO_UNAME = "uname does not report it"

_DISTRIBUTIONS = ("etconfig", "executorch", "torch", "numpy")

_BACKENDS = "runtime.backends"

_METADATA = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-py[^-]*)?\.(dist|egg)-info")


def _detect_system(system: System) -> Iterator[Reading]:
    name = system.host.system
    yield Reading.of("os.name", None if name is None else name.lower(), "uname", otherwise=_NO_UNAME)
    yield Reading.of("os.kernel", system.host.release, "uname", otherwise=_NO_UNAME)
    source, release = _os_release(system)
    for fact, key in (("os.distribution", "ID"), ("os.version", "VERSION_ID")):
        yield Reading.of(fact, release.get(key), source, otherwise=f"{source} has no {key}")


def _os_release(system: System) -> tuple[str, dict[str, str]]:
    """Return the first os-release file that exists, and its variables. Source: os-release(5)."""
    for path in _OS_RELEASE_FILES:
        text = system.read_text(path)
        if text is not None:
            pairs = (line.partition("=") for line in text_lines(text))
            return path, {key.strip(): value.strip().strip("\"'") for key, _, value in pairs if value}
    return _OS_RELEASE_FILES[0], {}


OPERATING_SYSTEM = SystemDetector(
    "operating-system",
    ("os.name", "os.kernel", "os.distribution", "os.version", "os.api_level"),
    _detect_system,
    ("Android", "Darwin", "Windows"),
)


def _detect_packages(system: System) -> Iterator[Reading]:
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
    _detect_packages,
)
