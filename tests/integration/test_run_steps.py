"""`etconfig run` with several methods: they run in order, with inputs of their own, and share their state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import DATA, Outcome

Cli = Callable[..., Outcome]

FOLDER = DATA / "shared_state"
SHARED = FOLDER / "shared_named.pte"


def arguments(directory: Path, count: int) -> tuple[list[object], dict[str, np.ndarray]]:
    """Return the options for the first calls of the recorded session, and the outputs of the last one."""
    with np.load(FOLDER / "answers.npz") as archive:
        answers = dict(archive)
    options: list[object] = []
    calls = sorted({key.partition("/")[0] for key in answers})[:count]
    for call in calls:
        options += ["--method", call.partition("_")[2]]
        inputs = {
            key.partition("/")[2]: each for key, each in answers.items() if key.startswith(f"{call}/in")
        }
        if inputs:
            np.savez(directory / f"{call}.npz", **inputs)
            options += ["--input", directory / f"{call}.npz"]
    last = calls[-1]
    return options, {
        key.partition("/")[2]: each for key, each in answers.items() if key.startswith(f"{last}/out")
    }


class TestSteps:
    """Each --method is one execute, with the options after it."""

    @pytest.mark.parametrize("count", [1, 2, 4, 5, 7, 10])
    def test_a_session_gives_pytorchs_answers(self, cli: Cli, tmp_path: Path, count: int) -> None:
        options, expected = arguments(tmp_path, count)
        outcome = cli("run", SHARED, *options, "--output", tmp_path / "y.npz")
        assert outcome.status == 0, outcome.stderr
        with np.load(tmp_path / "y.npz") as given:
            assert sorted(given) == sorted(expected)
            for name, each in expected.items():
                np.testing.assert_allclose(given[name], each, atol=1e-6)

    def test_each_output_names_its_method(self, cli: Cli, tmp_path: Path) -> None:
        outcome = cli("run", SHARED, *arguments(tmp_path, 2)[0])
        lines = outcome.stdout.splitlines()
        assert lines[0].startswith("prefill out0: float32 [3, 4]: ")
        assert lines[1].startswith("decode out0: float32 [1, 4]: ")
        assert lines[2].startswith("2 methods in order, ")

    def test_json_has_every_step(self, cli: Cli, tmp_path: Path) -> None:
        printed = cli("run", SHARED, *arguments(tmp_path, 2)[0], "--json").json
        steps = [(each["method"], each["instance"], each["outputs"]) for each in printed["steps"]]
        assert steps == [
            ("prefill", None, [{"dtype": "float32", "shape": [3, 4]}]),
            ("decode", None, [{"dtype": "float32", "shape": [1, 4]}]),
        ]
        assert "outputs" not in printed

    def test_inputs_before_the_first_method_are_its(self, cli: Cli, tmp_path: Path) -> None:
        options, _ = arguments(tmp_path, 2)
        moved = [*options[2:4], *options[:2], *options[4:]]
        assert cli("run", SHARED, *moved).status == 0

    def test_a_trace_has_all_methods(self, cli: Cli, tmp_path: Path) -> None:
        trace = tmp_path / "trace.json"
        assert cli("run", SHARED, *arguments(tmp_path, 2)[0], "--trace", trace).status == 0
        text = trace.read_text()
        assert "prefill" in text
        assert "decode" in text


class TestMistakes:
    """Mistakes are reported before anything runs."""

    def test_inputs_of_another_method_are_missing(self, cli: Cli, tmp_path: Path) -> None:
        options, _ = arguments(tmp_path, 2)
        outcome = cli("run", SHARED, *options[:2], *options[4:])
        assert outcome.status == 2
        assert "method 'prefill', inputs: expected 1 value(s), given 0" in outcome.stderr

    def test_a_misspelled_method_is_suggested(self, cli: Cli) -> None:
        outcome = cli("run", SHARED, "--method", "read", "--method", "raed")
        assert outcome.status == 2
        assert "did you mean 'read'?" in outcome.stderr

    def test_two_instances_of_one_step_are_refused(self, cli: Cli) -> None:
        outcome = cli("run", SHARED, "--method", "read", "--instance", "a", "--instance", "b")
        assert "--instance is given twice for method 'read'" in outcome.stderr

    def test_a_sequence_is_not_repeated(self, cli: Cli) -> None:
        outcome = cli("run", SHARED, "--method", "read", "--method", "read", "--repeat", "2")
        assert "--repeat is for one method" in outcome.stderr
