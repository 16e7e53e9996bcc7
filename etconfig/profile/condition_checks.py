"""Checks for conditions without effect: constant and replaced ones, and unusual values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from etconfig.base.option_path import OptionPath
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.expression import Expression
from etconfig.expression.checked import Checked, Constant, FactValueOf, Operation, children
from etconfig.expression.proof.assumptions import Assumptions, may_fail
from etconfig.expression.proof.proof_steps import ProofLimitError, ProofSteps
from etconfig.facts.problems import usual_texts
from etconfig.facts.registry import FactRegistry, FactType
from etconfig.profile.layer import Assignment

_MAX_COMPARED = 32
"""The most overlays of one option that are compared in pairs; among more, only equal conditions are found."""

_MAX_SHOWN = 80
_MAX_KNOWN = 1024

_MAX_STEPS = 500_000
"""The most steps to examine the conditions of a file and to compare its overlays: less than half a second."""

_FOR_OVERLAYS = 0.3
"""The share of the steps that is kept for comparing overlays."""


class ConditionChecker:
    """Checks the conditions of many documents, each text once.

    Attributes:
        registry: The facts that conditions may name.
        steps: The steps that the conditions of one file may take; renewed for each file.
    """

    def __init__(self, registry: FactRegistry) -> None:
        self.registry = registry
        self.steps = ProofSteps(_MAX_STEPS)
        self._nothing = Assumptions.none(registry, self.steps)
        self._verdict = lru_cache(_MAX_KNOWN)(self._find_verdict)

    def problems(self, conditions: Iterable[Expression]) -> Iterator[Diagnostic]:
        """Report conditions that are constant, and the unusual values in them."""
        found = tuple(conditions)
        yield from self.constant_conditions(found)
        yield from self.unusual_values(found)

    def constant_conditions(self, conditions: Iterable[Expression]) -> Iterator[Diagnostic]:
        """Report the conditions that hold on no device, or on all whose facts are known, each once."""
        distinct = {id(each): each for each in conditions}.values()
        for number, condition in enumerate(distinct):
            try:
                with self.steps.reserving(_FOR_OVERLAYS):
                    verdict = self._verdict(condition)
            except ProofLimitError:
                left = f"{len(distinct) - number} of {len(distinct)} conditions were not examined"
                yield unchecked_expressions(f"{left} for whether some device meets them", condition)
                return
            if verdict is not None:
                yield Diagnostic(
                    code="constant-condition",
                    message=f"{_shown(condition)} {verdict[0]}",
                    spans=(condition.span,),
                    help=verdict[1],
                    severity=Severity.WARNING,
                )

    def unusual_values(self, conditions: Iterable[Expression]) -> Iterator[Diagnostic]:
        """Report the values and items in conditions that their fact usually does not have, each once."""
        for condition in {id(each): each for each in conditions}.values():
            for name, value in dict.fromkeys(_compared_texts(condition.tree)):
                info = self.registry.get(name)
                usual = () if info is None else usual_texts(info)
                if usual and value not in usual:
                    is_list = info is not None and info.type is FactType.STRING_LIST
                    verb = "usually has no item" if is_list else "is usually not"
                    yield Diagnostic(
                        code="unusual-value",
                        message=f"{name} {verb} {value!r}",
                        spans=(condition.span,),
                        help=f"write one of {', '.join(usual)}, unless your devices have it",
                        severity=Severity.WARNING,
                    )

    def shadowed_assignments(self, assignments: Sequence[Assignment]) -> Iterator[Diagnostic]:
        """Report the overlays of one document that a later one replaces whenever they hold."""
        try:
            yield from self._shadowed_assignments(assignments)
        except ProofLimitError:
            first = next(each.condition for each in assignments if each.condition is not None)
            yield unchecked_expressions("the overlays were not all compared with later ones", first)

    def _shadowed_assignments(self, assignments: Sequence[Assignment]) -> Iterator[Diagnostic]:
        by_path: dict[OptionPath, list[Assignment]] = {}
        for assignment in assignments:
            if assignment.condition is not None and not isinstance(assignment.value, dict):  # tables merge
                by_path.setdefault(assignment.path, []).append(assignment)
        for overlays in by_path.values():
            if len(overlays) == 1:
                continue
            last_of = {overlay.condition: overlay for overlay in overlays}
            for index, earlier in enumerate(overlays):
                assert earlier.condition is not None
                later = last_of[earlier.condition]
                if later is earlier and len(overlays) <= _MAX_COMPARED:
                    later = self._taking_over(earlier, overlays[index + 1 :]) or earlier
                if later is not earlier:
                    yield _shadowed(earlier, later)

    def _find_verdict(self, condition: Expression) -> tuple[str, str] | None:
        if not condition.facts:
            return None  # `true` and `false` are intended
        if self._nothing.is_never(condition.tree):
            return "never holds", "correct it, or remove the settings that depend on it"
        if self._nothing.is_always(condition.tree):
            computed = " and it can be computed" if may_fail(condition.tree) else ""
            return (
                f"holds wherever its facts are known{computed}",
                "write has(...) if that is meant, or remove it",
            )
        return None

    def _taking_over(self, earlier: Assignment, later: Sequence[Assignment]) -> Assignment | None:
        """Return the first of the later overlays that holds wherever an earlier one does."""
        if not later or earlier.condition is None:
            return None
        met = self._nothing.assume(earlier.condition.tree, True)
        if met is None:
            return None  # it never holds, which is reported
        return next((each for each in later if each.condition and met.implies(each.condition.tree)), None)


def unchecked_expressions(what: str, first: Expression) -> Diagnostic:
    """Return the warning about expressions that take more steps than allowed.

    Args:
        what: What was left out.
        first: The first expression that was left out.
    """
    return Diagnostic(
        code="unchecked-combinations",
        message=f"the expressions of this file take many steps to examine; {what}",
        spans=(first.span,),
        help="write fewer or shorter expressions, or resolve with --facts for the devices that matter",
        severity=Severity.WARNING,
    )


def _compared_texts(tree: Checked) -> Iterator[tuple[str, str]]:
    """Yield each fact and text that are compared with `==`, `!=` or `in`."""
    if isinstance(tree, Operation) and tree.function in ("==", "!=", "in"):
        for fact, other in (tree.operands, tree.operands[::-1]):
            if isinstance(fact, FactValueOf) and isinstance(other, Constant):
                items = other.value if isinstance(other.value, tuple) else (other.value,)
                yield from ((fact.name, item) for item in items if isinstance(item, str))
    for child in children(tree):
        yield from _compared_texts(child)


def _shadowed(earlier: Assignment, later: Assignment) -> Diagnostic:
    return Diagnostic(
        code="shadowed-assignment",
        message=f"{earlier.path} is always replaced by the value at {later.span.place}",
        spans=(earlier.key_span, later.key_span),
        help="remove it, or put the narrower condition last",
        severity=Severity.WARNING,
    )


def _shown(condition: Expression) -> str:
    return repr(condition.source) if len(condition.source) <= _MAX_SHOWN else "this condition"
