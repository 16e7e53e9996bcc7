"""Export the programs in tests/data/older with older releases of ExecuTorch.

A release is unpacked without its dependencies, and precedes the installed one on the path; torch may be newer
than the release requires. For each of 0.4.0, 0.5.0, 0.6.0, 0.7.0 and 1.0.0:

    pip install --no-deps --target RELEASE executorch==VERSION 'setuptools<81'
    export FLATC_EXECUTABLE=RELEASE/executorch/data/bin/flatc PYTHONPATH=RELEASE
    python tools/build_older_programs.py VERSION

It writes VERSION.pte, and from 0.6.0 on, the first release with external constants, VERSION_external.pte and
VERSION_external.ptd. `answers.npz` is written each time with the same contents: PyTorch's outputs for three
consecutive runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from torch import nn

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "older"
WITHOUT_EXTERNAL_CONSTANTS = ("0.4.0", "0.5.0")
RUNS = 3


class Counting(nn.Module):
    """A layer, a buffer that counts the runs, and a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("runs", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.runs.add_(1)
        y = self.layer(x) + self.runs
        return torch.cond(x.sum() > 0, torch.sin, torch.neg, (y,))


def main(release: str) -> None:
    torch.manual_seed(0)
    model = Counting().eval()
    inputs = [torch.randn(2, 4) for _ in range(RUNS)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    exported = torch.export.export(model, (inputs[0],))
    program = to_edge(exported).to_executorch()
    (FOLDER / f"{release}.pte").write_bytes(program.buffer)
    if release not in WITHOUT_EXTERNAL_CONSTANTS:
        program = to_edge(exported).to_executorch(ExecutorchBackendConfig(external_constants=True))
        (FOLDER / f"{release}_external.pte").write_bytes(program.buffer)
        (data,) = program._tensor_data.values()
        (FOLDER / f"{release}_external.ptd").write_bytes(bytes(data))
    with torch.no_grad():
        outputs = [model(x).numpy() for x in inputs]
    answers = {f"in{i}": x.numpy() for i, x in enumerate(inputs)}
    answers |= {f"out{i}": y for i, y in enumerate(outputs)}
    np.savez(FOLDER / "answers.npz", **answers)


if __name__ == "__main__":
    main(sys.argv[1])
