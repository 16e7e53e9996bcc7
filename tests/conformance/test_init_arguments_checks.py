"""The checks of the other arguments of `init`: behavior that their mutants do not show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from etconfig_reference.conformance import GOLDEN
from kit_checks import NativeSubject, subject
from mutants.mutant import BACKEND

from etconfig.backend import InitContext, Processed
from etconfig.conformance.checks import init_arguments
from etconfig.conformance.checks.check_catalog import checks_of
from etconfig.conformance.checks.init_arguments import (
    OTHER_HOST,
    host_mismatch,
    named_data_missing,
    spec_bad,
)
from etconfig.conformance.interpose.interposer import ReplacingInit
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.subject.subject import Subject
from etconfig.program.editing.replacing import replace_payloads
from etconfig.schema.spec import CompileSpecEncoding, CompileSpecInfo


class RefusesWithoutWords(ReplacingInit):
    """Refuses every argument that differs from the program's, without naming it."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        if self._compile_specs(compile_specs) != compile_specs:
            raise ValueError("error 0x20")
        return super().init(context, processed, compile_specs)


def with_other_host(directory: Path, content: bytes) -> Subject:
    """The reference with its simplest program, and one for another host."""
    (directory / "add.pte").write_bytes((GOLDEN / BACKEND / "add.pte").read_bytes())
    (directory / f"{OTHER_HOST}.pte").write_bytes(content)
    return subject(programs=str(directory))


class TestInitArguments:
    """The backend must work before it may refuse something, and a refusal names the problem."""

    @pytest.mark.parametrize("check", checks_of(init_arguments), ids=lambda check: check.id)
    def test_none_passes_without_a_program(self, check: Any, tmp_path: Path):
        with pytest.raises(NotDelegatedError):
            check.run(subject(programs=str(tmp_path)))

    @pytest.mark.parametrize("check", [spec_bad, named_data_missing], ids=lambda check: check.id)
    def test_calls_of_other_runtimes_cannot_be_changed(self, check: Any):
        with pytest.raises(NotApplicableError, match="cannot be observed"):
            check.run(NativeSubject(subject().settings))

    def test_an_error_names_the_compile_spec(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(init_arguments, "ReplacingInit", RefusesWithoutWords)
        with pytest.raises(CheckFailedError, match=r"'etconfig_.*: the error does not name it: .*error 0x20"):
            spec_bad.run(subject())

    def test_declared_named_data_must_be_read(self, monkeypatch: pytest.MonkeyPatch):
        simple = subject()
        add = simple.simplest
        monkeypatch.setattr(simple, "cases", lambda requires: iter([add]))
        with pytest.raises(CheckFailedError, match="add: uses_named_data is declared, but init read none"):
            named_data_missing.run(simple)

    @pytest.mark.parametrize("encoding", CompileSpecEncoding)
    def test_each_encoding_but_bytes_has_values_that_do_not_fit(self, encoding: CompileSpecEncoding):
        value = init_arguments._unfit(CompileSpecInfo(doc="It.", encoding=encoding))
        assert (value is None) == (encoding is CompileSpecEncoding.BYTES)


class TestHostMismatch:
    """The check needs the vendor's program for another host."""

    def test_a_missing_program_for_another_host_is_reported(self):
        with pytest.raises(NotDelegatedError, match=r"declares is_bound_to_host, but no other_host\.pte"):
            host_mismatch.run(subject())

    def test_a_program_that_does_not_delegate_does_not_count(self, tmp_path: Path):
        program = (Path(__file__).parents[1] / "data" / "programs" / "add.pte").read_bytes()
        with pytest.raises(NotDelegatedError, match="add a program"):
            host_mismatch.run(with_other_host(tmp_path, program))

    def test_a_refusal_passes(self, tmp_path: Path):
        change = partial(replace_payloads, backend_id=BACKEND, change=lambda payload: payload[:-1])
        host_mismatch.run(with_other_host(tmp_path, change((GOLDEN / BACKEND / "add.pte").read_bytes())))
