"""`[facts]`: facts that a profile or project file sets by hand."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactRegistry
from etconfig.profile.table import Table
from etconfig.provenance import Origin, OriginKind, Sourced


def _dotted(name: str, value: object) -> str:
    """The name that the keys of nested tables spell, by the first of each."""
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        name = f"{name}.{key}"
    return name


def read_facts(
    root: Table, registry: FactRegistry, kind: OriginKind
) -> Iterator[tuple[str, Sourced[object]]]:
    """The names and checked values in the table `facts` below `root`; problems go to `root.problems`."""
    table = root.table("facts")
    if table is None:
        return
    for name, value in table.data.items():
        if isinstance(value, dict):
            message = f"[{table.name}] holds the table {name!r}, but a fact is one value"
            meant = _dotted(name, value)
            table.report(
                "wrong-type", message, table.key_span(name), f'quote its whole name: "{meant}" = ...'
            )
            continue
        info = registry.get(name)
        if info is None:
            table.problems.append(unknown_fact(name, registry, table.key_span(name)))
            continue
        try:
            checked = info.check(value)
        except ValueError as error:
            table.problems.append(invalid_value(name, info, value, error, table.value_span(name)))
            continue
        span = table.key_span(name)
        yield name, Sourced(checked, Origin(kind, span.file, span.line, span.column))
