"""64 threads, many Methods, many runs: each output equals, bit for bit, that of the Method alone.

`ETCONFIG_SOAK=1` runs all of it: 64 threads x 1,000 Methods x 100 runs, 100,000 executes, 10,000 loads.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import KERNELS

import etconfig
from etconfig import Method
from etconfig.errors import MethodInUseError
from etconfig.numpy_executor import load_method
from etconfig.program.program import Program, open_program

IS_WHOLE = os.environ.get("ETCONFIG_SOAK") == "1"
THREADS = 64
METHODS, RUNS = (1000, 100) if IS_WHOLE else (128, 4)
EXECUTES, LOADS, DELEGATING_LOADS = (100_000, 10_000, 10_000) if IS_WHOLE else (2_000, 150, 80)
STATEFUL = DATA / "programs" / "mutable_buffers.pte"
"""Its outputs depend on how often its own Method ran, so that a mix-up shows."""
DELEGATING = DATA / "digits" / "digits.pte"
FORKED = """\
import os, sys, threading
import numpy as np
from plans import KERNELS
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

def load():
    return load_method(program, program.method_names[0], KERNELS, {})

def run(method):
    shape = method.metadata.input_tensor_meta(0).sizes()
    return [each.tolist() for each in method.execute([np.ones(shape, np.float32)])]

program = open_program(sys.argv[1])
expected = run(load())
busy = load()
stop = threading.Event()
def work():
    while not stop.is_set():
        run(busy)
thread = threading.Thread(target=work, daemon=sys.argv[2] == "exit")
thread.start()
if sys.argv[2] == "exit":
    sys.exit(0)  # with a thread inside a Method
children = []
for _ in range(5):
    child = os.fork()
    if not child:
        os._exit(0 if run(load()) == expected else 1)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
stop.set()
thread.join()
sys.exit(any(codes))
"""


@pytest.fixture
def hectic_switching() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def load(program: Program) -> Method:
    return load_method(program, program.method_names[0], KERNELS, {})


def runs_of(program: Program, seed: int, runs: int = RUNS) -> list[bytes]:
    """Return the outputs of several runs of one Method, on inputs of its own."""
    method, random = load(program), np.random.default_rng(seed)
    shape = method.metadata.input_tensor_meta(0).sizes()
    inputs = [random.standard_normal(shape).astype(np.float32) for _ in range(runs)]
    return [b"".join(each.tobytes() for each in method.execute([x])) for x in inputs]


@pytest.mark.usefixtures("hectic_switching")
@pytest.mark.timeout(3600 if IS_WHOLE else 120)
def test_outputs_are_those_of_a_method_that_runs_alone() -> None:
    program = open_program(STATEFUL)
    alone = [runs_of(program, seed) for seed in range(METHODS)]
    assert len(set(map(tuple, alone))) == METHODS
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(lambda seed: runs_of(program, seed), range(METHODS))) == alone


@pytest.mark.usefixtures("hectic_switching")
def test_one_of_many_threads_enters_a_method_and_the_others_are_refused() -> None:
    """The admitted threads run one after the other, each exactly as often as it was admitted."""
    program = open_program(STATEFUL)
    method = load(program)
    x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
    start = threading.Barrier(THREADS)

    def work(_: int) -> int:
        start.wait(60)
        entered = 0
        for _ in range(20):
            try:
                method.execute([x])
            except MethodInUseError:
                continue
            entered += 1
        return entered

    with ThreadPoolExecutor(THREADS) as pool:
        entered = sum(pool.map(work, range(THREADS)))
    alone = load(program)
    for _ in range(entered):
        alone.execute([x])
    for given, expected in zip(method.execute([x]), alone.execute([x]), strict=True):
        np.testing.assert_array_equal(given, expected)


class Usage:
    """The resources of the process, as the system counts them."""

    def __init__(self) -> None:
        # Python's cache of attributes keeps names that are made anew for each look-up, up to 4,096 of them
        clear = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
        clear()
        gc.collect()
        resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.resident_bytes = resident_pages * os.sysconf("SC_PAGE_SIZE")
        self.blocks = sys.getallocatedblocks()
        self.descriptors = len([*Path("/proc/self/fd").iterdir()])
        self.threads = threading.active_count()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.timeout(3600 if IS_WHOLE else 120)
class TestSoak:
    """No leak over executes and loads: memory, descriptors and threads stay flat."""

    MOST_GROWTH_BYTES = 4 << 20
    """The allocator's own: Python maps 1 MiB at a time, and gives it back when all of it is free.

    One page for each of 2,000 executes would be twice as much. Smaller leaks show in Python's blocks.
    """
    ROUNDS = 4
    """One block that is lost each time shows in each of them; what comes and goes does not."""

    def _is_flat(self, work: Callable[[], object], count: int) -> None:
        for _ in range(count // 4):
            work()
        usages = [Usage()]
        for _ in range(self.ROUNDS):
            for _ in range(count // self.ROUNDS):
                work()
            usages.append(Usage())
        before, after = usages[0], usages[-1]
        assert (after.descriptors, after.threads) == (before.descriptors, before.threads)
        assert after.resident_bytes - before.resident_bytes < self.MOST_GROWTH_BYTES
        growths = [later.blocks - earlier.blocks for earlier, later in pairwise(usages)]
        assert min(growths) < count // self.ROUNDS // 2, growths

    def test_executes_leak_nothing(self) -> None:
        method = load(open_program(STATEFUL))
        x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
        self._is_flat(lambda: method.execute([x]), EXECUTES)

    @pytest.mark.parametrize("is_closed", [True, False])
    def test_loads_leak_nothing(self, is_closed: bool) -> None:
        def work() -> None:
            program = open_program(STATEFUL)
            method = load(program)
            x: Any = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
            method.execute([x])
            if is_closed:
                method.close()
                program.close()

        self._is_flat(work, LOADS)

    def test_loads_with_two_delegates_leak_nothing(self) -> None:
        """Every other Method is closed, the rest are dropped."""
        x, is_closed = np.ones((1, 1, 8, 8), np.float32), cycle([True, False])

        def work() -> None:
            program = etconfig.load_program(DELEGATING)
            method = program.load_method("forward")
            method.execute([x])
            if next(is_closed):
                method.close()
                program.close()

        self._is_flat(work, DELEGATING_LOADS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
class TestProcesses:
    """A process may fork or end while a thread is inside a Method."""

    @pytest.mark.parametrize("how", ["fork", "exit"])
    def test_a_process_ends_with_a_thread_at_work(self, how: str) -> None:
        support = Path(__file__).parents[1] / "support"
        done = subprocess.run(
            [sys.executable, "-c", FORKED, str(STATEFUL), how],
            env={**os.environ, "PYTHONPATH": str(support)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr

    @pytest.mark.posix
    @pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
    def test_a_method_in_use_at_a_fork_stays_in_use_in_the_child(self) -> None:
        """The thread inside does not exist in the child, so it never leaves: load another Method there."""
        method = load(open_program(STATEFUL))
        shape = method.metadata.input_tensor_meta(0).sizes()
        entered, leave = threading.Event(), threading.Event()

        class Slow:
            def __array__(self, dtype: object = None, copy: object = None) -> Any:
                entered.set()
                leave.wait(60)
                return np.ones(shape, np.float32)

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(method.execute, [Slow()])
            assert entered.wait(60)
            child = os.fork()
            if not child:
                try:
                    method.execute([np.ones(shape, np.float32)])
                except MethodInUseError:
                    os._exit(7)
                os._exit(1)
            status = os.waitpid(child, 0)[1]
            leave.set()
            running.result()
        assert os.waitstatus_to_exitcode(status) == 7
