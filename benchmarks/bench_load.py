"""The time from a program file to a method that is ready to run, compared with ExecuTorch's runtime.

    python benchmarks/bench_load.py

Needs torch and executorch. Chains of 30, 1,000 and 30,000 additions and multiplications (the last is the
second, repeated), and some of the architectures in tests/data, are loaded by both in turns: `open` verifies
everything, `load` allocates, binds and is ready to run, and `faithful` does so without the optimizer. The
times are the least processor time of the one thread that does the work. The ratio is that of open and load.

Then a program with 512 MiB of constants: in a fresh process for each way, the time and the resident memory
that opening and loading take; of ExecuTorch's, which maps it, both together.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from executorch.exir import ExecutorchProgramManager, to_edge
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.schema import Instruction, KernelCall
from executorch.runtime import Runtime
from torch import nn

from etconfig import Method
from etconfig.kernels import builtin_kernels
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program
from etconfig.program.source import LoadMode

T = TypeVar("T")

ROUNDS = {30: 400, 1_000: 60, 30_000: 8}
ARCHITECTURES = Path(__file__).parents[1] / "tests" / "data" / "architectures"
MODELS = ("bert", "mobilenet_v2", "llama", "segformer")
MODEL_ROUNDS = 100
CONSTANTS = 8
CONSTANT_ELEMENTS = 16 << 20
KERNELS = builtin_kernels()


class Chain(nn.Module):
    """A chain with a given number of instructions."""

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
    """Return the program with its values and instructions repeated this many times."""
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


def timed(run: Callable[[], T], clock_ns: Callable[[], int] = time.perf_counter_ns) -> tuple[float, T]:
    """Return the milliseconds, and the result."""
    start = clock_ns()
    result = run()
    return (clock_ns() - start) / 1e6, result


def load_stock(runtime: Runtime, path: Path) -> object:
    return runtime.load_program(path).load_method("forward")


def compare(label: str, path: Path, rounds: int) -> None:
    """Print one row."""
    runtime = Runtime.get()
    best: dict[str, float] = {}

    def best_of(name: str, run: Callable[[], T]) -> T:
        milliseconds, result = timed(run, time.thread_time_ns)
        best[name] = min(best.get(name, milliseconds), milliseconds)
        return result

    for _ in range(rounds):
        program = best_of("open", partial(open_program, path))
        load = partial(load_method, program, "forward", KERNELS, {})
        kept = [best_of("load", load), best_of("faithful", partial(load, optimize=False))]
        kept.append(best_of("executorch", partial(load_stock, runtime, path)))
        del program, load, kept
    ratio = (best["open"] + best["load"]) / best["executorch"]
    print(
        f"{label:>14} " + " ".join(f"{each:>8.2f} ms" for each in best.values()) + f" {ratio:>6.1f}",
        flush=True,
    )


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_constants(mode: str, path: Path) -> None:
    """Print the cost of opening and loading; runs in a fresh process."""
    start = resident_mib()
    if mode == "executorch":
        runtime = Runtime.get()
        start = resident_mib()
        loaded, _kept = timed(lambda: load_stock(runtime, path))
        print(f"{mode:<12} {'':>9} {'':>9} {loaded:>8.2f} ms {resident_mib() - start:>6.1f} MiB")
        return
    opened, program = timed(lambda: open_program(path, load_mode=LoadMode(mode)))
    after_open = resident_mib()
    loaded, _method = timed(lambda: _load(program))
    print(
        f"{mode:<12} {opened:>6.2f} ms {after_open - start:>5.1f} MiB {loaded:>8.2f} ms "
        f"{resident_mib() - after_open:>6.1f} MiB"
    )


def _load(program: object) -> Method:
    return load_method(program, "forward", KERNELS, {})  # type: ignore[arg-type]  # a Program


def main() -> None:
    print(f"{'':>14} {'open':>11} {'load':>11} {'faithful':>11} {'executorch':>11} {'ratio':>6}")
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
            compare(f"chain of {length}", path, ROUNDS[length])
        for model in MODELS:
            compare(model, ARCHITECTURES / f"{model}.pte", MODEL_ROUNDS)
        path.write_bytes(export(Constants(), torch.ones(CONSTANT_ELEMENTS)).buffer)
        print(f"\n{'512 MiB':<12} {'open':>9} {'memory':>9} {'load':>11} {'memory':>10}", flush=True)
        for mode in ("file", "mmap", "executorch"):
            subprocess.run([sys.executable, __file__, mode, str(path)], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure_constants(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
