"""Each declared environment variable has an effect on its engine: processes with and without it differ."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from etconfig.app.installation.installation import Installation

for module in ("onnxruntime", "openvino", "tvm", "torch", "onnx"):
    pytest.importorskip(module)
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # engines warn about their own code
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux lists them"),
]

ONNXRUNTIME = """
import os, sys
import onnx, onnxruntime
from onnx import TensorProto, helper
values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
settings = onnxruntime.SessionOptions()
settings.execution_mode = getattr(onnxruntime.ExecutionMode, sys.argv[1])
before = len(os.listdir("/proc/self/task"))
kept = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])
print(len(os.listdir("/proc/self/task")) - before)
"""
TVM = """
import os, tvm
count = tvm.get_global_func("runtime.NumThreads")()
print({"count": count, "cores": len(os.sched_getaffinity(0))}[__import__("sys").argv[1]])
"""
TORCH = "import sys, torch; print(eval(sys.argv[1]))"
OPENVINO = """
import openvino, openvino.opset13 as ops, numpy, json, sys
value = ops.parameter([4], numpy.float32)
model = openvino.Model([ops.relu(value)], [value])
compiled = openvino.Core().compile_model(model, "CPU")
found = {}
for key in compiled.get_property("SUPPORTED_PROPERTIES"):
    try:
        found[key] = str(compiled.get_property(key))
    except (RuntimeError, TypeError):
        continue
print(json.dumps(found, sort_keys=True))
"""
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1

EFFECTS = {
    "ORT_INTRA_OP_NUM_THREADS": (ONNXRUNTIME, "ORT_SEQUENTIAL", {"1": "0", "5": "4"}),
    "ORT_INTER_OP_NUM_THREADS": (ONNXRUNTIME, "ORT_PARALLEL", {"1": "0", "5": "4"}),
    "OMP_NUM_THREADS": (TORCH, "torch.get_num_threads()", {"1": "1"}),
    "MKL_NUM_THREADS": (TORCH, "torch.get_num_threads()", {"1": "1"}),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": (
        TORCH,
        "torch.get_float32_matmul_precision()",
        {"0": "highest", "1": "high"},
    ),
    "TVM_NUM_THREADS": (TVM, "count", {"1": "1", str(CORES): str(CORES)}),
    "TVM_BIND_THREADS": (TVM, "cores", {"0": str(CORES)}),
}
"""By variable: code, its argument, and what it prints for each text of the variable."""

ALONE = {"ORT_INTER_OP_NUM_THREADS": {"ORT_INTRA_OP_NUM_THREADS": "1"}}
"""Variables that keep the threads of another option out of a count."""

EXECUTORCH = """
from executorch.extension.pybindings import _C
print(_C._threadpool_get_thread_count())
"""
UNREAD = {
    "executorch": (
        EXECUTORCH,
        "",
        ("OMP_NUM_THREADS", "XNNPACK_NUM_THREADS", "EXECUTORCH_NUM_THREADS", "ET_NUM_THREADS"),
    ),
    "onnxruntime": (ONNXRUNTIME, "ORT_SEQUENTIAL", ("OMP_NUM_THREADS", "OMP_WAIT_POLICY")),
    "torch": (
        TORCH,
        "torch.get_num_threads(), torch.get_num_interop_threads(), torch.backends.mkldnn.enabled, "
        "torch.backends.cudnn.deterministic, torch.are_deterministic_algorithms_enabled()",
        (
            *("TORCH_NUM_THREADS", "PYTORCH_NUM_THREADS", "ATEN_NUM_THREADS", "TORCH_NUM_INTEROP_THREADS"),
            *("TORCH_USE_MKLDNN", "TORCH_CUDNN_DETERMINISTIC", "TORCH_DETERMINISTIC"),
        ),
    ),
}
"""By engine: code, its argument, and names of variables that look as if the engine read them."""


def printed(code: str, argument: str, **variables: str) -> str:
    """Run code in a process in which no other variable configures an engine; return what it prints."""
    own = [*EFFECTS, *UNREAD["torch"][2]]
    environ = {name: text for name, text in os.environ.items() if name not in own}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, argument],
        capture_output=True,
        text=True,
        env={**environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def declared() -> dict[str, str]:
    """Return the backend of each variable that an option of an engine's plugin names."""
    plugins = Installation().plugins
    return {
        variable: backend
        for backend in ("OnnxRuntimeBackend", "OpenvinoBackend", "TorchBackend", "TvmBackend")
        for info in plugins.backend_spec(backend).options.option_infos().values()
        for variable in info.env
    }


def test_the_effect_of_each_declared_variable_is_measured() -> None:
    assert {*declared()} == {*EFFECTS}


@pytest.mark.parametrize("variable", EFFECTS)
def test_the_engine_reads_the_variable(variable: str) -> None:
    code, argument, expected = EFFECTS[variable]
    if variable == "MKL_NUM_THREADS":
        torch = pytest.importorskip("torch")
        if not torch.backends.mkl.is_available():
            pytest.skip("this PyTorch has no MKL")
    others = ALONE.get(variable, {})
    without = printed(code, argument, **others)
    found = {text: printed(code, argument, **others, **{variable: text}) for text in expected}
    assert found == expected
    if CORES > 1:
        assert {*found.values()} != {without}


@pytest.mark.parametrize("engine", UNREAD)
def test_variables_that_do_not_exist(engine: str) -> None:
    code, argument, names = UNREAD[engine]
    if engine == "executorch":
        pytest.importorskip("executorch")
    assert printed(code, argument) == printed(code, argument, **dict.fromkeys(names, "1"))


def test_openvino_reads_no_variable_for_any_property() -> None:
    from etconfig_openvino.properties import PROPERTIES

    keys = [each.key for each in PROPERTIES.values()]
    names = [f"{prefix}{key}" for key in keys for prefix in ("", "OV_", "OPENVINO_", "OV_CPU_")]
    texts = {
        **dict.fromkeys([*names, "OMP_NUM_THREADS", "TBB_NUM_THREADS"], "1"),
        "INFERENCE_PRECISION_HINT": "f32",
    }
    assert printed(OPENVINO, "", **texts) == printed(OPENVINO, "")


def test_mkl_wins_over_openmp_in_torch() -> None:
    """So both are set, and a value that is set already to another one is refused."""
    code, argument, _ = EFFECTS["MKL_NUM_THREADS"]
    if "True" in printed("import torch; print(torch.backends.mkl.is_available())", "") and CORES > 1:
        assert printed(code, argument, OMP_NUM_THREADS="1", MKL_NUM_THREADS="2") == "2"


def test_exec_reports_what_took_effect(tmp_path: Path) -> None:
    profile = """\
[profile]
name = "board"
[options.OnnxRuntimeBackend]
intra_op_num_threads = 3
inter_op_num_threads = 2
execution_mode = "parallel"
[options.TorchBackend]
num_threads = 1
float32_matmul_precision = "high"
autocast = "bfloat16"
[options.TvmBackend]
num_threads = 1
pin_threads = false
"""
    (tmp_path / "board.toml").write_text(profile)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "etconfig", "exec", "--profile", "board.toml", "--effective"),
            *("--", sys.executable, "-c", "import torch; print(torch.get_num_threads())"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={
            **{name: text for name, text in os.environ.items() if name not in EFFECTS},
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    lines = [line.partition(" (")[0] for line in done.stderr.splitlines() if "in force: " in line]
    expected = {
        "in force: ORT_INTRA_OP_NUM_THREADS for OnnxRuntimeBackend.intra_op_num_threads = 3",
        "in force: ORT_INTER_OP_NUM_THREADS for OnnxRuntimeBackend.inter_op_num_threads = 2",
        "in force: OMP_NUM_THREADS and MKL_NUM_THREADS for TorchBackend.num_threads = 1",
        "in force: TORCH_ALLOW_TF32_CUBLAS_OVERRIDE for TorchBackend.float32_matmul_precision = 'high'",
        "in force: TVM_NUM_THREADS for TvmBackend.num_threads = 1",
    }
    assert {*lines} - {
        "in force: TVM_BIND_THREADS for TvmBackend.pin_threads = false"
    } == expected  # unknown with one core
    left_out = [line for line in done.stderr.splitlines() if line.endswith("reads no variable for it")]
    assert [line.split()[1] for line in left_out] == [
        "OnnxRuntimeBackend.execution_mode",
        "TorchBackend.autocast",
    ]


def test_env_is_what_exec_sets(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "etconfig", "env", "--shell", "json", "--profile", "generic/any"),
            *("--set", "TorchBackend.num_threads=3"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
    )
    found = json.loads(done.stdout)["variables"]
    assert {name: each["text"] for name, each in found.items()} == {
        "OMP_NUM_THREADS": "3",
        "MKL_NUM_THREADS": "3",
    }
