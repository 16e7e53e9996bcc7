"""ExecuTorch's own runtime on programs whose payloads were moved."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from etconfig.program.editing.replacing import replace_payloads
from etconfig.program.metadata import MethodMeta
from etconfig.program.model import DataLocation
from etconfig.program.program import open_program

# torch and executorch warn when they are imported
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

PROGRAMS = Path(__file__).parents[1] / "data" / "programs"
XNNPACK = "XnnpackBackend"


def outputs_of(program: bytes, *inputs: Any) -> list[Any]:
    """Return the outputs of the first method in the runtime."""
    from executorch.runtime import Runtime

    loaded = Runtime.get().load_program(program)
    return list(loaded.load_method(sorted(loaded.method_names)[0]).execute(inputs))


class TestMovedPayloads:
    """ExecuTorch finds a moved payload, and gives the same outputs."""

    @pytest.mark.parametrize("location", DataLocation)
    @pytest.mark.parametrize("name", ["xnnpack", "xnnpack_inline", "xnnpack_two_methods"])
    def test_xnnpack_gives_the_same_answers(self, name: str, location: DataLocation):
        import torch

        program = (PROGRAMS / f"{name}.pte").read_bytes()
        inputs = _inputs_for(program)
        expected = outputs_of(program, *inputs)
        moved = outputs_of(replace_payloads(program, XNNPACK, bytes, location), *inputs)
        assert all(map(torch.equal, moved, expected))

    def test_an_empty_payload_is_refused(self):
        program = (PROGRAMS / "xnnpack.pte").read_bytes()
        with pytest.raises(RuntimeError, match="0x"):
            outputs_of(replace_payloads(program, XNNPACK, lambda payload: b""), *_inputs_for(program))


def _inputs_for(program: bytes) -> list[Any]:
    import torch

    with open_program(program) as opened:
        meta = MethodMeta(opened.plan(sorted(opened.method_names)[0]))
    infos = [meta.input_tensor_meta(index) for index in range(meta.num_inputs())]
    return [torch.linspace(-1, 1, 64)[: math.prod(info.sizes())].reshape(info.sizes()) for info in infos]
