"""`LoadedProgram`: an exported program on its device, called with the arrays of a delegate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import InputKind, OutputKind

from etconfig.plugin.v1 import Value
from etconfig_torch.archive import load_program
from etconfig_torch.build import with_autocast, with_compile
from etconfig_torch.errors import CallRefusedError
from etconfig_torch.options import TorchOptions
from etconfig_torch.placement import place_new_tensors

_CONSTANTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_AS_BITS: Mapping[str, tuple[type[np.generic], torch.dtype]] = {"bfloat16": (np.int16, torch.bfloat16)}
"""Types that numpy knows from ml_dtypes only: a type with the same bits, and PyTorch's."""


class LoadedProgram:
    """An exported program on its device.

    Args:
        payload: The bytes of the program.
        device: Where it computes.
        options: How it is compiled, and the type it computes in.
        has_stable_arrays: True if each call passes the same arrays: then tensors over them are made once.

    Raises:
        UnsafeArchiveError: the payload contains code or is malformed.
    """

    def __init__(
        self,
        payload: memoryview,
        device: torch.device,
        options: TorchOptions,
        has_stable_arrays: bool = False,
    ) -> None:
        program = load_program(payload)
        self.device = device
        self._is_on_cpu = device.type == "cpu"
        self._constants = [
            _constant(program, spec).to(device)
            for spec in program.graph_signature.input_specs
            if spec.kind in _CONSTANTS
        ]
        self._input_count = sum(
            spec.kind is InputKind.USER_INPUT for spec in program.graph_signature.input_specs
        )
        self._argument_count = self._input_count + len(program.graph_signature.output_specs)
        for spec in program.graph_signature.output_specs:
            if spec.kind is not OutputKind.USER_OUTPUT:
                raise CallRefusedError(
                    f"the program has an output of the kind {spec.kind.name}; export it again"
                )
        place_new_tensors(program.graph_module, device)
        call = with_compile(options, with_autocast(options, device, program.graph_module))
        # the module's own function, without the hooks that a call of the module looks for
        self._call: Callable[..., Sequence[Any]] = call.forward if call is program.graph_module else call
        self._has_stable_arrays = has_stable_arrays
        self._bound: _Bound | None = None

    @property
    def has_tensors(self) -> bool:
        """True if it has weights or other constants, which are on its device."""
        return bool(self._constants)

    def run(self, args: Sequence[Value], resize_output: Callable[..., Any]) -> None:
        """Run the program on the arguments of a delegate: inputs, then outputs.

        Raises:
            CallRefusedError: there are more or fewer arguments, or one is neither an array nor a number.
        """
        if self._bound is not None:
            self._bound.run()
            return
        if len(args) != self._argument_count:
            raise CallRefusedError(f"the program takes {self._argument_count} arguments, given {len(args)}")
        inputs = [_tensor(arg, index) for index, arg in enumerate(args[: self._input_count])]
        with torch.inference_mode():
            results = self._call(*self._constants, *self._placed(inputs))
            for index, result in enumerate(results, self._input_count):
                out = args[index]
                if not isinstance(out, np.ndarray) or not isinstance(result, torch.Tensor):
                    raise CallRefusedError(f"output {index - self._input_count} is not a tensor")
                if out.shape != tuple(result.shape):
                    out = resize_output(index, tuple(result.shape))
                _shared(out).copy_(result)
        if self._has_stable_arrays:
            self._bound = self._bind(args)

    def close(self) -> None:
        """Release the weights now; what refers to itself waits for the collector."""
        self._constants.clear()
        self._bound = None

    def _bind(self, args: Sequence[Value]) -> _Bound | None:
        """Return the call with tensors over the arrays; None if something else than arrays is passed.

        The first call has compared them with the program's, whose sizes are fixed.
        """
        if not all(isinstance(arg, np.ndarray) and arg.flags.writeable for arg in args):
            return None
        tensors = [_shared(arg) for arg in args]  # type: ignore[arg-type]  # they are arrays
        inputs, outputs = tensors[: self._input_count], tensors[self._input_count :]
        if self._is_on_cpu:
            return _Bound(self._call, [*self._constants, *inputs], outputs)
        return _Bound(lambda *given: self._call(*self._constants, *self._placed(given)), inputs, outputs)

    def _placed(self, inputs: Sequence[Any]) -> Sequence[Any]:
        if self._is_on_cpu:
            return inputs
        return [each.to(self.device) if isinstance(each, torch.Tensor) else each for each in inputs]


class _Bound:
    """A call whose inputs and outputs are tensors over arrays that stay where they are.

    Args:
        call: Computes the results.
        inputs: Its arguments.
        outputs: Tensors that get the results.
    """

    def __init__(
        self, call: Callable[..., Sequence[Any]], inputs: Sequence[Any], outputs: Sequence[torch.Tensor]
    ) -> None:
        self._call = call
        self._inputs = inputs
        self._outputs = outputs
        self._mode = torch.inference_mode()

    def run(self) -> None:
        """Compute the results. Raises CallRefusedError for one of another size."""
        with self._mode:
            for out, result in zip(self._outputs, self._call(*self._inputs), strict=True):
                if out.shape != result.shape:
                    raise CallRefusedError(
                        f"an output has the shape {tuple(result.shape)} after {tuple(out.shape)}"
                    )
                out.copy_(result)


def _constant(program: torch.export.ExportedProgram, spec: Any) -> torch.Tensor:
    stored = program.state_dict.get(spec.target)
    tensor: torch.Tensor = program.constants[spec.target] if stored is None else stored
    return tensor.detach()


def _tensor(arg: Value, index: int) -> Any:
    if isinstance(arg, np.ndarray):
        # PyTorch warns of arrays that cannot be written, even if nothing does
        return _shared(arg if arg.flags.writeable else arg.copy(order="K"))
    if isinstance(arg, (bool, int, float)):
        return arg
    raise CallRefusedError(f"input {index} is {type(arg).__name__}; expected a tensor or a number")


def _shared(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a tensor over the same memory."""
    # the name of a type takes 2 us, its kind 0.1 us; types of ml_dtypes have the kind V
    if array.dtype.kind == "V" and array.dtype.name in _AS_BITS:
        bits, dtype = _AS_BITS[array.dtype.name]
        return torch.from_numpy(array.view(bits)).view(dtype)
    return torch.from_numpy(array)
