"""`ExpressionVerifier`: finds expressions whose values the option refuses, on all devices or on some.

Nothing is evaluated. A value that is wrong on every device is an error; one that may be wrong is a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from etconfig.diagnostics import Diagnostic, Fix, Severity
from etconfig.expression import Expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.proof_steps import ProofLimitError, ProofSteps
from etconfig.expression.proof.ranges import ListRange, NumberRange, TextRange, ValueRange
from etconfig.expression.signatures import unit_of
from etconfig.facts.registry import FactRegistry
from etconfig.profile.condition_checks import unchecked_expressions
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.spec import BackendSpec
from etconfig.schema.units import unit_conversion, units_agree

if TYPE_CHECKING:
    from etconfig.schema.constraints import Constraint

_MAX_SHOWN_WORDS = 5
_MAX_SHOWN_CHARACTERS = 80
_MAX_KNOWN = 4096

_MAX_STEPS = 800_000
"""The most steps to find the values of a file's expressions: less than half a second."""

_Finding: TypeAlias = "tuple[tuple[_Doubt, ...], str | None]"
"""What is wrong with an expression for an option: its values, and its unit if that is another one."""


class ExpressionVerifier:
    """Finds values of expressions that options do not accept, on some device or on all.

    Each pair of an expression and an option is analyzed once, since files repeat each other.

    Attributes:
        registry: The facts, with the bounds of their values.
        steps: The steps that the expressions of one file may take; renewed for each file.
    """

    def __init__(self, registry: FactRegistry) -> None:
        self.registry = registry
        self.steps = ProofSteps(_MAX_STEPS)
        self._known: dict[tuple[str, str, Expression, Expression | None], _Finding] = {}

    def problems(
        self, spec: BackendSpec, info: OptionInfo, expression: Expression, condition: Expression | None
    ) -> Iterator[Diagnostic]:
        """Report the values that an option does not accept.

        Args:
            spec: The backend.
            info: The option, whose type the expression fits.
            expression: The value.
            condition: The condition under which it is set, or None.
        """
        key = (spec.id, info.name, expression, condition)
        found = self._known.get(key)
        if found is None:
            try:
                doubts = tuple(self._doubts(info.type, expression, condition))
            except ProofLimitError:
                path = f"{spec.id}.{info.name}"
                yield unchecked_expressions(f"the values of {path} were not all found", expression)
                return
            found = doubts, self._wrong_unit(info, expression)
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = found
        doubts, wrong_unit = found
        for doubt in doubts:
            yield _diagnostic(spec, info, expression, doubt)
        if wrong_unit is not None:
            yield _unit_mismatch(spec, info, expression, wrong_unit)

    def _wrong_unit(self, info: OptionInfo, expression: Expression) -> str | None:
        """Return the unit of an expression's values if it is known and another one than the option's."""
        if info.unit is None:
            return None
        unit = unit_of(expression.tree, self.registry)
        return None if unit is None or units_agree(unit, info.unit.value) else unit

    def _doubts(
        self, wanted: OptionType, expression: Expression, condition: Expression | None
    ) -> Iterator[_Doubt]:
        device: Assumptions | None = Assumptions.none(self.registry, self.steps)
        if condition is not None and device is not None:
            device = device.assume(condition.tree, True)
        if device is None:
            return  # it is never set
        values = device.range_of(expression.tree)
        if values is None:
            yield _Doubt("without a value on every device", True)
            return
        yield from _doubts(wanted, values, expression.source)
        if device.may_divide_by_zero(expression.tree):
            help = "keep the divisor from 0, as in 8 / max(cpu.efficiency_cores, 1)"
            yield _Doubt("without a value, for it divides by zero", False, help=help)


def _diagnostic(spec: BackendSpec, info: OptionInfo, expression: Expression, doubt: _Doubt) -> Diagnostic:
    verb = "is" if doubt.is_certain else "may be"
    return Diagnostic(
        code="invalid-value" if doubt.is_certain else "unproven-value",
        message=f"{spec.id}.{info.name}: {_shown(expression)} {verb} {doubt.what}, expected {info.expected}",
        spans=(expression.span,),
        help=f"write {doubt.better}" if doubt.better else doubt.help,
        severity=Severity.ERROR if doubt.is_certain else Severity.WARNING,
        fix=replacing_expression(expression, doubt.better) if doubt.better else None,
    )


def _unit_mismatch(spec: BackendSpec, info: OptionInfo, expression: Expression, unit: str) -> Diagnostic:
    assert info.unit is not None
    factor = unit_conversion(unit, info.unit.value)
    number = "" if info.type.kind is OptionKind.INTEGER else ".0"
    better = f"({expression.source}) {factor}{number}" if factor else None
    return Diagnostic(
        code="unit-mismatch",
        message=f"{spec.id}.{info.name}: {_shown(expression)} is in {unit}, expected {info.unit.value}",
        spans=(expression.span,),
        help=f"write {better}" if better else "compute it from other facts",
        severity=Severity.WARNING,
        fix=replacing_expression(expression, better) if better else None,
    )


class _Doubt(NamedTuple):
    """A kind of value that an expression may give and the option does not accept.

    Attributes:
        what: The value in words, such as `more than 128`.
        is_certain: True if the value is wrong on every device.
        better: The expression to write instead, or None.
        help: The help if there is no such expression.
    """

    what: str
    is_certain: bool
    better: str | None = None
    help: str | None = None


def _doubts(wanted: OptionType, values: ValueRange, source: str) -> Iterator[_Doubt]:
    if isinstance(values, NumberRange):
        yield from _number_doubts(wanted, values, source)
    elif isinstance(values, TextRange):
        yield from _text_doubts(wanted, values)
    elif isinstance(values, ListRange):
        yield from _list_doubts(wanted, values)


def _number_doubts(wanted: OptionType, values: NumberRange, source: str) -> Iterator[_Doubt]:
    if wanted.kind is OptionKind.CHOICE:
        yield from _choice_doubts(wanted, values)
        return
    if values.may_be_nan:
        yield _Doubt("not a number", False, help="keep it from dividing by zero and from overflowing")
    lowest, highest = _bounds(wanted)
    below, above = values.lowest < lowest, values.highest > highest
    if values.highest < lowest or values.lowest > highest:
        only = values.lowest == values.highest
        what = (
            f"{_number(values.lowest)}"
            if only
            else f"at most {_number(values.highest)}"
            if values.highest < lowest
            else f"at least {_number(values.lowest)}"
        )
        yield _Doubt(f"{what} on every device", True)
    elif below or above:
        sides = [f"less than {_number(lowest)}"] * below + [f"more than {_number(highest)}"] * above
        yield _Doubt(
            " or ".join(sides), False, _clamped(source, lowest if below else None, highest if above else None)
        )
    for constraint in wanted.constraints:
        step = constraint.bound
        if _keyword(constraint) == "multipleOf" and isinstance(step, int) and values.step % step:
            only = values.lowest == values.highest
            yield _Doubt(f"no multiple of {step}", only, None if only else f"({source}) / {step} * {step}")


def _bounds(wanted: OptionType) -> tuple[float, float]:
    """Return the least and the greatest number that an option accepts."""
    lowest, highest = -math.inf, math.inf
    is_whole = wanted.kind is OptionKind.INTEGER
    for constraint in wanted.constraints:
        keyword, bound = _keyword(constraint), constraint.bound
        if keyword == "minimum":
            lowest = max(lowest, bound)
        elif keyword == "maximum":
            highest = min(highest, bound)
        elif keyword == "exclusiveMinimum":
            lowest = max(lowest, math.floor(bound) + 1 if is_whole else math.nextafter(bound, math.inf))
        elif keyword == "exclusiveMaximum":
            highest = min(highest, math.ceil(bound) - 1 if is_whole else math.nextafter(bound, -math.inf))
    return lowest, highest


def _keyword(constraint: Constraint) -> str:
    """Return the JSON Schema keyword of a bound: comparing classes would have to import pydantic."""
    return constraint.keyword("Items")


def _clamped(source: str, lowest: float | None, highest: float | None) -> str:
    """Return the expression kept within bounds."""
    if highest is not None:
        source = f"min({source}, {_number(highest)})"
    return source if lowest is None else f"max({source}, {_number(lowest)})"


def _number(number: float) -> str:
    return str(number) if isinstance(number, int) else repr(float(number))


def _choice_doubts(wanted: OptionType, values: NumberRange) -> Iterator[_Doubt]:
    choices = [choice for choice in wanted.choices if isinstance(choice, int)]
    found = values.integers
    possible = [
        choice
        for choice in choices
        if values.lowest <= choice <= values.highest and (found is None or choice in found)
    ]
    if not possible:
        yield _Doubt("another number on every device", True)
    elif len(possible) < (values.highest - values.lowest + 1 if found is None else len(found)):
        yield _Doubt("another number", False, help="choose with conditions: cpu.available_cores > 4 ? 4 : 2")


def _text_doubts(wanted: OptionType, values: TextRange) -> Iterator[_Doubt]:
    if values.words is None:
        if wanted.kind is not OptionKind.STRING:
            help = 'choose with conditions: os.name == "linux" ? ... : ...'
            yield _Doubt("any text", False, help=help)
        return
    wrong = sorted(word for word in values.words if isinstance(coerce(wanted, word), Mismatch))
    if wrong:
        is_certain = len(wrong) == len(values.words)
        shown = [repr(word) for word in wrong[:_MAX_SHOWN_WORDS]]
        more = [f"{len(wrong) - len(shown)} others"] if len(wrong) > len(shown) else []
        what = " or ".join((*shown, *more))
        yield _Doubt(f"{what} on every device" if is_certain else what, is_certain)


def _list_doubts(wanted: OptionType, values: ListRange) -> Iterator[_Doubt]:
    for constraint in wanted.constraints:
        bound = constraint.bound
        if _keyword(constraint) == "minItems" and values.shortest < bound:
            yield _Doubt(f"a list of fewer than {bound} items", values.longest < bound)
        elif _keyword(constraint) == "maxItems" and values.longest > bound:
            yield _Doubt(f"a list of more than {bound} items", values.shortest > bound)
    if values.item is not None and wanted.item is not None:
        for doubt in _doubts(wanted.item, values.item, ""):
            # the list may be empty, and need not contain a wrong item
            is_certain = doubt.is_certain and values.shortest > 0
            yield _Doubt(f"a list with an item that is {doubt.what}", is_certain)


def _shown(expression: Expression) -> str:
    source = expression.source
    return repr(source) if len(source) <= _MAX_SHOWN_CHARACTERS else "the expression"


def replacing_expression(expression: Expression, better: str) -> Fix | None:
    """Return the fix that replaces an expression in quotes with another one; None if its quotes differ."""
    for quote in ("'", '"'):
        if expression.span.underlined == f"{quote}{expression.source}{quote}" and quote not in better:
            return Fix(span=expression.span, replacement=f"{quote}{better}{quote}")
    return None
