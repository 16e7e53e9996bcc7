"""The vendor's ahead-of-time half makes golden programs, which are kept if they delegate."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from etconfig_reference.conformance import GOLDEN
from kit_checks import subject

from etconfig.base.written_files import FilesOfRun, RefusedFileError
from etconfig.conformance.runner import lowering_process
from etconfig.conformance.subject import lowering
from etconfig.conformance.subject.lowering import LoweringError, lower_cases
from etconfig.plugin.v1 import ApiRange, ConformanceContribution, LoweringRequest

BACKEND = "ReferenceCpuBackend"


VENDOR = """\
import os, signal, sys
from etconfig.conformance.runner import lowering_process
from etconfig.conformance.subject import lowering
class Method:
    def export(self): return "exported"
class Model:
    def __init__(self, name): self.name, self.methods = name, {{"forward": Method()}}
def lower(request):
    print("what a tool prints")
    if request.case == "linear":
        {end}
    return open({golden!r} + "/" + request.case + ".pte", "rb").read()
lowering._models = lambda: (Model("add"), Model("linear"))
lowering._lower_of = lambda subject: lower
lowering_process.lower_requested()
"""
"""The process of lowering, with an ahead-of-time half that ends in some way in the second case."""


class FakeMethod:
    """A method whose exported program is a text."""

    def export(self) -> str:
        return "exported"


class FakeModel:
    """Return a case with this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.methods = {"forward": FakeMethod()}


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the installed plugin this `lower`, and replace the cases of the kit."""

    def give(lower: Callable[[LoweringRequest], object] | None, *cases: str) -> None:
        contribution = ConformanceContribution(api=ApiRange(min=1, built=1), lower=lower)  # type: ignore[arg-type]
        monkeypatch.setattr(
            "etconfig_reference.conformance.ConformanceContribution", lambda **_: contribution
        )
        monkeypatch.setattr(lowering, "_models", lambda: tuple(map(FakeModel, cases)))

    return give


def golden(request: LoweringRequest) -> bytes:
    return (GOLDEN / BACKEND / f"{request.case}.pte").read_bytes()


def of_the_other_backend(request: LoweringRequest) -> bytes:
    return (GOLDEN / "ReferenceNpuBackend" / f"{request.case}.pte").read_bytes()


class TestLowerCases:
    """Programs that delegate are written; everything else is reported."""

    def test_each_case_is_lowered_with_its_methods_and_written(
        self, vendor: Callable[..., None], tmp_path: Path
    ) -> None:
        asked: list[LoweringRequest] = []

        def lower(request: LoweringRequest) -> bytes:
            asked.append(request)
            return golden(request)

        vendor(lower, "add", "linear")
        reported: list[tuple[str, str]] = []
        written = lower_cases(
            subject(), tmp_path / "new", FilesOfRun(), progress=lambda *each: reported.append(each)
        )
        assert written == ("add", "linear")
        assert [(each.case, each.methods) for each in asked] == [
            ("add", {"forward": "exported"}),
            ("linear", {"forward": "exported"}),
        ]
        for name in written:
            program = (tmp_path / "new" / f"{name}.pte").read_bytes()
            assert program == (GOLDEN / BACKEND / f"{name}.pte").read_bytes()
            assert (name, f"{len(program)} bytes") in reported

    def test_a_case_whose_needs_are_not_declared_is_not_lowered(
        self, vendor: Callable[..., None], tmp_path: Path
    ) -> None:
        vendor(golden, "unheard_of", "add")
        reported: list[tuple[str, str]] = []
        assert lower_cases(
            subject(), tmp_path, FilesOfRun(), progress=lambda *each: reported.append(each)
        ) == ("add",)
        assert reported[0] == ("unheard_of", "not declared")

    def test_a_program_that_delegates_elsewhere_is_removed(
        self, vendor: Callable[..., None], tmp_path: Path
    ) -> None:
        shutil.copy(GOLDEN / BACKEND / "linear.pte", tmp_path / "linear.pte")
        vendor(
            lambda asked: (golden if asked.case == "add" else of_the_other_backend)(asked), "add", "linear"
        )
        reported: list[tuple[str, str]] = []
        assert lower_cases(
            subject(), tmp_path, FilesOfRun(), progress=lambda *each: reported.append(each)
        ) == ("add",)
        assert reported[-1] == ("linear", f"not delegated to {BACKEND}")
        assert [path.name for path in tmp_path.iterdir()] == ["add.pte"]

    @pytest.mark.parametrize("name", ["add.pte", "linear.pte"])
    def test_a_file_that_is_not_such_a_program_is_kept(
        self, vendor: Callable[..., None], tmp_path: Path, name: str
    ) -> None:
        (tmp_path / name).write_bytes(b"mine")
        vendor(
            lambda asked: (golden if asked.case == "add" else of_the_other_backend)(asked), "add", "linear"
        )
        with pytest.raises(
            RefusedFileError, match=f"it is there, and not a program that delegates to {BACKEND}"
        ):
            lower_cases(subject(), tmp_path, FilesOfRun())
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"mine")]

    def test_it_is_an_error_if_nothing_delegates(self, vendor: Callable[..., None], tmp_path: Path) -> None:
        vendor(of_the_other_backend, "add")
        with pytest.raises(
            LoweringError, match=f"no case delegates to {BACKEND}; its partitioner must accept"
        ):
            lower_cases(subject(), tmp_path, FilesOfRun())

    def test_a_plugin_without_lower_is_an_error(self, vendor: Callable[..., None], tmp_path: Path) -> None:
        vendor(None, "add")
        with pytest.raises(
            LoweringError, match=f"plugin of {BACKEND} cannot lower programs; add lower to its"
        ):
            lower_cases(subject(), tmp_path, FilesOfRun())

    def test_a_failure_of_lower_names_the_case_and_is_chained(
        self, vendor: Callable[..., None], tmp_path: Path
    ) -> None:
        def lower(request: LoweringRequest) -> bytes:
            raise ZeroDivisionError("no core is left")

        vendor(lower, "add")
        expected = "lower failed for add: ZeroDivisionError: no core is left"
        with pytest.raises(LoweringError, match=expected) as caught:
            lower_cases(subject(), tmp_path, FilesOfRun())
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (None, "lower returned NoneType for add, expected the bytes of a .pte"),
            (b"nonsense", "lower returned no valid program for add: "),
        ],
    )
    def test_a_result_that_is_not_a_program_is_an_error(
        self, vendor: Callable[..., None], tmp_path: Path, answer: object, message: str
    ) -> None:
        vendor(lambda _: answer, "add")
        with pytest.raises(LoweringError, match=message):
            lower_cases(subject(), tmp_path, FilesOfRun())
        assert not list(tmp_path.iterdir())

    def test_a_directory_that_cannot_be_written_is_an_error(
        self, vendor: Callable[..., None], tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        vendor(golden, "add")
        with pytest.raises(LoweringError, match="file/golden cannot be written: "):
            lower_cases(subject(), tmp_path / "file" / "golden", FilesOfRun())

    def test_without_torch_it_says_what_is_needed(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(
            LoweringError, match="lowering needs torch and executorch, which cannot be imported"
        ):
            lower_cases(subject(), tmp_path, FilesOfRun())


def test_an_ahead_of_time_half_that_ends_its_process_does_not_end_the_kit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "linear.pte"
    shutil.copy(GOLDEN / BACKEND / "linear.pte", kept)
    failing = []
    for end, expected in {
        "os._exit(0)": "lower failed after add: its process ended with exit status 0",
        "os._exit(3)": "lower failed after add: its process ended with exit status 3",
        "os.kill(os.getpid(), signal.SIGSEGV)": (
            "lower failed after add: its process ended with signal SIGSEGV"
        ),
        "sys.exit(0)": "lower failed for linear: SystemExit: 0",
        "raise KeyboardInterrupt": "lower failed for linear: KeyboardInterrupt: ",
        "return 1": "lower returned int for linear, expected the bytes of a .pte",
    }.items():
        source = VENDOR.format(end=end, golden=str(GOLDEN / BACKEND))
        monkeypatch.setattr(lowering_process, "_COMMAND", (sys.executable, "-c", source))
        with pytest.raises(LoweringError) as caught:
            lower_cases(subject(), tmp_path, FilesOfRun(), lowered=lowering_process.lowered_apart)
        if str(caught.value) != expected or list(tmp_path.iterdir()) != [kept]:
            failing.append((end, str(caught.value)))
    assert failing == []


def test_programs_that_another_process_lowers_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = VENDOR.format(end="pass", golden=str(GOLDEN / BACKEND))
    monkeypatch.setattr(lowering_process, "_COMMAND", (sys.executable, "-c", source))
    assert lower_cases(subject(), tmp_path, FilesOfRun(), lowered=lowering_process.lowered_apart) == (
        "add",
        "linear",
    )
    assert (tmp_path / "add.pte").read_bytes() == (GOLDEN / BACKEND / "add.pte").read_bytes()
