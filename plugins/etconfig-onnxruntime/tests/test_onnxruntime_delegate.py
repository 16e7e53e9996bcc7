"""Delegates that ONNX Runtime runs inside a program, and the errors of delegates that it cannot run."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnxruntime")

import numpy as np
import onnxruntime as ort
from etconfig_onnxruntime.backend import OnnxRuntimeBackend
from etconfig_onnxruntime.conformance import GOLDEN
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.payload import open_payload
from etconfig_onnxruntime.plugin import SPEC

import etconfig
from etconfig.conformance import KIT, BackendConformance
from etconfig.errors import DelegateError
from etconfig.plugin.v1 import (
    DelegateInvalidCompatibilityError,
    EngineRange,
    Envelope,
    InvalidPayloadError,
)

pytestmark = pytest.mark.engines

INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})
README = Path(__file__).parents[1] / "README.md"


class TestConformance(BackendConformance):
    """The backend reaches the highest level without an expected failure."""

    backend = SPEC.id

    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """ONNX Runtime writes profiles into the current directory."""
        monkeypatch.chdir(tmp_path)


def test_the_readme_states_the_level() -> None:
    assert (TestConformance.level, TestConformance.kit, TestConformance.xfails) == (3, KIT, None)
    assert f"level 3 of the conformance kit {KIT}, without an expected failure" in README.read_text()


def program(name: str = "linear") -> etconfig.LoadedProgram:
    return etconfig.load_program(GOLDEN / f"{name}.pte", installation=INSTALLATION)


def arguments(loaded: Any, instance: str | None = None, **options: object) -> Any:
    overrides = {f"{SPEC.id}.{name}": value for name, value in options.items()}
    return etconfig.resolve(loaded, overrides=overrides).arguments("forward", instance)


def inputs_of(loaded: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    meta = loaded.metadata("forward")
    shapes = [tuple(meta.input_tensor_meta(index).sizes()) for index in range(meta.num_inputs())]
    return [rng.random(shape, np.float32) for shape in shapes]


class TestRunning:
    """Two instances with different options run at once, and give the same answers."""

    def test_each_instance_has_its_own_session(self) -> None:
        loaded = program("large_linear")
        inputs = inputs_of(loaded)
        one, two = arguments(loaded, intra_op_num_threads=1), arguments(loaded, intra_op_num_threads=3)
        with loaded.load_method("forward", one) as first, loaded.load_method("forward", two) as second:
            outputs = first.execute(inputs), second.execute(inputs)
            np.testing.assert_allclose(outputs[0][0], outputs[1][0], rtol=1e-5, atol=1e-6)
            threads = [
                method.effective_values()[SPEC.id]["intra_op_num_threads"] for method in (first, second)
            ]
        assert [(each.value, each.source.value) for each in threads] == [(1, "assumed"), (3, "assumed")]

    def test_changed_inputs_give_changed_outputs(self) -> None:
        """The memory is bound once; its contents change."""
        loaded = program()
        inputs = inputs_of(loaded)
        with loaded.load_method("forward", arguments(loaded)) as method:
            first = method.execute(inputs)[0].copy()
            second = method.execute([array + 1 for array in inputs])[0].copy()
            again = method.execute(inputs)[0].copy()
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(first, again)

    def test_options_of_runs_can_change(self) -> None:
        loaded = program()
        inputs = inputs_of(loaded)
        with loaded.load_method("forward", arguments(loaded)) as method:
            before = method.execute(inputs)[0].copy()
            method.update({f"{SPEC.id}.arena_shrinkage": "cpu:0", f"{SPEC.id}.workload_type": "Efficient"})
            np.testing.assert_array_equal(method.execute(inputs)[0], before)
            assert method.effective_values()[SPEC.id]["arena_shrinkage"].value == "cpu:0"

    def test_pools_of_the_process_are_refused(self) -> None:
        loaded = program()
        with pytest.raises(DelegateError, match="delegates have threads of their own"):
            loaded.load_method("forward", arguments(loaded, use_per_session_threads=False))

    def test_an_absent_provider_is_refused(self) -> None:
        loaded = program()
        with pytest.raises(DelegateError, match="there is no provider 'cuda'"):
            loaded.load_method(
                "forward", arguments(loaded, providers=[{"provider": "cuda"}, {"provider": "cpu"}])
            )


def payload() -> bytes:
    from onnx import TensorProto, helper

    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    engine = EngineRange(name="onnxruntime", min="1.22")
    envelope = Envelope(backend=SPEC.id, kind="onnx", version=1, engine=engine)
    data: bytes = envelope.seal(model.SerializeToString())
    return data


class TestPayloads:
    """Each wrong payload is refused with the fix."""

    def test_the_right_one_is_opened(self) -> None:
        ort.InferenceSession(open_payload(memoryview(payload()), ort.__version__))

    def test_every_changed_bit_is_refused(self) -> None:
        data = payload()
        rng = random.Random(0)
        for bit in rng.sample(range(8 * len(data)), 60):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            with pytest.raises((InvalidPayloadError, DelegateInvalidCompatibilityError)):
                open_payload(memoryview(damaged), ort.__version__)

    def test_an_old_engine_is_refused(self) -> None:
        with pytest.raises(DelegateInvalidCompatibilityError, match=r"version 1\.21\.0 is installed"):
            open_payload(memoryview(payload()), "1.21.0")

    def test_another_backend_is_refused(self) -> None:
        data = Envelope(backend="TvmBackend", kind="onnx").seal(b"")
        with pytest.raises(DelegateInvalidCompatibilityError, match="for backend 'TvmBackend'"):
            open_payload(memoryview(data), ort.__version__)

    def test_a_missing_engine_is_reported_before_loading(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig_onnxruntime.engine.find_spec", lambda name: None)
        found = OnnxRuntimeBackend().availability()
        assert (found.reason, found.fix) == (
            "ONNX Runtime is not installed",
            "install it: pip install onnxruntime",
        )


class TestExport:
    """A PyTorch model becomes a program whose delegate gives PyTorch's answers."""

    def test_a_convolution_and_attention(self) -> None:
        torch = pytest.importorskip("torch")
        exir = pytest.importorskip("executorch.exir")
        from etconfig_onnxruntime.aot import onnx_partitioner

        class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.convolution = torch.nn.Conv2d(3, 8, 3, padding=1)
                self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

            def forward(self, image: Any) -> Any:
                tokens = self.convolution(image).flatten(2).transpose(1, 2)
                return self.attention(tokens, tokens, tokens, need_weights=False)[0]

        model, image = Model().eval(), torch.rand(1, 3, 8, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = torch.export.export(model, (image,))
            edge = exir.to_edge_transform_and_lower(exported, partitioner=[onnx_partitioner()])
            data = edge.to_executorch().buffer
        assert b".py" not in data  # no paths of this machine
        loaded = etconfig.load_program(data, installation=INSTALLATION)
        with loaded.load_method("forward", arguments(loaded)) as method:
            (output,) = method.execute([image.numpy()])
        np.testing.assert_allclose(output, model(image).detach().numpy(), atol=1e-5)


def test_the_options_of_the_backend_are_those_of_sessions() -> None:
    assert SPEC.options is OnnxRuntimeOptions
