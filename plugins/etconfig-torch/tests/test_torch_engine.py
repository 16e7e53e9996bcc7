"""Modules that `build` makes, with real PyTorch."""

from __future__ import annotations

import gc
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from etconfig_torch.errors import SettingRefusedError, UnsafeArchiveError
from etconfig_torch.options import Autocast, CompileMode, MatmulPrecision, TorchOptions
from etconfig_torch.plugin import SPEC, build, effective, update

from etconfig.plugin.v1 import BackendUnavailableError

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # torch warns about its own code
]

HERE = Path(__file__).parent


PYTORCH_DEFAULTS = {
    "float32_matmul_precision": "highest",
    "onednn": True,
    "cudnn": True,
    "cudnn_benchmark": False,
    "cudnn_deterministic": False,
    "cudnn_allow_tf32": True,
    "deterministic_algorithms": False,
}


@pytest.fixture(autouse=True)
def _same_settings() -> Iterator[None]:
    """Begin with PyTorch's defaults, whatever ran before in this process, and restore the settings."""
    from etconfig_torch.process_settings import SETTINGS

    before = {name: setting.read() for name, setting in SETTINGS.items() if name != "num_interop_threads"}
    for name, value in PYTORCH_DEFAULTS.items():
        SETTINGS[name].bring_into_force(name, value)
    yield
    gc.collect()
    for name, value in before.items():
        SETTINGS[name].bring_into_force(name, value)


def exported() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    return torch.export.export(model.eval(), (torch.zeros(2, 8),))


def saved(program: Any = None) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(exported() if program is None else program, buffer)
    return buffer.getvalue()


def in_process(code: str) -> str:
    """Return what a fresh interpreter prints."""
    path = os.pathsep.join([str(HERE.parent), str(HERE), str(HERE.parents[2])])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestModels:
    """Each form of a model becomes a module that gives the same results."""

    @pytest.mark.parametrize("form", ["program", "module", "file", "bytes"])
    def test_forms(self, form: str, tmp_path: Path) -> None:
        program = exported()
        x = torch.randn(2, 8)
        expected = program.module()(x)
        path = tmp_path / "model.pt2"
        path.write_bytes(saved(program))
        model = {"program": program, "module": program.module(), "file": path, "bytes": path.read_bytes()}[
            form
        ]
        module = build(TorchOptions(), model)
        assert isinstance(module, torch.nn.Module)
        assert torch.equal(module(x), expected)

    def test_something_else_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r"expected a torch.nn.Module, .* given int"):
            build(TorchOptions(), 3)

    def test_a_dynamic_program(self) -> None:
        model = torch.nn.Linear(8, 4)
        shapes = ({0: torch.export.Dim("batch", min=2, max=64) * 2},)
        program = torch.export.export(model, (torch.zeros(4, 8),), dynamic_shapes=shapes)
        module = build(TorchOptions(), saved(program))
        x = torch.randn(10, 8)
        assert torch.allclose(module(x), model(x))


class TestSettings:
    """Settings of the process are in force, and are read back."""

    def test_threads(self) -> None:
        module = build(TorchOptions(num_threads=1), exported())
        assert torch.get_num_threads() == 1
        view = effective(module)
        assert (view["num_threads"].value, view["num_threads"].source.value) == (1, "read back")

    @pytest.mark.parametrize("precision", ["highest", "high", "medium"])
    def test_precision_of_matrix_products(self, precision: str) -> None:
        module = build(TorchOptions(float32_matmul_precision=MatmulPrecision(precision)), exported())
        assert torch.get_float32_matmul_precision() == precision
        assert effective(module)["float32_matmul_precision"].value == precision

    @pytest.mark.parametrize(
        "name",
        ["onednn", "cudnn", "cudnn_benchmark", "cudnn_deterministic", "cudnn_allow_tf32"],
    )
    @pytest.mark.parametrize("value", [True, False])
    def test_flags(self, name: str, value: bool) -> None:
        module = build(TorchOptions(**{name: value}), exported())
        owner = torch.backends.mkldnn if name == "onednn" else torch.backends.cudnn
        attribute = "enabled" if name in ("onednn", "cudnn") else name.removeprefix("cudnn_")
        assert getattr(owner, attribute) is value
        assert effective(module)[name].value is value

    def test_deterministic_algorithms(self) -> None:
        build(TorchOptions(deterministic_algorithms=True), exported())
        assert torch.are_deterministic_algorithms_enabled()

    def test_every_option_has_a_view(self) -> None:
        view = effective(build(TorchOptions(), exported()))
        assert view.keys() == TorchOptions.option_infos().keys()

    def test_a_value_that_another_library_changed_is_seen(self) -> None:
        module = build(TorchOptions(num_threads=2), exported())
        torch.set_num_threads(1)
        assert effective(module)["num_threads"].value == 1

    def test_a_value_that_pytorch_ignores_is_an_error(self) -> None:
        from etconfig_torch.process_settings import SETTINGS

        with pytest.raises(
            SettingRefusedError, match=r"PyTorch ignored .* 'hihg', and 'highest' is in force"
        ):
            SETTINGS["float32_matmul_precision"].bring_into_force("float32_matmul_precision", "hihg")

    def test_interop_threads_are_taken_once(self) -> None:
        code = """
import torch
from etconfig_torch.plugin import build
from etconfig_torch.options import TorchOptions
first = build(TorchOptions(num_interop_threads=3), torch.nn.ReLU())
again = build(TorchOptions(num_interop_threads=3), torch.nn.ReLU())
print(torch.get_num_interop_threads())
del first, again
try:
    build(TorchOptions(num_interop_threads=2, num_threads=1), torch.nn.ReLU())
except Exception as error:
    print(type(error).__name__, error)
print(torch.get_num_threads() > 0)
"""
        count, error, _ = in_process(code).splitlines()
        assert count == "3"
        assert error.startswith(
            "SettingRefusedError PyTorch refuses num_interop_threads = 2, 3 stays in force"
        )
        assert error.endswith("; load this method first, or start the process again")


class TestConflicts:
    """Two modules cannot need different settings of one process."""

    def test_another_value_is_refused_while_the_first_lives(self) -> None:
        first = build(TorchOptions(num_threads=1), exported())
        with pytest.raises(
            SettingRefusedError, match="num_threads is one setting for the whole process: 1 is in"
        ):
            build(TorchOptions(num_threads=2), exported())
        assert torch.get_num_threads() == 1
        same = build(TorchOptions(num_threads=1, float32_matmul_precision=MatmulPrecision.HIGH), exported())
        del first, same
        gc.collect()
        build(TorchOptions(num_threads=2), exported())
        assert torch.get_num_threads() == 2

    def test_a_refused_module_changes_nothing(self) -> None:
        first = build(
            TorchOptions(float32_matmul_precision=MatmulPrecision.HIGHEST, num_threads=1), exported()
        )
        with pytest.raises(SettingRefusedError):
            build(TorchOptions(float32_matmul_precision=MatmulPrecision.HIGH, onednn=False), exported())
        assert torch.backends.mkldnn.enabled
        assert effective(first)["float32_matmul_precision"].value == "highest"

    def test_what_may_change_while_loaded(self) -> None:
        before = TorchOptions(num_threads=1)
        module = build(before, exported())
        after = TorchOptions(num_threads=2)
        update(module, after, before, frozenset({"num_threads"}))
        assert torch.get_num_threads() == 2
        other = build(after, exported())
        with pytest.raises(SettingRefusedError):
            update(module, before, after, frozenset({"num_threads"}))
        assert torch.get_num_threads() == 2
        del other


class TestDevices:
    """A device that is not here is an error with the fix."""

    @pytest.mark.parametrize(
        ("device", "reason"),
        [("cuda:7", "cannot use the device 'cuda:7'"), ("npv", "has no device 'npv'"), ("cpu:9", "cpu:9")],
    )
    def test_a_missing_device(self, device: str, reason: str) -> None:
        if device.startswith("cuda") and torch.cuda.device_count() > 7:
            pytest.skip("it has eight of them")
        with pytest.raises(BackendUnavailableError, match=reason) as caught:
            build(TorchOptions(device=device), exported())
        assert caught.value.help

    def test_a_module_that_cannot_be_imported(self) -> None:
        with pytest.raises(
            BackendUnavailableError, match="'torch_nothing' cannot be imported: ModuleNotFoundError"
        ):
            build(TorchOptions(device="npu", device_module="torch_nothing"), exported())

    def test_a_device_of_another_package(self) -> None:
        code = """
import torch, numpy as np
from etconfig_torch.plugin import build, effective
from etconfig_torch.options import TorchOptions
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
program = torch.export.export(model, (torch.zeros(2, 8),))
x = torch.randn(2, 8)
expected = model(x).detach().numpy()
module = build(TorchOptions(device="npu:0", device_module="npu_device"), program)
import npu_device
npu_device.CALLS.clear()
with torch.inference_mode():
    y = module(x.to("npu:0"))
print(y.device, np.abs(y.cpu().numpy() - expected).max() < 1e-6)
print(*[name for name in npu_device.CALLS if "copy" not in name and "empty" not in name])
print(effective(module)["device"].value, effective(module)["device"].source.value)
try:
    build(TorchOptions(device="npu:3", device_module="npu_device"), program)
except Exception as error:
    print(type(error).__name__, error)
"""
        lines = in_process(code).splitlines()
        assert lines[0] == "npu:0 True"
        assert lines[1].split()[-2:] == ["aten::linear", "aten::relu"]
        assert lines[2] == "npu:0 read back"
        assert "there are 1 of them, numbered from 0" in lines[3]


class TestEffects:
    """Options have the effect that they name."""

    def test_autocast_rounds_two_instances_differently(self) -> None:
        program = exported()
        x = torch.randn(2, 8)
        expected = program.module()(x)
        exact = build(TorchOptions(), program)
        rough = build(TorchOptions(autocast=Autocast.BFLOAT16), program)
        assert (exact(x) - expected).abs().max() < 1e-6
        assert 1e-4 < (rough(x).float() - expected).abs().max() < 0.1

    @pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
    def test_compiled_modules(self, backend: str) -> None:
        if backend == "inductor" and shutil.which("g++") is None:
            pytest.skip("inductor needs g++")
        program = exported()
        x = torch.randn(2, 8)
        module = build(TorchOptions(compile_mode=CompileMode.DEFAULT, compile_backend=backend), program)
        assert type(module).__name__ == "OptimizedModule"
        with torch.inference_mode():
            assert torch.allclose(module(x), program.module()(x), atol=1e-6)


class Harm:
    """Pickles to a call that writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def changed(data: bytes, part: str, change: Any) -> bytes:
    """Return an archive with one part changed, or added."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith(part):
                content, part = change(content), "\0"
            new.writestr(info.filename, content)
        if part != "\0":
            new.writestr(f"archive/{part}", change(b""))
    return buffer.getvalue()


def edited(data: bytes, part: str, old: str, new: str) -> bytes:
    def edit(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return changed(data, part, edit)


class TestHostileFiles:
    """No code of a file runs while it is read."""

    def test_sample_inputs_that_run_code(self, tmp_path: Path) -> None:
        victim = tmp_path / "harmed"
        data = changed(saved(), "sample_inputs/model.pt", lambda _: self.pickled(victim))
        with pytest.raises(UnsafeArchiveError, match=r"sample inputs .* are not plain tensors"):
            build(TorchOptions(), data)
        assert not victim.exists()

    def pickled(self, victim: Path) -> bytes:
        buffer = io.BytesIO()
        torch.save(Harm(victim), buffer)
        return buffer.getvalue()

    def test_pytorch_itself_would_run_it(self, tmp_path: Path) -> None:
        """The reason for the checks: torch.export.load falls back to unpickling anything."""
        victim = tmp_path / "harmed"
        data = changed(saved(), "sample_inputs/model.pt", lambda _: self.pickled(victim))
        with pytest.raises(Exception):  # noqa: B017, PT011  # whatever happens after the harm
            torch.export.load(io.BytesIO(data))
        assert victim.exists()

    def test_weights_that_run_code(self, tmp_path: Path) -> None:
        data = edited(saved(), "model_weights_config.json", '"use_pickle": false', '"use_pickle": true')
        with pytest.raises(UnsafeArchiveError, match=r"stores '0.weight' as a pickle"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "part",
        ["data/weights/model.pt", "data/constants/custom_obj_0", "data/constants/opaque_obj_0", "extra/a.txt",
         "data/aotinductor/model/a.so", "serialized_exported_program.json", "models/other.json"],
    )  # fmt: skip
    def test_other_parts(self, part: str, tmp_path: Path) -> None:
        data = changed(saved(), part, lambda _: pickle.dumps(Harm(tmp_path / "harmed")))
        with pytest.raises(UnsafeArchiveError, match="is not data of a model"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "target",
        ["torch.serialization.os.system", "torch.hub.load", "_operator.methodcaller", "math.__loader__.load",
         "torch.ops.aten.from_file.default", "torch.ops.load_library", "#triton:x",
         "torch.ops.higher_order.x",
         "torch.ops.acme.spike.default"],
    )  # fmt: skip
    def test_calls_of_something_else_than_operators(self, target: str) -> None:
        data = edited(saved(), "model.json", "torch.ops.aten.relu.default", target)
        with pytest.raises(UnsafeArchiveError, match=r"calls|reads a file"):
            build(TorchOptions(), data)

    def test_names_that_are_code(self) -> None:
        data = edited(saved(), "model.json", '"name": "input"', '"name": "x=__import__(\'os\')"')
        with pytest.raises(UnsafeArchiveError, match="which is not a name"):
            build(TorchOptions(), data)

    @pytest.mark.parametrize(
        "text",
        ["__import__('os').mkdir('harmed')", "(lambda: 1)()", "Symbol('s0').__class__", "open('x')",
         "[1 for _ in s0]",
         "Integer(1); 2", "s0 if s0 else s0", "f'{s0}'", "", "Symbol(*s0)", "Symbol('os')", "eval('1')"],
    )  # fmt: skip
    def test_expressions_that_are_code(self, text: str) -> None:
        shapes = ({0: torch.export.Dim("batch", min=2, max=64)},)
        program = torch.export.export(torch.nn.Linear(8, 4), (torch.zeros(4, 8),), dynamic_shapes=shapes)
        model = json.loads(zipfile.ZipFile(io.BytesIO(saved(program))).read("archive/models/model.json"))
        sizes = model["graph_module"]["graph"]["tensor_values"]["input"]["sizes"]
        sizes[0]["as_expr"]["expr_str"] = text
        data = changed(saved(program), "model.json", lambda _: json.dumps(model).encode())
        with pytest.raises(UnsafeArchiveError, match="which is not arithmetic of sizes"):
            build(TorchOptions(), data)

    def test_guards_are_dropped(self) -> None:
        data = edited(saved(), "model.json", '"guards_code": []', '"guards_code": ["__import__(1)"]')
        build(TorchOptions(), data)(torch.zeros(2, 8))

    @pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"nothing"])
    def test_something_else(self, data: bytes) -> None:
        with pytest.raises(UnsafeArchiveError, match="damaged"):
            build(TorchOptions(), data)


def test_the_spec_updates_and_reports() -> None:
    assert (SPEC.build, SPEC.effective, SPEC.update) == (build, effective, update)
