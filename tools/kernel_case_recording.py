"""Runs operator calls in eager PyTorch, and records their arguments and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import executorch.exir.passes._quant_patterns_and_replacements
import executorch.exir.passes.dim_order_ops_registry
import executorch.kernels.quantized  # noqa: F401  its out-variants
import numpy as np
import torch
from executorch.exir.schema import ScalarType
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  torch.ops.llama
from kernel_case_table import Case, T

NO_EAGER = frozenset({"add", "mixed_mm", "mixed_linear"})
"""Quantized operators that PyTorch does not implement: ExecuTorch's own kernels are recorded."""

FUNCTIONS = {
    "aten::max.unary_out": "default",
    "aten::min.unary_out": "default",
    "aten::split_copy.Tensor_out": "Tensor",
    "aten::_native_batch_norm_legit.out": "default",
    "aten::_native_batch_norm_legit.no_stats_out": "no_stats",
}
"""The overloads to run for operators whose out-variants differ from the function.

These give an undefined number for the largest of no elements, do not resize outputs without elements, or
write channels-last numbers into a row-major output.
"""

SCALAR_TYPES = {
    torch.float32: ScalarType.FLOAT,
    torch.float64: ScalarType.DOUBLE,
    torch.float16: ScalarType.HALF,
    torch.bfloat16: ScalarType.BFLOAT16,
    torch.int64: ScalarType.LONG,
    torch.int32: ScalarType.INT,
    torch.int16: ScalarType.SHORT,
    torch.int8: ScalarType.CHAR,
    torch.uint8: ScalarType.BYTE,
    torch.uint16: ScalarType.UINT16,
    torch.bool: ScalarType.BOOL,
    torch.complex64: ScalarType.COMPLEX64,
    torch.complex128: ScalarType.COMPLEX128,
}


@dataclass
class Call:
    """One call: its arguments, its results, and the values of the arguments that it changed."""

    args: list[Any]
    outs: list[Any]
    changed: dict[int, torch.Tensor] = field(default_factory=dict)


def call(each: Case, seed: int) -> Call:
    """Make the arguments of a case and run it.

    Raises:
        RuntimeError, IndexError, ValueError, AssertionError, NotImplementedError: PyTorch refuses it.
    """
    args = arguments(each, seed)
    outs = [_output(dtype, each.channels_last) for dtype in each.out]
    given = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    _run(each.operator, given, outs)
    outs = _laid_out(outs, each.channels_last)
    changed = {
        index: after
        for index, (before, after) in enumerate(zip(args, given, strict=True))
        if isinstance(before, torch.Tensor) and not torch.equal(before.nan_to_num(), after.nan_to_num())
    }
    return Call(args, outs, changed)


def call_in_float64(each: Case, seed: int) -> Call:
    """Run a case in float64 instead, if it has floating types and changes no argument; round its results."""
    args = arguments(each, seed)
    outs = [_output(torch.float64, each.channels_last) for _ in each.out]
    _run(each.operator, [arg.double() if isinstance(arg, torch.Tensor) else arg for arg in args], outs)
    outs = [out.to(dtype) for out, dtype in zip(outs, each.out, strict=True)]
    return Call(args, _laid_out(outs, each.channels_last))


def arguments(each: Case, seed: int) -> list[Any]:
    """Return the arguments, except outputs."""
    torch.manual_seed(seed)
    return [_make(arg) for arg in each.args]


def overload(operator: str) -> Any:
    """Return the function to run for an operator: itself, unless its out-variant is faulty or missing."""
    namespace, _, full_name = operator.partition("::")
    name, _, variant = full_name.partition(".")
    variant = FUNCTIONS.get(operator, variant)
    if namespace == "quantized_decomposed" and name not in NO_EAGER:
        variant = variant.lower().removesuffix("out").removesuffix("_")
    return getattr(getattr(getattr(torch.ops, namespace), name), variant or "default")


def _run(operator: str, args: list[Any], outs: list[Any]) -> None:
    function = overload(operator)
    is_functional = len(function._schema.arguments) < len(args) + len(outs)
    (_run_functional if is_functional else _run_out_variant)(function, args, outs)


def _run_out_variant(function: Any, args: list[Any], outs: list[Any]) -> None:
    parameters = function._schema.arguments
    assert len(parameters) == len(args) + len(outs), function._schema
    given = list(zip(parameters, [*args, *outs], strict=True))
    positional = [value for parameter, value in given if not parameter.kwarg_only]
    keywords = {parameter.name: value for parameter, value in given if parameter.kwarg_only}
    function(*positional, **keywords)


def _run_functional(function: Any, args: list[Any], outs: list[Any]) -> None:
    given = list(zip(function._schema.arguments, args, strict=True))
    positional = [value for parameter, value in given if not parameter.kwarg_only]
    results = function(*positional, **{p.name: value for p, value in given if p.kwarg_only})
    for out, result in zip(_flattened(outs), _flattened([results]), strict=True):
        out.set_(result.to(out.dtype))


def _flattened(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        yield from value if isinstance(value, (list, tuple)) else (value,)


def _make(value: Any) -> Any:
    if isinstance(value, T):
        return value.make()
    return [_make(each) for each in value] if isinstance(value, list) else value


def _output(dtype: Any, channels_last: bool) -> Any:
    if isinstance(dtype, list):
        return [_output(each, channels_last) for each in dtype]
    if isinstance(dtype, T):
        return dtype.make()
    if channels_last:
        return torch.empty(0, 1, 1, 1, dtype=dtype, memory_format=torch.channels_last)
    return torch.empty(0, dtype=dtype)


def _laid_out(outs: list[Any], channels_last: bool) -> list[Any]:
    """Restore channels-last outputs: PyTorch's out-variants lose the layout when they resize an output."""
    if not channels_last:
        return outs
    return [
        out.contiguous(memory_format=torch.channels_last)
        if isinstance(out, torch.Tensor) and out.dim() == 4
        else out
        for out in outs
    ]


class Recorder:
    """Collects tensors by dtype, and returns the place of each."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = {}
        self._sizes: dict[str, int] = {}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the data: a flat array for each dtype; bfloat16 as uint16 numbers."""
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}

    def describe(self, operator: str, made: Call) -> dict[str, Any]:
        """Return a call as JSON, its tensors by place."""
        described = {
            "operator": operator,
            "arguments": [self._argument(arg) for arg in made.args],
            "outputs": [self._argument(out) for out in made.outs],
        }
        if made.changed:
            described["changed"] = {str(i): self._tensor(after) for i, after in made.changed.items()}
        return described

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, list):
            return [self._argument(each) for each in value]
        return int(SCALAR_TYPES[value]) if isinstance(value, torch.dtype) else value

    def _tensor(self, tensor: torch.Tensor) -> dict[str, Any]:
        name = str(tensor.dtype).removeprefix("torch.")
        dense = tensor.resolve_conj().contiguous()
        flat = dense.view(torch.uint16) if tensor.dtype is torch.bfloat16 else dense
        start = self._sizes.get(name, 0)
        self._parts.setdefault(name, []).append(flat.numpy().reshape(-1))
        self._sizes[name] = start + tensor.numel()
        described: dict[str, Any] = {"dtype": name, "shape": list(tensor.shape), "start": start}
        if tensor.dim() == 4 and not tensor.is_contiguous():
            described["dim_order"] = [0, 2, 3, 1]
        return described
