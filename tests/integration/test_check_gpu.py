"""`tools/check_gpu.py` names engines without a CUDA device, and tries ten options of each that exist."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import check_gpu
import pytest
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_torch.options import TorchOptions

from etconfig.schema.problem import OptionProblem
from etconfig.schema.validate import check_value

OPTIONS = {"TorchBackend": TorchOptions, "OnnxRuntimeBackend": OnnxRuntimeOptions}


def stub(monkeypatch: pytest.MonkeyPatch, *providers: str) -> None:
    """Let PyTorch have no device, and ONNX Runtime have these providers."""
    cuda = SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.13.0+cpu", cuda=cuda))
    engine = SimpleNamespace(__version__="1.32.0", get_available_providers=lambda: [*providers])
    monkeypatch.setitem(sys.modules, "onnxruntime", engine)


def test_engines_without_a_device_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(monkeypatch, "CPUExecutionProvider")
    assert check_gpu.main([]) == check_gpu.NO_DEVICE
    assert capsys.readouterr().err.splitlines() == [
        "TorchBackend is untried: PyTorch 2.13.0+cpu finds no CUDA device",
        "OnnxRuntimeBackend is untried: ONNX Runtime 1.32.0 has no CUDAExecutionProvider, "
        "only CPUExecutionProvider",
    ]


def test_engines_that_are_not_installed_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert check_gpu.main([]) == check_gpu.NO_DEVICE
    assert capsys.readouterr().err.splitlines() == [
        "TorchBackend is untried: PyTorch is not installed",
        "OnnxRuntimeBackend is untried: ONNX Runtime is not installed",
    ]


@pytest.mark.parametrize(("is_right", "status"), [(True, check_gpu.NO_DEVICE), (False, 1)])
def test_an_engine_with_a_device_is_checked(
    monkeypatch: pytest.MonkeyPatch, is_right: bool, status: int
) -> None:
    stub(monkeypatch, "CUDAExecutionProvider", "CPUExecutionProvider")
    checked: list[str] = []
    monkeypatch.setattr(check_gpu, "check", lambda engine, *_: checked.append(engine.backend) or is_right)
    assert check_gpu.main([]) == status
    assert checked == ["OnnxRuntimeBackend"]


@pytest.mark.parametrize("engine", check_gpu.ENGINES, ids=lambda engine: engine.backend)
def test_its_options_exist_and_accept_their_values(engine: check_gpu.Engine) -> None:
    assert len(engine.variants) == 10
    for variant in (engine.on_gpu, *engine.variants):
        for path, value in variant.items():
            schema, name = OPTIONS[engine.backend], path.removeprefix(f"{engine.backend}.")
            assert not isinstance(check_value(schema, schema.option_infos()[name], value), OptionProblem), (
                path
            )
