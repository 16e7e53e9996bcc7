"""`make demo`: the main job on a real program, in six steps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest
from command_line import DIGITS, TWO_CAMERAS

OPTION = re.compile(
    r"(?P<set>[12]-[AB]) (?P<instance>left|right) (?P<backend>\w+)  +(?P<name>\w+)  +(?P<value>\S+)"
)
RESULT = re.compile(r"(left|right) +accuracy ([0-9.]+)%  median [0-9.]+ ms  max error ([0-9.e-]+)")
UPDATED = re.compile(r"(left|right) +power_mode (\w+) +median ([0-9.]+) -> ([0-9.]+) ms  (.*)")


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, str]:
    """The output of each step of the demo, started from another directory."""
    done = subprocess.run(
        [sys.executable, TWO_CAMERAS / "demo.py"],
        cwd=tmp_path_factory.mktemp("anywhere"),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    parts = re.split(r"^--- (\d)\. .*\n", done.stdout, flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def argument_sets(step: str) -> dict[str, dict[str, str]]:
    """Return the options of 1-A, 1-B, 2-A and 2-B."""
    found: dict[str, dict[str, str]] = {}
    for match in OPTION.finditer(step):
        found.setdefault(match["set"], {"backend": match["backend"]})[match["name"]] = match["value"]
    return found


def test_it_has_six_steps(steps: Mapping[int, str]) -> None:
    assert list(steps) == [1, 2, 3, 4, 5, 6]


def test_1_it_shows_the_facts_that_were_used_and_their_sources(steps: Mapping[int, str]) -> None:
    shown = {line.split()[0]: line for line in steps[1].splitlines() if line}
    assert {"os.name", "cpu.arch", "cpu.available_cores", "power.source"} <= set(shown)
    assert shown["os.name"].split() == ["os.name", "linux", "from", "uname"]
    assert all(" from " in line or " unknown: " in line for line in shown.values())


def test_2_it_shows_the_selected_profile_and_the_reasons(steps: Mapping[int, str]) -> None:
    selected = re.search(
        r"^selected: (demo/two-cameras-linux-\w+), the most derived one", steps[2], re.MULTILINE
    )
    assert selected
    assert re.search(
        rf'^{selected[1]} +matches\n    os.name == "linux" holds: os.name is "linux"\n', steps[2], re.M
    )
    assert re.search(r'^demo/\S+ +no match\n    cpu.arch == "\w+" does not hold: ', steps[2], re.M)
    assert re.search(rf"^layers: +generic/any < .*demo/two-cameras < {selected[1]}$", steps[2], re.M)


def test_3_it_resolves_four_different_sets_of_arguments(steps: Mapping[int, str]) -> None:
    sets = argument_sets(steps[3])
    assert {key: options["backend"] for key, options in sets.items()} == {
        "1-A": "ReferenceNpuBackend",
        "1-B": "ReferenceCpuBackend",
        "2-A": "ReferenceNpuBackend",
        "2-B": "ReferenceCpuBackend",
    }
    assert len({json.dumps(options) for options in sets.values()}) == 4
    assert (sets["1-A"]["core"], sets["2-A"]["core"]) == ("0", "2")
    assert (sets["1-A"]["precision"], sets["2-A"]["precision"]) == ("fp32", "fp16")
    assert (sets["1-B"]["accumulate"], sets["2-B"]["accumulate"]) == ("fp64", "fp32")


def test_3_it_shows_the_origin_of_every_value(steps: Mapping[int, str]) -> None:
    rows = [line for line in steps[3].splitlines() if OPTION.match(line)]
    origin = re.compile(
        r"(default \w+|profile profiles/demo/two-cameras.toml:\d+:\d+|recommendation \w+)( \(.*\))?$"
    )
    assert len(rows) == 14
    assert all(origin.search(row) for row in rows)


def test_4_both_instances_are_as_accurate_as_the_model_in_pytorch(steps: Mapping[int, str]) -> None:
    accuracy = 100 * json.loads((DIGITS / "digits.json").read_text())["accuracy"]
    assert f"PyTorch, recorded at export  accuracy {accuracy:.1f}%\n" in steps[4]
    results = {match[1]: (float(match[2]), float(match[3])) for match in RESULT.finditer(steps[4])}
    assert {name: shown for name, (shown, _) in results.items()} == {"left": accuracy, "right": accuracy}
    assert results["left"][1] <= 1e-5
    assert results["left"][1] < results["right"][1] < 1e-2  # the right one computes in half precision


def test_5_an_update_changes_one_instance_only(steps: Mapping[int, str]) -> None:
    changed = {match[1]: match for match in UPDATED.finditer(steps[5])}
    assert {name: match[2] for name, match in changed.items()} == {
        "left": "high",
        "right": argument_sets(steps[3])["2-A"]["power_mode"],
    }
    assert {match[5] for match in changed.values()} == {"outputs equal bit for bit"}


def test_6_a_mistyped_option_gets_a_diagnostic_with_its_place_and_a_suggestion(
    steps: Mapping[int, str],
) -> None:
    assert steps[6] == (
        "error[unknown-option]: ReferenceNpuBackend has no option 'power_mod'\n"
        " --> typo.toml:6:1\n"
        "  |\n"
        '6 | power_mod = "low"\n'
        "  | ^^^^^^^^^\n"
        "  = help: did you mean 'power_mode'?\n"
    )
