"""The condition language: a strict subset of CEL over facts, checked before it runs."""

from etconfig.profile.expression.expression import (
    CheckedCondition,
    ClauseResult,
    Expression,
    ExpressionParser,
    Fault,
    Result,
    Unknown,
    parse_expression,
)
from etconfig.profile.expression.types import ExpressionType

__all__ = [
    "CheckedCondition",
    "ClauseResult",
    "Expression",
    "ExpressionParser",
    "ExpressionType",
    "Fault",
    "Result",
    "Unknown",
    "parse_expression",
]
