"""`Ports`: the inputs and outputs of a compiled model, bound to the arguments of a delegate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from etconfig.plugin.v1 import Value
from etconfig_openvino.errors import PayloadError
from etconfig_openvino.installed import openvino


class Ports:
    """The inputs and outputs of a model, and the request that reads and writes them.

    Inputs are read where they are, unless their memory is read-only, not dense, or shared with an output;
    those are copied for each call.

    Args:
        compiled: An `openvino.CompiledModel`.
    """

    def __init__(self, compiled: Any) -> None:
        self._request = request = compiled.create_infer_request()
        # the method below Python's API, which would look for inputs and index the outputs by name;
        # share_outputs: without it, OpenVINO copies them
        bare: Any = super(type(request), request)
        self._infer = partial(bare.infer, {}, share_outputs=True, decode_strings=False)
        self._inputs = [_Port("input", index, port) for index, port in enumerate(compiled.inputs)]
        self._outputs = [_Port("output", index, port) for index, port in enumerate(compiled.outputs)]
        self._copied: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self.are_static = all(port.is_static for port in (*self._inputs, *self._outputs))
        """True if no input and no output has a dynamic shape."""

    def check_count(self, args: Sequence[Value]) -> None:
        """Raise PayloadError unless there is an argument for each input and output."""
        if len(args) != len(self._inputs) + len(self._outputs):
            raise PayloadError(
                f"the model has {len(self._inputs)} inputs and {len(self._outputs)} outputs, and the "
                f"delegate {len(args)} arguments"
            )

    def bind(self, args: Sequence[Value]) -> None:
        """Let the request read inputs from arguments and, if all shapes are fixed, write outputs to them.

        Raises:
            PayloadError: the arguments do not fit the model.
        """
        count = len(self._inputs)
        outputs = [port.array(arg) for port, arg in zip(self._outputs, args[count:], strict=True)]
        self._copied = []
        for port, arg in zip(self._inputs, args, strict=False):
            array = port.array(arg)
            if _must_copy(array, outputs if self.are_static else ()):
                private = np.empty(array.shape, port.dtype)
                self._copied.append((private, array))
                array = private
            self._request.set_input_tensor(port.index, openvino().Tensor(array, shared_memory=True))
        if self.are_static:
            for port, output in zip(self._outputs, outputs, strict=True):
                if not output.flags.c_contiguous:
                    raise PayloadError(f"output {port.index} is not contiguous; expected {port}")
                self._request.set_output_tensor(port.index, openvino().Tensor(output, shared_memory=True))

    def run(self) -> None:
        """Run the model on the bound arguments."""
        for private, array in self._copied:
            np.copyto(private, array, casting="no")
        self._infer()

    def copy_outputs(self, args: Sequence[Value], resize: Callable[[int, Sequence[int]], Any]) -> None:
        """Copy outputs of dynamic shapes to the arguments, which are resized to fit."""
        for index, port in enumerate(self._outputs, start=len(self._inputs)):
            result = self._request.get_output_tensor(port.index).data
            arg = args[index]
            if not isinstance(arg, np.ndarray) or arg.shape != result.shape:
                arg = resize(index, result.shape)
            np.copyto(arg, result, casting="no")


class _Port:
    """One input or output."""

    def __init__(self, role: str, index: int, port: Any) -> None:
        self.role = role
        self.index = index
        self.shape = port.partial_shape
        self.is_static = self.shape.is_static
        self.dtype = np.dtype(port.element_type.to_dtype())

    def array(self, arg: Value) -> np.ndarray[Any, Any]:
        """Return an argument as an array.

        Raises:
            PayloadError: the argument has another type or shape.
        """
        array = np.asarray(arg, self.dtype) if isinstance(arg, (bool, int, float)) else arg
        if not isinstance(array, np.ndarray):
            raise PayloadError(f"{self.role} {self.index} is {type(arg).__name__}; expected {self}")
        if array.dtype != self.dtype or not self.shape.compatible(openvino().PartialShape(list(array.shape))):
            raise PayloadError(f"{self.role} {self.index} is {array.dtype} {array.shape}; expected {self}")
        return array

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"


def _must_copy(array: np.ndarray[Any, Any], outputs: Sequence[np.ndarray[Any, Any]]) -> bool:
    flags = array.flags
    if not flags.writeable or not flags.c_contiguous:
        return True
    return any(np.may_share_memory(array, output) for output in outputs)
