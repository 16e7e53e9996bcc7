"""The types of the condition language."""

from __future__ import annotations

import enum

from etconfig.facts.registry import FactType


class ExpressionType(enum.Enum):
    """The type of an expression: a scalar, or a list of scalars of one type."""

    BOOL = "bool"
    INT = "int"
    """Signed, 64 bits."""
    FLOAT = "float"
    """CEL's double."""
    STRING = "string"
    VERSION = "version"
    """A text of `version(s)`, in a form whose order as a text is the order of versions. It has no lists."""
    BOOL_LIST = "list of bool"
    INT_LIST = "list of int"
    FLOAT_LIST = "list of float"
    STRING_LIST = "list of string"
    EMPTY_LIST = "empty list"

    __hash__ = object.__hash__  # types are keys of frequent lookups, and Enum's own hash is written in Python

    def __str__(self) -> str:
        return self.value

    @property
    def with_article(self) -> str:
        """The type with its article: `an int`, `a list of string`."""
        return f"{'an' if self.value[0] in 'aeiou' else 'a'} {self}"

    @property
    def element(self) -> ExpressionType | None:
        """The type of a list's elements; None for scalars and the empty list."""
        return _ELEMENTS.get(self)

    @property
    def is_list(self) -> bool:
        """True for a list."""
        return self in _ELEMENTS or self is ExpressionType.EMPTY_LIST

    @property
    def is_number(self) -> bool:
        """True for an int or a float."""
        return self in (ExpressionType.INT, ExpressionType.FLOAT)

    @property
    def list_type(self) -> ExpressionType:
        """The type of a list of this scalar type."""
        return _LISTS[self]


_ELEMENTS = {
    ExpressionType.BOOL_LIST: ExpressionType.BOOL,
    ExpressionType.INT_LIST: ExpressionType.INT,
    ExpressionType.FLOAT_LIST: ExpressionType.FLOAT,
    ExpressionType.STRING_LIST: ExpressionType.STRING,
}
_LISTS = {element: list_type for list_type, element in _ELEMENTS.items()}

TYPE_OF_FACT = {
    FactType.BOOL: ExpressionType.BOOL,
    FactType.INT: ExpressionType.INT,
    FactType.FLOAT: ExpressionType.FLOAT,
    FactType.STRING: ExpressionType.STRING,
    FactType.STRING_LIST: ExpressionType.STRING_LIST,
}
"""The type that a fact has in an expression."""

TYPE_OF_VALUE = {
    bool: ExpressionType.BOOL,
    int: ExpressionType.INT,
    float: ExpressionType.FLOAT,
    str: ExpressionType.STRING,
}
"""The type of a literal, by its Python type."""


def are_comparable(left: ExpressionType, right: ExpressionType) -> bool:
    """Return True if `==` is defined: for two equal types, two numbers, or two lists of such."""
    if left.element and right.element:
        left, right = left.element, right.element
    return common_type(left, right) is not None or (left.is_number and right.is_number)


def common_type(left: ExpressionType, right: ExpressionType) -> ExpressionType | None:
    """Return the one type that both have; an empty list has the type of any list."""
    if left is right or (left.is_list and right is ExpressionType.EMPTY_LIST):
        return left
    return right if right.is_list and left is ExpressionType.EMPTY_LIST else None
