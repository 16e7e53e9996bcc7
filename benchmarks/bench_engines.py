"""Three networks on every engine: as a delegate, and alone by the fastest calls from Python.

    python benchmarks/bench_engines.py [onnxruntime] [openvino] [tvm] [torch]

Measures the engines named, all of them by default; they need what `make test-engines` installs. Every engine
uses one thread, and OpenVINO float32; other options are the defaults.

"Alone" does for its caller what `Method.execute` does: it takes an array of the caller and returns one that
later calls do not change. Engines that bind memory copy both; TVM returns a new array by itself, and PyTorch
takes the array as it is, too. "Call only" leaves the copies out: the data are in the engine's memory already,
and the results stay there.

Each round measures all ways in random order, those of one engine next to each other. Before each timed call,
the same way runs once without the clock, so that none pays for the caches that another one left behind.
Printed are the median and the 10th percentile of the wall time of a call in us, the largest error against
eager PyTorch, as a share of its largest output, and for each delegate the median of the differences from
"alone" of the same round, in us and in percent of that.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from engine_networks import NETWORKS
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torch import nn

import etconfig
from etconfig.program.program import open_program

ROUNDS = 400
SECONDS_EACH = 10.0
"""The time limit of one group of ways; afterwards it skips the remaining rounds."""

Run = Callable[[], object]


class Alone(NamedTuple):
    """An engine without etconfig.

    Attributes:
        run: Takes the caller's array, and returns one of the caller.
        call: The engine's call by itself.
    """

    run: Run
    call: Run


class Engine(NamedTuple):
    """An engine as a delegate and alone.

    Attributes:
        title: Its name.
        partitioner: The partitioner.
        options: The options of the delegate.
        alone: Makes the calls without etconfig, of the payload, the module, the example and its array; None
            to leave them out.
    """

    title: str
    partitioner: object
    options: tuple[str, ...]
    alone: Callable[[memoryview, nn.Module, torch.Tensor, np.ndarray], Alone] | None


def onnxruntime_ways() -> list[Engine]:
    """Return ONNX Runtime: alone, a session whose input and output are bound."""
    import etconfig_onnxruntime.payload
    import onnxruntime
    from etconfig_onnxruntime import OnnxRuntimeOptions, build_session
    from etconfig_onnxruntime.aot import onnx_partitioner

    def alone(payload: memoryview, module: nn.Module, example: torch.Tensor, array: np.ndarray) -> Alone:
        model = etconfig_onnxruntime.payload.open_payload(payload, onnxruntime.__version__)
        session = build_session(OnnxRuntimeOptions(intra_op_num_threads=1), model)
        bound = np.empty_like(array), np.empty(session.get_outputs()[0].shape, np.float32)
        binding = session.io_binding()
        for bind, value, memory in (
            (binding.bind_input, session.get_inputs()[0], bound[0]),
            (binding.bind_output, session.get_outputs()[0], bound[1]),
        ):
            bind(value.name, "cpu", 0, np.float32, memory.shape, memory.ctypes.data)

        def run() -> object:
            np.copyto(bound[0], array)
            session.run_with_iobinding(binding)
            return bound[1].copy()

        return Alone(run, lambda: session.run_with_iobinding(binding))

    return [Engine("ONNX Runtime", onnx_partitioner(), ("OnnxRuntimeBackend.intra_op_num_threads=1",), alone)]


def openvino_ways() -> list[Engine]:
    """Return OpenVINO: alone, an inference request whose input and output are bound."""
    import etconfig_openvino.payload
    import openvino
    from etconfig_openvino.aot import whole_model_partitioner
    from etconfig_openvino.options import OpenvinoOptions

    def alone(payload: memoryview, module: nn.Module, example: torch.Tensor, array: np.ndarray) -> Alone:
        options = OpenvinoOptions(inference_num_threads=1, cpu_inference_precision="f32")
        compiled = etconfig_openvino.payload.load(options, payload, openvino.Core())
        request = compiled.create_infer_request()
        bound = np.empty_like(array), np.empty(tuple(compiled.output(0).shape), np.float32)
        request.set_input_tensor(openvino.Tensor(bound[0], shared_memory=True))
        request.set_output_tensor(openvino.Tensor(bound[1], shared_memory=True))

        def run() -> object:
            np.copyto(bound[0], array)
            request.infer()
            return bound[1].copy()

        return Alone(run, request.infer)

    options = ("OpenvinoBackend.inference_num_threads=1", "OpenvinoBackend.cpu_inference_precision=f32")
    return [Engine("OpenVINO, float32", whole_model_partitioner(), options, alone)]


def tvm_ways() -> list[Engine]:
    """Return TVM, with and without schedules: alone, the virtual machine with a tensor."""
    import etconfig_tvm.payload
    import tvm_ffi
    from etconfig_tvm.aot import CompileSettings, tvm_partitioner
    from etconfig_tvm.arrays import aligned
    from etconfig_tvm.engine import build
    from etconfig_tvm.options import TvmOptions

    def alone(payload: memoryview, module: nn.Module, example: torch.Tensor, array: np.ndarray) -> Alone:
        library = etconfig_tvm.payload.open_payload(payload, None)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.so"
            path.write_bytes(library)
            session: Any = build(TvmOptions(num_threads=1), path)
        main = session["main"]
        bound = aligned(array.copy())
        tensor = tvm_ffi.from_dlpack(bound)

        def run() -> object:
            np.copyto(bound, array)
            return [np.from_dlpack(result) for result in main(tensor)]

        return Alone(run, lambda: (main(tensor), session))

    options = ("TvmBackend.num_threads=1",)
    plain = tvm_partitioner(settings=CompileSettings(schedule="none"))
    return [
        Engine("TVM", tvm_partitioner(), options, alone),
        Engine("TVM, plain loops", plain, options, None),
    ]


def torch_ways() -> list[Engine]:
    """Return PyTorch: alone, the module that the plugin builds."""
    import etconfig_torch.plugin
    from etconfig_torch.aot import torch_partitioner
    from etconfig_torch.options import TorchOptions

    def alone(payload: memoryview, module: nn.Module, example: torch.Tensor, array: np.ndarray) -> Alone:
        exported = torch.export.export(module, (example,))
        built: Any = etconfig_torch.plugin.build(TorchOptions(num_threads=1), exported)
        return Alone(lambda: built(torch.from_numpy(array)).numpy(), lambda: built(example))

    return [Engine("PyTorch", torch_partitioner(), ("TorchBackend.num_threads=1",), alone)]


ENGINES: Mapping[str, Callable[[], list[Engine]]] = {
    "onnxruntime": onnxruntime_ways,
    "openvino": openvino_ways,
    "tvm": tvm_ways,
    "torch": torch_ways,
}
"""The engines by the names of their packages."""


def program_of(module: nn.Module, example: torch.Tensor, partitioner: object) -> bytes:
    """Return the program of the module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module, (example,))
        parts = partitioner if isinstance(partitioner, list) else [partitioner]
        edge = to_edge_transform_and_lower(exported, partitioner=parts)
        return bytes(edge.to_executorch().buffer)


def through_etconfig(data: bytes, overrides: tuple[str, ...], array: np.ndarray) -> Run:
    """Return a call of the program in etconfig's executor."""
    loaded = etconfig.load_program(data)
    method = loaded.load_method("forward", etconfig.resolve(loaded, overrides=overrides).arguments("forward"))
    return lambda: method.execute([array])[0]


def through_stock_runtime(data: bytes, example: torch.Tensor) -> Run:
    """Return a call of the program in ExecuTorch's own runtime."""
    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    return lambda kept=program: method.execute([example])[0].numpy()


def payload_of(data: bytes) -> memoryview:
    """Return the payload of the only delegate of a program."""
    program = open_program(data)
    (delegate,) = program.plan("forward").delegates
    return program.delegate_data(delegate)


def ways_of(engine: Engine, module: nn.Module, example: torch.Tensor, array: np.ndarray) -> dict[str, Run]:
    """Return the calls of an engine by title: those of the delegate first."""
    data = program_of(module, example, engine.partitioner)
    ways = {engine.title: through_etconfig(data, engine.options, array)}
    if engine.alone is not None:
        alone = engine.alone(payload_of(data), module, example, array)
        ways |= {f"{engine.title}, alone": alone.run, f"{engine.title}, call only": alone.call}
    return ways


def times_us(groups: list[dict[str, Run]]) -> dict[str, np.ndarray]:
    """Return the wall times of each way: an item for each round, groups and ways in random order."""
    times: dict[str, list[int]] = {name: [] for ways in groups for name in ways}
    spent = [0.0] * len(groups)
    order = random.Random(0)
    for _ in range(ROUNDS):
        for index in order.sample(range(len(groups)), len(groups)):
            if spent[index] > SECONDS_EACH:
                continue
            started = time.perf_counter()
            for name, run in order.sample([*groups[index].items()], len(groups[index])):
                run()  # brings its own data into the caches
                begin = time.perf_counter_ns()
                run()
                times[name].append(time.perf_counter_ns() - begin)
            spent[index] += time.perf_counter() - started
    return {name: np.array(values) / 1000 for name, values in times.items()}


def measure(title: str, engines: list[Engine], module: nn.Module, example: torch.Tensor) -> None:
    """Print a row for each way."""
    module.eval()
    array = example.numpy()
    own = Engine("etconfig's own kernels", [], (), None)
    groups = [ways_of(engine, module, example, array) for engine in (own, *engines)]
    stock = program_of(module, example, XnnpackPartitioner())
    groups.append({"XNNPACK in executorch.runtime": through_stock_runtime(stock, example)})
    with torch.no_grad():
        expected = module(example).numpy()
        errors = {
            name: np.abs(np.asarray(ways[name]()) - expected).max() / np.abs(expected).max()
            for ways in groups
            for name in [*ways][:1]
        }
        groups.append({"PyTorch, eager": lambda: module(example)})
        times = times_us(groups)
    print(f"{title}, {'x'.join(map(str, example.shape))}")
    for name, values in times.items():
        row = f"  {name:<31}{np.median(values):>11.1f}{np.percentile(values, 10):>11.1f}"
        row += f"{errors[name]:>12.1e}" if name in errors else ""
        if f"{name}, alone" in times:
            alone = times[f"{name}, alone"]
            added = np.median(values - alone)
            row += f"   {added:+.1f} us, {100 * added / np.median(alone):+.1f} %"
        print(row)


def main() -> None:
    """Measure the engines that the command line names."""
    parser = argparse.ArgumentParser(description="Measure engines as delegates and alone.")
    parser.add_argument(
        "engines", nargs="*", choices=[[], *ENGINES], metavar="ENGINE", help=", ".join(ENGINES)
    )
    chosen = parser.parse_args().engines or [*ENGINES]
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    torch.manual_seed(0)
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(1)
    engines = [engine for name in chosen for engine in ENGINES[name]()]
    for title, make in NETWORKS.items():
        measure(title, engines, *make())


if __name__ == "__main__":
    main()
