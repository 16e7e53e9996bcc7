"""Real models on three engines, what tuning gains, and how quiet measurements are.

    python benchmarks/bench_tune.py MODEL.onnx INPUT 1,3,48,192 [MODEL.onnx INPUT SHAPE]...

Needs what `make test-engines` installs. Models are those that packages on PyPI ship, such as
`rapidocr_onnxruntime/models/*.onnx`. TVM compiles a copy that ONNX Runtime has simplified. Printed are, as
tables: each engine's time as a ratio to ONNX Runtime's; what `etconfig.tune` finds in a minute for ONNX
Runtime and OpenVINO; and the ratios of equal objects, in ten tries of 0.4 s. Nothing else may run meanwhile.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import etconfig

ENGINES = ("OnnxRuntimeBackend", "OpenvinoBackend")


def compiled(model: Path, name: str, shape: Sequence[int], place: Path) -> Path:
    """Return the library that TVM makes of a model with one input."""
    from etconfig_tvm.aot import compile_model
    from tvm.relax.frontend.onnx import from_onnx

    fixed, simple, library = (place / f"{model.stem}.{end}" for end in ("fixed.onnx", "simple.onnx", "so"))
    proto = onnx.load(model)
    for dimension, size in zip(proto.graph.input[0].type.tensor_type.shape.dim, shape, strict=True):
        dimension.Clear()
        dimension.dim_value = size
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("shape")
    del proto.graph.value_info[:]
    onnx.save(proto, fixed)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(simple)
    onnxruntime.InferenceSession(fixed, options)
    shapes = {name: tuple(shape)}
    module = from_onnx(onnx.load(simple), shape_dict=shapes, dtype_dict="float32", keep_params_in_input=False)
    compile_model(module).save(library)
    return library


def engine_rows(model: Path, name: str, shape: Sequence[int], place: Path) -> Iterator[str]:
    """Yield a row for each engine, compared with ONNX Runtime."""
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    library = compiled(model, name, shape, place)
    report = etconfig.compare(
        model,
        backend=ENGINES[0],
        against=[{"backend": ENGINES[1]}, {"model": str(library)}],
        inputs=[values],
        seconds=3,
    )
    names = ("ONNX Runtime", "OpenVINO", "TVM")
    for engine, row in zip(names, (report.incumbent, *report.rows), strict=True):
        assert row.failure is None, row.failure
        found, error, median = row.ratio, row.error or 0.0, row.latency_s["p50"] * 1e3
        ratio = "1" if found is None else f"{found.ratio:.2f} [{found.low:.2f}, {found.high:.2f}]"
        yield f"| {model.stem}, {list(shape)} | {engine} | {ratio} | {median:.2f} | {error:.0e} |"


def tuned_rows(model: Path, name: str, shape: Sequence[int]) -> Iterator[str]:
    """Yield a row for each engine with the result of a search."""
    for engine in ENGINES:
        began = time.perf_counter()
        found = etconfig.tune(model, backend=engine, shapes={name: shape}, budget_s=60)
        seconds = time.perf_counter() - began
        yield (
            f"| {model.stem} | {found.engine} | {len(found.outcomes)} of {found.found.count} "
            f"in {seconds:.0f} s | {found.verdict} |"
        )


def equal_ratios(model: Path, name: str, shape: Sequence[int]) -> list[float]:
    """Return the ratios of equal objects, in ten tries of 0.4 s."""
    reports = (
        etconfig.compare(model, backend=ENGINES[0], shapes={name: shape}, seconds=0.4) for _ in range(10)
    )
    return [report.noise.ratio for report in reports if report.noise is not None]


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    asked = [
        (Path(model), name, [*map(int, sizes.split(","))])
        for model, name, sizes in zip(arguments[::3], arguments[1::3], arguments[2::3], strict=True)
    ]
    ratios = equal_ratios(*asked[0])  # first: hundreds of loads and three engines leave traces in a process
    near = sum(abs(ratio - 1) < 0.015 for ratio in ratios)
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"equal objects: {shown}; {near} of {len(ratios)} within 1.5 %\n", flush=True)
    with tempfile.TemporaryDirectory() as place:
        print("| model | engine | time [95 % interval] | median, ms | error |\n|---|---|---|---|---|")
        for model, name, shape in asked:
            print(*engine_rows(model, name, shape, Path(place)), sep="\n", flush=True)
    print("\n| model | engine | configurations | result |\n|---|---|---|---|")
    for model, name, shape in asked:
        print(*tuned_rows(model, name, shape), sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
