"""Diagnostics about facts from sheets, `--fact` and profiles."""

from __future__ import annotations

from etconfig.diagnostics import Diagnostic, Respelling, Rewriting, Span
from etconfig.facts.registry import FactInfo, FactRegistry
from etconfig.facts.usual_texts import meant_text, usual_texts, usual_texts_help

_LISTED = 8
_LIST_HELP = "`etconfig facts` lists the known ones; a plugin's facts are known where it is installed"


def unknown_fact(name: str, registry: FactRegistry, *spans: Span, is_one_of_many: bool = False) -> Diagnostic:
    """Return the diagnostic for a name that no fact has; of one of many, without a guess at what it means."""
    if is_one_of_many:
        return Diagnostic(
            code="unknown-fact", message=f"no fact is called {name!r}", spans=spans, help=_LIST_HELP
        )
    from etconfig.mistakes.facts.fact_names import is_certain_fact, likely_facts

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
        from etconfig.mistakes.facts.fact_values import fact_value_in_toml, likely_value

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
