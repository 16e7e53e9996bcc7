"""The condition language: a strict subset of CEL over facts, checked before it runs."""

from etconfig.profile.expression.expression import (
    ClauseResult,
    Expression,
    ExpressionParser,
    Fault,
    ReadyCondition,
    Result,
    Unknown,
    parse_expression,
)
from etconfig.profile.expression.types import ExpressionType

__all__ = [
    "ClauseResult",
    "Expression",
    "ExpressionParser",
    "ExpressionType",
    "Fault",
    "ReadyCondition",
    "Result",
    "Unknown",
    "parse_expression",
]
