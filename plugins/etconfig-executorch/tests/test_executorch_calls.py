"""Calls on the real runtime: arrays of the caller for outputs, and inputs that are not copied."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.errors import InvalidOutputError

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "tests" / "data" / "programs"
EXECUTORS = ("numpy", "executorch")
EXPORT = """
import sys, torch
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass

class Ends(torch.nn.Module):
    def forward(self, x, y):
        return x, torch.relu(x + y), 3

class Twice(torch.nn.Module):
    def forward(self, x):
        z = x * 2
        return z, z

class Writes(torch.nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2

class Adds(torch.nn.Module):
    def forward(self, x):
        return x + 1

rows = torch.export.Dim("rows", max=6)
CASES = {
    "ends": (Ends(), (torch.ones(4, 3), torch.ones(4, 3)), None),
    "twice": (Twice(), (torch.ones(3),), None),
    "writes": (Writes(), (torch.ones(3),), None),
    "resizes": (Adds(), (torch.ones(5, 3),), {"x": {0: rows}}),
    "large": (Adds(), (torch.ones(32, 1024, 1024),), None),
}
for name, (model, inputs, dynamic) in CASES.items():
    for is_planned in (True, False):
        planning = MemoryPlanningPass(alloc_graph_input=is_planned, alloc_graph_output=is_planned)
        exported = torch.export.export(model, inputs, dynamic_shapes=dynamic)
        config = ExecutorchBackendConfig(memory_planning_pass=planning)
        program = to_edge_transform_and_lower(exported).to_executorch(config)
        suffix = "planned" if is_planned else "unplanned"
        open(f"{sys.argv[1]}/{name}_{suffix}.pte", "wb").write(program.buffer)
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs whose inputs and outputs have planned memory, and the same ones without."""
    directory = tmp_path_factory.mktemp("calls")
    subprocess.run([sys.executable, "-c", EXPORT, directory], check=True, capture_output=True)
    return directory


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("planning", ["planned", "unplanned"])
class TestOutputs:
    def test_arrays_are_written_in_any_mixture(self, programs: Path, executor: str, planning: str) -> None:
        program = etconfig.load_program(programs / f"ends_{planning}.pte", executor=executor)
        x, y = np.full((4, 3), -3, np.float32), np.arange(12, dtype=np.float32).reshape(4, 3)
        expected = np.maximum(x + y, 0)
        with program.load_method("forward") as method:
            first, second = np.empty((4, 3), np.float32), np.empty((4, 3), np.float32)
            for outputs in ([first, second, None], [None, second, None], [first, None, None], [None] * 3):
                first[...] = second[...] = 99
                results = method.execute([x, y], outputs=outputs)
                np.testing.assert_array_equal(results[0], x)
                np.testing.assert_array_equal(results[1], expected)
                assert results[2] == 3
                for given, result in zip(outputs[:2], results[:2], strict=True):
                    assert given is None or given is result
                for plain, result in zip(method.execute([x, y]), results, strict=True):
                    np.testing.assert_array_equal(plain, result)

    def test_one_tensor_may_be_two_outputs(self, programs: Path, executor: str, planning: str) -> None:
        program = etconfig.load_program(programs / f"twice_{planning}.pte", executor=executor)
        x, left, right = np.arange(3, dtype=np.float32), np.empty(3, np.float32), np.empty(3, np.float32)
        with program.load_method("forward") as method:
            for outputs in ([left, right], [left, None], [None, right]):
                left[...] = right[...] = 99
                for result in method.execute([x], outputs=outputs):
                    np.testing.assert_array_equal(result, x * 2)
            assert [each.tolist() for each in (left, right)] == [[99] * 3, [0, 2, 4]]

    def test_a_dynamic_output_is_at_the_start(self, programs: Path, executor: str, planning: str) -> None:
        program = etconfig.load_program(programs / f"resizes_{planning}.pte", executor=executor)
        with program.load_method("forward") as method:
            room = np.zeros(20, np.float32)
            for rows in (2, 6, 1, 3):
                room[...] = 0
                x = np.ones((rows, 3), np.float32)
                (result,) = method.execute([x], outputs=[room])
                assert result.shape == (rows, 3)
                assert room.tolist() == [2] * rows * 3 + [0] * (20 - rows * 3)
                assert np.shares_memory(result, room)
                np.testing.assert_array_equal(method.execute([x])[0], x + 1)
            small = np.zeros(17, np.float32)
            with pytest.raises(InvalidOutputError, match="with 18 or more elements"):
                method.execute([np.ones((2, 3), np.float32)], outputs=[small])
            assert not small.any()

    def test_what_does_not_fit_is_refused(self, programs: Path, executor: str, planning: str) -> None:
        program = etconfig.load_program(programs / f"ends_{planning}.pte", executor=executor)
        x, good = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
        read_only = np.zeros((4, 3), np.float32)
        read_only.flags.writeable = False
        with program.load_method("forward") as method:
            for outputs in (
                [good, None],
                [good, np.zeros((3, 4), np.float32), None],
                [good, np.zeros((4, 3), np.float64), None],
                [good, read_only, None],
                [good, good, None],
                [good, x, None],
                [good, None, np.zeros(1)],
            ):
                with pytest.raises(InvalidOutputError):
                    method.execute([x, x], outputs=outputs)
                assert not good.any()

    def test_arrays_with_gaps_are_written_by_a_copy(
        self, programs: Path, executor: str, planning: str
    ) -> None:
        program = etconfig.load_program(programs / f"ends_{planning}.pte", executor=executor)
        x, whole = np.ones((4, 3), np.float32), np.zeros((8, 6), np.float32)
        with program.load_method("forward") as method:
            method.execute([x, x], outputs=[None, whole[::2, ::2], None])
        np.testing.assert_array_equal(whole[::2, ::2], x * 2)
        assert whole.sum() == 24

    def test_a_tensor_of_torch_is_written(self, programs: Path, executor: str, planning: str) -> None:
        torch = pytest.importorskip("torch")
        program = etconfig.load_program(programs / f"twice_{planning}.pte", executor=executor)
        x, out = torch.arange(3.0), torch.empty(3)
        with program.load_method("forward") as method:
            assert method.execute([x], outputs=[out, None])[0] is out
        assert out.tolist() == [0, 2, 4]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("planning", ["planned", "unplanned"])
class TestInputs:
    def test_results_stay_right_when_the_caller_changes_its_arrays(
        self, programs: Path, executor: str, planning: str
    ) -> None:
        program = etconfig.load_program(programs / f"ends_{planning}.pte", executor=executor)
        with program.load_method("forward") as method:
            x, y = np.ones((4, 3), np.float32), np.ones((4, 3), np.float32)
            results = method.execute([x, y])
            x[...] = y[...] = 50
            assert (results[0] == 1).all()
            assert (results[1] == 2).all()
            assert (method.execute([x, y])[1] == 100).all()
            assert (results[1] == 2).all()

    def test_an_input_that_the_program_writes_to_is_copied(
        self, programs: Path, executor: str, planning: str
    ) -> None:
        program = etconfig.load_program(programs / f"writes_{planning}.pte", executor=executor)
        x, read_only = np.ones(3, np.float32), np.ones(3, np.float32)
        read_only.flags.writeable = False
        with program.load_method("forward") as method:
            out = np.empty(3, np.float32)
            for given in (x, read_only, np.ones(6, np.float32)[::2]):
                for result in (method.execute([given])[-1], method.execute([given], outputs=[None, out])[-1]):
                    assert (result == 4).all()
                assert (given == 1).all()


PEAK = """
import resource, sys
import numpy as np
import etconfig

def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

path, executor, gives_output = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
x, out = np.ones((32, 1024, 1024), np.float32), np.ones((32, 1024, 1024), np.float32)
with etconfig.load_program(path, executor=executor) as program:
    method = program.load_method("forward")
    before = peak_mib()
    result = method.execute([x], outputs=[out] if gives_output else None)[0]
    assert (result[::9, ::9, ::9] == 2).all()
    print(peak_mib() - before)
"""


def test_without_planned_memory_nothing_of_128_mib_is_copied(
    programs: Path, in_process: Callable[..., str]
) -> None:
    """The runtime reads the caller's input and writes the caller's output."""
    growth = {
        (planning, gives_output): float(
            in_process(PEAK, programs / f"large_{planning}.pte", "executorch", gives_output)
        )
        for planning in ("planned", "unplanned")
        for gives_output in (False, True)
    }
    assert growth["unplanned", True] < 16
    assert growth["unplanned", False] >= 128  # our own memory for the output, and the array that is returned
    assert growth["planned", False] >= growth["planned", True] + 100  # the array that is returned


def test_written_inputs_are_found(programs: Path) -> None:
    from etconfig.method.request import method_request
    from etconfig.program import open_program

    found: dict[str, Any] = {}
    for name in ("ends", "twice", "writes", "resizes"):
        for planning in ("planned", "unplanned"):
            program = open_program(programs / f"{name}_{planning}.pte")
            found[f"{name}_{planning}"] = method_request(program, program.plan("forward"), {}).written_inputs
    assert {name for name, inputs in found.items() if inputs} == {"writes_unplanned"}
