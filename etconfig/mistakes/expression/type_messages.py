"""The messages and the help of type errors."""

from __future__ import annotations

from etconfig.expression.signatures import ARITHMETIC, STRING_METHODS
from etconfig.expression.syntax import Name, Node
from etconfig.expression.types import ExpressionType

_USAGE = {
    "size": "size takes a string or a list, as in size(cpu.features) or cpu.features.size()",
    "min": "min takes two or more numbers of one type, as in min(cpu.available_cores, 4)",
    "max": "max takes two or more numbers of one type, as in max(cpu.available_cores - 1, 1)",
    "bucket": "bucket takes a string and the name of the rollout, "
    "as in bucket(device.id, 'threads-2') < 0.05",
    "has": "has takes the name of a fact, as in has(power.battery_level)",
    **{
        name: f'{name} is called on a string with a string, as in os.name.{name}("l")'
        for name in STRING_METHODS
    },
}


def usage(function: str) -> str:
    """Return an example of calling a function."""
    return _USAGE[function]


def comparison_example(node: Node, type_: ExpressionType) -> str | None:
    """Return the help for a fact of this type where a condition is needed."""
    if not isinstance(node, Name):
        return None
    if type_ is ExpressionType.STRING:
        return f'compare it: {node.name} == "..."'
    return f'test an element: "..." in {node.name}'


def mismatch(operator: str, left: ExpressionType, right: ExpressionType) -> str:
    """Return the message for operands that `operator` cannot take."""
    if operator == "in":
        return f"'in' cannot look for {left.with_article} in {right.with_article}"
    if operator not in ARITHMETIC:
        return f"{operator!r} cannot compare {left.with_article} with {right.with_article}"
    if left is right:
        return f"{operator!r} does not work on {left} values"
    return f"{operator!r} needs two values of one type, but has {left.with_article} and {right.with_article}"
