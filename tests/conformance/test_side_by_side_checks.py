"""The checks of methods side by side: behavior that their mutants do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kit_checks import NativeSubject
from mutants.mutant import BACKEND

from etconfig.backend import Capabilities
from etconfig.conformance.checks import side_by_side
from etconfig.conformance.checks.check_catalog import checks_of
from etconfig.conformance.checks.side_by_side import (
    fault_contained,
    in_threads,
    interleave,
    matrix,
    parallel_same,
)
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import MethodInUseError


class DoublesOnly(Subject):
    """The reference, as if it supported only float64."""

    capabilities = Capabilities(dtypes=frozenset({"float64"}))


class OneMethod(NativeSubject):
    """A subject whose every method is the same object."""

    def __init__(self, method: Any) -> None:
        super().__init__(Settings(backend=BACKEND))
        self.method = method

    def load(self, *args: Any, **options: Any) -> Any:
        return self.method


class FakeMethod:
    """The methods that checks call, except execute."""

    def __enter__(self) -> FakeMethod:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing."""


class KeepsOutputs(FakeMethod):
    """Gives right answers, always in the same arrays."""

    def __init__(self) -> None:
        self._output = np.zeros((2, 3), np.float32)

    def execute(self, inputs: list[Any]) -> list[Any]:
        np.add(*inputs, out=self._output)
        return [self._output]


class AlwaysInUse(FakeMethod):
    """Refuses every call."""

    def execute(self, inputs: list[Any]) -> list[Any]:
        raise MethodInUseError(method="forward")


class TestSideBySide:
    """Methods side by side are checked with every runtime, and nothing passes unseen."""

    @pytest.mark.parametrize("check", checks_of(side_by_side), ids=lambda check: check.id)
    def test_none_passes_without_a_program(self, check: Any, tmp_path: Path):
        with pytest.raises(NotDelegatedError):
            check.run(Subject(Settings(backend=BACKEND, programs=str(tmp_path))))

    @pytest.mark.parametrize("check", [matrix, interleave, fault_contained], ids=lambda check: check.id)
    def test_backends_of_other_runtimes_are_checked_too(self, check: Any):
        check.run(NativeSubject(Settings(backend=BACKEND)))

    def test_without_a_possible_fault_the_check_does_not_apply(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(side_by_side, "refuses_part", lambda *_: False)
        with pytest.raises(NotApplicableError, match="half of the payload was accepted, and another runtime"):
            fault_contained.run(NativeSubject(Settings(backend=BACKEND)))

    def test_a_backend_without_a_case_of_several_methods_is_checked(self):
        doubles = DoublesOnly(Settings(backend=BACKEND))
        assert side_by_side._of_several_methods(doubles).name == "add_float64"
        matrix.run(doubles)

    def test_outputs_that_a_later_execute_writes_into_are_found(self):
        with pytest.raises(CheckFailedError, match="add: outputs of the first execute changed"):
            interleave.run(OneMethod(KeepsOutputs()))

    def test_a_method_that_always_refuses_does_not_pass(self):
        with pytest.raises(CheckFailedError, match=r"add fails in thread \d, which calls it alone"):
            parallel_same.run(OneMethod(AlwaysInUse()))

    def test_a_problem_in_any_thread_is_raised_when_all_have_ended(self):
        ended = []

        def work(index: int) -> None:
            ended.append(index)
            if index == 2:
                raise CheckFailedError("thread 2")

        with pytest.raises(CheckFailedError, match="thread 2"):
            in_threads(work)
        assert sorted(ended) == [0, 1, 2, 3]
