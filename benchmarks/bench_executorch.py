"""The cost of the executorch executor, compared with a bare C++ loop and with `executorch.runtime`.

    make test-peers
    .venv-peers/bin/python benchmarks/bench_executorch.py

Prints microseconds of processor time, each the least of many rounds. The C++ program is compiled against the
wheel's own headers and libraries; it needs g++.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import etconfig

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "tests/data/programs/xnnpack.pte"
DIGITS = ROOT / "tests/data/digits/digits.pte"
CALLS = 2_000
ROUNDS = 15

LOOP = r"""
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  using namespace executorch::extension;
  Module module(argv[1]);
  if (module.load_method("forward") != executorch::runtime::Error::Ok) return 1;
  const int rows = atoi(argv[2]), columns = atoi(argv[3]), calls = atoi(argv[4]);
  std::vector<float> data(rows * columns, 1.0f);
  auto x = from_blob(data.data(), {rows, columns});
  double best = 1e9;
  for (int round = 0; round < atoi(argv[5]); ++round) {
    timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < calls; ++i) {
      if (!module.execute("forward", x).ok()) return 2;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    const double us = ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) * 1e-3) / calls;
    best = us < best ? us : best;
  }
  printf("%f\n", best);
}
"""


def least_us(work: Callable[[], object], calls: int = CALLS) -> float:
    """Return the least processor time of one call, over several rounds."""
    rounds = []
    for _ in range(ROUNDS):
        start_ns = time.thread_time_ns()
        for _ in range(calls):
            work()
        rounds.append((time.thread_time_ns() - start_ns) / calls / 1000)
    return min(rounds)


def cpp_loop_us(sizes: tuple[int, ...]) -> float:
    """Time the same method, called in a loop in C++."""
    spec = importlib.util.find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory, "loop.cpp"), Path(directory, "loop")
        source.write_text(LOOP)
        command = [
            *("g++", "-O2", "-std=c++17", source, "-o", binary),
            *("-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED", "-DET_USE_THREADPOOL"),
            f"-I{package}/include",
            f"-I{package}/include/executorch/runtime/core/portable_type/c10",
            *(f"-L{package}/lib", f"-Wl,-rpath,{package}/lib", "-Wl,--no-as-needed"),
            *(
                f"-lexecutorch{part}"
                for part in ("", "_kernels_optimized", "_backend_xnnpack", "_threadpool")
            ),
        ]
        subprocess.run(command, check=True)
        arguments = [binary, PROGRAM, *map(str, sizes), str(CALLS), str(ROUNDS)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return float(done.stdout)


def theirs_us(x: np.ndarray[Any, Any]) -> float:
    """Time the same method through ExecuTorch's own Python API."""
    import torch
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(PROGRAM)
    method = program.load_method("forward")
    tensor = torch.from_numpy(x)
    return least_us(lambda: method.execute([tensor]))


def main() -> None:
    program = etconfig.load_program(PROGRAM, executor="executorch")
    plain = etconfig.resolve(program, overrides=["XnnpackBackend.num_threads=1"])
    set_too = [
        "XnnpackBackend.num_threads=1",
        "XnnpackBackend.workspace_sharing_mode=disabled",
        "XnnpackBackend.weight_cache_enabled=false",
    ]
    full = etconfig.resolve(program, overrides=set_too)
    method = program.load_method("forward", plain.arguments("forward"))
    sizes = method.metadata.input_tensor_meta(0).sizes()
    x = np.ones(sizes, np.float32)
    settings = [each.arguments("forward") for each in (plain, full)]
    runnable: Any = method._runnable
    ours, native = least_us(lambda: method.execute([x])), least_us(lambda: runnable._native.execute([x]))
    print(f"OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', 'unset')}, one thread, {PROGRAM.name}")
    print(f"{'bare C++ loop':<42}{cpp_loop_us(sizes):8.2f} us")
    print(f"{'Method.execute':<42}{ours:8.2f} us, of which the extension {native:.2f}")
    print(f"{'executorch.runtime Method.execute':<42}{theirs_us(x):8.2f} us")
    bare, set_ = (least_us(partial(program.load_method, "forward", each), 100) for each in settings)
    print(f"{'load_method without options':<42}{bare:8.2f} us")
    print(f"{'load_method with two options':<42}{set_:8.2f} us")
    print_python_backend()


def print_python_backend() -> None:
    """Time the path between the runtime and a backend of etconfig that does nothing."""
    from etconfig_executorch.executor import ExecutorchExecutor

    from etconfig.backend import Backend, BoundBackend
    from etconfig.method import ProgramRequest
    from etconfig.method.request import method_request
    from etconfig.program.program import open_program

    class Nothing(Backend[Any, Any]):
        def init(self, context: Any, processed: Any, compile_specs: Any) -> None:
            pass

        def execute(self, context: Any, handle: Any, args: Any) -> None:
            pass

    program = open_program(DIGITS)
    delegates = program.plan("forward").delegates
    bound = {
        each.id: BoundBackend(backend_id=each.id, create=Nothing, options=None, changed=lambda old, new: old)
        for each in delegates
    }
    request = method_request(program, program.plan("forward"), bound)
    runnable = ExecutorchExecutor().open_program(ProgramRequest(program=program)).load_method(request)
    x = np.zeros((1, 1, 8, 8), np.float32)
    calls = sum(
        type(each).__name__ == "DelegateCall" for each in program.plan("forward").chains[0].instructions
    )
    us = least_us(lambda: runnable.execute([x], None))
    print(f"{f'execute with {calls} calls of a Python backend':<42}{us:8.2f} us, {us / calls:.2f} a call")


if __name__ == "__main__":
    main()
