"""The conformance kit on both backends, as vendors run it."""

from __future__ import annotations

from pathlib import Path

import pytest
from etconfig_reference.conformance import GOLDEN

from etconfig.conformance import KIT, BackendConformance, Settings
from etconfig.conformance.cases.case import large_case
from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.subject.subject import Subject

README = Path(__file__).parents[1] / "README.md"
MAX_GOLDEN_BYTES = 400_000


class TestCpu(BackendConformance):
    """`ReferenceCpuBackend` reaches the highest level without an expected failure."""

    backend = "ReferenceCpuBackend"


class TestNpu(BackendConformance):
    """`ReferenceNpuBackend` reaches the highest level without an expected failure."""

    backend = "ReferenceNpuBackend"


@pytest.mark.parametrize("suite", [TestCpu, TestNpu])
def test_the_readme_states_the_level(suite: type[BackendConformance]) -> None:
    row = f"| `{suite.backend}` | L{suite.level} | {suite.kit} | none |"
    assert row in README.read_text().splitlines()
    assert (suite.kit, suite.xfails) == (KIT, None)


@pytest.mark.parametrize("backend", ["ReferenceCpuBackend", "ReferenceNpuBackend"])
class TestGoldenPrograms:
    """Each case whose needs a backend declares has a program, which gives the answers of the case."""

    def test_no_case_is_missing(self, backend: str) -> None:
        subject = Subject(Settings(backend=backend))
        cases = (*load_cases().values(), large_case())
        claimed = {case.name for case in cases if subject.allows(case)}
        assert {path.stem for path in (GOLDEN / backend).iterdir()} == claimed
        assert {case.name for case in subject.cases()} == claimed - {large_case().name}

    def test_every_method_gives_its_answers(self, backend: str) -> None:
        subject = Subject(Settings(backend=backend))
        for case in subject.cases():
            for name in case.case.methods:
                with subject.load(case, name) as method:
                    subject.check_runs(method, case, name)


def test_the_golden_programs_are_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*.pte")) < MAX_GOLDEN_BYTES
