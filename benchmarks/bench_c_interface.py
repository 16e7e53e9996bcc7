"""The cost of one run of a backend in C, by each way in which an executor calls it.

    make test-peers
    .venv-peers/bin/python benchmarks/bench_c_interface.py

The library does nothing. Prints microseconds of processor time for `Method.execute` of a program that is one
delegate with two inputs and one output, each the least of many rounds. It needs a C compiler.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import etconfig
from etconfig.c_interface.backend import CBackend
from etconfig.c_interface.headers import include_dir
from etconfig.plugin.v1 import ApiRange, Backend, BackendOptions, BackendSpec, option
from etconfig.program.editing.replacing import rename_backend

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "etconfig/templates/example-cpp/src/example_cpp/golden/add.pte"
CALLS = 2_000
ROUNDS = 15

SOURCE = """
#include <etconfig/backend.h>
static int state;
static EtconfigStatus init(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request; (void)error; *handle = &state; return ETCONFIG_OK;
}
static EtconfigStatus run(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle; (void)call; (void)error; return ETCONFIG_OK;
}
static void destroy(void *handle) { (void)handle; }
static const EtconfigBackend table = {
    sizeof(EtconfigBackend), ETCONFIG_ABI_MAJOR, 0, 0, &init, &run, 0, 0, &destroy};
const EtconfigBackend *etconfig_backend(const EtconfigHost *host, const char *id, EtconfigMessage *error) {
  (void)host; (void)id; (void)error; return &table;
}
"""


class IdleOptions(BackendOptions):
    """An option, as most backends have."""

    num_threads: int = option(1, applies="execute", doc="A number of threads that nothing uses.")


class IdlePython(Backend[Any, None]):
    """Does nothing, in Python."""

    def init(self, context: Any, processed: Any, compile_specs: Any) -> None:
        return None

    def execute(self, context: Any, handle: None, args: Any) -> None:
        return None


class ThroughPython(CBackend):
    """The library, called by Python inside the real runtime, too."""

    def native_call(self, handle: Any) -> None:
        return None


@contextmanager
def library() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        source, built = Path(directory, "idle.c"), Path(directory, "idle.so")
        source.write_text(SOURCE, encoding="utf-8")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", f"-I{include_dir()}", source, "-o", built], check=True
        )
        yield built


def microseconds(backend: Backend[Any, Any], executor: str) -> float:
    data = rename_backend(PROGRAM.read_bytes(), "ExampleCppBackend", "IdleBackend")
    spec = BackendSpec(
        id="IdleBackend",
        doc="Does nothing.",
        options=IdleOptions,
        api=ApiRange(min=1, built=1),
        factory=lambda: backend,
    )
    with (
        etconfig.load_program(data, executor=executor) as program,
        program.load_method("forward", backends={spec.id: spec}) as method,
    ):
        x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.thread_time_ns()
            for _ in range(CALLS):
                method.execute([x, x])
            best = min(best, (time.thread_time_ns() - start) / CALLS / 1000)
        return best


def main() -> None:
    with library() as built:
        by_ctypes, by_cpp = ThroughPython(built, "IdleBackend"), CBackend(built, "IdleBackend")
        for executor in ("numpy", "executorch"):
            print(f"{executor}, a backend in Python: {microseconds(IdlePython(), executor):.2f}")
            print(f"{executor}, a library by ctypes: {microseconds(by_ctypes, executor):.2f}")
        print(f"executorch, a library by C++: {microseconds(by_cpp, 'executorch'):.2f}")


if __name__ == "__main__":
    main()
