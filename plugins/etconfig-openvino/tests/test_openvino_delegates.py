"""Delegates of ExecuTorch's OpenVINO partitioner and of ours, on the numpy executor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from etconfig_openvino import payload
from etconfig_openvino.conformance import GOLDEN
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.plugin import SPEC

import etconfig
from etconfig.errors import DelegateError, DelegateInvalidCompatibilityError, InvalidPayloadError

pytestmark = pytest.mark.engines
INSTALLATION = etconfig.Installation(search_path=()).with_backends({"OpenvinoBackend": SPEC})
EXPORT = Path(__file__).parents[2] / "etconfig-executorch" / "tests" / "export_openvino.py"
EXACT = {"OpenvinoBackend.cpu_inference_precision": "f32"}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs exported with ExecuTorch's own partitioner for OpenVINO."""
    pytest.importorskip("executorch")
    directory = tmp_path_factory.mktemp("programs")
    subprocess.run([sys.executable, EXPORT, directory], check=True, capture_output=True)
    return directory


def load(program: etconfig.LoadedProgram, **values: object) -> etconfig.Method:
    overrides = {**EXACT, **{f"OpenvinoBackend.{name}": value for name, value in values.items()}}
    resolution = etconfig.resolve(program, overrides=overrides, installation=INSTALLATION)
    return program.load_method("forward", arguments=resolution.arguments("forward"))


class TestTheirPrograms:
    """Programs of ExecuTorch's partitioner run with options that ExecuTorch cannot pass."""

    @pytest.mark.parametrize(
        "name", ["conv", *(pytest.param(each, marks=pytest.mark.weekly) for each in ("block", "large"))]
    )
    def test_float32_is_eager(self, theirs: Path, name: str) -> None:
        data = np.load(theirs / f"{name}.npz")
        with (
            etconfig.load_program(theirs / f"{name}.pte", installation=INSTALLATION) as program,
            load(program) as method,
        ):
            for _ in range(3):
                np.testing.assert_allclose(method.execute([data["x"]])[0], data["y"], rtol=1e-4, atol=1e-5)
            in_force = method.effective_values()["OpenvinoBackend"]
            assert in_force["cpu_inference_precision"].value == "f32"
            assert in_force["device"].value == "CPU"

    def test_two_instances_have_their_own_options(self, theirs: Path) -> None:
        data = np.load(theirs / "conv.npz")
        with (
            etconfig.load_program(theirs / "conv.pte", installation=INSTALLATION) as program,
            load(program, inference_num_threads=1) as exact,
            load(program, cpu_inference_precision="bf16", adjusted_values="report") as coarse,
        ):
            errors = [np.abs(each.execute([data["x"]])[0] - data["y"]).max() for each in (exact, coarse)]
            in_force = coarse.effective_values()["OpenvinoBackend"]["cpu_inference_precision"]
        assert errors[0] < 1e-5
        if in_force.value == "bf16":  # where the processor has it
            assert errors[1] > 1e-5

    def test_dynamic_shapes(self, theirs: Path) -> None:
        """ExecuTorch's own runtime refuses them."""
        data = np.load(theirs / "dynamic.npz")
        with (
            etconfig.load_program(theirs / "dynamic.pte", installation=INSTALLATION) as program,
            load(program) as method,
        ):
            whole = method.execute([data["x"]])[0]
            np.testing.assert_allclose(whole, data["y"], rtol=1e-5, atol=1e-5)
            for count in (1, 3, 2):
                part = method.execute([data["x"][:count]])[0]
                np.testing.assert_allclose(part, data["y"][:count], rtol=1e-5, atol=1e-5)

    def test_another_openvino_is_named(self, theirs: Path) -> None:
        with (
            changed(theirs / "conv.pte", b";ov=20", b";ov=19") as program,
            pytest.raises(
                DelegateInvalidCompatibilityError, match=r"is for OpenVINO 19.*; this is OpenVINO 20"
            ) as caught,
        ):
            load(program)
        assert caught.value.help is not None
        assert "export the program again" in caught.value.help

    def test_a_broken_blob_is_an_invalid_payload(self, theirs: Path) -> None:
        with (
            changed(theirs / "conv.pte", b"RR_UPCVO", b"XX_UPCVO") as program,
            pytest.raises(InvalidPayloadError, match="OpenVINO cannot read the payload"),
        ):
            load(program)


def changed(path: Path, *replacements: bytes) -> etconfig.LoadedProgram:
    """A program with other bytes of the same length in it."""
    data = path.read_bytes()
    for old, new in zip(replacements[::2], replacements[1::2], strict=True):
        data = data.replace(old, new)
    assert data != path.read_bytes()
    return etconfig.load_program(data, installation=INSTALLATION)


class TestOurPayload:
    """IR in an envelope."""

    def test_golden_programs_run(self) -> None:
        with (
            etconfig.load_program(GOLDEN / "add.pte", installation=INSTALLATION) as program,
            load(program) as method,
        ):
            meta = method.metadata
            shapes = [meta.input_tensor_meta(index).sizes() for index in range(meta.num_inputs())]
            inputs = [np.full(shape, index + 1, np.float32) for index, shape in enumerate(shapes)]
            assert np.isfinite(method.execute(inputs)[0]).all()

    def test_every_sampled_bit_counts(self) -> None:
        data = sealed()
        rng = np.random.default_rng(0)
        for position in rng.integers(0, len(data) * 8, 60):
            damaged = bytearray(data)
            damaged[position // 8] ^= 1 << (position % 8)
            with pytest.raises(DelegateError):
                payload.load(OpenvinoOptions(), memoryview(bytes(damaged)), None)

    def test_parts_of_ir(self) -> None:
        xml, weights = payload.split_ir(memoryview(payload.join_ir(b"<net/>", b"\1\2")))
        assert (bytes(xml), bytes(weights)) == (b"<net/>", b"\1\2")

    @pytest.mark.parametrize(
        ("data", "message"), [(b"\1", "no length"), (b"\x09" + bytes(8), "takes 9 bytes")]
    )
    def test_short_ir(self, data: bytes, message: str) -> None:
        with pytest.raises(InvalidPayloadError, match=message):
            payload.split_ir(memoryview(data))

    def test_another_kind(self) -> None:
        from etconfig.plugin.v1 import Envelope

        other = Envelope(backend="OpenvinoBackend", kind="paddle").seal(b"x")
        with pytest.raises(DelegateInvalidCompatibilityError, match="is of kind 'paddle'"):
            payload.load(OpenvinoOptions(), memoryview(other), None)


def sealed() -> bytes:
    """The payload of the golden program `add`."""
    with etconfig.load_program(GOLDEN / "add.pte", installation=INSTALLATION) as program:
        (delegate, *_) = program.program.plan("forward").delegates
        return bytes(program.program.delegate_data(delegate))


class TestRefusals:
    """Wrong devices and versions are errors of the delegate."""

    def test_a_device_that_is_not_here(self) -> None:
        with (
            etconfig.load_program(GOLDEN / "add.pte", installation=INSTALLATION) as program,
            pytest.raises(DelegateError, match="but OpenVINO finds CPU here"),
        ):
            load(program, device="GPU")

    def test_openvino_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from etconfig_openvino import installed

        monkeypatch.setattr(installed.importlib.util, "find_spec", lambda name: None)
        answer = installed.availability()
        assert (answer.reason, answer.fix) == ("OpenVINO is not installed", installed.INSTALL)

    def test_openvino_that_is_too_old(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from etconfig_openvino import installed

        monkeypatch.setattr(installed, "installed_version", lambda: "2023.3.0")
        assert (
            installed.availability().reason
            == "OpenVINO 2023.3.0 is too old; this plugin needs 2025.0 or later"
        )


class TestExport:
    """Our partitioner, in a process of its own."""

    CODE = """
import sys
import numpy as np
import torch
import etconfig
from executorch.exir import to_edge_transform_and_lower
from etconfig_openvino.aot import openvino_partitioner, whole_model_partitioner
torch.manual_seed(0)
layers = torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 5)
model = torch.nn.Sequential(*layers)
x = torch.randn(2, 3, 8, 8)
for partitioner in (openvino_partitioner(), whole_model_partitioner(device="CPU")):
    exported = torch.export.export(model.eval(), (x,))
    edge = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    with etconfig.load_program(bytes(edge.to_executorch().buffer)) as program:
        config = etconfig.resolve(program, overrides={"OpenvinoBackend.cpu_inference_precision": "f32"})
        with program.load_method("forward", arguments=config.arguments("forward")) as method:
            y = method.execute([x.numpy()])[0]
        backends = program.backends("forward")
    print(backends, np.abs(y - model(x).detach().numpy()).max() < 1e-5)
"""

    def test_a_model(self) -> None:
        pytest.importorskip("executorch")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", self.CODE], check=True, capture_output=True, text=True
        )
        assert done.stdout.splitlines()[-2:] == ["('OpenvinoBackend',) True"] * 2
