"""Expressions that were checked ahead of time: `conditions.json` beside the bundled profiles.

A command that selects a profile evaluates the conditions of all bundled profiles, and resolving evaluates
the advice of backends, such as in etconfig's own packages. With this file neither parses and checks
them, nor imports the modules that do. `tools/check_conditions.py` writes it; an expression that is not in it
is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from etconfig.base.records import record
from etconfig.expression import (
    CheckedCondition,
    CheckedValue,
    ExpressionParser,
    ExpressionType,
)
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
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactRegistry
from etconfig.profile.library import bundled_profiles

FILE_NAME = "conditions.json"


@record(frozen=True)
class CheckedTexts:
    """Expressions that were checked ahead of time, by their texts, as the checker gives them.

    Attributes:
        conditions: The conditions.
        values: The other expressions.
    """

    conditions: Mapping[str, CheckedCondition]
    values: Mapping[str, CheckedValue]


@lru_cache(1)
def bundled_conditions() -> CheckedTexts:
    """Return the expressions of the bundled file, as the checker gives them for the built-in facts.

    Raises:
        InternalError: the bundled profiles are missing.
        OSError: the file is missing.
    """
    return load_conditions(bundled_profiles().directory / FILE_NAME)


def bundled_parser(registry: FactRegistry) -> ExpressionParser:
    """Return a parser that knows the bundled expressions, or none of them if the built-in facts differ."""
    if not registry.begins_with(BUILTIN_FACTS):
        return ExpressionParser(registry)
    known = bundled_conditions()
    return ExpressionParser(registry, known.conditions, known.values)


def load_conditions(path: Path) -> CheckedTexts:
    """Read expressions from a file that `tools/check_conditions.py` wrote.

    The file has the tree of each clause once, and for each condition the numbers of its clauses: of 140
    clauses, which are mostly about the system and the processor, only 50 differ.
    """
    data = json.loads(path.read_bytes())
    clauses = [(_tree(tree), text) for text, tree in data["clauses"].items()]
    return CheckedTexts(
        {text: _joined([clauses[n] for n in numbers]) for text, numbers in data["conditions"].items()},
        {text: (ExpressionType(kind), _tree(tree)) for text, (kind, tree) in data["values"].items()},
    )


def _joined(clauses: Sequence[tuple[Checked, str]]) -> CheckedCondition:
    """Return the condition that is true if all clauses are."""
    trees, texts = zip(*clauses, strict=True)
    return (trees[0] if len(trees) == 1 else Logic(False, trees)), texts


def _tree(data: list[Any]) -> Checked:
    """Return the node that a list describes: its class, its fields, then its operands one by one."""
    kind = data[0]
    if kind == "FactValueOf":
        return FactValueOf(data[1])
    if kind == "Constant":
        return Constant(tuple(data[1]) if isinstance(data[1], list) else data[1])
    if kind == "Operation":
        return Operation(data[1], tuple([_tree(each) for each in data[2:]]))
    if kind == "Logic":
        return Logic(data[1], tuple([_tree(each) for each in data[2:]]))
    if kind == "ListOf":
        return ListOf(tuple([_tree(each) for each in data[1:]]))
    if kind == "HasFact":
        return HasFact(data[1])
    condition, then, otherwise = data[1:]
    return CheckedConditional(_tree(condition), _tree(then), _tree(otherwise))
