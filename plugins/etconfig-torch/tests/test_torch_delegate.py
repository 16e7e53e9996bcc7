"""Delegates that PyTorch runs, in programs of real ExecuTorch."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_torch.backend import KIND
from etconfig_torch.plugin import SPEC

import etconfig
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.errors import DelegateError
from etconfig.plugin.v1 import DelegateInvalidCompatibilityError, Envelope, InvalidPayloadError
from etconfig.program.program import open_program

torch = pytest.importorskip("torch")
exir = pytest.importorskip("executorch.exir")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

HERE = Path(__file__).parent
INSTALLATION = etconfig.Installation().with_backends({SPEC.id: SPEC})


def program_of(module: Any, *inputs: Any, supported: Any = None, **settings: Any) -> bytes:
    """Return a .pte that delegates a module."""
    from etconfig_torch.aot import torch_partitioner

    exported = torch.export.export(module.eval(), inputs, **settings)
    edge = exir.to_edge_transform_and_lower(exported, partitioner=[torch_partitioner(supported)])
    return bytes(edge.to_executorch().buffer)


def load(data: bytes, **options: object) -> Any:
    program = etconfig.load_program(data, installation=INSTALLATION)
    overrides = {f"TorchBackend.{name}": value for name, value in options.items()}
    arguments = etconfig.resolve(program, overrides=overrides, installation=INSTALLATION)
    return program.load_method("forward", arguments=arguments.arguments("forward"))


def layers() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10)
    )


@pytest.fixture(scope="module")
def sequence() -> tuple[Any, bytes]:
    module = layers()
    return module, program_of(module, torch.zeros(1, 3, 8, 8))


class Mixed(torch.nn.Module):
    """Types, sizes, constants and layouts."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("offset", torch.ones(3, dtype=torch.bfloat16))

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.linear(x)).to(torch.float64) + self.offset
        return (
            y,
            x.shape[0] * x + 1,
            torch.topk(x, 2)[1],
            x > 0,
            torch.arange(3) + x.shape[0],
            y.to(torch.bfloat16),
        )


class TestAnswers:
    """A delegate gives the answers of eager PyTorch."""

    def test_a_network(self, sequence: tuple[Any, bytes]) -> None:
        module, data = sequence
        with load(data) as method:
            for _ in range(3):
                x = torch.randn(1, 3, 8, 8)
                (found,) = method.execute([x.numpy()])
                np.testing.assert_allclose(found, module(x).detach().numpy(), atol=1e-6)

    def test_types_and_dynamic_sizes(self) -> None:
        module = Mixed()
        shapes = ({0: torch.export.Dim("batch", max=8)},)
        with load(program_of(module, torch.zeros(2, 4), dynamic_shapes=shapes)) as method:
            for batch in (5, 1, 8, 5):
                x = torch.randn(batch, 4)
                for found, expected in zip(method.execute([x.numpy()]), module(x), strict=True):
                    assert found.shape == tuple(expected.shape)
                    np.testing.assert_allclose(
                        np.asarray(found, np.float64), expected.detach().double().numpy(), atol=1e-6
                    )

    def test_channels_last(self) -> None:
        module = torch.nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
        x = torch.rand(2, 2, 5, 4).to(memory_format=torch.channels_last)
        with load(program_of(module, x)) as method:
            (found,) = method.execute([x.numpy()])
        np.testing.assert_allclose(found, module(x).detach().numpy(), atol=1e-6)

    def test_only_what_is_supported(self) -> None:
        module = layers()
        data = program_of(module, torch.zeros(1, 3, 8, 8), supported=["aten::linear", "aten::relu"])
        x = torch.randn(1, 3, 8, 8)
        with load(data) as method:
            (found,) = method.execute([x.numpy()])
        np.testing.assert_allclose(found, module(x).detach().numpy(), atol=1e-5)

    def test_equal_models_give_equal_programs(self) -> None:
        x = torch.zeros(1, 3, 8, 8)
        assert program_of(layers(), x) == program_of(layers(), x)

    def test_two_instances_with_their_own_options(self, sequence: tuple[Any, bytes]) -> None:
        module, data = sequence
        x = torch.randn(1, 3, 8, 8)
        expected = module(x).detach().numpy()
        with load(data) as exact, load(data, autocast="bfloat16") as rough:
            errors = [
                abs(method.execute([x.numpy()])[0] - expected).max() for method in (exact, rough, exact)
            ]
        assert errors[0] == errors[2] < 1e-6 < 1e-4 < errors[1] < 0.1

    def test_tensors_over_arrays_that_stay_are_made_once(
        self, sequence: tuple[Any, bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from etconfig_torch import program

        made: list[Any] = []
        shared = program._shared
        monkeypatch.setattr(program, "_shared", lambda array: made.append(1) or shared(array))
        module, data = sequence
        with load(data) as method:
            kept = []
            for _ in range(4):
                x = torch.randn(1, 3, 8, 8)
                kept.append((method.execute([x.numpy()])[0], module(x).detach().numpy()))
            for found, expected in kept:  # results are the caller's, and do not change afterwards
                np.testing.assert_allclose(found, expected, atol=1e-6)
        assert len(made) == 4  # two in the first call, and two that stay

    def test_compiled(self, sequence: tuple[Any, bytes]) -> None:
        module, data = sequence
        x = torch.randn(1, 3, 8, 8)
        with load(data, compile_mode="default", compile_backend="aot_eager") as method:
            (found,) = method.execute([x.numpy()])
        np.testing.assert_allclose(found, module(x).detach().numpy(), atol=1e-5)


class TestOptions:
    """Options in force are as PyTorch reports them."""

    def test_settings_are_updated_and_read_back(self, sequence: tuple[Any, bytes]) -> None:
        before = torch.get_num_threads()
        with load(sequence[1], num_threads=1) as method:
            assert torch.get_num_threads() == 1
            method.update({"TorchBackend": {"num_threads": 2}})
            assert torch.get_num_threads() == 2
        torch.set_num_threads(before)

    def test_two_delegates_of_a_method_move_together(self) -> None:
        class Split(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return torch.relu(torch.sin(torch.relu(x)))

        before = torch.get_num_threads()
        x = np.ones((2, 3), np.float32)
        data = program_of(Split(), torch.ones(2, 3), supported=["aten::relu"])
        assert len(open_program(data).plan("forward").delegates) == 2
        with load(data, num_threads=1) as method:
            method.update({"TorchBackend": {"num_threads": 2}})
            assert torch.get_num_threads() == 2
            method.execute([x], options={"TorchBackend.num_threads": 1})
            assert torch.get_num_threads() == 2
            with (
                load(program_of(Split(), torch.ones(2, 3)), num_threads=2),
                pytest.raises(
                    DelegateError, match=r"num_threads is one setting .* 2 is in use .* so 1 cannot"
                ),
            ):
                method.update({"TorchBackend": {"num_threads": 1}})
            assert torch.get_num_threads() == 2
            assert method.options("TorchBackend").num_threads == 2
        torch.set_num_threads(before)

    def test_loaded_methods_follow_the_facts_together(
        self, sequence: tuple[Any, bytes], tmp_path: Path
    ) -> None:
        def cores(count: int) -> etconfig.FactSheet:
            values = {"cpu.available_cores": Sourced(count, Origin(OriginKind.SHEET, "test"))}
            return etconfig.FactSheet.empty().with_overrides(values)

        before = torch.get_num_threads()
        path = tmp_path / "board.toml"
        expression = '{ expr = "cpu.available_cores" }'
        path.write_text(
            f"[profile]\nname = 'acme/board'\n[options.TorchBackend]\nnum_threads = {expression}\n"
        )
        program = etconfig.load_program(sequence[1], installation=INSTALLATION)
        live = etconfig.LiveArguments(
            program, profile=path, facts=cores(1), installation=INSTALLATION,
            instances={"forward": ["left", "right"]},
        )  # fmt: skip
        with (
            program.load_method("forward", live.arguments("forward", "left")) as left,
            program.load_method("forward", live.arguments("forward", "right")) as right,
        ):
            live.attach(left)
            live.attach(right)
            with right._entered():  # as while it executes in another thread
                report = live.refresh(cores(2))
            assert (report.applied, report.refused, len(report.postponed)) == ((), (), 2)
            assert torch.get_num_threads() == 1
            assert left.options("TorchBackend").num_threads == 1
            assert len(live.refresh().applied) == 2
            assert torch.get_num_threads() == 2
            assert left.options("TorchBackend").num_threads == right.options("TorchBackend").num_threads == 2
        torch.set_num_threads(before)

    def test_another_thread_takes_a_new_number_of_threads(self, sequence: tuple[Any, bytes]) -> None:
        before = torch.get_num_threads()
        x = np.zeros((1, 3, 8, 8), np.float32)

        def threads_after() -> int:
            method.execute([x])
            return int(torch.get_num_threads())

        with load(sequence[1], num_threads=2) as method, ThreadPoolExecutor(max_workers=1) as worker:
            assert worker.submit(threads_after).result() == 2
            method.update({"TorchBackend": {"num_threads": 3}})
            assert worker.submit(threads_after).result() == 3
        torch.set_num_threads(before)

    def test_methods_that_disagree_are_an_error(self, sequence: tuple[Any, bytes]) -> None:
        before = torch.get_num_threads()
        with load(sequence[1], num_threads=1):
            with pytest.raises(
                DelegateError, match=r"num_threads is one setting for the whole process: 1 is in use"
            ):
                load(sequence[1], num_threads=2)
            assert torch.get_num_threads() == 1
        load(sequence[1], num_threads=2).close()
        torch.set_num_threads(before)

    def test_a_missing_device(self, sequence: tuple[Any, bytes]) -> None:
        with pytest.raises(DelegateError, match="PyTorch has no device 'npv'"):
            load(sequence[1], device="npv")

    def test_a_device_of_another_package(self, tmp_path: Path) -> None:
        module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
        x = torch.randn(2, 8)
        (tmp_path / "model.pte").write_bytes(program_of(module, x))
        np.savez(tmp_path / "run.npz", x=x.numpy(), y=module(x).detach().numpy())
        code = """
import etconfig, numpy as np
from etconfig_torch.plugin import SPEC
installation = etconfig.Installation().with_backends({SPEC.id: SPEC})
program = etconfig.load_program("model.pte", installation=installation)
overrides = {"TorchBackend.device": "npu:0", "TorchBackend.device_module": "npu_device"}
arguments = etconfig.resolve(program, overrides=overrides, installation=installation).arguments("forward")
run = np.load("run.npz")
with program.load_method("forward", arguments=arguments) as method:
    import npu_device
    npu_device.CALLS.clear()
    (y,) = method.execute([run["x"]])
print(np.abs(y - run["y"]).max() < 1e-6)
print(*[name for name in npu_device.CALLS if "aten::_" not in name and "empty" not in name])
"""
        path = os.pathsep.join([str(HERE.parent), str(HERE), str(HERE.parents[2])])
        environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == ["True", "aten::linear aten::relu"]


class TestRefusals:
    """A payload that is damaged or for something else is refused, with the fix."""

    def test_single_bits(self, sequence: tuple[Any, bytes]) -> None:
        data = sequence[1]
        start = data.index(b"ETAP")
        length = int.from_bytes(data[start + 12 : start + 20], "little")
        random.seed(1)
        for _ in range(60):
            changed = bytearray(data)
            changed[start + random.randrange(length)] ^= 1 << random.randrange(8)
            with pytest.raises((DelegateInvalidCompatibilityError, InvalidPayloadError)):
                load(bytes(changed))

    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({"backend": "OtherBackend"}, "for backend 'OtherBackend'"),
            ({"kind": "onnx"}, "of kind 'onnx'"),
            ({"version": 9}, "version 9 of its format"),
        ],
    )
    def test_payloads_for_something_else(self, settings: dict[str, Any], reason: str) -> None:
        from etconfig_torch.backend import TorchBackend

        from etconfig.method.delegate import Payload

        fields = {"backend": SPEC.id, "kind": KIND, "version": 1} | settings
        processed = Payload(memoryview(Envelope(**fields).seal(b"")))
        with pytest.raises(DelegateInvalidCompatibilityError, match=reason):
            TorchBackend().init(None, processed, {})  # type: ignore[arg-type]  # it refuses before it looks

    def test_a_newer_pytorch(self, sequence: tuple[Any, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        from etconfig_torch import backend

        monkeypatch.setattr(backend, "version", lambda name: "2.10.0")
        with pytest.raises(
            DelegateInvalidCompatibilityError, match=r"needs torch >=.*; version 2.10.0 is installed"
        ):
            load(sequence[1])

    def test_compile_specs(self) -> None:
        from etconfig_torch.aot import preprocess

        with pytest.raises(ValueError, match="compile spec 'mode' is not known; TorchBackend has none"):
            preprocess(None, {"mode": b""})
