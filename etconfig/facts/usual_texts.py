"""The usual values of facts, which find misspelt ones in conditions, such as `os.name == "andriod"`."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.diagnostics import nearest_word
from etconfig.facts.registry import FactInfo, FactType, meant_value

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

_SHOWN = 8
"""The most usual values that a message lists."""


def usual_texts(info: FactInfo) -> tuple[str, ...]:
    """Return the values or items that a fact usually has; empty if it may be anything."""
    return info.choices or _USUAL_VALUES.get(info.name, ())


def meant_text(info: FactInfo, value: object) -> str | None:
    """Return the usual text of a fact that was probably meant by a value, or None.

    So `Arm46` means `arm64`, and not `arm46`.
    """
    usual = usual_texts(info)
    if not isinstance(value, str) or value in usual:
        return None
    meant = meant_value(info.name, value)
    return meant if meant in usual else nearest_word(value, usual)


def is_never(info: FactInfo, value: object) -> bool:
    """Return True for a text that a fact never has, or that is misspelt."""
    is_closed = info.type is FactType.STRING and bool(info.choices)
    if (is_closed and value not in info.choices) or meant_value(info.name, value) is not None:
        return True
    return meant_text(info, value) is not None


def usual_texts_help(info: FactInfo) -> str:
    """Return the help that lists the texts of a fact that has usual ones."""
    usual = usual_texts(info)
    if info.type is FactType.STRING and info.choices:
        return f"its values are {', '.join(usual)}"
    return f"its usual values are {', '.join(usual[:_SHOWN])}; all are in lower case"
