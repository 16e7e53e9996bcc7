"""Inputs that instructions may write to, so that executors must not bind a caller's array to them."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.program import model

_PYTORCH = ("aten::", "dim_order_ops::", "quantized_decomposed::")
"""Operators whose effects are known from their names: without `_` at the end, they write only to outputs."""

_WRITES_ARGUMENTS = "aten::_native_batch_norm_legit"

_LISTS = (model.TensorList, model.OptionalTensorList)


def written_inputs(plan: model.ExecutionPlan) -> frozenset[int]:
    """Return the positions of inputs that an instruction may write to, or may make another tensor a view of.

    Delegates only read their inputs, as their contract says.
    """
    written = frozenset(_written_values(plan))
    return frozenset(position for position, index in enumerate(plan.inputs) if index in written)


def _written_values(plan: model.ExecutionPlan) -> Iterator[int]:
    for chain in plan.chains:
        for instruction in chain.instructions:
            if isinstance(instruction, model.MoveCall):
                yield instruction.move_from
                yield instruction.move_to
            elif isinstance(instruction, model.KernelCall):
                for arg in _written_args(plan.operators[instruction.op_index], instruction.args):
                    value = plan.values[arg]
                    yield from value.items if isinstance(value, _LISTS) else (arg,)


def _written_args(operator: model.Operator, args: tuple[int, ...]) -> tuple[int, ...]:
    """Return the arguments that a kernel call may write to; all of them for an operator that is not known.

    A program gives the outputs of an operator last, and then its result, which is the same.
    """
    is_functional = bool(operator.overload) and operator.name.startswith(_PYTORCH)
    if not is_functional or operator.name.endswith("_") or operator.name == _WRITES_ARGUMENTS:
        return args
    if len(args) > 1 and args[-1] == args[-2]:
        return args[-1:]
    repeated = tuple(arg for arg in args if args.count(arg) > 1)
    return (*repeated, args[-1]) if repeated else args
