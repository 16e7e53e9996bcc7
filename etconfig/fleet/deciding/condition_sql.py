"""Translation of conditions to SQL of DuckDB, with the same answer on every device.

SQL's three-valued AND, OR and NOT are the logic of the condition language: NULL stands for a value that is
unknown, and for one that cannot be computed. The two differ only in messages, which Python writes.
Elsewhere the languages differ, and the translation says what is meant:

- `c ? a : b`: a searched CASE takes ELSE on NULL; a simple CASE compares with TRUE and FALSE.
- `min`, `max`: LEAST and GREATEST skip NULL.
- Lists with an unknown item are unknown, though SQL finds the other items.
- Integers are computed with 128 bits; a result beyond 64 bits, or a division by zero, is NULL.
- NaN equals nothing and is in no order; for DuckDB, it equals itself and is the greatest.
- An int is compared exactly with a float; DuckDB would convert it to a float first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from etconfig.expression.checked import (
    Checked,
    CheckedConditional,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
)
from etconfig.expression.operations import OPERATIONS
from etconfig.facts.registry import FactInfo, FactType
from etconfig.fleet.inventory.sql_names import quoted_text

_MAX_LENGTH = 50_000
"""The most characters of a translated condition. Operands are repeated, so deep ones grow fast."""

_EXACT_INT = 2**53
"""Floats have every integer up to here."""

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_SQL_SIGNS = {"==": "=", "!=": "<>"}
_KIND_OF_FACT = {
    FactType.BOOL: "bool",
    FactType.INT: "int",
    FactType.FLOAT: "float",
    FactType.STRING: "string",
    FactType.STRING_LIST: "string list",
}


class DeclaredFacts(Protocol):
    """The declarations of facts by name: a registry, or a mapping."""

    def get(self, name: str, /) -> FactInfo | None:
        """Return the declaration of a fact."""


class _NotTranslatedError(Exception):
    """The expression has no exact counterpart in SQL."""


def condition_sql(tree: Checked, registry: DeclaredFacts, column: Callable[[str], str]) -> str | None:
    """Return the SQL of a condition, which is NULL where it has no value; None if there is no exact one.

    Args:
        tree: The condition, folded.
        registry: The facts that it may name.
        column: Returns the SQL of the value of a fact, in the type of the fact.
    """
    try:
        return _Writer(registry, column).text(tree)
    except _NotTranslatedError:
        return None


class _Writer:
    """Writes one expression, from the inside out."""

    def __init__(self, registry: DeclaredFacts, column: Callable[[str], str]) -> None:
        self._registry = registry
        self._column = column

    def text(self, tree: Checked) -> str:
        """Return an expression as SQL that can stand at any place."""
        written = self._written(tree)
        if len(written) > _MAX_LENGTH:
            raise _NotTranslatedError
        return written

    def _written(self, tree: Checked) -> str:
        if isinstance(tree, Constant):
            return _constant(tree.value)
        if isinstance(tree, FactValueOf):
            return self._column(tree.name)
        if isinstance(tree, HasFact):
            return f"({self._column(tree.name)} IS NOT NULL)"
        if isinstance(tree, Logic):
            word = " OR " if tree.decisive else " AND "
            return f"({word.join(f'CAST({self.text(each)} AS BOOLEAN)' for each in tree.operands)})"
        if isinstance(tree, CheckedConditional):
            condition, then, otherwise = (self.text(each) for each in tree)
            return f"(CASE {condition} WHEN TRUE THEN {then} WHEN FALSE THEN {otherwise} END)"
        if isinstance(tree, ListOf):
            return self._list(tree)
        return self._operation(tree)

    def _kind(self, tree: Checked) -> str:
        """Return the type of a value; an empty list is one of strings."""
        if isinstance(tree, Constant):
            return {bool: "bool", int: "int", float: "float", str: "string"}.get(type(tree.value), "none")
        if isinstance(tree, FactValueOf):
            info = self._registry.get(tree.name)
            assert info is not None  # otherwise the expression was refused
            return _KIND_OF_FACT[info.type]
        if isinstance(tree, (HasFact, Logic)):
            return "bool"
        if isinstance(tree, CheckedConditional):
            kind = self._kind(tree.then)
            return self._kind(tree.otherwise) if kind == "none" else kind
        if isinstance(tree, ListOf):
            return f"{self._kind(tree.items[0])} list" if tree.items else "string list"
        given = OPERATIONS[tree.function].gives
        return self._kind(tree.operands[0]) if given is None else str(given)

    def _list(self, tree: ListOf) -> str:
        if self._kind(tree) != "string list":
            raise _NotTranslatedError
        items = [self.text(item) for item in tree.items]
        return _if_known(_varying(tree.items, items), f"CAST([{', '.join(items)}] AS VARCHAR[])")

    def _operation(self, tree: Operation) -> str:
        function, operands = tree.function, tree.operands
        if function in _COMPARISONS or function.startswith("float list"):
            return self._comparison(function.rpartition(" ")[2], *operands)
        if function == "in":
            return self._membership(*operands)
        if function == "size":
            return self._size(operands[0])
        texts = [self.text(each) for each in operands]
        sql = OPERATIONS[function].sql
        if sql is not None:
            return sql.format(*texts)
        if function in ("min", "max"):
            if any(map(self._may_be_nan, operands)):
                raise _NotTranslatedError
            name = "least" if function == "min" else "greatest"
            return _if_known(_varying(operands, texts), f"{name}({', '.join(texts)})")
        kind, sign = function.split()
        return self._of_ints(sign, texts) if kind == "int" else self._of_floats(sign, operands, texts)

    def _of_ints(self, sign: str, texts: Sequence[str]) -> str:
        wide = [f"CAST({text} AS HUGEINT)" for text in texts]
        if sign == "negate":
            return f"TRY_CAST(-{wide[0]} AS BIGINT)"
        left, right = wide
        if sign in "+-*":
            return f"TRY_CAST({left} {sign} {right} AS BIGINT)"
        quotient = f"TRY_CAST({left} // NULLIF({right}, 0) AS BIGINT)"
        if sign == "/":
            return quotient
        # where the quotient does not fit, the remainder has no value either
        rest = f"CAST({left} % NULLIF({right}, 0) AS BIGINT)"
        return f"(CASE WHEN {quotient} IS NOT NULL THEN {rest} END)"

    def _of_floats(self, sign: str, operands: Sequence[Checked], texts: Sequence[str]) -> str:
        if sign == "negate":
            return f"(-{texts[0]})"
        if sign == "/" and not (isinstance(operands[1], Constant) and operands[1].value):
            raise _NotTranslatedError  # the sign of a zero decides, and grouping keeps none
        return f"({texts[0]} {sign} {texts[1]})"

    def _may_be_nan(self, tree: Checked) -> bool:
        """Return True if a number may be NaN; facts are finite."""
        if isinstance(tree, Constant):
            return isinstance(tree.value, float) and math.isnan(tree.value)
        if isinstance(tree, CheckedConditional):
            return self._may_be_nan(tree.then) or self._may_be_nan(tree.otherwise)
        if isinstance(tree, Operation):
            if tree.function in ("min", "max", "float negate"):
                return any(map(self._may_be_nan, tree.operands))
            return tree.function.startswith("float ") and self._kind(tree) == "float"
        return False

    def _size(self, tree: Checked) -> str:
        if isinstance(tree, ListOf):
            return _if_known(
                _varying(tree.items, [self.text(each) for each in tree.items]), str(len(tree.items))
            )
        return f"{'length' if self._kind(tree) == 'string' else 'len'}({self.text(tree)})"

    def _membership(self, item: Checked, items: Checked) -> str:
        if not isinstance(items, ListOf):
            if self._kind(items) != "string list":
                raise _NotTranslatedError
            texts = (self.text(item), self.text(items))
            return _if_known(texts, f"list_contains({texts[1]}, {texts[0]})")
        needed = (item, *items.items)
        known = _varying(needed, [self.text(each) for each in needed])
        equal = " OR ".join(self._comparison("==", item, each) for each in items.items)
        return _if_known(known, f"({equal})" if equal else "FALSE")

    def _comparison(self, sign: str, left: Checked, right: Checked) -> str:
        kinds = self._kind(left), self._kind(right)
        if set(kinds) == {"int", "float"}:
            if kinds[0] == "float":
                left, right, sign = right, left, _MIRRORED[sign]
            return self._int_with_float(sign, left, right)
        if kinds[0].endswith("list") and set(kinds) != {"string list"}:
            raise _NotTranslatedError
        texts = [self.text(left), self.text(right)]
        plain = f"({texts[0]} {_SQL_SIGNS.get(sign, sign)} {texts[1]})"
        uncertain = [text for tree, text in zip((left, right), texts, strict=True) if self._may_be_nan(tree)]
        if not uncertain:
            return plain
        return _if_known(texts, _unless_nan(uncertain, sign, plain))

    def _int_with_float(self, sign: str, left: Checked, right: Checked) -> str:
        texts = [self.text(left), self.text(right)]
        if isinstance(left, Constant) and abs(int(str(left.value))) <= _EXACT_INT:
            plain = f"(CAST({texts[0]} AS DOUBLE) {_SQL_SIGNS.get(sign, sign)} {texts[1]})"
        else:
            plain = _exactly(sign, *texts)
        if not self._may_be_nan(right):
            return _if_known(texts, plain)
        return _if_known(texts, _unless_nan(texts[1:], sign, plain))


def _exactly(sign: str, integer: str, number: str) -> str:
    """Return the comparison of an int with a float that is not NaN, as one of integers."""
    integer = f"CAST({integer} AS HUGEINT)"

    def rounded(function: str) -> str:
        # beyond 64 bits every float is as good as this one
        return f"CAST(greatest(least({function}({number}), 1e19::DOUBLE), -1e19::DOUBLE) AS HUGEINT)"

    if sign in ("==", "!="):
        equal = f"({number} = floor({number}) AND {integer} = {rounded('floor')})"
        return equal if sign == "==" else f"(NOT {equal})"
    return f"({integer} {sign} {rounded('ceil' if sign in ('<', '>=') else 'floor')})"


def _unless_nan(numbers: Sequence[str], sign: str, comparison: str) -> str:
    is_nan = " OR ".join(f"isnan({number})" for number in numbers)
    return f"(CASE WHEN {is_nan} THEN {'TRUE' if sign == '!=' else 'FALSE'} ELSE {comparison} END)"


def _varying(trees: Sequence[Checked], texts: Sequence[str]) -> list[str]:
    """Return the texts that may be NULL."""
    return [text for tree, text in zip(trees, texts, strict=True) if not isinstance(tree, Constant)]


def _if_known(texts: Sequence[str], result: str) -> str:
    """Return a result that is NULL if one of `texts` is."""
    if not texts:
        return result
    return f"(CASE WHEN {' OR '.join(f'{text} IS NULL' for text in texts)} THEN NULL ELSE {result} END)"


def _constant(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"CAST({value} AS BIGINT)"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if not isinstance(value, str) or "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise _NotTranslatedError
    return quoted_text(value)
