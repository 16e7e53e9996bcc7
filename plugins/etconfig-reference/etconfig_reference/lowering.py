"""Lowering of nodes of an exported program to operations of the payload. Needs torch.

One function per operator decides both whether a node can be delegated and which operation it becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch.fx import Node
from torch.utils._sympy.value_ranges import bound_sympy

from etconfig_reference.graph import DTYPES, Attributes, ValueType
from etconfig_reference.ops import OPS
from etconfig_reference.support import why_unsupported


class NotSupportedError(Exception):
    """The reference backend cannot run a node."""


class LoweredCall(NamedTuple):
    """An operation whose values are still nodes."""

    name: str
    inputs: tuple[Node, ...]
    attributes: Attributes


def lower_call(node: Node, backend_id: str) -> LoweredCall:
    """Return the operation that computes `node`.

    Raises:
        NotSupportedError: the backend does not support this operator or these arguments.
    """
    schema = getattr(node.target, "_schema", None)
    lower = None if schema is None else LOWERINGS.get(_full_name(schema))
    if node.op != "call_function" or lower is None:
        raise NotSupportedError(f"{node} is not an operator of the reference backends")
    lowered = lower(_Call(node, schema))
    inputs, output = [value_type(source) for source in lowered.inputs], value_type(node)
    for value in (*inputs, output):
        reason = why_unsupported(value, backend_id)
        if reason is not None:
            raise NotSupportedError(f"{node}: {backend_id} {reason}, not {value}")
    kind = OPS[lowered.name]
    try:
        op = kind([value.shape for value in inputs], lowered.attributes)
        kind.check_dtypes([value.dtype for value in inputs], output.dtype)
    except ValueError as error:
        raise NotSupportedError(f"{node}: {error}") from None
    if op.output_shape != output.shape:
        raise NotSupportedError(f"{node} has shape {output.shape}, not {op.output_shape}")
    return lowered


def value_type(node: object) -> ValueType:
    """Return the type of the tensor or number that `node` stands for.

    Raises:
        NotSupportedError: it is something else, or a dynamic size has no upper bound.
    """
    # before the edge dialect, a scalar operand is still a Python number
    value = node.meta.get("val") if isinstance(node, Node) else None
    if type(value) in _NUMBERS:
        return ValueType(shape=(), dtype=_NUMBERS[type(value)])
    dtype = str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else ""
    if not isinstance(value, torch.Tensor) or dtype not in DTYPES:
        raise NotSupportedError(f"{node} is not a tensor of {', '.join(DTYPES)}")
    return ValueType(
        shape=tuple(_largest(node, size) for size in value.shape),
        dtype=dtype,
        dynamic=tuple(dim for dim, size in enumerate(value.shape) if not isinstance(size, int)),
    )


_NUMBERS = {torch.SymInt: "int64", torch.SymFloat: "float64", torch.SymBool: "bool"}
"""The types of numbers that become known at run time."""


def _largest(node: object, size: int | torch.SymInt) -> int:
    if isinstance(size, int):
        return size
    bound = bound_sympy(size.node.expr, size.node.shape_env.var_to_range).upper
    if not bound.is_Integer:
        raise NotSupportedError(f"{node} has the size {size}, which has no upper bound")
    return int(bound)


def _full_name(schema: torch.FunctionSchema) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


class _Call:
    """A node's arguments by the names of its schema, with defaults filled in."""

    def __init__(self, node: Node, schema: torch.FunctionSchema) -> None:
        self.node = node
        self._values: dict[str, Any] = {
            argument.name: argument.default_value
            for argument in schema.arguments
            if argument.has_default_value()
        }
        names = [argument.name for argument in schema.arguments]
        self._values |= dict(zip(names, node.args, strict=False)) | node.kwargs

    def tensors(self, *names: str) -> tuple[Node, ...]:
        """Return the named tensors, without optional ones that are absent."""
        return tuple(self._values[name] for name in names if self._values[name] is not None)

    def is_given(self, name: str) -> bool:
        """Check whether a list has items."""
        return bool(self._values[name])

    def integer(self, name: str) -> tuple[int]:
        return (int(self._values[name]),)

    def pair(self, name: str) -> tuple[int, int]:
        """Return a setting for height and width; a single number applies to both."""
        height, *width = self._values[name]
        return height, width[0] if width else height

    def dims(self, name: str) -> tuple[int, ...]:
        """Return dimensions of `self` as non-negative indices; an absent list means all."""
        rank = len(value_type(self._values["self"]).shape)
        chosen = self._values[name]
        if chosen is None or chosen == []:
            return tuple(range(rank))
        return tuple(dim % max(rank, 1) for dim in ([chosen] if isinstance(chosen, int) else chosen))

    def require(self, **expected: object) -> None:
        """Refuse the node unless the named arguments have these values."""
        for name, value in expected.items():
            if self._values[name] != value:
                raise NotSupportedError(f"{self.node}: {name} is {self._values[name]!r}, not {value!r}")


def _conv2d(call: _Call) -> LoweredCall:
    settings = {name: call.pair(name) for name in ("stride", "padding", "dilation")}
    tensors = call.tensors("input", "weight", "bias")
    return LoweredCall("conv2d", tensors, {**settings, "groups": call.integer("groups")})


def _max_pool2d(call: _Call) -> LoweredCall:
    call.require(ceil_mode=False)
    settings = {**_pool_window(call), "dilation": call.pair("dilation")}
    return LoweredCall("max_pool2d", call.tensors("self"), settings)


def _avg_pool2d(call: _Call) -> LoweredCall:
    call.require(ceil_mode=False, count_include_pad=True, divisor_override=None)
    return LoweredCall("avg_pool2d", call.tensors("self"), _pool_window(call))


def _pool_window(call: _Call) -> dict[str, tuple[int, ...]]:
    kernel = call.pair("kernel_size")
    # an empty stride means that windows do not overlap
    stride = call.pair("stride") if call.is_given("stride") else kernel
    return {"kernel": kernel, "stride": stride, "padding": call.pair("padding")}


def _mean(call: _Call) -> LoweredCall:
    call.require(dtype=None)
    settings = {"dims": call.dims("dim"), "keep_dims": call.integer("keepdim")}
    return LoweredCall("mean", call.tensors("self"), settings)


def _softmax(call: _Call) -> LoweredCall:
    call.require(half_to_float=False)
    return LoweredCall("softmax", call.tensors("self"), {"dim": call.dims("dim")})


def _scaled_sum(name: str) -> Callable[[_Call], LoweredCall]:
    def lower(call: _Call) -> LoweredCall:
        call.require(alpha=1)
        return LoweredCall(name, call.tensors("self", "other"), {})

    return lower


def _permute(call: _Call) -> LoweredCall:
    return LoweredCall("permute", call.tensors("self"), {"dims": call.dims("dims")})


def _reshape(call: _Call) -> LoweredCall:
    result = value_type(call.node)
    sizes = tuple(-1 if dim in result.dynamic else size for dim, size in enumerate(result.shape))
    return LoweredCall("reshape", call.tensors("self"), {"shape": sizes})


def _plain(name: str, *tensors: str) -> Callable[[_Call], LoweredCall]:
    """Lower an operator that has only tensor arguments."""
    return lambda call: LoweredCall(name, call.tensors(*tensors), {})


LOWERINGS: Mapping[str, Callable[[_Call], LoweredCall]] = {
    "aten::_softmax": _softmax,
    "aten::add.Tensor": _scaled_sum("add"),
    "aten::avg_pool2d": _avg_pool2d,
    "aten::conv2d": _conv2d,
    "aten::linear": _plain("linear", "input", "weight", "bias"),
    "aten::max_pool2d": _max_pool2d,
    "aten::mean.dim": _mean,
    "aten::mm": _plain("matmul", "self", "mat2"),
    "aten::mul.Tensor": _plain("mul", "self", "other"),
    "aten::permute_copy": _permute,
    "aten::relu": _plain("relu", "self"),
    "aten::scalar_tensor": _plain("convert", "s"),
    "aten::squeeze_copy.dims": _reshape,
    "aten::sub.Tensor": _scaled_sum("sub"),
    "aten::unsqueeze_copy": _reshape,
    "aten::view_copy": _reshape,
    "dim_order_ops::_clone_dim_order": _plain("convert", "self"),
    "dim_order_ops::_to_dim_order_copy": _plain("convert", "self"),
}
"""The function that lowers each operator."""
