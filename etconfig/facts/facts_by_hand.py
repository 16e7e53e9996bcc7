"""`source_facts`: facts set by hand in Python, checked and with their origins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from etconfig.base.parameters import check_type, plain_value
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import FactError
from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactRegistry, FactValue, shown_value

FactOverrides: TypeAlias = "Mapping[str, object]"
"""Facts set by hand, by name: `{"power.source": "battery"}`. A value may be `Sourced`, with an origin."""

_EXPECTED = 'values by name, as {"power.source": "battery"}'


def source_facts(
    facts: FactOverrides | None, registry: FactRegistry, name: str = "fact_overrides"
) -> dict[str, Sourced[FactValue]]:
    """Check facts set by hand, and return each with its origin; one that has an origin keeps it.

    Args:
        facts: The facts; None for none.
        registry: The known facts.
        name: The parameter that they come from, for origins and errors.

    Raises:
        FactError: some facts do not exist or have values of another type; the error contains all of them.
        TypeError: `facts` is not a mapping with names as keys.
    """
    if facts is None:
        return {}
    check_type(name, facts, Mapping, _EXPECTED)
    found: dict[str, Sourced[FactValue]] = {}
    problems: list[Diagnostic] = []
    for fact, value in facts.items():
        check_type(name, fact, str, f"{_EXPECTED}, with texts as names")
        sourced = value if isinstance(value, Sourced) else _sourced(value, name)
        info = registry.get(fact)
        if info is None:
            problems.append(unknown_fact(fact, registry, *_spans(sourced, fact, name)))
            continue
        try:
            found[fact] = Sourced(info.check(sourced.value), sourced.origin)
        except ValueError as error:
            spans = _spans(sourced, fact, name)
            problems.append(invalid_value(fact, info, sourced.value, error, *spans))
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return found


def checked_values(
    values: Mapping[str, object], registry: FactRegistry, name: str
) -> dict[str, FactValue | None]:
    """Check plain values of facts, by name; None stands for an unknown one.

    Args:
        values: The values.
        registry: The known facts.
        name: The place that they come from, for errors.

    Raises:
        FactError, TypeError: as for `source_facts`.
    """
    checked: dict[str, FactValue | None] = {}
    for fact, value in values.items():
        info = registry.get(fact) if isinstance(fact, str) else None
        if info is None:
            break
        try:
            checked[fact] = None if value is None else info.check(value)
        except ValueError:
            break
    else:
        return checked
    return _checked_closely(values, registry, name)


def _checked_closely(
    values: Mapping[str, object], registry: FactRegistry, name: str
) -> dict[str, FactValue | None]:
    """Do the same with numbers of numpy and the like; raise with every problem."""
    known = {fact: value for fact, value in values.items() if value is not None}
    missing = [
        fact for fact in values if isinstance(fact, str) and fact not in known and fact not in registry
    ]
    problems = [unknown_fact(fact, registry, *_spans(_sourced(None, name), fact, name)) for fact in missing]
    try:
        sourced = source_facts(known, registry, name)
    except FactError as error:
        raise FactError(diagnostics=(*error.diagnostics, *problems)) from None
    if problems:
        raise FactError(diagnostics=tuple(problems))
    return {fact: sourced[fact].value if fact in sourced else None for fact in values}


def _sourced(value: object, name: str) -> Sourced[object]:
    return Sourced(plain_value(value), Origin(OriginKind.OVERRIDE, name))


def _spans(sourced: Sourced[object], fact: str, name: str) -> tuple[Span, ...]:
    origin = sourced.origin
    if origin.line is not None:
        return (Span(file=origin.source, line=origin.line, column=origin.column or 1),)
    if origin.source != name:
        return ()
    return (Span(file=name, length=max(1, len(fact)), text=f"{fact} = {shown_value(sourced.value)}"),)
