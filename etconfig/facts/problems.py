"""Diagnostics about facts from sheets, `--fact` and profiles."""

from __future__ import annotations

from etconfig.diagnostics import Diagnostic, Respelling, Span, nearest
from etconfig.facts.misnomers import meant_value
from etconfig.facts.registry import FactInfo, FactRegistry


def unknown_fact(name: str, registry: FactRegistry, *spans: Span) -> Diagnostic:
    """Return the diagnostic for a name that no fact has."""
    guess = registry.nearest(name)
    return Diagnostic(
        code="unknown-fact",
        message=f"no fact is called {name!r}",
        spans=spans,
        help=(
            f"did you mean {guess!r}?"
            if guess is not None
            else "`etconfig facts` lists the known ones; a plugin's facts are known where it is installed"
        ),
        fix=Respelling(name, guess).at(spans[0]) if guess is not None and spans else None,
    )


def invalid_value(name: str, info: FactInfo, value: object, error: ValueError, *spans: Span) -> Diagnostic:
    """Return the diagnostic for a value that `info.check` refused with `error`."""
    guess = nearest(value, info.choices) if isinstance(value, str) else None
    guess = meant_value(name, value) or guess
    unit = f", {info.unit}" if info.unit else ""
    return Diagnostic(
        code="invalid-fact-value",
        message=f"fact {name!r}: {error}",
        spans=spans,
        notes=(f"{name} ({info.type.value}{unit}): {info.doc}",),
        help=f"did you mean {guess!r}?" if guess is not None else "give a value of the fact's type and range",
        fix=Respelling(str(value), guess).at(spans[0]) if guess is not None and spans else None,
    )
