"""`Rollout`: a `bucket` condition that decides on some device, and the side of each device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from etconfig.base.records import record
from etconfig.diagnostics import Span
from etconfig.expression import Expression, ExpressionType
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
from etconfig.fleet.deciding.plan import FleetPlan

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@record(frozen=True)
class Rollout:
    """A comparison of `bucket` with a bound.

    Attributes:
        text: The first argument of `bucket`.
        name: The name of the rollout, its second argument.
        sign: The comparison, with `bucket` on its left.
        bound: The bound.
        clause: The comparison as it is written.
    """

    text: Checked
    name: str
    sign: str
    bound: float
    clause: Operation

    def __str__(self) -> str:
        text = self.text.name if isinstance(self.text, FactValueOf) else "..."
        return f'bucket({text}, "{self.name}") {self.sign} {self.bound:g}'

    @property
    def condition(self) -> Expression:
        """The comparison as a condition of its own."""
        text = str(self)
        return Expression(text, lambda: Span(file=text), ExpressionType.BOOL, self.clause, (text,))

    @property
    def share(self) -> float:
        """The part of the devices on which it holds."""
        return self.bound if self.sign in ("<", "<=") else 1 - self.bound

    def raised(self, share: float) -> Rollout:
        """Return it with the bound at which it holds on another part of the devices."""
        bound = share if self.sign in ("<", "<=") else 1 - share
        operands = (Operation("bucket", (self.text, Constant(self.name))), Constant(float(bound)))
        return Rollout(self.text, self.name, self.sign, bound, Operation(self.sign, operands))

    def side(self, plan: FleetPlan, profile: str | None, facts: Mapping[str, object]) -> bool | None:
        """Return its truth on a device; None if no condition there depends on it, or it is unknown."""
        for tree, by_hand in _trees(plan, profile):
            if self.clause in _parts(tree):
                here = {**facts, **by_hand}
                truths = {_truth(_with(tree, self.clause, value), here) for value in (True, False)}
                if len(truths) == 2:
                    return _truth(self.clause, here)
        return None


def rollouts_of(plan: FleetPlan) -> tuple[Rollout, ...]:
    """Return the rollouts of all profiles that some device may get, sorted by their text."""
    trees = (each.expression.tree for each in plan.conditions)
    found = {each for tree in trees for part in _parts(tree) if (each := _rollout(part)) is not None}
    return tuple(sorted(found, key=lambda each: (str(each), repr(each.clause))))


def _rollout(tree: Checked) -> Rollout | None:
    if not isinstance(tree, Operation) or tree.function not in _MIRRORED:
        return None
    call, bound, sign = *tree.operands, tree.function
    if isinstance(call, Constant):
        call, bound, sign = bound, call, _MIRRORED[sign]
    if not isinstance(call, Operation) or call.function != "bucket" or not isinstance(bound, Constant):
        return None
    text, name = call.operands
    if not isinstance(name, Constant) or not isinstance(bound.value, (int, float)):
        return None
    return Rollout(text, str(name.value), sign, float(bound.value), tree)


def _trees(plan: FleetPlan, profile: str | None) -> Iterator[tuple[Checked, Mapping[str, object]]]:
    for each in plan.conditions_on(profile):
        yield each.expression.tree, each.by_hand


def _parts(tree: Checked) -> Sequence[Checked]:
    return (tree, *(part for child in children(tree) for part in _parts(child)))


def _with(tree: Checked, clause: Checked, value: bool) -> Checked:
    """Return a condition with the truth of one of its clauses."""
    if tree == clause:
        return Constant(value)
    if isinstance(tree, (Constant, FactValueOf, HasFact)):
        return tree
    inner = tuple(_with(child, clause, value) for child in children(tree))
    if isinstance(tree, CheckedConditional):
        return CheckedConditional(*inner)
    if isinstance(tree, Logic):
        return Logic(tree.decisive, inner)
    return ListOf(inner) if isinstance(tree, ListOf) else Operation(tree.function, inner)


def _truth(tree: Checked, facts: Mapping[str, object]) -> bool | None:
    """Return the truth of a condition; None if it is unknown, or has no value."""
    try:
        return bool(compile_tree(tree)(facts))
    except (KeyError, ArithmeticError):
        return None
