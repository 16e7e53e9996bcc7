"""SQL of the values of JSON as the types of facts, from their text in JSON."""

from __future__ import annotations

from etconfig.facts.registry import FactType

SQL_TYPES = {
    FactType.BOOL: "BOOLEAN",
    FactType.INT: "BIGINT",
    FactType.FLOAT: "DOUBLE",
    FactType.STRING: "VARCHAR",
    FactType.STRING_LIST: "VARCHAR[]",
}
"""The types of columns."""

_TEXTS = (
    "CASE WHEN starts_with({text}, '[') THEN CASE WHEN CAST(json_structure({text}) AS VARCHAR) "
    """IN ('["VARCHAR"]', '["NULL"]') THEN CAST(CAST({text} AS JSON) AS VARCHAR[]) END END"""
)
_TYPED = {
    FactType.BOOL: "CASE {text} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END",
    FactType.INT: "CASE WHEN NOT contains({text}, '.') AND NOT contains({text}, 'e') "
    "THEN TRY_CAST({text} AS BIGINT) END",
    FactType.FLOAT: "TRY_CAST({text} AS DOUBLE) + 0.0::DOUBLE",  # -0.0 is 0.0
    FactType.STRING: "CASE WHEN starts_with({text}, '\"') THEN {text}[2:-2] END",
    FactType.STRING_LIST: _TEXTS,
}


def typed_value(kind: FactType, text: str) -> str:
    """Return the SQL of a value in the type of a fact, NULL if it has another.

    Args:
        kind: The type.
        text: The SQL of the value in JSON, as DuckDB writes it, but a text as `plain_text` returns it.
    """
    return _TYPED[kind].format(text=text)


def plain_text(text: str) -> str:
    """Return the SQL of a value in JSON; of a text, what is between its quotes is the text itself."""
    escaped = f"starts_with({text}, '\"') AND contains({text}, '\\')"
    return f"CASE WHEN {escaped} THEN concat('\"', json_extract_string({text}, '$'), '\"') ELSE {text} END"
