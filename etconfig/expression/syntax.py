"""The syntax tree: the expression as written, before names and types are checked.

Every node has its place in the text (`start`, `end`) and its `height`, which the parser bounds so that
no later stage can exhaust the stack.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Literal(NamedTuple):
    """`4`, `0.2`, `"battery"`, `true`."""

    start: int
    end: int
    value: bool | int | float | str
    height: int = 1


class Name(NamedTuple):
    """A fact: `cpu.available_cores`, `gpu.0.name`."""

    start: int
    end: int
    name: str
    height: int = 1


class ListDisplay(NamedTuple):
    """`["arm64", "x86_64"]`."""

    start: int
    end: int
    items: tuple[Node, ...]
    height: int


class Unary(NamedTuple):
    """`!a` or `-a`."""

    start: int
    end: int
    operator: str
    operand: Node
    height: int


class Binary(NamedTuple):
    """A comparison, `in`, or arithmetic."""

    start: int
    end: int
    operator: str
    left: Node
    right: Node
    height: int


class Logical(NamedTuple):
    """Two or more operands joined by `&&` or by `||`."""

    start: int
    end: int
    operator: str
    operands: tuple[Node, ...]
    height: int


class Conditional(NamedTuple):
    """`condition ? then : otherwise`."""

    start: int
    end: int
    condition: Node
    then: Node
    otherwise: Node
    height: int


class FunctionCall(NamedTuple):
    """`size(a)` or `a.size()`; the receiver of the second form is its first argument.

    Attributes:
        is_method: True if the function follows a dot.
        name_start: The offset of the function's name.
    """

    start: int
    end: int
    function: str
    is_method: bool
    name_start: int
    arguments: tuple[Node, ...]
    height: int


Node: TypeAlias = "Literal | Name | ListDisplay | Unary | Binary | Logical | Conditional | FunctionCall"


def height_of(*children: Node) -> int:
    """Return the height of a node above `children`."""
    return 1 + max((child.height for child in children), default=0)
