"""Compilation of a checked tree to closures.

Closures rather than a generated code object: a condition of four clauses takes 0.6 us instead of 0.14 us,
which is little compared with merging and validation, but compiling takes a fifth of the time, and no text
from a file comes near `eval`. The most frequent leaves are folded into the operation above them.

A closure takes the known facts and returns the value. Without a value it raises: `KeyError` with the
names of the missing facts as its arguments, or `ArithmeticError` with the reason. So three-valued logic
costs nothing while every fact is known. As in CEL, a missing fact takes precedence over a failed computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from etconfig.expression.checked import (
    SHARE,
    Checked,
    Constant,
    FactValueOf,
    HasFact,
    ListOf,
    Logic,
    Operation,
)
from etconfig.expression.operations import OPERATIONS

Facts: TypeAlias = Mapping[str, object]
"""The values of the known facts, by name."""

Evaluator: TypeAlias = Callable[[Facts], object]


def compile_tree(tree: Checked) -> Evaluator:
    """Return the closure that computes `tree`."""
    if isinstance(tree, Constant):
        value = tree.value
        return lambda facts: value
    if isinstance(tree, (FactValueOf, HasFact)):
        name = tree.name
        return (lambda facts: name in facts) if isinstance(tree, HasFact) else lambda facts: facts[name]
    if isinstance(tree, Operation):
        return _operation(tree)
    if isinstance(tree, ListOf):
        return _apply(lambda *items: items, [compile_tree(item) for item in tree.items])
    if isinstance(tree, Logic):
        return _logic(tree.decisive, [compile_tree(operand) for operand in tree.operands])
    return _choice(compile_tree(tree.condition), compile_tree(tree.then), compile_tree(tree.otherwise))


_COMPARISONS: Mapping[str, Callable[[str, Any], Callable[[Mapping[str, Any]], object]]] = {
    "==": lambda name, value: lambda facts: facts[name] == value,
    "!=": lambda name, value: lambda facts: facts[name] != value,
    "<": lambda name, value: lambda facts: facts[name] < value,
    "<=": lambda name, value: lambda facts: facts[name] <= value,
    ">": lambda name, value: lambda facts: facts[name] > value,
    ">=": lambda name, value: lambda facts: facts[name] >= value,
}
"""Comparisons of a fact with a constant, without the call of a function: most conditions consist of them."""


def _operation(tree: Operation) -> Evaluator:
    function = _unbudgeted if tree.function == SHARE else OPERATIONS[tree.function].compute
    match tree.operands:  # nearly every clause has one of these two forms
        case (FactValueOf(name), Constant(value)):
            if tree.function in _COMPARISONS:
                return _COMPARISONS[tree.function](name, value)
            return lambda facts: function(facts[name], value)
        case (Constant(value), FactValueOf(name)):
            return lambda facts: function(value, facts[name])
    return _apply(function, [compile_tree(operand) for operand in tree.operands])


def _unbudgeted(*resource: object) -> object:
    raise ArithmeticError(f"no budget of {resource[0]} is divided here")


def _apply(function: Callable[..., object], operands: Sequence[Evaluator]) -> Evaluator:
    def run(facts: Facts) -> object:
        values: list[object] = []
        try:
            for operand in operands:
                values.append(operand(facts))
        except KeyError as missing:
            rest = operands[len(values) + 1 :]
            raise KeyError(*missing.args, *_missing_in(rest, facts)) from None
        except ArithmeticError:
            if missing_later := [*_missing_in(operands[len(values) + 1 :], facts)]:
                raise KeyError(*missing_later) from None
            raise
        return function(*values)

    return run


def _missing_in(operands: Iterable[Evaluator], facts: Facts) -> Iterator[object]:
    """Yield the names of missing facts in `operands`, so that one run reports them all."""
    for operand in operands:
        try:
            operand(facts)
        except KeyError as missing:
            yield from missing.args
        except ArithmeticError:
            pass  # a missing fact takes precedence


def _logic(decisive: bool, operands: Sequence[Evaluator]) -> Evaluator:
    def run(facts: Facts) -> object:
        missing: tuple[object, ...] = ()
        failure: str | None = None
        for operand in operands:
            try:
                if operand(facts) is decisive:
                    return decisive
            except KeyError as error:
                missing += error.args
            except ArithmeticError as error:
                failure = failure or str(error)
        if missing:
            raise KeyError(*missing)
        if failure is not None:
            raise ArithmeticError(failure)
        return not decisive

    return run


def _choice(condition: Evaluator, then: Evaluator, otherwise: Evaluator) -> Evaluator:
    return lambda facts: then(facts) if condition(facts) else otherwise(facts)
