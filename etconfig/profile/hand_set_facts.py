"""`[facts]`: facts that a profile or project file sets by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactRegistry
from etconfig.profile.table import TomlTable

MAX_GUESSED = 100
"""The most unknown facts of a table for which is looked what they mean."""


def _dotted(name: str, value: object) -> str:
    """Return the dotted name that the first keys of nested tables make."""
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        name = f"{name}.{key}"
    return name


def read_facts(root: TomlTable, registry: FactRegistry, kind: OriginKind) -> Mapping[str, Sourced[object]]:
    """Read the checked values of the table `facts` below `root`; problems go to `root.problems`."""
    table = root.table("facts")
    if table is None:
        return {}
    values: dict[str, object] = {}
    unknown = 0
    for name, value in table.data.items():
        if isinstance(value, dict):
            message = f"[{table.name}] contains the table {name!r}, but a fact is one value"
            meant = _dotted(name, value)
            table.report(
                "wrong-type", message, table.key_span(name), f'quote its whole name: "{meant}" = ...'
            )
            continue
        info = registry.get(name)
        if info is None:
            is_one_of_many = unknown >= MAX_GUESSED
            unknown += 1
            problem = unknown_fact(name, registry, table.key_span(name), is_one_of_many=is_one_of_many)
            table.add(problem)
            continue
        try:
            values[name] = info.check(value)
        except ValueError as error:
            table.add(invalid_value(name, info, value, error, table.value_span(name)))
    return _HandSetFacts(values, table, kind)


class _HandSetFacts(Mapping[str, Sourced[object]]):
    """The facts of one table. Their positions are found on demand."""

    def __init__(self, values: Mapping[str, object], table: TomlTable, kind: OriginKind) -> None:
        self._values = values
        self._table = table
        self._kind = kind

    def __getitem__(self, name: str) -> Sourced[object]:
        value, span = self._values[name], self._table.key_span(name)
        return Sourced(value, Origin(self._kind, span.file, span.line, span.column))

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
