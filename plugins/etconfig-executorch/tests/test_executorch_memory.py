"""State that methods share, and arenas of the caller, on the real runtime."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import etconfig
from etconfig.errors import ArenaConflictError, MethodInUseError

pytestmark = pytest.mark.peers

FOLDER = Path(__file__).parents[3] / "tests" / "data" / "shared_state"
SHARED = ("shared", "shared_named", "shared_initialized", "shared_xnnpack")


@pytest.fixture(scope="module")
def answers() -> Mapping[str, np.ndarray]:
    with np.load(FOLDER / "answers.npz") as archive:
        return dict(archive)


def steps(answers: Mapping[str, np.ndarray]) -> Iterator[tuple[str, list[np.ndarray], list[np.ndarray]]]:
    """Yield the method, inputs and PyTorch's outputs of each call."""
    for step in sorted({key.partition("/")[0] for key in answers}):
        inputs, outputs = (
            [answers[key] for key in sorted(answers) if key.startswith(f"{step}/{role}")]
            for role in ("in", "out")
        )
        yield step.partition("_")[2], inputs, outputs


def load(name: str, executor: str = "executorch", *, share: bool = True) -> etconfig.LoadedProgram:
    return etconfig.load_program(FOLDER / f"{name}.pte", executor=executor, share_memory_arenas=share)


def agree(methods: Mapping[str, etconfig.Method], answers: Mapping[str, np.ndarray]) -> bool:
    return all(
        np.allclose(given, expected, atol=1e-5)
        for name, inputs, outputs in steps(answers)
        for given, expected in zip(methods[name].execute(inputs), outputs, strict=True)
    )


@pytest.mark.parametrize("name", SHARED)
def test_a_sequence_of_calls_gives_pytorchs_answers(name: str, answers: Mapping[str, np.ndarray]) -> None:
    with load(name) as program:
        methods = {each: program.load_method(each) for each in program.method_names}
    assert agree(methods, answers)


@pytest.mark.parametrize("name", SHARED)
def test_the_stock_runtime_gives_the_same_answers(
    name: str, answers: Mapping[str, np.ndarray], in_process: Callable[..., str]
) -> None:
    code = """
import sys, numpy, torch
from executorch.runtime import Runtime
program = Runtime.get().load_program(sys.argv[1])
methods = {name: program.load_method(name) for name in sorted(program.method_names)}
answers = dict(numpy.load(sys.argv[2]))
for step in sorted({key.partition("/")[0] for key in answers}):
    inputs = [torch.from_numpy(answers[key]) for key in sorted(answers) if key.startswith(f"{step}/in")]
    outputs = methods[step.partition("_")[2]].execute(inputs)
    for at, output in enumerate(outputs):
        assert numpy.allclose(output.numpy(), answers[f"{step}/out{at}"], atol=1e-5), step
print("equal")
"""
    assert in_process(code, FOLDER / f"{name}.pte", FOLDER / "answers.npz").endswith("equal")


@pytest.mark.parametrize("name", SHARED)
def test_separate_arenas_warn_and_give_other_answers(name: str, answers: Mapping[str, np.ndarray]) -> None:
    with (
        load(name, share=False) as program,
        pytest.warns(etconfig.UnsharedStateWarning, match="share_memory_arenas=True"),
    ):
        methods = {each: program.load_method(each) for each in program.method_names}
    assert not agree(methods, answers)


def test_both_executors_write_initial_values_when_a_method_is_loaded() -> None:
    for executor in ("numpy", "executorch"):
        program = load("shared_initialized", executor)
        read = program.load_method("read")
        program.load_method("decode").execute([np.ones((1, 4), np.float32), np.array([2])])
        assert (read.execute([])[0] != 0).any()
        program.load_method("prefill")
        assert (read.execute([])[0] == 0).all()


def test_methods_that_would_overwrite_each_other_are_refused() -> None:
    program = load("separate")
    program.load_method("prefill")
    with pytest.raises(ArenaConflictError, match="share_mutable_buffers=True"):
        program.load_method("decode")


def test_one_method_executes_at_a_time() -> None:
    program = load("shared")
    read, decode = program.load_method("read"), program.load_method("decode")
    refused: list[MethodInUseError] = []

    class Nested:
        """An input that calls another method in the middle of `execute`."""

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            try:
                read.execute([])
            except MethodInUseError as error:
                refused.append(error)
            return np.zeros((1, 4), np.float32)

    decode.execute([Nested(), np.array([0])])
    assert [error.shares_arenas_with for error in refused] == ["decode"]
    read.execute([])


def test_state_outlives_its_methods(answers: Mapping[str, np.ndarray]) -> None:
    program = load("shared")
    with program.load_method("decode") as decode:
        decode.execute([np.ones((1, 4), np.float32), np.array([2])])
    with program.load_method("read") as read:
        assert (read.execute([])[0][2] != 0).any()


def test_tensors_lie_in_the_callers_memory(answers: Mapping[str, np.ndarray]) -> None:
    with load("shared", share=False) as program:
        cache = np.zeros(64, np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", etconfig.UnsharedStateWarning)
            methods = {each: program.load_method(each, memory=[None, cache]) for each in program.method_names}
    assert agree(methods, answers)
    keys = methods["read"].execute([])[0]
    assert np.array_equal(cache[: keys.size], keys.ravel())
    cache[:] = 5
    assert (methods["read"].execute([])[0] == 5).all()
