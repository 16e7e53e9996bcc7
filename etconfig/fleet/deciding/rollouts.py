"""`Rollout`: a `bucket` condition that decides on some devices, and the side of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from etconfig.base.records import record
from etconfig.diagnostics import Span
from etconfig.expression import Expression, ExpressionType
from etconfig.expression.checked import (
    Checked,
    CheckedConditional,
    Constant,
    FactValueOf,
    Logic,
    Operation,
    children,
)
from etconfig.fleet.deciding.plan import FleetPlan

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@record(frozen=True)
class Rollout:
    """A comparison of `bucket` with a bound.

    Attributes:
        call: The call of `bucket`.
        sign: The comparison, with the call on its left.
        bound: The bound.
        clause: The comparison as it is written.
    """

    call: Operation
    sign: str
    bound: float
    clause: Operation

    def __str__(self) -> str:
        text, name = self.call.operands
        shown = text.name if isinstance(text, FactValueOf) else "..."
        return f'bucket({shown}, "{getattr(name, "value", "...")}") {self.sign} {self.bound}'

    def aimed(self, share: float) -> Expression:
        """Return it as a condition, with the bound at which it is true on another share of devices."""
        bound = Constant(float(share if self.sign in ("<", "<=") else 1 - share))
        text = f"{self} for {share}"
        tree = Operation(self.sign, (self.call, bound))
        return Expression(text, lambda: Span(file=text), ExpressionType.BOOL, tree, (text,))

    def side(self, plan: FleetPlan, profile: str | None, facts: Mapping[str, Any]) -> bool | None:
        """Return its truth on a device; None if no condition there depends on it, or it is unknown."""
        for each in plan.conditions_on(profile):
            tree, here = each.expression.tree, {**facts, **each.by_hand}
            if "bucket" in each.expression.source and self.clause in subtrees(tree):
                truths = {_holds(_with(tree, self.clause, value), here) for value in (True, False)}
                if len(truths) == 2:
                    return _holds(self.clause, here)
        return None


def rollouts_of(plan: FleetPlan) -> tuple[Rollout, ...]:
    """Return the rollouts of all profiles that some device may get, sorted by their text."""
    parts = {part for each in plan.conditions for part in subtrees(each.expression.tree)}
    return tuple(
        sorted(
            (found for part in parts for found in rollouts_at(part)), key=lambda each: (str(each), repr(each))
        )
    )


def sides_of(
    rollouts: Sequence[Rollout], plan: FleetPlan, profile: str | None, facts: Mapping[str, Any]
) -> dict[str, bool]:
    """Return the side of a device in each rollout that decides on it, by the text of the rollout."""
    found = ((str(each), each.side(plan, profile, facts)) for each in rollouts)
    return {text: side for text, side in found if side is not None}


def rollouts_at(tree: Checked) -> Iterator[Rollout]:
    """Yield the rollout that a whole tree is, if it is one."""
    if isinstance(tree, Operation) and tree.function in _MIRRORED:
        (call, bound), sign = tree.operands, tree.function
        if isinstance(call, Constant):
            call, bound, sign = bound, call, _MIRRORED[sign]
        is_bucket = isinstance(call, Operation) and call.function == "bucket"
        if is_bucket and isinstance(bound, Constant) and isinstance(bound.value, (int, float)):
            assert isinstance(call, Operation)
            yield Rollout(call, sign, float(bound.value), tree)


def subtrees(tree: Checked) -> Sequence[Checked]:
    """Return a tree and all trees below its root."""
    return (tree, *(part for child in children(tree) for part in subtrees(child)))


def _with(tree: Checked, clause: Checked, value: bool) -> Checked:
    """Return a condition with the truth of one of its clauses."""
    if tree == clause:
        return Constant(value)
    inner = tuple(_with(child, clause, value) for child in children(tree))
    if isinstance(tree, CheckedConditional):
        return CheckedConditional(*inner)
    return tree._replace(operands=inner) if isinstance(tree, (Logic, Operation)) else tree


def _holds(tree: Checked, facts: Mapping[str, Any]) -> bool | None:
    """Return the truth of a condition; None if it is unknown, or has no value."""
    result = Expression("", lambda: Span(file=""), ExpressionType.BOOL, tree, ()).evaluate(facts)
    return result if isinstance(result, bool) else None
