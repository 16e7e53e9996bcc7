"""Names that people and systems use for values that facts call otherwise: `aarch64` for `arm64`.

Without them a condition such as `cpu.arch == "aarch64"` would be valid and never hold.
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
"""By fact; the values of these facts are in lower case."""


def meant_value(fact: str, value: object) -> str | None:
    """The value that a fact has where somebody calls it `value`; None if that may be right."""
    if fact not in _MISNOMERS or not isinstance(value, str):
        return None
    lower = value.lower()
    meant = _MISNOMERS[fact].get(lower, lower)
    return None if meant == value else meant
