"""`validate` on expressions and conditions: values that some or all devices could not accept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from etconfig import Diagnostic, Installation
from etconfig.app.validating.validation import validate_file

Check = Callable[[str], "tuple[Diagnostic, ...]"]
HEAD = '[profile]\nname = "acme/board"\n'


@pytest.fixture
def problems(tmp_path: Path) -> Check:
    """Validate a profile with these lines."""

    def check(lines: str) -> tuple[Diagnostic, ...]:
        path = tmp_path / "board.toml"
        path.write_text(HEAD + lines, "utf-8")
        return validate_file(path, Installation(tmp_path))

    return check


def npu(option: str, expression: str) -> str:
    return f"[options.ReferenceNpuBackend]\n{option} = {{ expr = '{expression}' }}\n"


class TestValuesThatNoDeviceGives:
    """They are errors, without a device."""

    @pytest.mark.parametrize(
        ("option", "expression", "message"),
        [
            ("core", "os.name", "expected an integer >= 0 and <= 3, given an expression of type string"),
            ("power_mode", "cpu.available_cores", "given an expression of type int"),
            ("power_mode", "[1, 2]", "given an expression of type list of int"),
            ("core", "cpu.available_cores + 100", "is at least 101 on every device"),
            ("core", "-cpu.available_cores", "is at most -1 on every device"),
            ("core", "7", "is 7 on every device"),
            ("precision", '"fp64"', "is 'fp64' on every device"),
            ("precision", 'cpu.arch == "arm64" ? "half" : "fp64"', "is 'fp64' or 'half' on every device"),
            ("core", "8 / 0", "is without a value on every device"),
        ],
    )
    def test_an_error_names_the_value_and_what_is_expected(
        self, problems: Check, option: str, expression: str, message: str
    ) -> None:
        (found,) = problems(npu(option, expression))
        assert (found.code, found.is_error) == ("invalid-value", True)
        assert message in found.message
        assert found.spans[0].underlined == f"'{expression}'"


class TestValuesThatSomeDeviceGives:
    """They are warnings; where a bound is missing, the help writes it."""

    @pytest.mark.parametrize(
        ("option", "expression", "what", "fixed"),
        [
            ("core", "cpu.available_cores", "more than 3", "min(cpu.available_cores, 3)"),
            ("core", "min(npu.count, 3) - 1", "less than 0", "max(min(npu.count, 3) - 1, 0)"),
            (
                "core",
                "npu.count - 1",
                "less than 0 or more than 3",
                "max(min(npu.count - 1, 3), 0)",
            ),
            ("precision", 'os.name == "linux" ? "fp16" : "fp64"', "'fp64'", None),
            ("power_mode", "os.name", "any text", None),
        ],
    )
    def test_a_warning_names_the_bound_and_the_fix(
        self, problems: Check, option: str, expression: str, what: str, fixed: str | None
    ) -> None:
        (found,) = problems(npu(option, expression))
        assert (found.code, found.is_error) == ("unproven-value", False)
        assert f" may be {what}, expected" in found.message
        if fixed is None:
            assert found.fix is None
        else:
            assert found.help == f"write {fixed}"
            assert found.fix.replacement == f"'{fixed}'"
            assert problems(npu(option, fixed)) == ()

    def test_a_division_by_zero_is_found(self, problems: Check) -> None:
        (found,) = problems(npu("core", "3 / cpu.efficiency_cores"))
        assert "without a value, for it divides by zero" in found.message
        assert problems(npu("core", "3 / max(cpu.efficiency_cores, 1)")) == ()


class TestValuesThatEveryDeviceAccepts:
    """Bounds, conditions and branches are taken into account."""

    @pytest.mark.parametrize(
        "expression",
        [
            "min(cpu.available_cores, 3)",
            "cpu.available_cores > 3 ? 3 : cpu.available_cores",
            "cpu.available_cores % 4",
            "has(npu.count) && npu.count > 1 ? 1 : 0",
            "power.battery_level < 0.2 ? 0 : 1",
        ],
    )
    def test_nothing_is_reported(self, problems: Check, expression: str) -> None:
        assert problems(npu("core", expression)) == ()

    def test_the_condition_of_an_overlay_bounds_its_facts(self, problems: Check) -> None:
        lines = "[[when]]\nif = 'cpu.available_cores <= 3'\n"
        lines += "options.ReferenceNpuBackend.core = { expr = 'cpu.available_cores' }\n"
        assert problems(lines) == ()


class TestConditions:
    """A condition that decides nothing is a warning."""

    @pytest.mark.parametrize(
        ("condition", "verdict"),
        [
            ("cpu.available_cores > 4 && cpu.available_cores < 3", "never holds"),
            ("cpu.available_cores < 1", "never holds"),
            ("power.battery_level > 1.0", "never holds"),
            ('cpu.arch == "arm64" && cpu.arch != "arm64"', "never holds"),
            ("!has(npu.count) && npu.count > 0", "never holds"),
            ("cpu.available_cores >= 1", "holds wherever its facts are known"),
            ('power.source == "mains" || power.source == "battery"', "holds wherever its facts are known"),
            *(
                (computed, "holds wherever its facts are known and it can be computed")
                for computed in (
                    "memory.total / memory.available >= 0",
                    "8 % (cpu.available_cores - 1) >= 0",
                    "cpu.available_cores * 2 >= 2",
                    "-cpu.available_cores < 0 || memory.total + 1 > 0",
                    "(has(npu.count) ? 8 / npu.count : 1) >= 0",
                )
            ),
            ("2 * 8 >= 16 || cpu.available_cores > 1", "holds wherever its facts are known"),
        ],
    )
    def test_one_that_is_always_the_same_is_named(
        self, problems: Check, condition: str, verdict: str
    ) -> None:
        lines = f"[[when]]\nif = '{condition}'\noptions.ReferenceNpuBackend.core = 1\n"
        (found,) = problems(lines)
        assert (found.code, found.is_error) == ("constant-condition", False)
        assert found.message == f"{condition!r} {verdict}"

    def test_match_counts_too(self, problems: Check) -> None:
        (found,) = problems("match = 'cpu.available_cores < 1'\n")
        assert found.code == "constant-condition"

    @pytest.mark.parametrize("condition", ["true", "false", "cpu.available_cores > 1", "has(npu.count)"])
    def test_one_that_decides_something_or_is_meant_so_is_left_alone(
        self, problems: Check, condition: str
    ) -> None:
        lines = f"[[when]]\nif = '{condition}'\noptions.ReferenceNpuBackend.core = 1\n"
        assert problems(lines) == ()


class TestShadowedOverlays:
    """An overlay that a later one always replaces is a warning at the earlier one."""

    @staticmethod
    def overlays(*conditions: str) -> str:
        lines = (
            f"[[when]]\nif = '{each}'\noptions.ReferenceNpuBackend.core = {value}\n"
            for value, each in enumerate(conditions)
        )
        return "".join(lines)

    @pytest.mark.parametrize(
        ("earlier", "later"),
        [
            ("npu.count > 1", "npu.count > 1"),
            ("npu.count > 2", "npu.count > 1"),
            ('os.name == "linux" && npu.count > 1', 'os.name == "linux"'),
            ("npu.count == 2", "npu.count != 3"),
        ],
    )
    def test_a_later_condition_that_is_wider_is_reported(
        self, problems: Check, earlier: str, later: str
    ) -> None:
        (found,) = problems(self.overlays(earlier, later))
        assert (found.code, found.is_error) == ("shadowed-assignment", False)
        assert [span.line for span in found.spans] == [5, 8]

    @pytest.mark.parametrize(
        ("earlier", "later"),
        [
            ("npu.count > 1", "npu.count > 2"),
            ("npu.count > 1", 'os.name == "linux"'),
            ("npu.count > 1", "npu.count > 0 && gpu.count > 0"),
        ],
    )
    def test_a_narrower_or_another_one_is_not(self, problems: Check, earlier: str, later: str) -> None:
        assert problems(self.overlays(earlier, later)) == ()


class TestCombinations:
    """A problem that occurs only if several conditions are true is found, with a device that shows it."""

    OVERLAYS = """
[[when]]
if = 'power.source == "battery"'
options.ReferenceCpuBackend.scratch_bytes = 4096
[[when]]
if = 'cpu.arch == "arm64"'
options.ReferenceCpuBackend.accumulate = "fp64"
"""
    MATCH = "match = 'os.name == \"linux\"'\n"

    def test_a_conflict_of_two_overlays_is_an_error_with_its_conditions(self, problems: Check) -> None:
        (found,) = problems(self.MATCH + self.OVERLAYS)
        assert (found.code, found.is_error) == ("option-conflict", True)
        assert "scratch_bytes must be at least 8192 when accumulate is fp64" in found.message
        assert found.notes == (
            """where 'power.source == "battery"' and 'cpu.arch == "arm64"' hold""",
            'for example with cpu.arch = "arm64", power.source = "battery"',
        )

    def test_it_is_a_warning_in_a_profile_that_is_only_extended(self, problems: Check) -> None:
        (found,) = problems(self.OVERLAYS)
        assert (found.code, found.is_error) == ("option-conflict", False)

    def test_conditions_that_exclude_each_other_do_not_combine(self, problems: Check) -> None:
        overlays = self.OVERLAYS.replace('cpu.arch == "arm64"', 'power.source == "mains"')
        assert problems(self.MATCH + overlays) == ()

    def test_what_is_wrong_without_any_condition_is_found_without_a_device(self, problems: Check) -> None:
        lines = "[options.ReferenceCpuBackend]\nscratch_bytes = 4096\naccumulate = 'fp64'\n"
        (found,) = problems(self.MATCH + lines)
        assert (found.code, found.notes) == ("option-conflict", ())

    def test_facts_that_the_file_sets_by_hand_are_what_they_are(self, problems: Check) -> None:
        facts = '[facts]\n"power.source" = "mains"\n'
        assert problems(self.MATCH + facts + self.OVERLAYS) == ()
