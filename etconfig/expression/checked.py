"""The checked tree: names are known facts, operations have one meaning. It is plain data and pickles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias


class Constant(NamedTuple):
    """A literal value."""

    value: object


class FactValueOf(NamedTuple):
    """The value of a fact."""

    name: str


class HasFact(NamedTuple):
    """`has(...)`: true if a fact is known."""

    name: str


class Operation(NamedTuple):
    """A function of `operations.OPERATIONS`, applied to all operands."""

    function: str
    operands: tuple[Checked, ...]


class ListOf(NamedTuple):
    """A list of all items."""

    items: tuple[Checked, ...]


class Logic(NamedTuple):
    """`&&` or `||`.

    Attributes:
        decisive: The operand that decides the result: False for `&&`, True for `||`.
    """

    decisive: bool
    operands: tuple[Checked, ...]


class CheckedConditional(NamedTuple):
    """`condition ? then : otherwise`."""

    condition: Checked
    then: Checked
    otherwise: Checked


Checked: TypeAlias = "Constant | FactValueOf | HasFact | Operation | ListOf | Logic | CheckedConditional"

SHARE = "share"
"""The function of an `Operation` that takes a part of a budget, with the resource as its only operand. The
resolver puts other operations in its place before anything is evaluated."""


def fact_names(tree: Checked) -> Iterator[str]:
    """Yield the names of the facts in `tree`, in order, repeated as often as they occur."""
    if isinstance(tree, (FactValueOf, HasFact)):
        yield tree.name
    for child in children(tree):
        yield from fact_names(child)


def shares_in(tree: Checked) -> frozenset[str]:
    """Return the resources of which `tree` takes a share."""
    if isinstance(tree, Operation) and tree.function == SHARE:
        return frozenset(str(each.value) for each in tree.operands if isinstance(each, Constant))
    return frozenset(resource for child in children(tree) for resource in shares_in(child))


def children(tree: Checked) -> tuple[Checked, ...]:
    """Return the trees right below the root of `tree`."""
    if isinstance(tree, (Constant, FactValueOf, HasFact)):
        return ()
    if isinstance(tree, CheckedConditional):
        return tree
    return tree.items if isinstance(tree, ListOf) else tree.operands
