"""Folding of conditions: facts that are the same on every device become constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from etconfig.expression.checked import (
    Checked,
    CheckedConditional,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
    children,
)
from etconfig.expression.compiler import compile_tree

NO_VALUE = Constant(None)
"""Stands for an expression without a value on any device: a fact is unknown on all, or it always fails."""


def folded(tree: Checked, by_hand: Mapping[str, object], known: Collection[str]) -> Checked:
    """Return an expression in which nothing is left to compute that is the same on every device.

    Args:
        tree: The expression.
        by_hand: The values of facts that are set by hand; they replace the devices' values.
        known: The facts that some device may know; all others are unknown on every device.
    """
    if isinstance(tree, FactValueOf):
        if tree.name in by_hand:
            return _literal(by_hand[tree.name])
        return tree if tree.name in known else NO_VALUE
    if isinstance(tree, HasFact):
        if tree.name in by_hand:
            return Constant(True)
        return tree if tree.name in known else Constant(False)
    if isinstance(tree, Constant):
        return _literal(tree.value)
    inner = [folded(child, by_hand, known) for child in children(tree)]
    if isinstance(tree, CheckedConditional):
        return _folded_choice(CheckedConditional(*inner))
    if isinstance(tree, Logic):
        return _folded_logic(tree.decisive, inner)
    if NO_VALUE in inner:
        return NO_VALUE
    if isinstance(tree, ListOf):
        return ListOf(tuple(inner))
    return _computed(Operation(tree.function, tuple(inner)))


def _literal(value: object) -> Checked:
    """Return a value of a fact as a tree; a list becomes one of constants, as it is written."""
    if isinstance(value, (tuple, list)):
        return ListOf(tuple(map(Constant, value)))
    return Constant(value)


def _folded_choice(tree: CheckedConditional) -> Checked:
    if tree.condition == NO_VALUE:
        return NO_VALUE
    if isinstance(tree.condition, Constant):
        return tree.then if tree.condition.value else tree.otherwise
    return tree


def _folded_logic(decisive: bool, operands: list[Checked]) -> Checked:
    """Return `&&` or `||` without the operands that decide nothing."""
    if any(isinstance(each, Constant) and each.value is decisive for each in operands):
        return Constant(decisive)
    rest = [each for each in operands if each != Constant(not decisive)]
    if not rest:
        return Constant(not decisive)
    if all(each == NO_VALUE for each in rest):
        return NO_VALUE
    return rest[0] if len(rest) == 1 else Logic(decisive, tuple(rest))


def _computed(tree: Operation) -> Checked:
    if not all(map(_is_constant, tree.operands)):
        return tree
    try:
        return Constant(compile_tree(tree)({}))
    except ArithmeticError:
        return NO_VALUE


def _is_constant(tree: Checked) -> bool:
    return isinstance(tree, Constant) or (isinstance(tree, ListOf) and all(map(_is_constant, tree.items)))
