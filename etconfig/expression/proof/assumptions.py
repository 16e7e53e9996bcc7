"""`Assumptions`: the values that facts can have if some conditions hold and others do not, without a device.

The reasoning is about single facts: bounds, equality, membership, negation, and whether a fact is known. It
never rules out a possible value; it may fail to rule out an impossible one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from etconfig.base.records import record
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
    fact_names,
)
from etconfig.expression.operations import OPERATIONS
from etconfig.expression.proof.proof_steps import ProofSteps
from etconfig.expression.proof.range_arithmetic import range_compared, range_of_operation
from etconfig.expression.proof.ranges import (
    ANY_BOOL,
    FALSE,
    TRUE,
    BoolRange,
    ListRange,
    NumberRange,
    TextRange,
    ValueRange,
    intersection,
    joined,
    range_of_fact,
    range_of_list,
    range_of_value,
)
from etconfig.facts.registry import FactRegistry

Requirement: TypeAlias = "tuple[Checked, bool]"
"""A condition and whether it holds; a condition that does not hold is false, unknown or without a value."""

_ROUNDS = 3
"""The number of passes over the requirements: a later one may narrow a fact of an earlier one."""

_MAX_CONDITION, _MAX_CHOICE = 512, 64
"""The most nodes of a condition, and of one before a `?`, to reason about: the time grows with the square."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@record(frozen=True)
class Assumptions:
    """Assumptions about the facts of a device. They never change: adding one gives new assumptions.

    Attributes:
        registry: The facts that exist.
        ranges: The values that facts can have, for facts with a narrower range than in the registry.
        known: For some facts, whether they are assumed to be known.
        verdicts: Comparisons that are assumed to be true or false, by their text.
        buckets: The values that calls of `bucket` can have, by their text, for narrower ranges than all.
        steps: Counts the steps of reasoning, for these assumptions and all that are made from them.

    Every method raises `ProofLimitError` if it takes more steps than allowed.
    """

    registry: FactRegistry
    ranges: Mapping[str, ValueRange]
    known: Mapping[str, bool]
    verdicts: Mapping[str, bool]
    buckets: Mapping[str, NumberRange]
    steps: ProofSteps = field(compare=False, repr=False)

    @classmethod
    def none(cls, registry: FactRegistry, steps: ProofSteps | None = None) -> Assumptions:
        """Return assumptions of nothing but the bounds of the facts.

        Args:
            registry: The facts that exist.
            steps: Counts the steps of reasoning; without a bound if None.
        """
        return cls(registry, {}, {}, {}, {}, ProofSteps() if steps is None else steps)

    def range_of_fact(self, name: str) -> ValueRange:
        """Return the values that a fact can have."""
        found = self.ranges.get(name)
        if found is None:
            info = self.registry.get(name)
            assert info is not None  # otherwise the expression was refused
            found = range_of_fact(info)
        return found

    def range_of(self, tree: Checked) -> ValueRange | None:
        """Return the values that an expression can have; None if it has none."""
        self.steps.spend(4)
        if isinstance(tree, Constant):
            return range_of_value(tree.value)
        if isinstance(tree, FactValueOf):
            return None if self.known.get(tree.name) is False else self.range_of_fact(tree.name)
        if isinstance(tree, HasFact):
            known = self.known.get(tree.name)
            return ANY_BOOL if known is None else TRUE if known else FALSE
        if isinstance(tree, Logic):
            return self._range_of_logic(tree)
        if isinstance(tree, CheckedConditional):
            return self._range_of_choice(tree)
        operands: list[ValueRange] = []
        for operand in tree.items if isinstance(tree, ListOf) else tree.operands:
            found = self.range_of(operand)
            if found is None:
                return None
            operands.append(found)
        return range_of_list(operands) if isinstance(tree, ListOf) else self._range_of_call(tree, operands)

    def _range_of_call(self, tree: Operation, operands: list[ValueRange]) -> ValueRange | None:
        if self.verdicts or self.buckets:
            verdict = self.verdicts.get(self._key(tree))
            if verdict is not None:
                return TRUE if verdict else FALSE
        if tree.function == "in" and isinstance(tree.operands[1], ListOf):
            each = [
                self.range_of(Operation("==", (tree.operands[0], item))) for item in tree.operands[1].items
            ]
            return TRUE if TRUE in each else FALSE if all(one == FALSE for one in each) else ANY_BOOL
        self.steps.spend(8 + _pairs_of_words(operands))
        found = range_of_operation(tree.function, operands)
        narrowed = self.buckets.get(self._key(tree)) if tree.function == "bucket" else None
        if narrowed is None or found is None:
            return found
        return intersection(found, narrowed)

    def _key(self, tree: Operation) -> str:
        """Return a text of its own for each operation: 1, 1.0 and true are equal, but their texts differ."""
        key = repr(tree)
        self.steps.spend(4 + (len(key) >> 5))
        return key

    def _is_simple(self, tree: Checked, most_nodes: int) -> bool:
        """Return True if a condition is small and has no `? :`, whose condition would be analyzed again."""
        waiting, nodes, is_simple = [tree], 0, True
        while waiting and is_simple:
            each = waiting.pop()
            nodes += 1
            is_simple = nodes <= most_nodes and not isinstance(each, CheckedConditional)
            waiting += children(each)
        self.steps.spend(nodes)
        return is_simple

    def _range_of_logic(self, tree: Logic) -> BoolRange | None:
        """Return the range of `&&` or `||`: one operand may decide; otherwise all of them agree."""
        ranges = [found for found in map(self.range_of, tree.operands) if isinstance(found, BoolRange)]
        values = {tree.decisive for found in ranges if tree.decisive in found.values}
        others = [found for found in ranges if (not tree.decisive) in found.values]
        if len(others) == len(tree.operands):
            values.add(not tree.decisive)
        return BoolRange(frozenset(values)) if values else None

    def _range_of_choice(self, tree: CheckedConditional) -> ValueRange | None:
        found: ValueRange | None = None
        condition = self.range_of(tree.condition)
        is_simple = self._is_simple(tree.condition, _MAX_CHOICE)
        for truth, branch in ((True, tree.then), (False, tree.otherwise)):
            if not isinstance(condition, BoolRange) or truth not in condition.values:
                continue
            here = self.assume(tree.condition, truth) if is_simple else self
            of_branch = None if here is None else here.range_of(branch)
            if of_branch is not None:
                found = of_branch if found is None else joined(found, of_branch)
        return found

    def is_never(self, condition: Checked) -> bool:
        """Return True if a condition is true on no device."""
        return self.assume(condition, True) is None or self.range_of(condition) in (None, FALSE)

    def is_always(self, condition: Checked) -> bool:
        """Return True if a condition is true on every device on which it has a value."""
        return self.assume(condition, False) is None or self.range_of(condition) == TRUE

    def implies(self, condition: Checked) -> bool:
        """Return True if a condition holds on every device that meets these assumptions."""
        if isinstance(condition, Logic) and self._is_simple(condition, _MAX_CONDITION):
            # an operand that is true decides `||`, whatever is unknown of the others
            decides = any if condition.decisive else all
            if decides(map(self.implies, condition.operands)):
                return True
        has_value = all(map(self.known.get, _values_read(condition))) and not may_fail(condition)
        return has_value and self.is_always(condition)

    def may_divide_by_zero(self, tree: Checked) -> bool:
        """Return True if a divisor of integers in an expression can be 0 when it is computed."""
        self.steps.spend(2)
        if isinstance(tree, Operation) and tree.function in ("int /", "int %"):
            divisor = self.range_of(tree.operands[1])
            if isinstance(divisor, NumberRange) and divisor.lowest <= 0 <= divisor.highest:
                return True
        if isinstance(tree, CheckedConditional) and self._is_simple(tree.condition, _MAX_CHOICE):
            cases = (
                (self._assume(tree.condition, True), tree.then),
                (self._assume(tree.condition, False), tree.otherwise),
            )
            return self.may_divide_by_zero(tree.condition) or any(
                case is not None and case.may_divide_by_zero(branch) for case, branch in cases
            )
        return any(map(self.may_divide_by_zero, children(tree)))

    def assume_all(self, requirements: Iterable[Requirement]) -> Assumptions | None:
        """Add all requirements; return None if they contradict each other."""
        here: Assumptions | None = self
        requirements = tuple(requirements)
        for _ in range(_ROUNDS):
            before = here
            for tree, holds in requirements:
                assert here is not None
                here = here.assume(tree, True) if holds else here._assume_not_met(tree)
                if here is None:
                    return None
            assert here is not None
            if before is not None and here._narrows_nothing_of(before):
                break
        return here

    def _narrows_nothing_of(self, before: Assumptions) -> bool:
        return self.ranges == before.ranges and self.known == before.known and self.buckets == before.buckets

    def _assume_not_met(self, tree: Checked) -> Assumptions | None:
        """Assume that a condition does not hold: it is false, or its facts are unknown."""
        if not all(self.known.get(name) for name in fact_names(tree)) or may_fail(tree):
            return self
        return self.assume(tree, False)

    def assume(self, tree: Checked, truth: bool) -> Assumptions | None:
        """Add the assumption that a condition is true or false; return None if it cannot be."""
        return self._assume(tree, truth) if self._is_simple(tree, _MAX_CONDITION) else self

    def _assume(self, tree: Checked, truth: bool) -> Assumptions | None:
        found = self.range_of(tree)
        if not isinstance(found, BoolRange) or truth not in found.values:
            return None
        if isinstance(tree, FactValueOf):
            return self._with(tree.name, BoolRange(frozenset((truth,))))
        if isinstance(tree, HasFact):
            return self._with_known(tree.name, truth)
        if isinstance(tree, Logic):
            return self._assume_logic(tree, truth)
        if isinstance(tree, Operation):
            return self._assume_operation(tree, truth)
        return self

    def _assume_logic(self, tree: Logic, truth: bool) -> Assumptions | None:
        if truth is not tree.decisive:  # every operand of `&&` is true, or every one of `||` is false
            here: Assumptions | None = self
            for operand in tree.operands:
                here = here._assume(operand, truth) if here is not None else None
            return here
        # one operand decides; the others may have any value, or be unknown
        return _in_common([self._assume(operand, truth) for operand in tree.operands])

    def _assume_operation(self, tree: Operation, truth: bool) -> Assumptions | None:
        if tree.function == "!":
            return self._assume(tree.operands[0], not truth)
        self.steps.spend(40 + (len(self.verdicts) >> 4))
        verdicts = {**self.verdicts, self._key(tree): truth}
        if tree.function in _OPPOSITE and (truth or tree.function in ("==", "!=")):
            # `x < nan` is false, and so is `x >= nan`; but what is true makes its opposite false.
            verdicts[self._key(Operation(_OPPOSITE[tree.function], tree.operands))] = not truth
        here: Assumptions | None = self._changed(verdicts=verdicts)
        for name in _needed_facts(tree):
            here = here._with_known(name, True) if here is not None else None
        if here is None or len(tree.operands) != 2:
            return here
        left, right = tree.operands
        here = here._refined_left(left, tree.function, right, truth)
        return here and here._refined_right(left, tree.function, right, truth)

    def _refined_left(self, left: Checked, function: str, right: Checked, truth: bool) -> Assumptions | None:
        if isinstance(left, FactValueOf):
            return self._refined(left.name, function, right, truth)
        if isinstance(left, Operation) and left.function == "bucket" and function in _MIRRORED:
            return self._refined_bucket(left, function if truth else _OPPOSITE[function], right)
        if isinstance(left, Operation) and left.function == "size" and function in _OPPOSITE:
            return self._refined_by_size(left.operands[0], function, right, truth)
        return self

    def _refined_right(self, left: Checked, function: str, right: Checked, truth: bool) -> Assumptions | None:
        mirrored = _MIRRORED.get(function)
        if isinstance(right, FactValueOf):
            if mirrored is not None:
                return self._refined(right.name, mirrored, left, truth)
            if function == "in" and isinstance(left, Constant) and isinstance(left.value, str):
                word = frozenset((left.value,))
                return self._with(
                    right.name, ListRange(None, contains=word) if truth else ListRange(None, lacks=word)
                )
        elif isinstance(right, Operation) and right.function == "bucket" and mirrored is not None:
            return self._refined_bucket(right, mirrored if truth else _OPPOSITE[mirrored], left)
        return self

    def _refined(self, name: str, function: str, other: Checked, truth: bool) -> Assumptions | None:
        """Add the consequences of `name function other` for the fact."""
        if function == "in":
            return self._refined_by_membership(name, other, truth)
        against = self.range_of(other)
        if function not in _MIRRORED or against is None:
            return self._refined_by_prefix(name, function, against, truth)
        function = function if truth else _OPPOSITE[function]
        own = self.range_of_fact(name)
        if isinstance(own, NumberRange) and isinstance(against, NumberRange):
            if against.may_be_nan and not truth:
                return self  # `x < nan` is false, and so is `x >= nan`
            return self._with(name, range_compared(function, own, against))
        if isinstance(own, TextRange) and isinstance(against, TextRange):
            return self._with_text(name, function, against)
        if isinstance(own, BoolRange) and isinstance(against, BoolRange) and len(against.values) == 1:
            values = against.values if function == "==" else own.values - against.values
            return self._with(name, BoolRange(values)) if values else None
        return self

    def _refined_by_size(
        self, measured: Checked, function: str, other: Checked, truth: bool
    ) -> Assumptions | None:
        """Add the consequences of `size(fact) function other` for a list."""
        own = self.range_of(measured)
        against = self.range_of(other)
        if not (
            isinstance(measured, FactValueOf)
            and isinstance(own, ListRange)
            and isinstance(against, NumberRange)
            and not against.may_be_nan
        ):
            return self
        sizes = NumberRange(own.shortest, own.longest)
        compared = range_compared(function if truth else _OPPOSITE[function], sizes, against)
        lengths = intersection(sizes, compared)
        if not isinstance(lengths, NumberRange):
            return None
        return self._with(measured.name, ListRange(None, int(lengths.lowest), int(lengths.highest)))

    def _refined_bucket(self, call: Operation, function: str, other: Checked) -> Assumptions | None:
        """Add the consequences of `bucket(...) function other`."""
        own, against = self.range_of(call), self.range_of(other)
        if not isinstance(own, NumberRange) or not isinstance(against, NumberRange) or against.may_be_nan:
            return self
        common = intersection(own, range_compared(function, own, against))
        if not isinstance(common, NumberRange):
            return None
        return self._changed(buckets={**self.buckets, self._key(call): common})

    def _with_text(self, name: str, function: str, against: TextRange) -> Assumptions | None:
        if function == "==":
            return self._with(name, against)
        if function == "!=" and against.words is not None and len(against.words) == 1:
            return self._with(name, TextRange(None, against.words))
        return self

    def _refined_by_membership(self, name: str, items: Checked, truth: bool) -> Assumptions | None:
        found = self.range_of(items)
        if not isinstance(found, ListRange) or found.item is None:
            return self
        if truth:
            return self._with(name, found.item)
        return self._with(name, TextRange(None, found.contains)) if found.contains else self

    def _refined_by_prefix(
        self, name: str, function: str, against: ValueRange | None, truth: bool
    ) -> Assumptions | None:
        """Add the consequences of `startsWith` and the like if the possible texts are few."""
        own = self.range_of_fact(name)
        if not (isinstance(own, TextRange) and isinstance(against, TextRange) and own.words is not None):
            return self
        kept = [
            word for word in own.words if truth in _truths(function, TextRange(frozenset((word,))), against)
        ]
        return self._with(name, TextRange(frozenset(kept))) if kept else None

    def _with(self, name: str, values: ValueRange) -> Assumptions | None:
        """Assume that a fact is known and within a range."""
        here = self._with_known(name, True)
        common = intersection(self.range_of_fact(name), values)
        if here is None or common is None:
            return None
        return here._changed(ranges={**here.ranges, name: common})

    def _with_known(self, name: str, is_known: bool) -> Assumptions | None:
        if self.known.get(name, is_known) is not is_known:
            return None
        return self._changed(known={**self.known, name: is_known})

    def _changed(
        self,
        ranges: Mapping[str, ValueRange] | None = None,
        known: Mapping[str, bool] | None = None,
        verdicts: Mapping[str, bool] | None = None,
        buckets: Mapping[str, NumberRange] | None = None,
    ) -> Assumptions:
        return Assumptions(
            self.registry,
            self.ranges if ranges is None else ranges,
            self.known if known is None else known,
            self.verdicts if verdicts is None else verdicts,
            self.buckets if buckets is None else buckets,
            self.steps,
        )


def _truths(function: str, left: ValueRange, right: ValueRange) -> frozenset[bool]:
    found = range_of_operation(function, (left, right))
    return found.values if isinstance(found, BoolRange) else frozenset()


def _pairs_of_words(operands: Iterable[ValueRange]) -> int:
    """Return about how much longer an operation on texts takes than any other operation."""
    pairs = 1
    for each in operands:
        if isinstance(each, TextRange) and each.words is not None:
            pairs *= len(each.words)
    return min(pairs, 1024) >> 2


def _needed_facts(tree: Checked) -> Iterator[str]:
    """Yield the facts without which an operation has no value; `has`, `&&` and `? :` need none."""
    if isinstance(tree, FactValueOf):
        yield tree.name
    elif isinstance(tree, (Operation, ListOf)):
        for operand in tree.items if isinstance(tree, ListOf) else tree.operands:
            yield from _needed_facts(operand)


def _values_read(tree: Checked) -> Iterator[str]:
    """Yield the facts whose values an expression may read; `has` reads none."""
    if isinstance(tree, FactValueOf):
        yield tree.name
    for each in children(tree):
        yield from _values_read(each)


def may_fail(tree: Checked) -> bool:
    """Return True if an expression may have no value even with known facts: integers may overflow."""
    if isinstance(tree, Operation) and tree.function.startswith("int "):
        return _computed(tree) is None
    return any(map(may_fail, children(tree)))


def _computed(tree: Checked) -> object:
    """Return the value of arithmetic on integers without facts, as in `8 * 1024`; None if it has none."""
    if isinstance(tree, Constant):
        return tree.value
    if not isinstance(tree, Operation) or not tree.function.startswith("int "):
        return None
    values = [_computed(operand) for operand in tree.operands]
    if None in values:
        return None
    try:
        value: object = OPERATIONS[tree.function].compute(*values)
    except ArithmeticError:
        return None
    return value


def _in_common(cases: Iterable[Assumptions | None]) -> Assumptions | None:
    """Return the assumptions that every case has in common; None if there is no case."""
    possible = [case for case in cases if case is not None]
    if not possible:
        return None
    steps = possible[0].steps
    steps.spend(sum(len(case.verdicts) + len(case.known) + len(case.ranges) for case in possible) >> 3)
    ranges = dict(possible[0].ranges)
    for case in possible[1:]:
        ranges = {
            name: joined(values, case.ranges[name]) for name, values in ranges.items() if name in case.ranges
        }
    buckets = dict(possible[0].buckets)
    for case in possible[1:]:
        buckets = {
            call: NumberRange(
                min(values.lowest, case.buckets[call].lowest), max(values.highest, case.buckets[call].highest)
            )
            for call, values in buckets.items()
            if call in case.buckets
        }
    agreed = [
        {key: value for key, value in first.items() if all(other.get(key) is value for other in others)}
        for first, *others in (
            [case.known for case in possible],
            [case.verdicts for case in possible],
        )
    ]
    known, verdicts = agreed
    return Assumptions(possible[0].registry, ranges, known, verdicts, buckets, steps)
