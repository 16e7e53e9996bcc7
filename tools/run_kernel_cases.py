"""Runs programs on ExecuTorch's runtime in a separate process, since some end their process.

    python tools/run_kernel_cases.py CASES RESULTS

CASES is a file by torch.save with a list of (program, inputs). The tool writes to RESULTS a list with the
outcome of each: its outputs, the runtime's message if it refused, or None if it ended the process.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import executorch.extension.llm.custom_ops.custom_ops
import executorch.kernels.quantized  # noqa: F401  registers its kernels
import torch
from executorch.runtime import Runtime


def run(runtime: Runtime, program: bytes, inputs: list[torch.Tensor]) -> Any:
    try:
        outputs = runtime.load_program(program).load_method("forward").execute(inputs)
        return [each.clone() for each in outputs]
    except (RuntimeError, ValueError) as error:
        return str(error)


def run_apart(runtime: Runtime, cases: Sequence[Any], first: int, directory: Path) -> int:
    """Run the cases from `first` on, up to one that ends the process; return its exit status.

    The parent runs no program, so it has no threads that a fork would lose.
    """
    child = os.fork()
    if child == 0:
        for index in range(first, len(cases)):
            torch.save(run(runtime, *cases[index]), directory / f"{index}.pt")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return status


def main(cases_path: Path, results_path: Path) -> None:
    runtime = Runtime.get()
    cases = torch.load(cases_path)
    results: list[Any] = []
    with tempfile.TemporaryDirectory() as directory:
        while len(results) < len(cases):
            status = run_apart(runtime, cases, len(results), Path(directory))
            while (path := Path(directory, f"{len(results)}.pt")).exists():
                results.append(torch.load(path))
            if status:
                results.append(None)
    torch.save(results, results_path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
