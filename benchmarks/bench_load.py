"""How long a program takes from its file to a method that is ready to run, against ExecuTorch's runtime.

    python benchmarks/bench_load.py

Needs torch and executorch. Chains of 30, 1,000 and 30,000 additions and multiplications (the last is the
second, repeated) are loaded by both in turns: `open` verifies everything, `load` allocates, binds and is
ready to run. Then a program with 512 MiB of constants: in a fresh process for each way, the time and the
resident memory that opening and loading take; of ExecuTorch's, which maps it, both together.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from executorch.exir import ExecutorchProgramManager, to_edge
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.schema import Instruction, KernelCall
from executorch.runtime import Runtime
from torch import nn

from etconfig.executor import Method, load_method
from etconfig.kernels import builtin_kernels
from etconfig.program import open_program

T = TypeVar("T")

ROUNDS = {30: 400, 1_000: 60, 30_000: 8}
CONSTANTS = 8
CONSTANT_ELEMENTS = 16 << 20
KERNELS = builtin_kernels()


class Chain(nn.Module):
    """As many instructions as it is told."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for index in range(self._length):
            y = y + x if index % 2 else y * x
        return y


class Constants(nn.Module):
    """512 MiB of floats in eight constants."""

    def __init__(self) -> None:
        super().__init__()
        for index in range(CONSTANTS):
            self.register_buffer(f"constant{index}", torch.full((CONSTANT_ELEMENTS,), float(index)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for index in range(CONSTANTS):
            x = x + getattr(self, f"constant{index}")
        return x


def export(module: nn.Module, *inputs: torch.Tensor) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(module, inputs)).to_executorch()


def repeated(exported: ExecutorchProgramManager, times: int) -> bytes:
    """The program with its values and instructions that many times."""
    program = exported.executorch_program
    plan = program.execution_plan[0]
    count, instructions = len(plan.values), plan.chains[0].instructions
    plan.values = plan.values * times
    plan.chains[0].stacktrace = None
    plan.chains[0].instructions = [
        Instruction(
            KernelCall(each.instr_args.op_index, [arg + copy * count for arg in each.instr_args.args])
        )
        for copy in range(times)
        for each in instructions
    ]
    return bytes(serialize_pte_binary(PTEFile(program=program, mutable_data=None, named_data=None)))


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds, and the result."""
    start = time.perf_counter_ns()
    result = run()
    return (time.perf_counter_ns() - start) / 1e6, result


def load_stock(runtime: Runtime, path: Path) -> object:
    return runtime.load_program(path).load_method("forward")


def compare(path: Path, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of etconfig's open, of its load, and of both by ExecuTorch; the lower sixth of all."""
    runtime = Runtime.get()
    times = []
    for _ in range(rounds):
        opened, program = timed(lambda: open_program(path))
        loaded, _method = timed(lambda program=program: load_method(program, "forward", KERNELS, {}))
        stock, _other = timed(lambda: load_stock(runtime, path))
        times.append((opened, loaded, stock))
        del program, _method, _other
    opened, loaded, stock = (sorted(each)[len(times) // 6] for each in zip(*times, strict=True))
    return opened, loaded, stock


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_constants(mode: str, path: Path) -> None:
    """In a fresh process: print what opening and loading take."""
    start = resident_mib()
    if mode == "executorch":
        runtime = Runtime.get()
        start = resident_mib()
        loaded, _kept = timed(lambda: load_stock(runtime, path))
        print(f"{mode:<12} {'':>9} {'':>9} {loaded:>8.2f} ms {resident_mib() - start:>6.1f} MiB")
        return
    opened, program = timed(lambda: open_program(path, load_mode=mode))  # type: ignore[arg-type]  # copy or mmap
    after_open = resident_mib()
    loaded, _method = timed(lambda: _load(program))
    print(
        f"{mode:<12} {opened:>6.2f} ms {after_open - start:>5.1f} MiB {loaded:>8.2f} ms "
        f"{resident_mib() - after_open:>6.1f} MiB"
    )


def _load(program: object) -> Method:
    return load_method(program, "forward", KERNELS, {})  # type: ignore[arg-type]  # a Program


def main() -> None:
    print(f"{'length':>7} {'open':>10} {'load':>10} {'both':>10} {'executorch':>11} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "program.pte")
        thousand = export(Chain(1_000), torch.ones(4))
        makers: dict[int, Callable[[], bytes]] = {
            30: lambda: export(Chain(30), torch.ones(4)).buffer,
            1_000: lambda: thousand.buffer,
            30_000: lambda: repeated(thousand, 30),
        }
        for length, make in makers.items():
            path.write_bytes(make())
            opened, loaded, stock = compare(path, ROUNDS[length])
            both = opened + loaded
            row = " ".join(f"{each:>7.2f} ms" for each in (opened, loaded, both, stock))
            print(f"{length:>7} {row} {both / stock:>6.2f}", flush=True)
        path.write_bytes(export(Constants(), torch.ones(CONSTANT_ELEMENTS)).buffer)
        print(f"\n{'512 MiB':<12} {'open':>9} {'memory':>9} {'load':>11} {'memory':>10}", flush=True)
        for mode in ("copy", "mmap", "executorch"):
            subprocess.run([sys.executable, __file__, mode, str(path)], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure_constants(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
