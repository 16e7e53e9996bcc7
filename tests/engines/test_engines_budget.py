"""Four engines in one process: a budget says that their pools are too many, and shares make them fewer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import etconfig

for module in ("onnxruntime", "openvino", "tvm", "torch", "onnxscript"):
    pytest.importorskip(module)
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # engines warn about their own code
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux lists them"),
]

MODELS = {
    "onnxruntime": "OnnxRuntimeBackend",
    "openvino": "OpenvinoBackend",
    "tvm": "TvmBackend",
    "torch": "TorchBackend",
}
OPTIONS = {
    "OnnxRuntimeBackend": "intra_op_num_threads",
    "OpenvinoBackend": "inference_num_threads",
    "TvmBackend": "num_threads",
    "TorchBackend": "num_threads",
}
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
BUDGET = f"[budget]\nthreads = {CORES}\n"

COUNT = """
import json, os, sys
import numpy, torch, onnxruntime, openvino, tvm  # threads that an import starts do not count
import etconfig

models, profile, directory = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
config = etconfig.resolve(models=models, profile=profile)
value = numpy.ones((1, 3, 32, 32), numpy.float32)
runs = {
    "onnxruntime": ("model.onnx", lambda built: built.run(None, {built.get_inputs()[0].name: value})),
    "openvino": ("model.onnx", lambda built: built(value)),
    "tvm": ("model.so", lambda built: built["main"](value)),
    "torch": ("model.pt2", lambda built: built(torch.from_numpy(value))),
}
held, started = [], {}
for name, (file, run) in runs.items():
    before = len(os.listdir("/proc/self/task"))
    built = config.build(name, os.path.join(directory, file))
    run(built)
    held.append(built)
    started[name] = len(os.listdir("/proc/self/task")) - before
print(json.dumps(started))
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one convolution net for each engine."""
    import torch
    from etconfig_tvm.aot import compile_model

    directory = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3), torch.nn.Softmax(1)
    inputs = (torch.ones(1, 3, 32, 32),)
    model = torch.nn.Sequential(*layers).eval()
    exported = torch.export.export(model, inputs)
    torch.export.save(exported, directory / "model.pt2")
    compile_model(exported).save(directory / "model.so")
    program = torch.onnx.export(model, inputs, dynamo=True, verbose=False)
    assert program is not None
    program.save(directory / "model.onnx")
    return directory


def write_profile(path: Path, head: str, value: str) -> Path:
    """Write a profile that sets the threads of each engine to the same value."""
    tables = "".join(f"[options.{backend}]\n{name} = {value}\n" for backend, name in OPTIONS.items())
    path.write_text(f'[profile]\nname = "{path.stem}"\n{head}{tables if value else ""}')
    return path


def started(models: Path, profile: Path) -> dict[str, int]:
    """Load all engines in a new process; return the threads that the system counts more after each."""
    command = [sys.executable, "-c", COUNT, json.dumps(MODELS), str(profile), str(models)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


def test_engines_by_themselves_exceed_the_budget(tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "free.toml", BUDGET, "")
    facts = {"cpu.physical_cores": CORES, "cpu.available_cores": CORES, "cpu.performance_cores": CORES}
    with pytest.raises(etconfig.ConfigError) as caught:
        etconfig.resolve(models=MODELS, profile=profile, fact_overrides=facts)
    (problem,) = caught.value.diagnostics
    assert problem.message == (
        f"all together take {4 * CORES} threads, and the budget is {CORES} thread{'s' * (CORES > 1)}"
    )
    names = [note.partition(":")[0] for note in problem.notes[1:]]
    assert names == [*MODELS]


@pytest.mark.skipif(CORES < 2, reason="needs two cores")
def test_shares_are_what_the_system_counts(models: Path, tmp_path: Path) -> None:
    free = started(models, write_profile(tmp_path / "free.toml", "", str(CORES)))
    shared = write_profile(tmp_path / "shared.toml", BUDGET, "{ expr = 'share(\"threads\")' }")
    found = started(models, shared)
    config = etconfig.resolve(models=MODELS, profile=shared)
    share = {name: getattr(config.options_for(name), OPTIONS[MODELS[name]]) for name in MODELS}
    assert sum(share.values()) == max(CORES, 4)
    for name in ("onnxruntime", "openvino", "torch"):
        assert free[name] - found[name] == CORES - share[name], (free, found)
    assert sum(found.values()) <= sum(free.values()) - 3, (free, found)
