"""Programs whose methods share a key-value cache, and PyTorch's answers over a sequence of calls.

Every program has the methods `prefill` (three positions), `decode` (one), `read` and `reset`. `answers.npz`
contains the inputs and outputs of each call of one sequence, under STEP_METHOD/in0, ... and
STEP_METHOD/out0, ...; eager PyTorch has one cache for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch import Tensor, nn
from torch.export import ExportedProgram, export

SEED = 0
CONTEXT = 8
WIDTH = 4
CACHES = ("keys", "values")


class Attention(nn.Module):
    """Causal attention over the positions in its cache."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        for name in CACHES:
            self.register_buffer(name, torch.zeros(CONTEXT, WIDTH))

    def attend(self, x: Tensor, positions: Tensor) -> Tensor:
        self.keys.index_copy_(0, positions, self.key(x))
        self.values.index_copy_(0, positions, self.value(x))
        visible = torch.arange(CONTEXT)[None, :] <= positions[:, None]
        scores = (self.query(x) @ self.keys.T).masked_fill(~visible, -1e9)
        return torch.softmax(scores, -1) @ self.values


class Method(nn.Module):
    """One method of the model; all of them refer to one object, so that buffers have equal names."""

    def __init__(self, model: Attention) -> None:
        super().__init__()
        self.model = model


class Prefill(Method):
    def forward(self, x: Tensor) -> Tensor:
        return self.model.attend(x, torch.arange(3))


class Decode(Method):
    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        return self.model.attend(x, position)


class Read(Method):
    def forward(self) -> tuple[Tensor, Tensor]:
        return self.model.keys.clone(), self.model.values.clone()


class Reset(Method):
    def forward(self) -> Tensor:
        for name in CACHES:
            getattr(self.model, name).zero_()
        return torch.zeros(1)


class Count(nn.Module):
    """A method of another model, with a buffer of its own."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self.step = step
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x * self.step)
        return self.total + 0


def position(value: int) -> Tensor:
    return torch.tensor([value])


def steps() -> list[tuple[str, tuple[Tensor, ...]]]:
    """Return the calls of the sequence: the method, and its inputs."""
    x = torch.randn(12, WIDTH, generator=torch.Generator().manual_seed(SEED))
    decodes = [("decode", (x[at : at + 1], position(at))) for at in range(3, 6)]
    again = [("prefill", (x[6:9],)), ("decode", (x[9:10], position(3))), ("read", ())]
    return [("prefill", (x[:3],)), *decodes, ("read", ()), ("reset", ()), ("read", ()), *again]


def model_methods() -> dict[str, Method]:
    torch.manual_seed(SEED)
    model = Attention().eval().requires_grad_(False)
    return {"prefill": Prefill(model), "decode": Decode(model), "read": Read(model), "reset": Reset(model)}


def exported() -> dict[str, ExportedProgram]:
    examples = dict(reversed(steps()))
    return {name: export(method, examples[name]) for name, method in model_methods().items()}


def program(
    methods: dict[str, ExportedProgram],
    *,
    share: bool = True,
    names: bool = False,
    initialize: bool = False,
    partitioners: Sequence[Any] = (),
) -> bytes:
    edge = to_edge_transform_and_lower(
        methods,
        partitioner={name: list(partitioners) for name in methods} if partitioners else None,
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    config = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=share),
        emit_mutable_buffer_names=names,
        passes=[InitializedMutableBufferPass(list(CACHES))] if initialize else [],
    )
    return bytes(edge.to_executorch(config).buffer)


def counters() -> dict[str, ExportedProgram]:
    """Two models in one program, each with a buffer of its own that is named as the other's."""
    x = (torch.ones(2),)
    return {"up": export(Count(1.0), x), "down": export(Count(-1.0), x)}


PROGRAMS: dict[str, Callable[[], bytes]] = {
    "shared": lambda: program(exported()),
    "shared_named": lambda: program(exported(), names=True),
    "shared_initialized": lambda: program(exported(), initialize=True),
    "shared_xnnpack": lambda: program(exported(), partitioners=[XnnpackPartitioner()]),
    "separate": lambda: program(exported(), share=False),
    "counters": lambda: program(counters(), share=False),
}


def build(folder: Path) -> dict[str, Any]:
    """Write every program, and the answers of eager PyTorch."""
    methods = model_methods()
    arrays: dict[str, np.ndarray] = {}
    for at, (name, inputs) in enumerate(steps()):
        outputs = methods[name](*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for role, values in (("in", inputs), ("out", outputs)):
            arrays |= {f"{at:02}_{name}/{role}{i}": value.numpy().copy() for i, value in enumerate(values)}
    np.savez_compressed(folder / "answers.npz", **arrays)
    for name, make in PROGRAMS.items():
        (folder / f"{name}.pte").write_bytes(make())
    return {"seed": SEED, "steps": [name for name, _ in steps()]}
