"""Random devices as tables of DuckDB, and the answers of conditions there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from etconfig.expression import Expression
from etconfig.facts.registry import FactRegistry, FactType
from etconfig.fleet.deciding.condition_sql import condition_sql
from etconfig.fleet.deciding.folding import folded
from etconfig.fleet.inventory.sql_names import quoted_name

SQL_TYPES = {
    FactType.BOOL: "BOOLEAN",
    FactType.INT: "BIGINT",
    FactType.FLOAT: "DOUBLE",
    FactType.STRING: "VARCHAR",
    FactType.STRING_LIST: "VARCHAR[]",
}


def fill_devices(connection: Any, registry: FactRegistry, sheets: Sequence[Mapping[str, object]]) -> None:
    """Make the table `devices` with a column for each fact, and one with the number of the row."""
    columns = ", ".join(f"{quoted_name(info.name)} {SQL_TYPES[info.type]}" for info in registry.infos)
    connection.execute(f"CREATE OR REPLACE TABLE devices (number BIGINT, {columns})")
    places = ", ".join("?" for _ in range(len(registry.infos) + 1))
    rows = [
        [number, *(_plain(facts.get(info.name)) for info in registry.infos)]
        for number, facts in enumerate(sheets)
    ]
    connection.executemany(f"INSERT INTO devices VALUES ({places})", rows)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def sql_answers(
    connection: Any, registry: FactRegistry, conditions: Sequence[Expression], by_hand: Mapping[str, object]
) -> list[list[bool | None] | None]:
    """The answer of each condition on each row; None for a condition that SQL cannot decide exactly."""
    texts = [
        condition_sql(folded(each.tree, by_hand, registry.names), registry, quoted_name)
        for each in conditions
    ]
    pushed = [f"CAST({text} AS BOOLEAN)" for text in texts if text is not None]
    if not pushed:
        return [None for _ in texts]
    rows = connection.execute(f"SELECT {', '.join(pushed)} FROM devices ORDER BY number").fetchall()
    columns = iter(zip(*rows, strict=True))
    return [None if text is None else list(next(columns)) for text in texts]
