"""Units of expressions: the unit of a value, as far as those of its facts say."""

from __future__ import annotations

from collections.abc import Iterable

from etconfig.expression.checked import Checked, CheckedConditional, Constant, FactValueOf, Operation
from etconfig.facts.registry import FactRegistry

_KEEPING = frozenset(("min", "max", *(f"{kind} {sign}" for kind in ("int", "float") for sign in "+-")))
_OF_THE_FIRST = frozenset(("int negate", "float negate", "int %"))


def unit_of(tree: Checked, registry: FactRegistry) -> str | None:
    """Return the unit of the values of an expression; None if it has none, or if it cannot be known.

    Sums, `min`, `max` and `? :` keep the unit of their operands; a number without a fact takes any unit. A
    product or quotient may be a conversion, so its unit is not known.
    """
    if isinstance(tree, FactValueOf):
        info = registry.get(tree.name)
        return None if info is None else info.unit
    if isinstance(tree, CheckedConditional):
        return _common_unit((tree.then, tree.otherwise), registry)
    if isinstance(tree, Operation) and tree.function in _KEEPING:
        return _common_unit(tree.operands, registry)
    if isinstance(tree, Operation) and tree.function in _OF_THE_FIRST:
        return unit_of(tree.operands[0], registry)
    return None


def _common_unit(trees: Iterable[Checked], registry: FactRegistry) -> str | None:
    """Return the unit that all but constants have; None if they differ or one is not known."""
    units = {unit_of(tree, registry) for tree in trees if not isinstance(tree, Constant)}
    return units.pop() if len(units) == 1 else None
