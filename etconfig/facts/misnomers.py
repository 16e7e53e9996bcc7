"""Common names for values that facts spell differently, such as `aarch64` for `arm64`.

Without them, a condition such as `cpu.arch == "aarch64"` would be valid but never true.
"""

from __future__ import annotations

from collections.abc import Mapping

_MISNOMERS: Mapping[str, Mapping[str, str]] = {
    "cpu.arch": {
        "aarch64": "arm64",
        "amd64": "x86_64",
        "armv6l": "arm",
        "armv7l": "arm",
        "armv8l": "arm",
        "i386": "x86",
        "i686": "x86",
        "x64": "x86_64",
        "x86-64": "x86_64",
    },
    "os.name": {"darwin": "macos", "mac": "macos", "osx": "macos", "nt": "windows", "win32": "windows"},
}
"""The common names by fact; the values of these facts are in lower case."""


def meant_value(fact: str, value: object) -> str | None:
    """Return the fact's own spelling of `value`, or None if `value` may be right."""
    if fact not in _MISNOMERS or not isinstance(value, str):
        return None
    lower = value.lower()
    meant = _MISNOMERS[fact].get(lower, lower)
    return None if meant == value else meant
