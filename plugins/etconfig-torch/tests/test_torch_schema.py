"""The options of `TorchBackend`, without PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from etconfig_torch.options import TorchOptions
from etconfig_torch.plugin import SPEC

import etconfig
from etconfig.plugin.v1 import BackendUnavailableError, Scope
from etconfig.schema.validate import validate_options

PACKAGE = Path(__file__).parents[1]


INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})


def problems(**values: object) -> list[str]:
    """Return the messages about these values, each with its fix."""
    return [f"{problem.message}; {problem.help}" for problem in validate_options(SPEC, values).problems]


class TestMistakes:
    """Mistakes that PyTorch takes without an error are refused."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("float32_matmul_precision", "hihg"),
            ("float32_matmul_precision", "High"),
            ("num_threads", 0),
            ("num_threads", -2),
            ("num_threads", True),
            ("num_threads", 1.5),
            ("compile_mode", "reduce_overhead"),
            ("autocast", "bf16"),
            ("cudnn_benchmark", "yes"),
            ("cudnn_benchmark", 1),
            ("onednn", "1"),
            ("device", "CUDA:1"),
            ("device", "cuda:01"),
            ("device", "cuda 1"),
            ("device", ""),
            ("device_module", "os; import sys"),
            ("device_module", "torch-npu"),
            ("cudnn_benchmrak", True),
        ],
    )
    def test_a_mistake_is_an_error(self, name: str, value: object) -> None:
        (problem,) = problems(**{name: value})
        assert name in problem or repr(value) in problem or "true or false" in problem

    @pytest.mark.parametrize(
        ("name", "value", "fix"),
        [
            ("float32_matmul_precision", "hihg", "did you mean 'high'"),
            ("cudnn_benchmrak", True, "did you mean 'cudnn_benchmark'"),
            ("compile_mode", "reduce_overhead", "did you mean 'reduce-overhead'"),
            ("device", "CUDA:1", "did you mean 'cuda:1'"),
            ("device", "CPU", "did you mean 'cpu'"),
            ("device", "GPU", "write cuda, xpu or mps"),
            ("device", "gpu:0", "write cuda, xpu or mps"),
            ("device", "cud", "did you mean 'cuda'"),
            ("device", "mpps", "did you mean 'mps'"),
            ("device", "meta", "device 'meta' computes sizes but no values; choose one that computes"),
        ],
    )
    def test_the_message_has_the_fix(self, name: str, value: object, fix: str) -> None:
        (problem,) = problems(**{name: value})
        assert fix in problem

    def test_a_setting_that_would_have_no_effect(self) -> None:
        (problem,) = problems(compile_dynamic=True)
        assert "compile_dynamic has no effect while compile_mode is none" in problem
        assert problems(compile_dynamic=True, compile_mode="default") == []

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ({"compile_backend": "eager"}, "compile_backend has no effect while compile_mode is none"),
            (
                {"compile_backend": "eager", "compile_mode": "max-autotune"},
                "compile_mode max-autotune is one of the compile_backend inductor",
            ),
            ({"compile_mode": "reduce-overhead"}, "has no effect beyond default while device is cpu"),
            ({"device_module": "torch_npu"}, "device_module has no effect while device is cpu"),
        ],
    )
    def test_other_settings_without_effect(self, values: dict[str, object], problem: str) -> None:
        (found,) = problems(**values)
        assert problem in found

    @pytest.mark.parametrize(
        "values",
        [
            {},
            {"device": "cuda:1", "num_threads": 4, "float32_matmul_precision": "medium"},
            {"device": "npu", "device_module": "torch_npu.npu", "autocast": "float16"},
            *({"device": name} for name in ("npu", "openreg", "hpu:0", "mlu", "musa", "dipu", "xla", "mtia")),
            {"device": "gpu", "device_module": "acme_gpu"},
            {"compile_mode": "max-autotune", "compile_backend": "inductor", "onednn": False},
        ],
    )
    def test_right_values(self, values: dict[str, object]) -> None:
        assert problems(**values) == []


class TestDeclaration:
    """Settings of the process are declared as such."""

    def test_settings_of_the_process(self) -> None:
        infos = TorchOptions.option_infos()
        of_method = {name for name, info in infos.items() if info.scope is Scope.METHOD}
        assert of_method == {
            "autocast",
            "compile_backend",
            "compile_dynamic",
            "compile_mode",
            "device",
            "device_module",
        }

    def test_instances_that_disagree_are_an_error(self) -> None:
        with pytest.raises(etconfig.EtconfigError, match="num_threads"):
            etconfig.resolve(
                models={"detector": SPEC.id},
                installation=INSTALLATION,
                instances={"detector": ["left", "right"]},
                overrides={
                    "detector@left:TorchBackend.num_threads": 1,
                    "detector@right:TorchBackend.num_threads": 2,
                },
            )


def test_the_plugin_does_not_import_torch() -> None:
    code = (
        "import sys; import etconfig_torch.plugin; print(*{'torch', 'numpy', 'executorch'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE
    )
    assert done.stdout == "\n"


def test_it_is_unavailable_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    from etconfig_torch import backend
    from etconfig_torch import installed as of_torch

    def installed(version: str | None) -> None:
        def answer(name: str) -> str:
            if version is None:
                raise of_torch.PackageNotFoundError(name)
            return version

        monkeypatch.setattr(of_torch, "version", answer)

    installed(None)
    answer = backend.TorchBackend().availability()
    fix = 'install PyTorch, which etconfig-torch[engine] brings: pip install "torch>=2.10"'
    assert (answer.reason, answer.fix) == ("PyTorch is not installed", fix)
    with pytest.raises(BackendUnavailableError, match="PyTorch is not installed") as caught:
        etconfig.resolve(models={"detector": SPEC.id}, installation=INSTALLATION).build("detector", "m.pt2")
    assert caught.value.help == fix
    installed("2.4.1+cpu")
    assert backend.TorchBackend().availability().reason == "PyTorch 2.4.1+cpu is too old, 2.10 is needed"
    installed("3.0.0a0")
    assert backend.TorchBackend().availability().is_available


def test_the_spec_is_whole() -> None:
    assert SPEC.factory is not None
    assert SPEC.build is not None
    assert {advice.option for advice in SPEC.advice} == {"num_threads"}
