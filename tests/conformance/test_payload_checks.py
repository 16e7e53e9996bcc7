"""The checks of payloads: behavior that their mutants do not show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kit_checks import NativeSubject
from mutants.mutant import BACKEND

from etconfig.conformance.checks import payload
from etconfig.conformance.checks.check_catalog import checks_of
from etconfig.conformance.checks.payload import (
    corrupt,
    empty_payload,
    format_version,
    read_only_buffer,
)
from etconfig.conformance.interpose.payload_damage import damages, incremented
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.subject.changed_payload import load_changed
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError

SUBJECT = Subject(Settings(backend=BACKEND))


def damaged(change: Callable[[bytes], bytes]) -> Callable[..., Any]:
    """Return a `load_changed` that damages every payload by `change` first."""
    return lambda subject, case, other, *location: load_changed(
        subject, case, lambda data: change(other(data)), *location
    )


class TestPayloads:
    """The checks require first that the backend works, and apply to other runtimes, too."""

    @pytest.mark.parametrize("check", checks_of(payload), ids=lambda check: check.id)
    def test_none_passes_without_a_program(self, check: Any, tmp_path: Path):
        with pytest.raises(NotDelegatedError):
            check.run(Subject(Settings(backend=BACKEND, programs=str(tmp_path))))

    @pytest.mark.parametrize("check", [corrupt, empty_payload, format_version], ids=lambda check: check.id)
    def test_none_passes_when_no_payload_is_accepted(self, check: Any, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(payload, "load_changed", damaged(lambda data: data[:-1]))
        with pytest.raises(DelegateError, match="TruncatedPayloadError"):
            check.run(SUBJECT)

    def test_payloads_of_other_runtimes_are_changed_in_the_program(self):
        empty_payload.run(NativeSubject(SUBJECT.settings))

    def test_buffers_of_other_runtimes_cannot_be_replaced(self):
        with pytest.raises(NotApplicableError, match="cannot be observed"):
            read_only_buffer.run(NativeSubject(SUBJECT.settings))

    def test_a_backend_that_reads_no_version_gets_a_fix(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(
            payload, "load_changed", lambda subject, case, *_: load_changed(subject, case, bytes)
        )
        with pytest.raises(
            CheckFailedError, match=r"0 were refused, but none because of its version; begin payloads with"
        ):
            format_version.run(SUBJECT)

    def test_a_payload_without_contents_may_be_empty(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(
            payload, "load_changed", lambda subject, case, *_: load_changed(subject, case, bytes)
        )
        empty_payload.run(SUBJECT)


class TestDamages:
    """Damage is the same each time, changes the payload, and has a description."""

    def test_damage_is_the_same_for_the_same_case(self):
        data = bytes(range(200))
        once, again = ([change(data) for _, change in damages("add")] for _ in range(2))
        assert once == again
        assert once != [change(data) for _, change in damages("linear")]

    def test_every_damage_changes_something(self):
        data = bytes(range(1, 201))
        unchanged = [name for name, change in damages("add") if change(data) == data]
        assert unchanged == []

    @pytest.mark.parametrize("size_bytes", [0, 1, 7])
    def test_small_payloads_can_be_damaged_too(self, size_bytes: int):
        for _, change in (*damages("add"), ("incremented", incremented(3))):
            assert len(change(bytes(size_bytes))) <= size_bytes

    def test_arguments_that_are_not_arrays_are_passed_on(self):
        assert payload._read_only_array(3) == 3
        assert not payload._read_only_array(np.zeros(2)).flags.writeable  # type: ignore[union-attr]
