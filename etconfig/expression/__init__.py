"""The condition language: a strict subset of CEL over facts, checked before it runs."""

from etconfig.expression.expression import (
    CheckedCondition,
    CheckedValue,
    ClauseResult,
    EvaluationResult,
    Expression,
    ExpressionParser,
    Fault,
    Unknown,
    parse_expression,
)
from etconfig.expression.types import ExpressionType

__all__ = [
    "CheckedCondition",
    "CheckedValue",
    "ClauseResult",
    "EvaluationResult",
    "Expression",
    "ExpressionParser",
    "ExpressionType",
    "Fault",
    "Unknown",
    "parse_expression",
]
