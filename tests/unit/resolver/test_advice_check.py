"""Verifying advice without a device finds values out of range, and entries without effect."""

from __future__ import annotations

from dataclasses import replace

import pytest
from resolving import SPECS

from etconfig.diagnostics import Severity
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import Advice, BackendSpec
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.proving.advice_check import advised_devices, verify_advice

READER = AdviceReader(BUILTIN_FACTS)


def spec_with(*advice: Advice) -> BackendSpec:
    return replace(SPECS["CpuBackend"], advice=advice)


def threads(expr: str, when: str | None = None) -> Advice:
    return Advice("num_threads", expr=expr, when=when)


class TestVerifying:
    """A value that is wrong on every device is an error; one that may be wrong is a warning."""

    @pytest.mark.parametrize(
        "advice",
        [
            [threads("max(1, cpu.available_cores - 1)")],
            [threads("cpu.available_cores - 1", "cpu.available_cores > 1")],
            [threads("cpu.available_cores")],
            [threads("1", 'power.source == "battery"'), threads("2")],
            [threads("cpu.physical_cores"), threads("cpu.available_cores"), threads("2")],
        ],
    )
    def test_right_advice_has_no_problems(self, advice: list[Advice]) -> None:
        assert list(verify_advice(spec_with(*advice), READER)) == []

    @pytest.mark.parametrize(
        ("entry", "severity", "message", "help"),
        [
            (
                threads("cpu.available_cores - 1"),
                Severity.WARNING,
                "CpuBackend.num_threads: 'cpu.available_cores - 1' may be less than 1, "
                "expected an integer >= 1",
                "write max(cpu.available_cores - 1, 1)",
            ),
            (
                threads("0"),
                Severity.ERROR,
                "CpuBackend.num_threads: '0' is 0 on every device, expected an integer >= 1",
                None,
            ),
            (
                threads("8 / cpu.efficiency_cores + 1"),
                Severity.WARNING,
                "CpuBackend.num_threads: '8 / cpu.efficiency_cores + 1' may be without a value, "
                "for it divides by zero, expected an integer >= 1",
                "keep the divisor from 0, as in 8 / max(cpu.efficiency_cores, 1)",
            ),
            (
                threads("2", 'os.name == "linux" && os.name == "macos"'),
                Severity.WARNING,
                '\'os.name == "linux" && os.name == "macos"\' never holds',
                "correct it, or remove the settings that depend on it",
            ),
            (
                Advice("log_level", expr="cpu.cache.l2"),
                None,
                "",
                None,
            ),
            (
                Advice("scratch_bytes", expr="cpu.available_cores"),
                Severity.WARNING,
                "CpuBackend.scratch_bytes: 'cpu.available_cores' is in cores, expected bytes",
                "compute it from other facts",
            ),
        ],
    )
    def test_wrong_values_and_conditions(
        self, entry: Advice, severity: Severity | None, message: str, help: str | None
    ) -> None:
        found = list(verify_advice(spec_with(entry), READER))
        if severity is None:
            assert found == []
            return
        (problem,) = found
        assert (problem.severity, problem.message, problem.help) == (severity, message, help)
        assert problem.fix is None

    @pytest.mark.parametrize(
        ("first", "second", "is_hidden"),
        [
            (threads("2"), threads("cpu.available_cores"), True),
            (threads("cpu.available_cores"), threads("2"), False),
            (threads("2", "cpu.available_cores > 2"), threads("3", "cpu.available_cores > 4"), True),
            (threads("3", "cpu.available_cores > 4"), threads("2", "cpu.available_cores > 2"), False),
            (threads("2"), Advice("log_level", expr="1"), False),
        ],
    )
    def test_an_entry_that_an_earlier_one_hides_is_reported(
        self, first: Advice, second: Advice, is_hidden: bool
    ) -> None:
        found = list(verify_advice(spec_with(first, second), READER))
        expected = f"CpuBackend.num_threads: an earlier entry applies wherever {second.expr!r} does"
        assert [problem.message for problem in found] == [expected] * is_hidden

    def test_entries_that_cannot_be_read_are_reported_beside_the_others(self) -> None:
        found = list(verify_advice(spec_with(threads("cpu.core"), threads("0")), READER))
        assert [problem.code for problem in found] == ["unknown-fact", "invalid-value"]


class TestExampleDevices:
    """There is a device for each combination of conditions that some device may meet."""

    def test_each_combination_has_one(self) -> None:
        spec = spec_with(
            threads("1", 'power.source == "battery"'),
            threads("cpu.physical_cores", "cpu.available_cores > 4"),
        )
        found = dict(advised_devices(READER.entries(spec), READER))
        assert list(found) == [
            "elsewhere",
            "where 'cpu.available_cores > 4' holds",
            "where 'power.source == \"battery\"' holds",
            "where 'power.source == \"battery\"' and 'cpu.available_cores > 4' hold",
        ]
        assert all("cpu.physical_cores" in facts for facts in found.values())
