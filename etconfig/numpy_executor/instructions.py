"""Questions about a plan's instructions that binding and rebinding share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain as joined
from itertools import compress, repeat
from operator import is_
from typing import Any, TypeVar

from etconfig.program import model

_Kind = TypeVar("_Kind", bound=model.Instruction)


def instructions_of(plan: model.ExecutionPlan, kind: type[_Kind]) -> Iterable[_Kind]:
    """Return all instructions of one kind."""
    chains: list[Sequence[Any]] = [each.instructions for each in plan.chains]
    return joined.from_iterable(compress(each, map(is_, map(type, each), repeat(kind))) for each in chains)


def is_in_place(operator: str) -> bool:
    """Return whether an operator changes its first argument and returns it, such as `aten::copy_`."""
    return operator.partition(".")[0].endswith("_")


def separate_result(taken: Sequence[int], extra: Sequence[int]) -> int | None:
    """Return the value that an in-place operator's result is moved to; None if it is the changed argument.

    ExecuTorch up to 1.0 gives such results values of their own. Source: codegen/gen.py, return_assignment.
    """
    return extra[0] if len(extra) == 1 and extra[0] not in taken else None


def tensors_of(value: model.EValue) -> Sequence[int]:
    """Return the items of a list of tensors, by value index; none for any other value."""
    return value.items if isinstance(value, model.TensorList) else ()
