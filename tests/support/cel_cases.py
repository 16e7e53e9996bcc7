"""Cases of tools/build_cel_oracle.py: an expression, the facts that it reads, and CEL's value."""

from __future__ import annotations

from typing import Any

from profile_texts import fact

from etconfig.expression import Fault, Unknown, parse_expression
from etconfig.facts.registry import FactRegistry, FactType

FACT_TYPES = {
    "bool": FactType.BOOL,
    "int": FactType.INT,
    "float": FactType.FLOAT,
    "string": FactType.STRING,
    "list": FactType.STRING_LIST,
}
REGISTRY = FactRegistry(
    tuple(
        fact(f"x.{name}{number}", fact_type) for name, fact_type in FACT_TYPES.items() for number in range(3)
    )
)


def assert_agrees(case: dict[str, Any]) -> None:
    """Check that the expression has CEL's value, or none if CEL reports an error."""
    facts = {
        name: tuple(value) if isinstance(value, list) else value for name, value in case["facts"].items()
    }
    result = parse_expression(case["expression"], REGISTRY).evaluate(facts)
    if "value" in case:
        assert repr(result) == repr(case["value"]), case  # distinguishes 1, 1.0 and True, and equates nan
    else:
        assert isinstance(result, (Unknown, Fault)), case
