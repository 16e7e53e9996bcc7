"""The recipes of docs/recipes.md as they stand: with stand-ins, and with packages that are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

for module in ("onnxruntime", "openvino", "torch", "onnx"):
    pytest.importorskip(module)

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # engines warn about their own code
]

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
PROFILE, *_ = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ORT, OV, BACKEND, YOLO = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(EXEC,) = re.findall(r"^etconfig (exec .*)$", PAGE, re.MULTILINE)

STAND_INS = Path(__file__).parent / "stand_ins"
PACKAGES = {
    "optimum.onnxruntime": ("ORTModelForFeatureExtraction.from_pretrained", "optimum-onnx==0.1.0"),
    "optimum.intel": ("OVModelForFeatureExtraction.from_pretrained", "optimum-intel==2.2.0"),
    "ultralytics.nn.backends.onnx": ("ONNXBackend.__init__", "ultralytics==8.4.190"),
    "ultralytics": ("YOLO.predict", "ultralytics==8.4.190"),
}
"""The signature that a stand-in has of each module, and what installs it."""

RECIPES = {
    "optimum.onnxruntime": (ORT, "assert model.session.get_session_options().intra_op_num_threads == 2"),
    "optimum.intel": (OV, "assert model.request.get_property('INFERENCE_NUM_THREADS') == 2"),
    "ultralytics.nn.backends.onnx": (
        BACKEND,
        "assert model.session.get_session_options().intra_op_num_threads == 2",
    ),
    "ultralytics": (
        f"import numpy; image = numpy.zeros((32, 32, 3), numpy.uint8)\n{YOLO}",
        "assert torch.get_num_threads() == 2\nmodel.predict(image, device='cpu')\n"
        "assert torch.get_num_threads() == 2",
    ),
}
"""The recipe with each module, and what is true afterwards."""

SIGNATURE = """
import importlib, inspect, json, sys
module, path = sys.argv[1:]
found = importlib.import_module(module)
for name in path.split("."):
    found = getattr(found, name)
print(json.dumps({name: repr(each.default) for name, each in inspect.signature(found).parameters.items()}))
"""


def is_installed(module: str) -> bool:
    """True if the package of a module is here; nothing of ultralytics is imported, which sets variables."""
    name = module if module.startswith("optimum.") else module.partition(".")[0]
    try:
        return find_spec(name) is not None
    except ImportError:  # there is no Optimum at all
        return False


def arguments_of(package: str) -> list[object]:
    """The modules, with the mark that skips those that are not installed."""
    return [
        pytest.param(
            module,
            package,
            marks=pytest.mark.skipif(
                package == "package" and not is_installed(module), reason=f"needs {PACKAGES[module][1]}"
            ),
        )
        for module in PACKAGES
    ]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile and tiny models."""
    place = tmp_path_factory.mktemp("models")
    import openvino
    from onnx import TensorProto, helper

    values = [
        helper.make_tensor_value_info(name, kind, ["batch", "sequence", *more])
        for name, kind, more in (
            ("input_ids", TensorProto.INT64, []),
            ("attention_mask", TensorProto.INT64, []),
            ("last_hidden_state", TensorProto.FLOAT, [1]),
        )
    ]
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["kept"]),
        helper.make_node("Cast", ["kept"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["numbers", "axes"], ["last_hidden_state"]),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [2])
    graph = helper.make_graph(nodes, "g", values[:2], values[2:], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    bert = place / "bert"
    bert.mkdir()
    (bert / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertModel"]}))
    (bert / "model.onnx").write_bytes(model.SerializeToString())
    shutil.copy(bert / "model.onnx", place / "model.onnx")
    openvino.save_model(openvino.convert_model(bert / "model.onnx"), bert / "openvino_model.xml")
    (place / "board.toml").write_text(PROFILE)
    (place / "models.toml").write_text('[model.m]\nbackends = ["OnnxRuntimeBackend"]\n')
    return place


@pytest.fixture
def run(models: Path, tmp_path: Path):
    """Run code in the directory of the models."""

    def run(kind: str, *arguments: str, **variables: str) -> str:
        stand_ins = [str(STAND_INS)] if kind == "stand-in" else []
        environ = {name: text for name, text in os.environ.items() if "NUM_THREADS" not in name}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *arguments],
            cwd=models,
            capture_output=True,
            text=True,
            env={
                **environ,
                "PYTHONPATH": os.pathsep.join([*stand_ins, *filter(None, sys.path)]),
                "YOLO_CONFIG_DIR": str(tmp_path),
                "YOLO_OFFLINE": "true",
                "HF_HUB_OFFLINE": "1",
                **variables,
            },
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize(("module", "kind"), [*arguments_of("stand-in"), *arguments_of("package")])
def test_a_recipe_has_five_lines_and_its_options_are_in_force(run, module: str, kind: str) -> None:
    code, checks = RECIPES[module]
    statements = [line for line in code.splitlines() if line and not line.startswith(("import", "from"))]
    assert len(statements) <= 5
    assert "num_threads" in run(kind, "-c", f"{code}\n{checks}")


@pytest.mark.parametrize(("module", "_kind"), arguments_of("package"))
def test_a_stand_in_has_the_arguments_of_the_package(run, module: str, _kind: str) -> None:
    own, real = (
        json.loads(
            re.findall(r"^{.*}$", run(kind, "-c", SIGNATURE, module, PACKAGES[module][0]), re.MULTILINE)[0]
        )
        for kind in ("stand-in", "package")
    )
    assert {name: own[name] for name in own if name in real and name != "model_id"}.items() <= real.items()
    assert {name for name in own if name not in real} == set()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux lists them")
def test_a_wrapper_with_nothing_gets_its_threads_from_variables(run, models: Path) -> None:
    (models / "serve.py").write_text(
        "import os, onnxruntime\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "session = onnxruntime.InferenceSession('model.onnx')\n"
        "print('threads:', len(os.listdir('/proc/self/task')) - before + 1)\n"
    )
    arguments = EXEC.replace("python ", f"{sys.executable} ").split()
    printed = run("stand-in", "-m", "etconfig", *arguments)
    assert "threads: 2\n" in printed
    assert "in force: ORT_INTRA_OP_NUM_THREADS for OnnxRuntimeBackend.intra_op_num_threads = 2" in printed
