"""Delegates of TVM in programs: partitioned, run, refused on other devices, and the conformance kit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_tvm.payload import BACKEND_ID, describe, open_payload

import etconfig
from etconfig.app.programs.payloads import payload_problems, payload_readings
from etconfig.base.written_files import FilesOfRun
from etconfig.conformance import BackendConformance
from etconfig.plugin.v1 import (
    CompileSpecs,
    DelegateError,
    DelegateInvalidCompatibilityError,
    Envelope,
    EtconfigError,
    InvalidPayloadError,
)

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
TOLERANCE = 1e-6


def _export(model: Any, inputs: tuple[Any, ...], **arguments: Any) -> bytes:
    import torch
    from etconfig_tvm.aot import tvm_partitioner
    from executorch.exir import to_edge_transform_and_lower

    exported = torch.export.export(model, inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[tvm_partitioner(**arguments)])
    return bytes(edge.to_executorch().buffer)


@pytest.fixture(scope="module")
def program(compiled: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "model.pte"
    path.write_bytes(_export(compiled[0], (compiled[1],)))
    return path


class TestDelegate:
    """A delegate gives the results of torch; its options come from its instance."""

    def test_the_whole_method_is_one_delegate(self, program: Path, compiled: Any) -> None:
        model, value, _ = compiled
        with etconfig.load_program(program) as loaded, loaded.load_method("forward") as method:
            for _ in range(3):
                (result,) = method.execute([value.numpy()])
                assert np.allclose(result, model(value).detach().numpy(), atol=TOLERANCE)

    def test_two_instances_with_different_options(self, program: Path, compiled: Any) -> None:
        model, value, _ = compiled
        expected = model(value).detach().numpy()
        with etconfig.load_program(program) as loaded:
            resolution = etconfig.resolve(
                loaded,
                instances={"forward": ["one", "two"]},
                overrides={
                    "forward@one:TvmBackend.num_threads": 1,
                    "forward@two:TvmBackend.memory": "naive",
                },
            )
            one = loaded.load_method("forward", resolution.arguments("forward", "one"))
            two = loaded.load_method("forward", resolution.arguments("forward", "two"))
            with one, two:
                for method in (one, two, one):
                    (result,) = method.execute([value.numpy()])
                    assert np.allclose(result, expected, atol=TOLERANCE)
                assert one.effective_options()["TvmBackend"]["num_threads"] == 1

    def test_operators_that_tvm_lacks_stay_in_the_program(self, tmp_path: Path) -> None:
        import torch

        class Mixed(torch.nn.Module):
            def forward(self, value: torch.Tensor) -> torch.Tensor:
                return torch.cumsum(torch.relu(value), 0) * 2

        value = torch.randn(4, 4)
        path = tmp_path / "mixed.pte"
        path.write_bytes(_export(Mixed(), (value,), by_operators=True))
        with etconfig.load_program(path) as loaded, loaded.load_method("forward") as method:
            (result,) = method.execute([value.numpy()])
            assert np.allclose(result, Mixed()(value).numpy(), atol=TOLERANCE)

    def test_no_file_is_left(self, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with etconfig.load_program(program) as loaded, loaded.load_method("forward"):
            assert not list(tmp_path.iterdir())

    def test_another_device_is_refused(self, program: Path) -> None:
        with etconfig.load_program(program) as loaded:
            resolution = etconfig.resolve(loaded, overrides={"TvmBackend.device": "cuda"})
            with pytest.raises(DelegateError, match="delegates run on the cpu"):
                loaded.load_method("forward", resolution.arguments("forward"))


class TestPayload:
    """A payload that does not fit is refused before its code is loaded."""

    def test_the_envelope_names_the_device_and_the_engine(self, program: Path) -> None:
        envelope, library = Envelope.read(_find_payload(program))
        assert (envelope.backend, envelope.kind) == (BACKEND_ID, "tvm library")
        assert envelope.engine is not None
        assert (envelope.engine.name, envelope.engine.min, envelope.engine.below) == (
            "apache-tvm",
            "0.27",
            "0.28",
        )
        assert envelope.host.features
        assert bytes(library[:4]) == b"\x7fELF"

    def test_payload_and_file_say_what_they_need(self, program: Path, library: Path) -> None:
        envelope, _ = Envelope.read(_find_payload(program))
        needed = [each.condition for each in envelope.host.needs()]
        for data in (_find_payload(program), library.read_bytes()):
            found = describe(data, CompileSpecs())
            assert (found.target, [each.condition for each in found.needs]) == (envelope.host.triple, needed)
            assert str(found.sdk_version).startswith("apache-tvm 0.27")
        with etconfig.load_program(program) as loaded:
            (reading,) = payload_readings(loaded, "forward")
            assert [*payload_problems(loaded, etconfig.detect_facts())] == []
            (problem,) = payload_problems(loaded, etconfig.load_device("raspberry-pi/pi-5"))
        assert reading.problem is None
        assert problem.message == (
            f"{program}: forward: the payload of TvmBackend #0 does not fit this device: it is compiled for "
            f"{envelope.host.triple}, and the device has arm64"
        )
        with pytest.raises(InvalidPayloadError):
            describe(library.read_bytes()[:-9000] + library.read_bytes()[-8000:], CompileSpecs())

    def test_every_damaged_byte_of_a_sample_is_refused(self, program: Path) -> None:
        payload = bytearray(_find_payload(program))
        for place in range(0, len(payload), len(payload) // 60):
            payload[place] ^= 1
            with pytest.raises(EtconfigError):
                open_payload(memoryview(payload), "0.27.0")
            payload[place] ^= 1
        assert open_payload(memoryview(payload), "0.27.0")

    def test_another_tvm_is_refused(self, program: Path) -> None:
        with pytest.raises(
            DelegateInvalidCompatibilityError, match=r"needs apache-tvm >=0.27, <0.28 .*0.31.0"
        ):
            open_payload(memoryview(_find_payload(program)), "0.31.0")

    def test_another_instruction_set_is_refused(self, program: Path) -> None:
        envelope, _ = Envelope.read(_find_payload(program))
        facts = {"cpu.arch": envelope.host.arch, "os.name": envelope.host.os, "abi": envelope.host.abi}
        with pytest.raises(DelegateInvalidCompatibilityError, match="needs a device with the instructions"):
            envelope.check(backend_id=BACKEND_ID, host={**facts, "cpu.features": ("sse2",)})


def _find_payload(program: Path) -> bytes:
    """Return the payload in a program, by its magic."""
    data = program.read_bytes()
    start = data.index(b"ETAP")
    total = int.from_bytes(data[start + 12 : start + 20], "little")
    return data[start : start + total]


@pytest.fixture(scope="module", autouse=True)
def _golden_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the golden programs for this machine, and one for another."""
    import torch
    from etconfig_tvm.aot import target

    from etconfig.aot import HostConstraints
    from etconfig.conformance import Settings
    from etconfig.conformance.subject.lowering import lower_cases
    from etconfig.conformance.subject.subject import Subject

    directory = tmp_path_factory.mktemp("golden")
    lower_cases(Subject(Settings(backend=BACKEND_ID)), directory, FilesOfRun())
    with pytest.MonkeyPatch.context() as patch:
        riscv = HostConstraints.of_triple("riscv64-linux-gnu")
        patch.setattr(target.TvmTarget, "host", property(lambda self: riscv))
        value = torch.ones(2)
        (directory / "other_host.pte").write_bytes(_export(torch.nn.ReLU(), (value,)))
    TestConformance.programs = directory


class TestConformance(BackendConformance):
    """`TvmBackend` reaches the highest level without an expected failure."""

    backend = BACKEND_ID
