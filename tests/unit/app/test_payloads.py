"""Descriptions of payloads: what plugins say, whatever their functions do, and what reports make of it."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_engine
from delegating_programs import delegating_program
from effort import scaled

import etconfig
from etconfig.analysis import inspect_program
from etconfig.app.programs import payloads
from etconfig.app.programs.model_choice import find_catalog
from etconfig.app.programs.payloads import PayloadReading, payload_problems, read_payload, variant_payloads
from etconfig.base.compile_specs import CompileSpecs
from etconfig.cli.rendering.program_text import print_program
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.diagnostics.diagnostic import on_devices
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import FactSheet
from etconfig.models.needs import VariantNeeds
from etconfig.plugin.v1 import InvalidPayloadError, PayloadDescription, PayloadNeed
from etconfig.program.program_errors import unreadable

SPEC: Any = tiny_engine.SPEC
ARM = PayloadNeed('cpu.arch == "arm64"', reason="it is compiled for arm64", found="cpu.arch")
WHOLE = PayloadDescription(
    operators={"conv": 2, "relu": 1}, target="arm64", sdk_version="tiny 1.0", needs=[ARM], notes=["a note"]
)


def read(function: Any, payload: bytes = b"payload") -> PayloadReading:
    spec = replace(SPEC, describe_payload=function)
    return read_payload(spec, payload, CompileSpecs([("target", b"arm64")]), BUILTIN_FACTS)


def failing(error: BaseException) -> Callable[[bytes, CompileSpecs], Any]:
    def describe(payload: bytes, compile_specs: CompileSpecs) -> Any:
        raise error

    return describe


class TestRead:
    """A description is what the plugin returns; anything else is a sentence."""

    def test_the_function_gets_the_bytes_and_the_compile_specs(self) -> None:
        found = read(lambda payload, specs: PayloadDescription(notes=[f"{payload!r} {specs['target']!r}"]))
        assert found == PayloadReading(PayloadDescription(notes=["b'payload' b'arm64'"]))

    def test_without_a_function_there_is_nothing(self) -> None:
        assert read(None) == PayloadReading()

    def test_refused_bytes_are_not_the_plugins_fault(self) -> None:
        refused = read(failing(InvalidPayloadError(cause="it is cut off")))
        assert refused == PayloadReading(problem="it cannot be described: it is cut off")

    @pytest.mark.parametrize(
        ("function", "cause"),
        [
            (failing(KeyError("x")), "KeyError: 'x'"),
            (failing(SystemExit(3)), "SystemExit: 3"),
            (failing(RecursionError("deep")), "RecursionError: deep"),
            (failing(KeyboardInterrupt()), "RuntimeError: KeyboardInterrupt, though nobody pressed Ctrl-C"),
            (lambda payload, specs: sys.exit("bye"), "SystemExit: bye"),
            (lambda payload: WHOLE, "TypeError: "),
            (lambda payload, specs: None, "TypeError: it returned a NoneType, not a PayloadDescription"),
            (
                lambda payload, specs: PayloadDescription(operators={"conv": 1.5}),
                "TypeError: of a PayloadDescription, operators must be numbers by name",
            ),
            (
                lambda payload, specs: PayloadDescription(target=b"v75"),
                "TypeError: of a PayloadDescription, target and sdk_version must be texts",
            ),
            (
                lambda payload, specs: PayloadDescription(needs=["cpu"]),
                "TypeError: of a PayloadDescription, needs must be a list of PayloadNeed",
            ),
            (
                lambda payload, specs: PayloadDescription(notes="note"),
                "TypeError: of a PayloadDescription, notes must be a list of texts",
            ),
            (
                lambda payload, specs: PayloadDescription(needs=[PayloadNeed("1 +", reason="x")]),
                "ProfileError: ",
            ),
            (
                lambda payload, specs: PayloadDescription(needs=[replace(ARM, found="memory.total")]),
                "ProfileError: ",
            ),
        ],
    )
    def test_what_the_plugin_does_wrong_is_a_sentence(self, function: Any, cause: str) -> None:
        found = read(function)
        assert found.is_plugins
        assert found.problem is not None
        start = "describe_payload of plugin 'TinyEngine' (etconfig.backends) failed: "
        assert found.problem.startswith(start + cause)

    def test_an_error_of_a_file_is_the_plugins_too(self) -> None:
        found = read(failing(unreadable("unreadable-file", "it is a directory")))
        assert found.is_plugins
        assert str(found.problem).endswith("it is a directory [unreadable-file]")

    def test_a_function_that_hangs_is_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(payloads, "_LIMIT_S", 0.01)
        end = threading.Event()
        found = read(lambda payload, specs: end.wait())
        end.set()
        assert found.problem is not None
        assert found.problem.endswith("TimeoutError: it did not finish within 0.01 s")

    def test_random_bytes_for_the_reference_backend(self) -> None:
        spec = etconfig.Installation().plugins.backend_spec("ReferenceCpuBackend")
        chance = random.Random(3)
        for size in [10**6, *(chance.randrange(200) for _ in range(scaled(100)))]:
            payload = chance.choice((b"", b"ETRF", b"ETAP")) + chance.randbytes(size)
            found = read_payload(spec, payload, CompileSpecs(), BUILTIN_FACTS)
            assert found.problem is not None
            assert not found.is_plugins


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[Any], etconfig.LoadedProgram]]:
    """Open a program with one delegate of a backend with this function."""
    path = tmp_path / "tiny.pte"
    path.write_bytes(delegating_program("TinyEngine", b"payload"))
    opened = []

    def open_with(function: Any) -> etconfig.LoadedProgram:
        specs: Any = {"TinyEngine": replace(SPEC, describe_payload=function)}
        installation = etconfig.Installation().with_backends(specs)
        opened.append(etconfig.load_program(path, installation=installation))
        return opened[-1]

    yield open_with
    for each in opened:
        each.close()


def problems(loaded: etconfig.LoadedProgram, **facts: object) -> list[Diagnostic]:
    values: Any = {name.replace("_", "."): value for name, value in facts.items()}
    return [*payload_problems(loaded, FactSheet.from_values(values, "test"))]


class TestProblems:
    """Needs are compared with facts: false is an error, unknown a note."""

    def test_a_device_that_fits_has_none(self, program: Any) -> None:
        assert problems(program(lambda payload, specs: WHOLE), cpu_arch="arm64") == []

    def test_another_device(self, program: Any) -> None:
        loaded = program(lambda payload, specs: WHOLE)
        (found,) = problems(loaded, cpu_arch="x86_64")
        label = f"{loaded.program.path}: forward: the payload of TinyEngine #0"
        assert found == Diagnostic(
            code="payload-mismatch",
            message=f"{label} does not fit this device: it is compiled for arm64, and the device has x86_64",
            help="export the program for this device, or choose another variant for it",
            subject=f"{label}: it is compiled for arm64",
        )

    def test_two_payloads_of_several_devices_stay_two(self, program: Any) -> None:
        """Also where no device has both problems."""
        found: dict[Diagnostic, list[str]] = {}
        for arch, other in (("arm64", "x86_64"), ("x86_64", "arm64"), ("riscv", "x86_64")):
            need = PayloadNeed(f'cpu.arch == "{other}"', reason=f"it is for {other}", found="cpu.arch")
            loaded = program(lambda payload, specs, need=need: PayloadDescription(needs=[need]))
            for each in problems(loaded, cpu_arch=arch):
                found.setdefault(each, []).append(arch)
        assert [each.devices for each in on_devices(found, 3)] == [("arm64", "riscv"), ("x86_64",)]

    def test_delegates_with_one_problem_are_one(self, tmp_path: Path) -> None:
        path = tmp_path / "three.pte"
        path.write_bytes(delegating_program("TinyEngine", copies=3))
        specs: Any = {"TinyEngine": replace(SPEC, describe_payload=lambda payload, specs: WHOLE)}
        installation = etconfig.Installation().with_backends(specs)
        with etconfig.load_program(path, installation=installation) as loaded:
            (found,) = problems(loaded, cpu_arch="x86_64")
        assert "the payload of TinyEngine #0 (and of 2 more delegates) does not fit" in found.message

    def test_facts_are_shown_without_an_expression_of_the_plugin(self, program: Any) -> None:
        need = PayloadNeed("memory.total > 4 && has(cpu.arch)", reason="it is large")
        (found,) = problems(program(lambda payload, specs: PayloadDescription(needs=[need])), memory_total=3)
        assert found.message.endswith("it is large, and cpu.arch is not known and memory.total is 3")

    def test_an_unknown_fact_leaves_it_undecided(self, program: Any) -> None:
        (found,) = problems(program(lambda payload, specs: WHOLE))
        assert (found.code, found.severity) == ("undecided-condition", Severity.NOTE)
        assert found.message.endswith(
            "tiny.pte: forward: the payload of TinyEngine #0 may not fit this device: it is compiled for "
            "arm64, and cpu.arch is not known"
        )
        assert found.help == "give --fact cpu.arch=VALUE"

    def test_a_need_that_cannot_be_computed(self, program: Any) -> None:
        need = PayloadNeed("1 / memory.total == 1", reason="it is odd")
        (found,) = problems(program(lambda payload, specs: PayloadDescription(needs=[need])), memory_total=0)
        assert found.message.endswith("it is odd, and memory.total is 0")

    def test_refused_bytes_and_failures_are_warnings(self, program: Any) -> None:
        (refused,) = problems(program(failing(InvalidPayloadError(cause="it is cut off"))))
        (failed,) = problems(program(failing(ValueError("x"))))
        assert (refused.code, failed.code) == ("payload-mismatch", "broken-plugin")
        assert refused.severity is failed.severity is Severity.WARNING
        assert refused.message.endswith(
            "tiny.pte: forward: the payload of TinyEngine #0: it cannot be described: it is cut off"
        )

    def test_a_payload_is_read_once(self, program: Any) -> None:
        calls = []
        loaded = program(lambda payload, specs: calls.append(payload) or WHOLE)
        for arch in ("arm64", "x86_64"):
            problems(loaded, cpu_arch=arch)
        inspect_program(loaded)
        assert calls == [b"payload"]

    def test_the_matrix_lists_it_as_a_warning(self, program: Any) -> None:
        loaded = program(lambda payload, specs: WHOLE)
        sheets = {arch: FactSheet.from_values({"cpu.arch": arch}, "test") for arch in ("arm64", "x86_64")}
        matrix = etconfig.resolve_devices(loaded, devices=sheets)
        found = {each.device: {p.code: p.severity for p in each.problems} for each in matrix}
        assert "payload-mismatch" not in found["arm64"]
        assert found["x86_64"]["payload-mismatch"] is Severity.WARNING


class TestVariants:
    """The file of an engine is described as a payload is, up to a size."""

    def described(self, path: Path, function: Any = lambda payload, specs: WHOLE) -> Any:
        (path.parent / "m.toml").write_text(
            f"[[model.m.variants]]\nfile = {path.name!r}\nbackend = 'TinyEngine'\n"
        )
        specs: Any = {"TinyEngine": replace(SPEC, describe_payload=function)}
        installation = etconfig.Installation().with_backends(specs)
        (model,) = find_catalog(installation, path.parent / "m.toml")
        needs = VariantNeeds(backends=("TinyEngine",), methods=())
        return variant_payloads(model.variants[0], needs, installation)

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.tiny").write_bytes(b"tiny")
        seen: list[bytes] = []
        ((label, reading),) = self.described(tmp_path / "a.tiny", lambda p, specs: seen.append(p) or WHOLE)
        assert (label, reading.description, seen) == ("", WHOLE, [b"tiny"])

    def test_without_a_function_or_for_a_directory_there_is_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a.tiny").mkdir()
        assert self.described(tmp_path / "a.tiny") == ()
        (tmp_path / "b.tiny").write_bytes(b"tiny")
        assert self.described(tmp_path / "b.tiny", None) == ()

    def test_a_large_file_is_not_read(self, tmp_path: Path) -> None:
        with (tmp_path / "a.tiny").open("wb") as file:
            file.truncate((64 << 20) + 1)
        ((_, reading),) = self.described(tmp_path / "a.tiny", failing(ValueError("it is read")))
        assert reading.problem is not None
        assert reading.problem.startswith("not described: ")
        assert not reading.is_plugins


class TestInspect:
    """`inspect` shows the description of each delegate."""

    def lines(self, loaded: etconfig.LoadedProgram, capsys: pytest.CaptureFixture[str]) -> list[str]:
        print_program(inspect_program(loaded))
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("  payload of ")]

    def test_a_description(self, program: Any, capsys: pytest.CaptureFixture[str]) -> None:
        loaded = program(lambda payload, specs: WHOLE)
        assert self.lines(loaded, capsys) == [
            "  payload of TinyEngine #0: 2 conv, 1 relu",
            "  payload of TinyEngine #0: compiled for arm64",
            "  payload of TinyEngine #0: made by tiny 1.0",
            "  payload of TinyEngine #0: a note",
        ]
        longer = program(lambda payload, specs: replace(WHOLE, target="arm64 of 2020"))
        assert [each for each in self.lines(longer, capsys) if "compiled for" in each] == [
            "  payload of TinyEngine #0: compiled for arm64 of 2020"
        ]
        (delegate,) = inspect_program(loaded).to_jsonable()["methods"][0]["delegates"]
        assert delegate["payload"] == {
            "operators": {"conv": 2, "relu": 1},
            "target": "arm64",
            "sdk_version": "tiny 1.0",
            "needs": [
                {
                    "condition": 'cpu.arch == "arm64"',
                    "reason": "it is compiled for arm64",
                    "found": "cpu.arch",
                }
            ],
            "notes": ["a note"],
        }
        assert delegate["payload_problem"] is None

    def test_a_failure(self, program: Any, capsys: pytest.CaptureFixture[str]) -> None:
        loaded = program(failing(ValueError("x")))
        assert self.lines(loaded, capsys) == [
            "  payload of TinyEngine #0: describe_payload of plugin 'TinyEngine' (etconfig.backends) failed: "
            "ValueError: x"
        ]

    def test_a_plugin_that_ends_the_process_does_not(
        self, program: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("etconfig.base.interrupts._is_own_process", True)
        loaded = program(lambda payload, specs: os._exit(3))
        assert self.lines(loaded, capsys) == [
            "  payload of TinyEngine #0: describe_payload of plugin 'TinyEngine' (etconfig.backends) failed: "
            "SystemExit: it calls os._exit(3)"
        ]


@pytest.mark.parametrize("field", ["condition", "reason", "found"])
def test_a_need_consists_of_texts(field: str) -> None:
    for wrong in ("", " ", 1):
        values: Any = {"condition": "true", "reason": "x", field: wrong}
        with pytest.raises(TypeError, match="has a field that is not a text, or is empty"):
            PayloadNeed(values.pop("condition"), **values)
