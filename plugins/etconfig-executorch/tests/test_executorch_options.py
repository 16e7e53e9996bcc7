"""Options reach the runtime and take effect, or are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import etconfig
from etconfig.errors import DelegateError, OptionError

pytestmark = pytest.mark.peers

PROGRAMS = Path(__file__).parents[3] / "tests" / "data" / "programs"

SET_UP = """
import os, sys, time
import numpy as np
import etconfig

path, answers = sys.argv[1:3]
x = np.load(answers)["x"]
program = etconfig.load_program(path, executor="executorch")

def load(*overrides, instance=None):
    config = etconfig.resolve(program, overrides=list(overrides), instances={"forward": ["a", "b"]})
    return program.load_method("forward", config.arguments("forward", instance=instance))

def threads():
    return len(os.listdir("/proc/self/task"))

def resident_kb():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1])
"""


class TestEffect:
    """Options do what they promise, and are not just accepted."""

    def test_the_pool_has_the_requested_number_of_threads(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
before = threads()
method = load("XnnpackBackend.num_threads=5")
method.execute([x])
print(threads() - before, method.effective_options()["XnnpackBackend"]["num_threads"])
"""
        )
        # the thread that calls execute is one of the five
        assert in_process(code, *large_program, OPENBLAS_NUM_THREADS="1") == "4 5"

    def test_a_single_threaded_instance_leaves_the_pool_alone(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
def busy_threads(method):
    def ticks():
        return {
            task: sum(map(int, open(f"/proc/self/task/{task}/stat").read().rsplit(")", 1)[1].split()[11:13]))
            for task in os.listdir("/proc/self/task")
        }
    before = ticks()
    for _ in range(60):
        method.execute([x])
    return sum(after - before.get(task, 0) >= 2 for task, after in ticks().items())

pooled = load("XnnpackBackend.num_threads=2")
single = load("XnnpackBackend.num_threads=2", "XnnpackBackend.single_threaded=true")
print(busy_threads(pooled), busy_threads(single))
"""
        )
        assert in_process(code, *large_program, OPENBLAS_NUM_THREADS="1") == "2 1"

    def test_packed_weights_are_stored_in_the_named_file(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path], tmp_path: Path
    ) -> None:
        cache = tmp_path / "weights.bin"
        code = (
            SET_UP
            + """
method = load("XnnpackBackend.weight_cache_enabled=true", f"XnnpackBackend.packed_cache_path={sys.argv[3]}")
method.execute([x])
print(os.path.getsize(sys.argv[3]) > 30_000_000)
"""
        )
        assert in_process(code, *large_program, cache) == "True"

    def test_a_weight_cache_keeps_the_weights_of_two_instances_once(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
def grown_kb(switch):
    first = load(f"XnnpackBackend.weight_cache_enabled={switch}", instance="a")
    first.execute([x])
    before = resident_kb()
    second = load(f"XnnpackBackend.weight_cache_enabled={switch}", instance="b")
    second.execute([x])
    return resident_kb() - before, first, second

shared, *kept = grown_kb("true")
own, *kept_too = grown_kb("false")
print(shared < 16_000 < own)
"""
        )
        assert in_process(code, *large_program) == "True"

    @pytest.mark.parametrize(("mode", "grows"), [("disabled", True), ("global", False)])
    def test_instances_that_share_a_workspace_take_its_memory_once(
        self, in_process: Callable[..., str], wide_program: tuple[Path, Path], mode: str, grows: bool
    ) -> None:
        code = (
            SET_UP
            + """
mode = f"XnnpackBackend.workspace_sharing_mode={sys.argv[3]}"
first = load(mode, instance="a")
first.execute([x])
before = resident_kb()
second = load(mode, instance="b")
second.execute([x])
print((resident_kb() - before) // 1024)
"""
        )
        grown_mb = int(in_process(code, *wide_program, mode))
        # Each instance plans 8 MB for its input and its output; the two layers between need a workspace.
        assert (grown_mb > 34) is grows, grown_mb

    def test_instances_have_options_of_their_own(self) -> None:
        program = etconfig.load_program(PROGRAMS / "xnnpack.pte", executor="executorch")
        config = etconfig.resolve(
            program,
            instances={"forward": ["a", "b"]},
            overrides=[
                "forward@a:XnnpackBackend.workspace_sharing_mode=per_model",
                "forward@b:XnnpackBackend.single_threaded=true",
            ],
        )
        methods = [
            program.load_method("forward", config.arguments("forward", instance=n)) for n in ("a", "b")
        ]
        modes = [method.options("XnnpackBackend").workspace_sharing_mode for method in methods]
        assert [mode and mode.value for mode in modes] == ["per_model", None]


class TestThreads:
    """Each instance has as many threads as it asks for, beside others with another number."""

    def test_two_instances_with_two_and_four_threads(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
def tasks():
    return set(os.listdir("/proc/self/task"))

def busy(method):
    def ticks():
        return {
            task: sum(map(int, open(f"/proc/self/task/{task}/stat").read().rsplit(")", 1)[1].split()[11:13]))
            for task in tasks()
        }
    before = ticks()
    for _ in range(60):
        method.execute([x])
    return {task for task, after in ticks().items() if after - before.get(task, 0) >= 2}

first = tasks()
two = load("XnnpackBackend.num_threads=2")
of_two = tasks() - first
four = load("XnnpackBackend.num_threads=4")
of_four = tasks() - first - of_two
again = load("XnnpackBackend.num_threads=4")
print(len(of_two), len(of_four), tasks() == first | of_two | of_four)
used = busy(two), busy(four)
print(len(used[0]), used[0] >= of_two, len(used[1]), used[1] >= of_four, used[0] & of_four, used[1] & of_two)
print([each.effective_options()["XnnpackBackend"]["num_threads"] for each in (two, four, again)])
print(np.array_equal(two.execute([x])[0], four.execute([x])[0]))
two.close(); four.close()
print(tasks() & of_two, tasks() >= of_four)
again.close()
print(tasks() & of_four)
"""
        )
        assert in_process(code, *large_program, OPENBLAS_NUM_THREADS="1").splitlines() == [
            "1 3 True",  # the thread that calls execute is one of them
            "2 True 4 True set() set()",
            "[2, 4, 4]",
            "True",
            "set() True",
            "set()",
        ]

    def test_instances_of_other_sizes_execute_at_the_same_time(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
import threading
methods = [load(f"XnnpackBackend.num_threads={count}") for count in (1, 2, 3, 3)]
expected = [method.execute([x])[0] for method in methods]
right = []
def run(method, y):
    right.append(all(np.array_equal(method.execute([x])[0], y) for _ in range(20)))
threads = [threading.Thread(target=run, args=each) for each in zip(methods, expected)]
for each in threads: each.start()
for each in threads: each.join()
print(right)
"""
        )
        assert in_process(code, *large_program) == "[True, True, True, True]"

    def test_a_forked_process_gets_pools_of_its_own(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
kept = load("XnnpackBackend.num_threads=3")
y = kept.execute([x])[0]
child = os.fork()
if not child:
    same = np.array_equal(load("XnnpackBackend.num_threads=3").execute([x])[0], y)
    os._exit(0 if same else 1)
print(os.waitpid(child, 0)[1])
"""
        )
        assert in_process(code, *large_program) == "0"


class TestRefused:
    """A value that the transport or the backend does not accept is an error that says why."""

    def test_an_option_that_applies_at_load_cannot_change_afterwards(self) -> None:
        program = etconfig.load_program(PROGRAMS / "xnnpack.pte", executor="executorch")
        method = program.load_method("forward")
        with pytest.raises(OptionError, match="applies at load and cannot change on a loaded method"):
            method.update({"XnnpackBackend.workspace_sharing_mode": "global"})

    def test_a_pool_whose_threads_the_system_does_not_start(
        self, in_process: Callable[..., str], large_program: tuple[Path, Path]
    ) -> None:
        code = (
            SET_UP
            + """
import resource
import time
from etconfig.errors import OptionError

y = load("XnnpackBackend.num_threads=2").execute([x])[0]
before = threads()

def settles_at(count, seconds=30):
    # a thread that was joined is listed until the system has cleaned up after it
    end = time.monotonic() + seconds
    while threads() - before != count and time.monotonic() < end:
        time.sleep(0.01)
    return threads() - before

def refusal(count):
    try:
        load(f"XnnpackBackend.num_threads={count}")
    except OptionError as error:
        return error.diagnostics[0].code, error.diagnostics[0].message

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, resource.RLIM_INFINITY))
print(refusal(1000))
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(refusal(2**63 - 1))
print(settles_at(0))
large = load("XnnpackBackend.num_threads=1000")
print(settles_at(999), np.array_equal(large.execute([x])[0], y))
"""
        )
        few, many, left, right = in_process(code, *large_program, OPENBLAS_NUM_THREADS="1").splitlines()
        assert re.fullmatch(
            r"\('invalid-value', 'XnnpackBackend.num_threads: a pool of 1000 threads needs 999 new ones, "
            r"and the system starts \d+ for this process'\)",
            few,
        )
        assert many == (
            "('invalid-value', 'XnnpackBackend.num_threads: a pool has at most 1024 threads, "
            "not 9223372036854775807')"
        )
        assert left == "0"
        assert right == "999 True"

    def test_a_path_that_is_too_long_is_not_cut_off(self) -> None:
        program = etconfig.load_program(PROGRAMS / "xnnpack.pte", executor="executorch")
        overrides = [
            "XnnpackBackend.weight_cache_enabled=true",
            f"XnnpackBackend.packed_cache_path={'p' * 256}",
        ]
        config = etconfig.resolve(program, overrides=overrides)
        with pytest.raises(OptionError, match="texts have at most 255 bytes, and this one 256"):
            program.load_method("forward", config.arguments("forward"))

    def test_the_error_contains_the_log_of_the_runtime(self) -> None:
        from etconfig_executorch.failures import blame
        from etconfig_executorch.native import native

        program = native.Program((PROGRAMS / "xnnpack.pte").read_bytes(), [])
        wrong = [("XnnpackBackend", [("workspace_sharing_mode", 7)])]
        with pytest.raises(DelegateError) as caught, blame("load", "forward"):
            native.Method(program, "forward", wrong, False)
        assert "backend 'XnnpackBackend' failed in init of method 'forward': InvalidArgument (0x12)" in str(
            caught.value
        )
        assert "workspace sharing mode must be between 0 and 2" in str(caught.value)
