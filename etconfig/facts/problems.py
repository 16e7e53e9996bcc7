"""Diagnostics about facts from sheets, `--fact` and profiles, with the usual values of facts."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.diagnostics import Diagnostic, Respelling, Rewriting, Span, nearest_word
from etconfig.facts.registry import FactInfo, FactRegistry, FactType, meant_value

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

_LISTED = 8

_LIST_HELP = "`etconfig facts` lists the known ones; a plugin's facts are known where it is installed"


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


def unknown_fact(name: str, registry: FactRegistry, *spans: Span, is_one_of_many: bool = False) -> Diagnostic:
    """Return the diagnostic for a name that no fact has; of one of many, without a guess at what it means."""
    if is_one_of_many:
        return Diagnostic(
            code="unknown-fact", message=f"no fact is called {name!r}", spans=spans, help=_LIST_HELP
        )
    from etconfig.mistakes.fact_guesses import is_certain_fact, likely_facts

    likely = likely_facts(name, registry)
    guess, fix = likely[0] if len(likely) == 1 else None, None
    if guess is not None and spans and is_certain_fact(name, guess):
        fix = Respelling(name, guess).at(spans[0])
    return Diagnostic(
        code="unknown-fact",
        message=f"no fact is called {name!r}",
        spans=spans,
        help=_unknown_fact_help(likely),
        fix=fix,
    )


def _unknown_fact_help(likely: tuple[str, ...]) -> str:
    if not likely:
        return _LIST_HELP
    if len(likely) == 1:
        return f"did you mean {likely[0]!r}?"
    more = len(likely) - _LISTED
    listed = ", ".join(likely[:_LISTED])
    return f"similar facts are {listed}{f' and {more} more' if more > 0 else ''}"


def _without_value(message: str) -> str:
    expected, found, _ = message.partition(", found ")
    return f"{expected}{found}a value that is not shown"


def invalid_value(name: str, info: FactInfo, value: object, error: ValueError, *spans: Span) -> Diagnostic:
    """Return the diagnostic for a value that `info.check` refused with `error`."""
    guess = meant_text(info, value)
    unit = f", {info.unit}" if info.unit else ""
    help = f"did you mean {guess!r}?" if guess is not None else _value_help(info, value)
    fix = Respelling(str(value), guess).at(spans[0]) if guess is not None and spans else None
    if guess is None:
        from etconfig.mistakes.fact_guesses import fact_value_in_toml, likely_value

        likely = likely_value(info, value)
        if likely is not None:
            text = fact_value_in_toml(likely)
            help = f"write {text}"
            fix = Rewriting(str(value), text).at(spans[0]) if spans else None
    return Diagnostic(
        code="invalid-fact-value",
        message=f"fact {name!r}: {_without_value(str(error)) if info.is_identifying else error}",
        spans=spans,
        notes=(f"{name} ({info.type.value}{unit}): {info.doc}",),
        help=help,
        fix=fix,
    )


def _value_help(info: FactInfo, value: object) -> str:
    if usual_texts(info) and isinstance(value, str):
        return usual_texts_help(info)
    if info.unit and isinstance(value, str) and value[:1].isdecimal():
        return f"give a number of {info.unit}, without the unit"
    return "give a value of the fact's type and range"
