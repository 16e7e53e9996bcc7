"""Real programs return the outputs that PyTorch recorded at export."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DIGITS, Outcome

import etconfig

PROGRAMS = ["digits_portable.pte", "digits.pte", "digits_inline.pte"]
METHODS = ["forward", "embed"]
TOLERANCE = 1e-5
FAST = {"ReferenceNpuBackend.power_mode": "high"}
"""The simulated device sleeps less; its results are the same."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("program", PROGRAMS)
class TestAnswers:
    """Max abs error <= 1e-5 in fp32, portable and delegated."""

    def test_all_images_through_the_api(
        self, place: Path, recorded: Mapping[str, Any], program: str, method: str
    ) -> None:
        with etconfig.load_program(DIGITS / program) as loaded:
            delegated = loaded.backends("forward")
            arguments = etconfig.resolve(loaded, overrides=FAST if delegated else ()).arguments(method)
            with loaded.load_method(method, arguments) as runnable:
                outputs = np.concatenate([runnable.execute([image[None]])[0] for image in recorded["images"]])
        assert outputs.dtype == np.float32
        assert outputs.shape == recorded[method].shape
        assert np.abs(outputs - recorded[method]).max() <= TOLERANCE

    @pytest.mark.parametrize("index", [0, 7, 199])
    def test_one_image_through_the_command_line(
        self,
        cli: Callable[..., Outcome],
        place: Path,
        recorded: Mapping[str, Any],
        program: str,
        method: str,
        index: int,
    ) -> None:
        np.save(place / "image.npy", recorded["images"][index : index + 1])
        done = cli("run", DIGITS / program, "--method", method, "--input", "image.npy", "--output", "y.npz")
        assert (done.status, done.stderr) == (0, "")
        with np.load(place / "y.npz") as outputs:
            assert outputs.files == ["out0"]
            assert outputs["out0"].shape == (1, recorded[method].shape[1])
            assert np.abs(outputs["out0"][0] - recorded[method][index]).max() <= TOLERANCE


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_accuracy_is_that_of_the_exported_model_in_pytorch(
    place: Path, recorded: Mapping[str, Any], program: str
) -> None:
    description = json.loads((DIGITS / "digits.json").read_text())
    assert len(recorded["labels"]) == description["held_out_images"]
    with etconfig.load_program(DIGITS / program) as loaded, loaded.load_method("forward") as forward:
        guesses = [forward.execute([image[None]])[0].argmax() for image in recorded["images"]]
    assert np.mean(guesses == recorded["labels"]) == description["accuracy"]


class TestFiles:
    """Inputs in order; an .npz contains in0, in1, ...; the output .npz contains out0, out1, ..."""

    def test_an_npz_gives_the_same_answer_as_npy_files(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        left = np.arange(6, dtype=np.float32).reshape(2, 3)
        right = left + 10
        np.save(place / "left.npy", left)
        np.save(place / "right.npy", right)
        np.savez(place / "both.npz", in1=right, in0=left)
        program = DIGITS.parent / "programs" / "add.pte"
        assert (
            cli("run", program, "--input", "left.npy", "--input", "right.npy", "--output", "a.npz").status
            == 0
        )
        assert cli("run", program, "--input", "both.npz", "--output", "b.npz").status == 0
        with np.load("a.npz") as one, np.load("b.npz") as other:
            np.testing.assert_array_equal(one["out0"], other["out0"])

    def test_several_outputs_are_numbered(self, cli: Callable[..., Outcome], place: Path) -> None:
        program = DIGITS.parent / "programs" / "lists.pte"
        with etconfig.load_program(program) as loaded, loaded.load_method("forward") as forward:
            inputs = [np.arange(9, dtype=np.float32).reshape(3, 3), np.array([0, 2])]
            expected = forward.execute(inputs)
        np.savez(place / "inputs.npz", in0=inputs[0], in1=inputs[1])
        done = cli("run", program, "--input", "inputs.npz", "--output", "y.npz")
        assert [line.partition(":")[0] for line in done.stdout.splitlines()[:4]] == [
            "out0",
            "out1",
            "out2",
            "out3",
        ]
        with np.load(place / "y.npz") as outputs:
            assert outputs.files == ["out0", "out1", "out2", "out3"]
            for name, value in zip(outputs.files, expected, strict=True):
                np.testing.assert_array_equal(outputs[name], value)

    def test_an_array_without_dimensions_is_a_number(self, cli: Callable[..., Outcome], place: Path) -> None:
        program = DIGITS.parent / "programs" / "symbolic_integer.pte"
        x = np.arange(6, dtype=np.float32)
        np.savez(place / "inputs.npz", in0=x, in1=np.int64(3))
        assert cli("run", program, "--input", "inputs.npz", "--output", "y.npz").status == 0
        with etconfig.load_program(program) as loaded, loaded.load_method("forward") as forward:
            (expected,) = forward.execute([x, 3])
        with np.load(place / "y.npz") as outputs:
            np.testing.assert_array_equal(outputs["out0"], expected)

    @pytest.mark.parametrize(
        ("method", "shown"),
        [("version_of_model", "out0: 7\n"), ("name_of_model", "out0: 'corpus'\n"), ("scale", "out0: 0.25\n")],
    )
    def test_a_number_or_a_text_is_shown_unchanged(
        self, cli: Callable[..., Outcome], method: str, shown: str
    ) -> None:
        done = cli("run", DIGITS.parent / "programs" / "two_methods.pte", "--method", method)
        assert done.stdout.startswith(shown)

    def test_integers_are_shown_in_full(self, cli: Callable[..., Outcome], place: Path) -> None:
        from etconfig.cli.shared.arrays import format_output

        assert format_output(np.array([1234567, -1])) == "int64 [2]: 1234567, -1"
        assert format_output(np.array([True])) == "bool [1]: True"
        assert format_output(np.float32([1 / 3])) == "float32 [1]: 0.333333"
        assert format_output(np.arange(9)) == "int64 [9]: 0, 1, 2, 3, 4, 5, 6, 7, ..."
