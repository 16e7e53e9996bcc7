"""Calls on the real runtime: arrays of the caller for outputs, and inputs that are not copied."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig import CancelToken
from etconfig.analysis import generate_inputs
from etconfig.backend import Backend, BoundBackend
from etconfig.errors import ExecutionStoppedError, InvalidOutputError, OptionError

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "tests" / "data" / "programs"
DIGITS = ROOT / "tests" / "data" / "digits"
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

class Steps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        for _ in range(60):
            x = torch.relu(x) + 1
        return x, self.count.clone()

rows = torch.export.Dim("rows", max=6)
CASES = {
    "ends": (Ends(), (torch.ones(4, 3), torch.ones(4, 3)), None),
    "twice": (Twice(), (torch.ones(3),), None),
    "writes": (Writes(), (torch.ones(3),), None),
    "steps": (Steps(), (torch.zeros(500000),), None),
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
        torch = pytest.importorskip("torch")
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
                tensor = torch.zeros(20, requires_grad=True)
                (result,) = method.execute([x], outputs=[tensor])
                assert isinstance(result, torch.Tensor)
                assert not result.requires_grad
                assert result.tolist() == [[2] * 3] * rows
                assert result.data_ptr() == tensor.data_ptr()
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


@pytest.fixture(params=EXECUTORS)
def steps(programs: Path, request: pytest.FixtureRequest) -> Iterator[etconfig.Method]:
    """A method of 120 instructions, which takes some tens of milliseconds, on both executors."""
    program = etconfig.load_program(programs / "steps_planned.pte", executor=request.param)
    with program.load_method("forward") as method:
        yield method


ZEROS = np.zeros(500000, np.float32)


def run_until_stopped(method: etconfig.Method, **call: Any) -> ExecutionStoppedError:
    """Run again and again, so that the test does not depend on the speed of the machine."""
    for _ in range(1000):
        try:
            method.execute([ZEROS], **call)
        except ExecutionStoppedError as error:
            return error
    pytest.fail("nothing stopped it")


def run_until_stopped_in_between(method: etconfig.Method) -> ExecutionStoppedError:
    """Return the error of a run that began and did not end, with a limit that suits the machine's load."""
    timeout_s = 0.002
    for _ in range(1000):
        try:
            method.execute([ZEROS], timeout=timeout_s)
            timeout_s /= 2
        except ExecutionStoppedError as error:
            if error.instruction is not None and error.instruction > 1:
                return error
            timeout_s *= 1.5  # the time was up before the first instruction
    pytest.fail("nothing stopped it in between")


def assert_usable(method: etconfig.Method) -> None:
    first, second = (method.execute([ZEROS]) for _ in range(2))
    assert (first[0] == 60).all()
    assert second[1] == first[1] + 1


class TestStopping:
    def test_a_run_with_time_gives_the_same_result(self, steps: etconfig.Method) -> None:
        results = [
            steps.execute([ZEROS], **call) for call in ({}, {"timeout": 60}, {"cancel": CancelToken()})
        ]
        for result, count in zip(results, (1, 2, 3), strict=True):
            np.testing.assert_array_equal(result[0], results[0][0])
            assert result[1] == count

    def test_without_time_nothing_runs(self, steps: etconfig.Method) -> None:
        canceled = CancelToken()
        canceled.cancel()
        for call, reason in (({"timeout": 0}, "timeout"), ({"cancel": canceled}, "canceled")):
            with pytest.raises(ExecutionStoppedError) as caught:
                steps.execute([ZEROS], **call)  # type: ignore[arg-type]
            assert caught.value.reason == reason
            assert caught.value.instruction in (0, 1)  # numpy has left out the first one
        assert steps.execute([ZEROS])[1] == 1
        assert_usable(steps)

    def test_it_stops_at_an_instruction_in_between(self, steps: etconfig.Method) -> None:
        error = run_until_stopped_in_between(steps)
        assert error.operator is not None
        assert error.operator.startswith(("aten::", "dim_order_ops::"))
        assert_usable(steps)

    def test_another_thread_cancels(self, steps: etconfig.Method) -> None:
        token = CancelToken()
        timer = threading.Timer(0.05, token.cancel)
        timer.start()
        assert run_until_stopped(steps, cancel=token).reason == "canceled"
        timer.join()
        assert_usable(steps)

    def test_a_signal_handler_cancels(self, steps: etconfig.Method) -> None:
        token = CancelToken()
        before = signal.signal(signal.SIGALRM, lambda *_: token.cancel())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            assert run_until_stopped(steps, cancel=token).reason == "canceled"
        finally:
            signal.signal(signal.SIGALRM, before)
        assert_usable(steps)

    def test_an_exception_of_a_signal_handler_ends_the_run(self, steps: etconfig.Method) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        def run_with_an_alarm() -> None:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            run_until_stopped(steps, timeout=60)

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                run_with_an_alarm()
        finally:
            signal.signal(signal.SIGALRM, before)
        assert_usable(steps)

    def test_outputs_of_the_caller_work_together_with_a_limit(self, steps: etconfig.Method) -> None:
        out = np.empty(500000, np.float32)
        assert steps.execute([ZEROS], outputs=[out, None], timeout=60)[0] is out
        assert (out == 60).all()
        with pytest.raises(ExecutionStoppedError):
            steps.execute([ZEROS], outputs=[out, None], timeout=0)
        assert_usable(steps)

    @pytest.mark.parametrize("executor", EXECUTORS)
    def test_jumps_keep_their_indices(self, executor: str) -> None:
        program = etconfig.load_program(PROGRAMS / "mapping.pte", executor=executor)
        instructions = program.program.plan("forward").chains[0].instructions
        with program.load_method("forward") as method:
            inputs = generate_inputs(method.metadata, 0)
            expected = method.execute(inputs)
            for _ in range(300):
                stopped = None
                try:
                    results = method.execute(inputs, timeout=20e-6)
                except ExecutionStoppedError as error:
                    stopped = error
                    results = method.execute(inputs)
                assert stopped is None or stopped.instruction in range(len(instructions))
                for left, right in zip(expected, results, strict=True):
                    np.testing.assert_array_equal(left, right)

    @pytest.mark.parametrize("executor", EXECUTORS)
    def test_a_python_backend_sees_the_limit(self, executor: str) -> None:
        ended = []
        began = threading.Event()

        class Waiting(Backend[Any, Any]):
            def init(self, context: Any, processed: Any, compile_specs: Any) -> None:
                pass

            def execute(self, context: Any, handle: Any, args: Any) -> None:
                began.set()
                context.parallel_for(10**9, lambda _: ended.append(context.should_stop()), 2)

        def cancel_once_begun(token: CancelToken) -> None:
            began.wait(60)
            token.cancel()

        program = etconfig.load_program(DIGITS / "digits.pte", executor=executor)
        backends = {
            each: BoundBackend(backend_id=each, create=Waiting, options=None, changed=lambda old, new: old)
            for each in program.backends("forward")
        }
        with program.load_method("forward", backends=backends) as method:
            for _ in range(2):
                token = CancelToken()
                began.clear()
                canceler = threading.Thread(target=cancel_once_begun, args=[token])
                canceler.start()
                with pytest.raises(ExecutionStoppedError) as caught:
                    method.execute([np.zeros((1, 1, 8, 8), np.float32)], cancel=token, timeout=60)
                canceler.join()
                assert caught.value.reason == "canceled"
                assert caught.value.operator in backends
                plan = program.program.plan("forward")
                instruction: Any = plan.chains[0].instructions[caught.value.instruction or 0]
                assert plan.delegates[instruction.delegate_index].id == caught.value.operator


@pytest.mark.parametrize("executor", EXECUTORS)
class TestOptionsOfACall:
    def test_a_python_backend_sees_them_for_one_call(self, executor: str) -> None:
        image = np.load(DIGITS / "digits.npz")["images"][:1]
        program = etconfig.load_program(DIGITS / "digits.pte", executor=executor)
        with program.load_method("forward") as method:
            before = method.options("ReferenceNpuBackend"), method.effective_options()
            seen = []
            (plain,) = method.execute([image])
            other = "low" if before[0].power_mode.value != "low" else "high"
            for options in (
                {"ReferenceNpuBackend.power_mode": other},
                {"ReferenceNpuBackend": {"power_mode": other}},
            ):
                (out,) = method.execute([image], options=options)
                np.testing.assert_allclose(out, plain, atol=1e-5)
                seen.append((method.options("ReferenceNpuBackend"), method.effective_options()))
            assert seen == [before] * 2
            with pytest.raises(OptionError, match="did you mean 'power_mode'"):
                method.execute([image], options={"ReferenceNpuBackend.power_mod": other})
            with pytest.raises(OptionError, match="applies at load"):
                method.execute([image], options={"ReferenceNpuBackend.core": 1})


def test_options_of_the_runtimes_own_backends_apply_at_load(mixed_program: tuple[Path, Path]) -> None:
    path, answers = mixed_program
    x = np.load(answers)["x"]
    with etconfig.load_program(path, executor="executorch").load_method("forward") as method:
        for change in (
            {"XnnpackBackend.single_threaded": True},
            {"XnnpackBackend": {"single_threaded": True}},
        ):
            with pytest.raises(OptionError, match="single_threaded applies at load and cannot change"):
                method.execute([x], options=change)
        np.testing.assert_allclose(method.execute([x])[0], np.load(answers)["y"], atol=1e-5)


PEAK = """
import sys
import numpy as np
import etconfig
from etconfig.analysis.machine import peak_rss_bytes

def peak_mib():
    return peak_rss_bytes() / 2**20

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
    from etconfig.program.program import open_program

    found: dict[str, Any] = {}
    for name in ("ends", "twice", "writes", "resizes"):
        for planning in ("planned", "unplanned"):
            program = open_program(programs / f"{name}_{planning}.pte")
            found[f"{name}_{planning}"] = method_request(program, program.plan("forward"), {}).written_inputs
    assert {name for name, inputs in found.items() if inputs} == {"writes_unplanned"}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_warm_up_leaves_the_state_after_loading(programs: Path, executor: str) -> None:
    program = etconfig.load_program(programs / "steps_planned.pte", executor=executor)
    with program.load_method("forward", warm_up=3) as method:
        assert len(method.warm_up_s) == 3
        assert [float(method.execute([ZEROS])[1][0]) for _ in range(2)] == [1, 2]
