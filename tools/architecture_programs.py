"""The architectures of tools/architectures as programs, with the outputs of eager PyTorch.

For each variant that is committed there are a program and NAME.npz, whose arrays call0_input0,
call0_output0, ... are the inputs and outputs of consecutive executes of one loaded method. bfloat16 is
recorded as float32, which can represent all of its values.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import executorch.kernels.quantized  # noqa: F401  registers the operators of int8 programs
import numpy as np
import torch
from architectures import Example, make
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from exporting import describe_program
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

Outputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Variant:
    """An architecture of tiny size, in one form of program.

    Attributes:
        form: One of FORMS.
    """

    architecture: str
    form: str = "float32"

    @property
    def name(self) -> str:
        """The name of its files."""
        return self.architecture if self.form == "float32" else f"{self.architecture}_{self.form}"


FORMS = {
    "float32": {},
    "float16": {"dtype": torch.float16},
    "bfloat16": {"dtype": torch.bfloat16},
    "dynamic": {"is_dynamic": True},
    "channels_last": {"is_channels_last": True},
    "int8": {},
}
"""The arguments of `make` for each form; int8 is quantized afterwards."""

COMMITTED = (
    *(Variant(name) for name in ("bert", "gpt2", "llama", "t5", "vit", "segformer", "resnet")),
    *(Variant(name) for name in ("mobilenet_v2", "convnext", "unet", "whisper_encoder", "lstm")),
    Variant("llama", "dynamic"),
    Variant("t5", "dynamic"),
    Variant("resnet", "float16"),
    Variant("gpt2", "bfloat16"),
    Variant("unet", "channels_last"),
    Variant("mobilenet_v2", "int8"),
)
"""The variants that tests run without torch."""


def build(folder: Path) -> dict[str, Any]:
    """Write programs, inputs and outputs of all COMMITTED variants into `folder`; return their needs."""
    return {"programs": {variant.name: write(variant, folder) for variant in COMMITTED}}


def write(variant: Variant, folder: Path) -> dict[str, Any]:
    """Write one variant's files into `folder`."""
    example = make_example(variant)
    program = lower(example)
    (folder / f"{variant.name}.pte").write_bytes(program.buffer)
    arrays = {}
    for call, (inputs, outputs) in enumerate(zip(example.calls, run_eager(example), strict=True)):
        for kind, tensors in (("input", inputs), ("output", outputs)):
            arrays |= {f"call{call}_{kind}{index}": _recorded(each) for index, each in enumerate(tensors)}
    np.savez_compressed(folder / f"{variant.name}.npz", **arrays)
    return describe_program(program)


def make_example(variant: Variant) -> Example:
    """Return the module, quantized for the int8 form, and its calls."""
    example = make(variant.architecture, **FORMS[variant.form])
    return quantize(example) if variant.form == "int8" else example


def quantize(example: Example) -> Example:
    """Quantize weights per channel and activations per tensor to int8, calibrated with the calls."""
    configuration = get_symmetric_quantization_config(is_per_channel=True)
    exported = torch.export.export(example.module, example.calls[0]).module()
    prepared = prepare_pt2e(exported, XNNPACKQuantizer().set_global(configuration))
    for inputs in example.calls:
        prepared(*inputs)
    return Example(convert_pt2e(prepared), example.calls, None)


def run_eager(example: Example) -> list[Outputs]:
    """Return the outputs of consecutive calls, without changing the example's buffers."""
    module = copy.deepcopy(example.module)
    return [_outputs(module, inputs) for inputs in example.calls]


def lower(example: Example, partitioners: Sequence[Partitioner] = ()) -> ExecutorchProgramManager:
    """Export as method `forward`."""
    exported = torch.export.export(
        copy.deepcopy(example.module), example.calls[0], dynamic_shapes=example.dynamic_shapes
    )
    return to_edge_transform_and_lower(exported, partitioner=list(partitioners)).to_executorch()


def _outputs(module: nn.Module, inputs: tuple[Tensor, ...]) -> Outputs:
    outputs = module(*inputs)
    return tuple(each.clone() for each in (outputs if isinstance(outputs, tuple | list) else (outputs,)))


def _recorded(tensor: Tensor) -> np.ndarray:
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
