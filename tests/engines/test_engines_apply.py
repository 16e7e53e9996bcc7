"""`etconfig.apply` sets options on objects that another library made, and they are in force there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

for module in ("onnxruntime", "openvino", "torch"):
    pytest.importorskip(module)
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # engines warn about their own code
]

PROFILE = """\
[profile]
name = "board"
[options.OnnxRuntimeBackend]
intra_op_num_threads = 0
graph_optimization_level = "basic"
set_denormal_as_zero = true
newer_config_entries = { "session.newer" = "1" }
free_dimension_overrides = { batch = 2 }
workload_type = "Efficient"
run_logid = "run"
[options.OpenvinoBackend]
inference_num_threads = 1
enable_mmap = false
cache_dir = "cache"
[options.TorchBackend]
num_threads = 1
float32_matmul_precision = "high"
deterministic_algorithms = true
autocast = "bfloat16"
"""

ONNXRUNTIME = """
import etconfig, onnxruntime
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 5  # the library's own choice
done = etconfig.apply(settings, profile="board.toml")
assert done.backend == "OnnxRuntimeBackend" and done.label == "*"
assert settings.intra_op_num_threads == 0
assert settings.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
assert settings.get_session_config_entry("session.set_denormal_as_zero") == "1"
assert settings.get_session_config_entry("session.newer") == "1"
assert done.left_out == {
    "workload_type": "a setting of a session, not of its SessionOptions",
    "run_logid": "an option of each run, in its RunOptions",
}, done.left_out
assert done.origins["run_logid"] == "profile board.toml:10:1"
print(done)
pools = etconfig.apply(
    settings, profile="board.toml", overrides={"OnnxRuntimeBackend.use_per_session_threads": False}
)
assert settings.use_per_session_threads
assert pools.left_out["use_per_session_threads"] == "build creates the thread pools of the process"
"""
OPENVINO = """
import etconfig, openvino, openvino.opset13 as ops, numpy
core = openvino.Core()
done = etconfig.apply(core, profile="board.toml")
value = ops.parameter([4], numpy.float32)
compiled = core.compile_model(openvino.Model([ops.relu(value)], [value]), "CPU")
assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
assert core.get_property("ENABLE_MMAP") is False
assert [*done.left_out] == ["cache_dir"], done.left_out
other = etconfig.apply(
    core,
    profile="generic/any",
    overrides={"OpenvinoBackend": {"device": "GPU", "gpu_enable_loop_unrolling": False}},
)
assert other.left_out["gpu_enable_loop_unrolling"] == "no device of GPU that is here takes it"
assert other.left_out["device"] == "an argument of compile_model"
"""
TORCH = """
import etconfig, torch
done = etconfig.apply(torch, profile="board.toml")
assert torch.get_num_threads() == 1
assert torch.get_float32_matmul_precision() == "high"
assert torch.are_deterministic_algorithms_enabled()
assert [*done.left_out] == ["autocast"], done.left_out
assert done.to_jsonable()["values"]["num_threads"] == 1
config = etconfig.resolve(models={"a": "TorchBackend"}, overrides={"TorchBackend.num_threads": 2})
module = config.build("a", torch.nn.ReLU())
refused = etconfig.apply(torch, profile="board.toml")
assert "2 is in use by another method or module" in refused.left_out["num_threads"], refused.left_out
assert torch.get_num_threads() == 2
"""
MISTAKES = """
import etconfig, onnxruntime, openvino, torch
two = {"a": "OnnxRuntimeBackend", "b": "OnnxRuntimeBackend"}
apart = {"a:OnnxRuntimeBackend.intra_op_num_threads": 3, "b:OnnxRuntimeBackend.intra_op_num_threads": 2}
settings = onnxruntime.SessionOptions()
for target, arguments in [
    (3, {}),
    (torch.nn.ReLU(), {}),
    (onnxruntime.RunOptions(), {}),
    (openvino.PartialShape([1]), {}),
    (settings, {"models": {"a": "TorchBackend"}}),
    (settings, {"models": two, "overrides": apart}),
    (settings, {"backend": "TvmBackend", "models": {"a": "TvmBackend"}}),
]:
    try:
        etconfig.apply(target, **arguments)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")
chosen = etconfig.apply(settings, models=two, overrides=apart, model="b")
print(chosen.label, settings.intra_op_num_threads)
"""


@pytest.fixture
def printed(tmp_path: Path):
    (tmp_path / "board.toml").write_text(PROFILE)

    def run(code: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("code", [OPENVINO, TORCH], ids=["openvino", "torch"])
def test_options_are_in_force_and_others_named(printed, code: str) -> None:
    printed(code)


def test_the_record_is_a_table(printed) -> None:
    lines = printed(ONNXRUNTIME)
    assert lines[0] == "Options set for OnnxRuntimeBackend: 5 of 7"
    assert [line.split()[:3] for line in lines[2:5]] == [
        ["OPTION", "VALUE", "SET"],
        ["intra_op_num_threads", "0", "yes"],
        ["graph_optimization_level", "'basic'", "yes"],
    ]


def test_mistakes_are_refused(printed) -> None:
    known = "OnnxRuntimeBackend, OpenvinoBackend, TorchBackend"
    object_of_engine = (
        "TypeError: target: expected an object of an engine, given int of builtins; backends that set"
    )
    assert printed(MISTAKES) == [
        f"{object_of_engine} options on objects: {known}",
        "TypeError: target: expected the module torch, given ReLU",
        "TypeError: target: expected an onnxruntime.SessionOptions, given RunOptions",
        "TypeError: target: expected an openvino.Core, given PartialShape",
        'ValueError: models: none has the backend; pass models={"NAME": "OnnxRuntimeBackend"}',
        "ValueError: model: name one of a, b; their options differ",
        "TypeError: backend: TvmBackend sets options on no object; its build makes one",
        "b 2",
    ]
