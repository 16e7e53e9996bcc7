"""tools/kit_docs.py: the pages describe the current conformance kit."""

from __future__ import annotations

from dataclasses import fields

from kit_docs import capabilities, cases, checks, levels, outcomes, table

from etconfig.conformance.cases.stored_cases import load_cases
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.outcomes import LEVELS, Outcome
from etconfig.plugin.v1 import Capabilities


class TestParts:
    """Each part has a row with a description for everything of its kind."""

    def test_every_check_has_a_row_below_its_level(self) -> None:
        parts = [part for part in checks("").split("## L") if part]
        assert all_checks()
        for check in all_checks():
            (part,) = (part for part in parts if part.startswith(f"{check.level}: "))
            assert f"| `{check.id}` | {check.doc} | {check.prevents} |" in part

    def test_every_outcome_has_a_meaning(self) -> None:
        assert outcomes("").count("\n") == len(Outcome) + 1
        assert "|  |" not in outcomes("")

    def test_only_good_outcomes_reach_every_level(self) -> None:
        rows = outcomes("").splitlines()
        assert {row.split("`")[1] for row in rows if row.endswith("| yes |")} == {
            "passed",
            "undeclared",
            "not-applicable",
        }
        assert [row.split("`")[1] for row in rows if row.endswith("| from L2 on |")] == ["xfailed"]

    def test_every_capability_case_and_level_has_a_row(self) -> None:
        assert all(f"| `{each.name}` | " in capabilities("") for each in fields(Capabilities))
        assert all(f"| `{name}.pte` | " in cases("") for name in load_cases())
        assert all(f"| L{level} | {what} | " in levels("") for level, what in LEVELS.items())

    def test_a_pipe_in_a_cell_does_not_end_the_column(self) -> None:
        assert table(("a", "b"), [("x|y", 1)]) == "| a | b |\n|---|---|\n| x\\|y | 1 |"
