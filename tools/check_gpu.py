"""Check the plugins of PyTorch and ONNX Runtime on an NVIDIA GPU: the conformance kit, and 20 options.

    .venv-peers/bin/python tools/check_gpu.py --seconds 2

Each option is measured in turns with the engine's defaults on the GPU: the ratio of times with its interval,
the memory, and the difference of outputs. A row that failed has the reason. It needs the packages of
`make test-engines`, in builds for CUDA: torch, and onnxruntime-gpu instead of onnxruntime.

An engine without a CUDA device is named, and the status is 3. No run on a GPU has been recorded yet:
docs/status.md says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import etconfig

NO_DEVICE = 3
"""The exit status if an engine has no CUDA device."""


def _torch_problem() -> str | None:
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if torch.cuda.is_available() else f"PyTorch {torch.__version__} finds no CUDA device"


def _onnxruntime_problem() -> str | None:
    try:
        import onnxruntime as ort
    except ImportError:
        return "ONNX Runtime is not installed"
    found = ort.get_available_providers()
    if "CUDAExecutionProvider" in found:
        return None
    return f"ONNX Runtime {ort.__version__} has no CUDAExecutionProvider, only {', '.join(found)}"


def _cuda(**keys: Any) -> dict[str, Any]:
    return {"OnnxRuntimeBackend.providers": [{"provider": "cuda", **keys}, {"provider": "cpu"}]}


@dataclass(frozen=True)
class Engine:
    """An engine, and the options to try on it.

    Attributes:
        backend: The backend that it runs.
        suffix: The suffix of its models.
        problem: Returns the reason why it has no CUDA device, or None.
        on_gpu: The options that let it compute on the GPU.
        variants: Further options, each of them in addition.
    """

    backend: str
    suffix: str
    problem: Callable[[], str | None]
    on_gpu: Mapping[str, Any]
    variants: Sequence[Mapping[str, Any]]


ENGINES = (
    Engine(
        "TorchBackend",
        ".pt2",
        _torch_problem,
        {"TorchBackend.device": "cuda"},
        [
            {f"TorchBackend.{name}": value}
            for name, value in (
                ("device", "cpu"),
                ("float32_matmul_precision", "high"),
                ("autocast", "bfloat16"),
                ("compile_mode", "reduce-overhead"),
                ("num_threads", 1),
                ("cudnn", False),
                ("cudnn_benchmark", True),
                ("cudnn_deterministic", True),
                ("cudnn_allow_tf32", False),
                ("deterministic_algorithms", True),
            )
        ],
    ),
    Engine(
        "OnnxRuntimeBackend",
        ".onnx",
        _onnxruntime_problem,
        _cuda(),
        [
            _cuda(gpu_mem_limit="1 GiB"),
            _cuda(arena_extend_strategy="kSameAsRequested"),
            _cuda(cudnn_conv_algo_search="HEURISTIC"),
            _cuda(cudnn_conv_use_max_workspace=False),
            _cuda(cudnn_conv1d_pad_to_nc1d=True),
            _cuda(do_copy_in_default_stream=False),
            _cuda(enable_cuda_graph=True),
            _cuda(prefer_nhwc=True),
            _cuda(use_tf32=False),
            _cuda(use_ep_level_unified_stream=True),
        ],
    ),
)


def write_model(path: Path) -> None:
    """Write a small network of convolutions and matrix products, in the form that the suffix says."""
    import torch

    torch.manual_seed(0)
    layers = torch.nn
    network = layers.Sequential(
        *(layers.Conv2d(3, 64, 3), layers.ReLU(), layers.Conv2d(64, 64, 3), layers.AdaptiveAvgPool2d(8)),
        *(layers.Flatten(), layers.Linear(4096, 1024), layers.GELU(), layers.Linear(1024, 10)),
    ).eval()
    exported = torch.export.export(network, (torch.randn(1, 3, 128, 128),))
    if path.suffix == ".pt2":
        torch.export.save(exported, path)
    else:
        program = torch.onnx.export(exported, dynamo=True)
        assert program is not None
        program.save(path)


def check(engine: Engine, directory: Path, seconds: float) -> bool:
    """Run the kit on a backend and measure the options; print both. Return True if nothing failed."""
    kit = subprocess.run([sys.executable, "-m", "etconfig", "conformance", engine.backend], check=False)
    model = directory / f"model{engine.suffix}"
    write_model(model)
    report = etconfig.compare(
        model, backend=engine.backend, against=engine.variants, overrides=engine.on_gpu, seconds=seconds
    )
    print(report)
    return kit.returncode == 0 and not any(row.failure for row in report.rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check each engine that has a CUDA device, and name the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="the time for each option")
    seconds = parser.parse_args(arguments).seconds
    problems = {engine.backend: engine.problem() for engine in ENGINES}
    for backend, problem in problems.items():
        if problem is not None:
            print(f"{backend} is untried: {problem}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as directory:
        ready = [engine for engine in ENGINES if problems[engine.backend] is None]
        passed = [check(engine, Path(directory), seconds) for engine in ready]
    if not all(passed):
        return 1
    return NO_DEVICE if len(ready) < len(ENGINES) else 0


if __name__ == "__main__":
    sys.exit(main())
