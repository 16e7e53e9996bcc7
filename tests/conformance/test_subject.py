"""The subject: the programs of a check, and the errors without any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from etconfig_reference.conformance import GOLDEN
from kit_checks import subject

from etconfig.backend import Capabilities
from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError

CPU = "ReferenceCpuBackend"
OTHERS = str(GOLDEN / "ReferenceNpuBackend")
"""Programs that delegate to another backend."""

Declare = Callable[..., None]


class TestPrograms:
    """Only programs count that delegate to the backend, of cases whose needs it declares."""

    def test_a_directory_that_does_not_exist_is_named_with_a_fix(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        monkeypatch.setattr("etconfig_reference.conformance.GOLDEN", tmp_path)
        missing = tmp_path / CPU
        expected = (
            f"{missing} does not exist, expected golden programs of {CPU}; add them to the wheel, or make "
            f"them: etconfig conformance {CPU} --lower {missing}"
        )
        with pytest.raises(CheckFailedError) as caught:
            subject().simplest  # noqa: B018  # it raises
        assert str(caught.value) == expected

    def test_without_programs_nothing_is_delegated(self, tmp_path: Path):
        expected = (
            f"^etconfig-reference .* has no golden programs of {CPU}; return their directory from a plugin "
            r"of the group etconfig\.conformance, or name it with --programs$"
        )
        with pytest.raises(NotDelegatedError, match=expected):
            list(subject(programs=str(tmp_path)).cases())

    def test_programs_that_delegate_elsewhere_do_not_count(self):
        expected = (
            f"^no golden program delegates to {CPU}, expected one such as add.pte, relu_rank0.pte, "
            f"several_outputs.pte; make them: etconfig conformance {CPU} --lower DIRECTORY$"
        )
        with pytest.raises(NotDelegatedError, match=expected):
            list(subject(programs=OTHERS).cases())
        with pytest.raises(NotDelegatedError, match=r", or do not declare contiguous$"):
            list(subject(programs=OTHERS).cases("contiguous"))

    def test_a_case_whose_needs_are_not_declared_is_left_out(self, declare: Declare):
        declare(capabilities=Capabilities(dtypes=frozenset({"int8"})))
        given = subject()
        assert not given.allows(load_cases()["add"])
        assert given.allows(load_cases()["add_int8"])

    def test_a_backend_without_any_case_is_not_excused(self, declare: Declare):
        declare(capabilities=Capabilities(dtypes=frozenset({"complex64"})))
        with pytest.raises(NotDelegatedError, match=f"the kit has no case for any dtype that {CPU} declares"):
            list(subject().cases())

    def test_a_misspelled_dtype_is_named(self, declare: Declare):
        declare(capabilities=Capabilities(dtypes=frozenset({"flaot32"})))
        with pytest.raises(NotDelegatedError, match=r"; 'flaot32' is not a dtype, did you mean 'float32'\?$"):
            list(subject().cases())

    def test_a_backend_without_a_case_of_one_kind_is_excused(self):
        with pytest.raises(
            NotApplicableError, match=f"the kit has no such case for the capabilities of {CPU}"
        ):
            list(subject().cases(where=lambda case: False))


@pytest.mark.usefixtures("native")
class TestNative:
    """A backend of another runtime is loaded and run, but its calls are not observed."""

    def test_a_method_runs(self):
        given = subject()
        case = given.simplest
        with given.load(case) as method:
            given.check_runs(method, case)

    def test_its_calls_cannot_be_observed(self):
        given = subject()
        with pytest.raises(NotApplicableError, match=f"another runtime calls {CPU}: its calls cannot be"):
            given.load(given.simplest, through=Interposer())

    def test_it_cannot_be_created(self):
        with pytest.raises(NotApplicableError, match=f"{CPU} is not implemented in Python, so it cannot be"):
            subject().create_backend()
