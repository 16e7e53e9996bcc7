"""The conditions of the bundled profiles, checked ahead of time: `conditions.json` beside the profiles.

A command that selects a profile evaluates all of them. With this file it neither parses and checks them nor
imports the modules that do. `tools/check_conditions.py` writes it; a condition that is not in it is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from etconfig.profile.expression import CheckedCondition
from etconfig.profile.expression.checked import (
    Checked,
    CheckedConditional,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
)
from etconfig.profile.library import bundled_profiles

FILE_NAME = "conditions.json"


@lru_cache(1)
def bundled_conditions() -> Mapping[str, CheckedCondition]:
    """Return the conditions by their texts, as the checker gives them for the built-in facts.

    Raises:
        InternalError: the bundled profiles are missing.
        OSError: the file is missing.
    """
    return load_conditions(bundled_profiles().directory / FILE_NAME)


def load_conditions(path: Path) -> Mapping[str, CheckedCondition]:
    """Read conditions from a file that `tools/check_conditions.py` wrote."""
    data = json.loads(path.read_bytes())
    return {text: (_tree(tree), tuple(clauses)) for text, (tree, *clauses) in data.items()}


def _tree(data: list[Any]) -> Checked:
    """Return the node that a list describes: its class, its fields, then its operands one by one."""
    kind, *rest = data
    if kind == "Operation":
        return Operation(rest[0], tuple(map(_tree, rest[1:])))
    if kind == "Logic":
        return Logic(rest[0], tuple(map(_tree, rest[1:])))
    if kind == "ListOf":
        return ListOf(tuple(map(_tree, rest)))
    if kind == "CheckedConditional":
        return CheckedConditional(*map(_tree, rest))
    if kind == "Constant":
        return Constant(tuple(rest[0]) if isinstance(rest[0], list) else rest[0])
    return HasFact(rest[0]) if kind == "HasFact" else FactValueOf(rest[0])
