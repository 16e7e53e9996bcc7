"""The usual values of facts, which find misspelt ones in conditions, such as `os.name == "andriod"`."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.facts.registry import FactInfo

_USUAL_VALUES: Mapping[str, tuple[str, ...]] = {
    "cpu.arch": (
        *("x86_64", "arm64", "x86", "arm", "riscv64", "riscv32", "loongarch64", "ppc64le", "ppc64", "s390x"),
        *("mips64", "mips", "sparc64", "wasm32"),
    ),
    "os.name": (
        *("linux", "android", "macos", "windows", "ios", "freebsd", "openbsd", "netbsd", "sunos", "qnx"),
        "emscripten",
    ),
}
"""The values that these facts have on most devices; they may have others."""


def usual_texts(info: FactInfo) -> tuple[str, ...]:
    """Return the values or items that a fact usually has; empty if it may be anything."""
    return info.choices or _USUAL_VALUES.get(info.name, ())
