"""State that methods share, and arenas of the caller, on the real runtime."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import etconfig
from etconfig.errors import ArenaConflictError, MethodInUseError, UnreadableProgramError

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


EXPORT = """
import sys, torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(8))).eval()
exported = torch.export.export(model, (torch.ones(1, 2048),))
edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
open(sys.argv[1], "wb").write(edge.to_executorch().buffer)
"""
MEASURE = """
import os, sys
import etconfig

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

mode = etconfig.LoadMode(sys.argv[3])
etconfig.load_program(sys.argv[1], executor="executorch").load_method("forward").close()
before = resident()
program = etconfig.load_program(sys.argv[2], executor="executorch", load_mode=mode)
opened = resident()
method = program.load_method("forward")
print(opened - before, resident() - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a payload of 128 MiB for XNNPACK."""
    path = tmp_path_factory.mktemp("large") / "large.pte"
    subprocess.run([sys.executable, "-c", EXPORT, path], check=True, capture_output=True)
    return path


@pytest.mark.parametrize("mode", [etconfig.LoadMode.File, etconfig.LoadMode.Mmap])
def test_only_the_packed_weights_stay_in_memory(
    large: Path, in_process: Callable[..., str], mode: etconfig.LoadMode
) -> None:
    small = FOLDER.parent / "programs" / "xnnpack.pte"
    opened, loaded = map(int, in_process(MEASURE, small, large, mode.value).split()[-2:])
    assert opened < 0.25 * large.stat().st_size
    assert loaded < 1.5 * large.stat().st_size


def test_a_method_is_loaded_again_after_its_payload_was_freed(large: Path) -> None:
    x = np.ones((1, 2048), np.float32)
    with etconfig.load_program(large, executor="executorch") as program:
        with program.load_method("forward") as method:
            expected = method.execute([x])[0]
        with program.load_method("forward") as one, program.load_method("forward") as other:
            assert np.array_equal(one.execute([x])[0], expected)
            assert np.array_equal(other.execute([x])[0], expected)


def test_a_file_that_was_written_since_is_refused(large: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.pte"
    path.write_bytes(large.read_bytes())
    program = etconfig.load_program(path, executor="executorch")
    program.load_method("forward").close()
    with path.open("r+b") as file:
        file.seek(-8, 2)
        file.write(b"changed!")
    with pytest.raises(UnreadableProgramError, match="changed-file"):
        program.load_method("forward")


class Loader:
    """A data loader over bytes; it can begin to fail."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.fails = False

    def size(self) -> int:
        return len(self.data)

    def load(self, offset: int, size: int) -> bytes:
        if self.fails:
            raise OSError("no network")
        return self.data[offset : offset + size]


def test_a_program_comes_from_a_data_loader(large: Path) -> None:
    x = np.ones((1, 2048), np.float32)
    (expected,) = etconfig.load_program(large, executor="executorch").load_method("forward").execute([x])
    loader = Loader(large.read_bytes())
    program = etconfig.load_program(loader, executor="executorch")
    loader.fails = True
    with pytest.raises(UnreadableProgramError, match="no network"):
        program.load_method("forward")
    loader.fails = False
    assert np.array_equal(program.load_method("forward").execute([x])[0], expected)
