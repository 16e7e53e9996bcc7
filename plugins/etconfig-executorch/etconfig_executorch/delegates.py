"""Refusal of XNNPACK's payloads that the process would not survive.

ExecuTorch verifies the tables of a payload. XNNPACK then trusts the sizes of weights, and takes the arguments
of a call by the numbers in the payload, without a look at their count and types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from etconfig.plugin.v1 import DelegateError, ScalarType, UnsafeProgramError
from etconfig_executorch.native import native
from etconfig_executorch.options import XNNPACK
from etconfig_executorch.survival import EXECUTOR

_SCALAR_TYPES: Mapping[int, frozenset[ScalarType]] = {
    1: frozenset({ScalarType.FLOAT}),
    2: frozenset({ScalarType.HALF}),
    3: frozenset({ScalarType.CHAR}),
    4: frozenset({ScalarType.BYTE}),
    5: frozenset({ScalarType.INT}),
    # indices: XNNPACK writes 32 bits, which ExecuTorch widens in place
    12: frozenset({ScalarType.INT, ScalarType.LONG}),
    14: frozenset({ScalarType.BFLOAT16}),
}
"""The types of tensor that fit each of XNNPACK's datatypes, by its number."""

External = tuple[int, bool, int, int]
"""The position of an argument, whether it is an input, its datatype, and its rank."""


def check_xnnpack(program: Any, plan: Any) -> None:
    """Check the payloads and calls of XNNPACK's delegates.

    Args:
        program: The verified program.
        plan: The method, an `ExecutionPlan`.

    Raises:
        DelegateError: a payload contradicts itself.
        UnsafeProgramError: a call passes other arguments than the payload takes.
    """
    externals = {
        index: _externals(program, plan.name, delegate)
        for index, delegate in enumerate(plan.delegates)
        if delegate.id == XNNPACK
    }
    for number, chain in enumerate(plan.chains):
        for at, each in enumerate(chain.instructions):
            if type(each).__name__ == "DelegateCall" and each.delegate_index in externals:
                place = f"chains[{number}].instructions[{at}]"
                _check_call(plan, each.args, externals[each.delegate_index], place)


def _externals(program: Any, method: str, delegate: Any) -> Sequence[External]:
    missing: list[str] = []

    def size_of(key: bytes) -> int | None:
        name = key.decode("utf-8", "replace")
        size: int | None = program.named_data_size(name)
        if size is None:
            missing.append(name)
        return size

    try:
        return native.xnnpack_externals(program.delegate_data(delegate), size_of)
    except native.DamagedError as damage:
        cause, advice = f"the payload is damaged: {damage}", "export the program again"
        if missing:
            given = len(program.data_files)
            cause = f"its weights are outside of the program, and no data named {missing[0]!r} are in "
            cause += f"the {given} data file(s) that were given" if given else "it; no data file was given"
            advice = "give the .ptd of this export: --data FILE.ptd, or load_program(..., data=['FILE.ptd'])"
        raise DelegateError(
            backend=XNNPACK, method=method, phase="init", cause=cause, help=advice
        ) from damage


def _check_call(plan: Any, args: Sequence[int], externals: Sequence[External], place: str) -> None:
    for position, is_input, datatype, rank in externals:
        if position >= len(args):
            detail = f"the payload of XNNPACK takes argument {position}, but the call has {len(args)}"
            raise _refusal(plan, place, detail)
        index = args[position]
        tensor = plan.values[index]
        found = getattr(tensor, "scalar_type", None)
        if found not in _SCALAR_TYPES.get(datatype, frozenset()):
            named = "no tensor" if found is None else f"a tensor of {found.dtype_name}"
            expected = " or ".join(sorted(each.dtype_name for each in _SCALAR_TYPES.get(datatype, ())))
            detail = f"values[{index}] is {named}, and the payload of XNNPACK takes {expected or 'another'}"
            raise _refusal(plan, f"{place}.args[{position}]", detail)
        if max(len(tensor.sizes), 1) != max(rank, 1):  # XNNPACK gives a scalar one dimension
            detail = (
                f"values[{index}] has {len(tensor.sizes)} dimensions, and the payload of XNNPACK has {rank}"
            )
            raise _refusal(plan, f"{place}.args[{position}]", detail)
        if not is_input and tensor.is_constant:
            raise _refusal(plan, f"{place}.args[{position}]", f"values[{index}] is a constant output")


def _refusal(plan: Any, place: str, detail: str) -> UnsafeProgramError:
    return UnsafeProgramError(executor=EXECUTOR, method=plan.name, place=place, detail=detail)
