"""The operating system, on Linux from uname and os-release."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.detecting.detector import Reading
from etconfig.facts.detecting.detectors.system_detector import SystemDetector
from etconfig.facts.detecting.device_text import text_lines
from etconfig.facts.detecting.system import System

_OS_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_NO_UNAME = "uname does not report it"


def _detect(system: System) -> Iterator[Reading]:
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
    _detect,
    ("Android", "Darwin", "Windows"),
)
