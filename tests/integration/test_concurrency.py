"""Instances at once: each output equals, bit for bit, that of the instance alone."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DIGITS, TWO_CAMERAS

import etconfig
from etconfig.errors import MethodInUseError

NPU, CPU = "ReferenceNpuBackend", "ReferenceCpuBackend"
FAST = {f"{NPU}.power_mode": "high", f"forward@right:{NPU}.core": 1}
"""The simulated device sleeps a quarter of a millisecond; results do not depend on either option."""
EXECUTES = 1000
IN_USE = (
    "method 'forward' is already executing in another thread; "
    "load one Method per thread (they share the program's constants)"
)


@pytest.fixture
def program(place: Path) -> Iterator[etconfig.LoadedProgram]:
    installation = etconfig.Installation(place, profile_directories=[TWO_CAMERAS / "profiles"])
    with etconfig.load_program(DIGITS / "digits.pte", installation=installation) as loaded:
        yield loaded


@pytest.fixture
def load(program: etconfig.LoadedProgram) -> Iterator[Callable[[str], etconfig.Method]]:
    """Load `forward@left` or `forward@right` of the two cameras."""
    config = etconfig.resolve(program, profile="demo/two-cameras", overrides=FAST)
    loaded: list[etconfig.Method] = []

    def load_instance(instance: str) -> etconfig.Method:
        method = program.load_method("forward", config.arguments("forward", instance))
        loaded.append(method)
        return method

    yield load_instance
    for method in loaded:
        method.close()


@pytest.fixture
def images(recorded: Mapping[str, Any]) -> Any:
    return recorded["images"][:20, None]


def outputs_of(method: etconfig.Method, images: Sequence[Any], executes: int) -> Any:
    """Return the outputs of `executes` runs over the images in turn: (executes, 10)."""
    return np.stack([method.execute([images[i % len(images)]])[0][0] for i in range(executes)])


class TestTwoInstances:
    """Two instances with different arguments run in two threads at once, 1,000 times, with results
    bit-equal to running alone.
    """

    def test_both_give_the_same_outputs_as_alone(self, load: Callable[[str], Any], images: Any) -> None:
        alone = {name: outputs_of(load(name), images, len(images)) for name in ("left", "right")}
        assert not np.array_equal(alone["left"], alone["right"])  # fp32 and fp16: a mix-up would show
        methods = {name: load(name) for name in alone}
        start = threading.Barrier(len(methods))

        def run(name: str) -> Any:
            start.wait()
            return outputs_of(methods[name], images, EXECUTES)

        with ThreadPoolExecutor(len(methods)) as pool:
            together = dict(zip(methods, pool.map(run, methods), strict=True))
        for name, outputs in together.items():
            expected = np.tile(alone[name], (EXECUTES // len(images), 1))
            np.testing.assert_array_equal(outputs, expected)

    def test_an_update_of_one_does_not_affect_the_other(
        self, load: Callable[[str], Any], images: Any
    ) -> None:
        left, right = load("left"), load("right")
        alone = outputs_of(right, images, len(images))
        before = right.effective_options()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(outputs_of, right, images, 40)
            updates = 0
            while not running.done():
                mode, threads = ("low", 1) if updates % 2 else ("high", 2)
                left.update({f"{NPU}.power_mode": mode, f"{CPU}.num_threads": threads})
                updates += 1
        assert updates > 1
        np.testing.assert_array_equal(running.result(), np.tile(alone, (40 // len(images), 1)))
        assert right.effective_options() == before
        assert left.effective_options()[NPU]["power_mode"].value == ("high" if updates % 2 else "low")


class Paused:
    """An input that lets its reader wait, so that the reader stays inside the Method."""

    def __init__(self, image: Any) -> None:
        self.image = image
        self.is_read = threading.Event()
        self.go_on = threading.Event()

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        self.is_read.set()
        assert self.go_on.wait(60)
        return self.image


class TestOneMethodTwoThreads:
    """A Method used by two threads at once raises MethodInUseError."""

    def test_the_second_thread_is_refused_and_the_first_goes_on(
        self, load: Callable[[str], Any], images: Any
    ) -> None:
        method = load("left")
        expected = method.execute([images[0]])
        paused = Paused(images[0])
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(method.execute, [paused])
            assert paused.is_read.wait(60)
            try:
                for refused in (
                    lambda: method.execute([images[1]]),
                    lambda: method.update({f"{NPU}.power_mode": "low"}),
                    method.effective_options,
                    method.close,
                ):
                    with pytest.raises(MethodInUseError) as caught:
                        refused()
                    assert str(caught.value) == IN_USE
            finally:
                paused.go_on.set()
        np.testing.assert_array_equal(first.result()[0], expected[0])
        np.testing.assert_array_equal(method.execute([images[0]])[0], expected[0])


COLD_START = """\
import hashlib, sys, threading
from concurrent.futures import ThreadPoolExecutor
import etconfig

program_path, image_path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = threading.Barrier(threads)

def work(_):
    start.wait()
    program = etconfig.load_program(program_path)
    config = etconfig.resolve(program, overrides={"ReferenceNpuBackend.power_mode": "high"})
    method = program.load_method("forward", config.arguments("forward"))
    import numpy
    (output,) = method.execute([numpy.load(image_path)])
    return config.fingerprint(), hashlib.sha256(output.tobytes()).hexdigest()

with ThreadPoolExecutor(threads) as pool:
    results = set(pool.map(work, range(threads)))
print(len(results))
"""


def test_eight_threads_may_do_everything_for_the_first_time_at_once(place: Path) -> None:
    """A plugin is imported when its id is needed, once, also under many threads."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COLD_START, "model.pte", "x.npy", "8"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


class TestOutputs:
    """Outputs returned to the caller never alias memory that a later execute overwrites."""

    @pytest.mark.parametrize("method", ["forward", "embed"])
    @pytest.mark.parametrize("name", ["digits.pte", "digits_inline.pte", "digits_portable.pte"])
    def test_a_later_execute_leaves_them_alone(
        self, place: Path, images: Any, name: str, method: str
    ) -> None:
        with etconfig.load_program(DIGITS / name) as loaded, loaded.load_method(method) as runnable:
            (first,) = runnable.execute([images[0]])
            kept = first.copy()
            (second,) = runnable.execute([images[1]])
            np.testing.assert_array_equal(first, kept)
            assert not np.array_equal(first, second)
            assert not np.shares_memory(first, second)

    def test_changes_to_an_output_do_not_reach_the_method(
        self, load: Callable[[str], Any], images: Any
    ) -> None:
        method = load("left")
        (first,) = method.execute([images[0]])
        kept = first.copy()
        first.fill(np.nan)
        np.testing.assert_array_equal(method.execute([images[0]])[0], kept)

    def test_inputs_are_neither_kept_nor_changed(self, load: Callable[[str], Any], images: Any) -> None:
        method = load("left")
        given = images[0].copy()
        (expected,) = method.execute([given])
        np.testing.assert_array_equal(given, images[0])
        given.fill(np.nan)
        np.testing.assert_array_equal(method.execute([images[0]])[0], expected)

    def test_the_state_of_one_instance_is_its_own(self, place: Path) -> None:
        """Every Method owns its mutable buffers."""
        with etconfig.load_program(DIGITS.parent / "programs" / "mutable_buffers.pte") as loaded:
            one, other = loaded.load_method("forward"), loaded.load_method("forward")
            shape = one.metadata.input_tensor_meta(0).sizes()
            x = np.ones(shape, np.float32)
            start = one.execute([x])
            later = one.execute([x])
            assert any(not np.array_equal(a, b) for a, b in zip(start, later, strict=True))
            for mine, its in zip(other.execute([x]), start, strict=True):
                np.testing.assert_array_equal(mine, its)
            one.close()
            other.close()
