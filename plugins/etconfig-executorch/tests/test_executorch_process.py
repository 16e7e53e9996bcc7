"""One runtime in a process: Python backends share its registry, and mistakes do not end the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "tests" / "data" / "digits" / "digits.pte"
PROGRAMS = ROOT / "tests" / "data" / "programs"

BROKEN = """
import sys
import numpy as np
import etconfig
from etconfig.backend import BoundBackend
from etconfig.plugin.v1 import Backend, BackendOptions
from etconfig.method.method import Method
from etconfig.method import ProgramRequest
from etconfig.method.request import method_request
from etconfig.program.program import open_program
from etconfig_executorch.executor import ExecutorchExecutor

log = []

class Broken(Backend):
    def init(self, context, processed, compile_specs):
        log.append(f"init {context.delegate_index}")
        if fails == f"init {context.delegate_index}":
            raise RuntimeError("no memory on the device")
        return context.delegate_index

    def execute(self, context, handle, args):
        raise RuntimeError("the device is gone")

    def destroy(self, handle):
        log.append(f"destroy {handle}")

fails = sys.argv[2]
program = open_program(sys.argv[1])
ids = {each.id for each in program.plan("forward").delegates}
bound = {
    id_: BoundBackend(backend_id=id_, create=Broken, options=BackendOptions(), changed=None) for id_ in ids
}
opened = ExecutorchExecutor().open_program(ProgramRequest(program=program))

def run():
    request = method_request(program, program.plan("forward"), bound)
    method = Method(None, request, opened.load_method(request))
    method._meta = type("Meta", (), {"name": lambda self: "forward"})()
    try:
        method.execute([np.zeros((1, 1, 8, 8), np.float32)])
    finally:
        method.close()

for _ in range(2):
    try:
        run()
    except etconfig.EtconfigError as error:
        log.append(str(error))
print("\\n".join(log))
"""


class TestFailures:
    """A Python backend fails with its own exception, and leaves nothing behind."""

    def test_an_execute_that_fails(self, in_process: Callable[..., str]) -> None:
        lines = in_process(BROKEN, DIGITS, "never").splitlines()
        one_run = ["init 0", "init 1"]
        assert lines[:2] == one_run
        assert [line for line in lines if "init" in line].count("init 0") == 2
        assert [line for line in lines if "destroy" in line] == ["destroy 1", "destroy 0"] * 2
        assert lines[-1].endswith("failed in execute of method 'forward': RuntimeError: the device is gone")

    def test_an_init_that_fails(self, in_process: Callable[..., str]) -> None:
        lines = in_process(BROKEN, DIGITS, "init 1").splitlines()
        assert lines[:3] == ["init 0", "init 1", "destroy 0"]
        assert lines[3].endswith("failed in init of method 'forward': RuntimeError: no memory on the device")
        assert lines[4:] == lines[:4]  # the second round is the same


class TestSharing:
    """`executorch.runtime` and this executor are one runtime."""

    def test_executorchs_own_bindings_see_a_python_backend(self, in_process: Callable[..., str]) -> None:
        code = """
import sys
import etconfig
program = etconfig.load_program(sys.argv[1], executor="executorch")
program.load_method("forward").close()
from executorch.runtime import Runtime
print("ReferenceNpuBackend" in Runtime.get().backend_registry.registered_backend_names)
try:
    Runtime.get().load_program(sys.argv[1]).load_method("forward")
except RuntimeError as error:
    print("refused")
"""
        assert in_process(code, DIGITS).splitlines()[-2:] == ["True", "refused"]

    @pytest.mark.parametrize("first", ["etconfig", "executorch"])
    def test_both_run_a_program_in_any_order(self, in_process: Callable[..., str], first: str) -> None:
        code = """
import sys
import numpy as np
x = np.ones((2, 8), np.float32)

def ours():
    import etconfig
    program = etconfig.load_program(sys.argv[1], executor="executorch")
    method = program.load_method("forward")
    sizes = [method.metadata.input_tensor_meta(i).sizes() for i in range(method.metadata.num_inputs())]
    return sizes, method.execute([np.ones(size, np.float32) for size in sizes])[0]

def theirs(sizes):
    import torch
    from executorch.runtime import Runtime
    method = Runtime.get().load_program(sys.argv[1]).load_method("forward")
    return method.execute([torch.ones(size) for size in sizes])[0].numpy()

if sys.argv[2] == "executorch":
    import executorch.runtime
sizes, a = ours()
print(np.abs(a - theirs(sizes)).max() < 1e-6)
"""
        assert in_process(code, PROGRAMS / "xnnpack.pte", first).splitlines()[-1] == "True"


class TestLog:
    """The runtime's log lines about a failure belong to the error, whatever else is in the process."""

    @pytest.mark.parametrize("first", ["etconfig", "executorch"])
    def test_lines_are_attached_and_not_printed(self, in_process: Callable[..., str], first: str) -> None:
        code = """
import os, sys
errors = os.open("stderr", os.O_CREAT | os.O_RDWR)
os.dup2(errors, 2)
if sys.argv[2] == "executorch":
    import executorch.runtime
from etconfig_executorch.native import native
import executorch.runtime
data = open(sys.argv[1], "rb").read()
try:
    native.Method(native.Program(data, []), "backward", [], False)
except native.RuntimeCallError as error:
    print(error.code_name, error.log)
print("backward" in open("stderr").read())
"""
        line, is_printed = in_process(code, PROGRAMS / "add.pte", first).splitlines()[-2:]
        assert line == """InvalidArgument ["program.cpp:67: No method named 'backward' in program"]"""
        assert is_printed == "False"


class TestImport:
    """An extension that does not fit the installed runtime is refused with an error that says so."""

    @pytest.mark.parametrize(
        ("installed", "message"),
        [
            ("1.6.0", "was built against executorch 1.5.1, but 1.6.0 is installed; install that release"),
            (None, "needs executorch 1.5.1, which is not installed; pip install executorch==1.5.1"),
        ],
    )
    def test_another_release_is_refused(
        self, in_process: Callable[..., str], installed: str | None, message: str
    ) -> None:
        code = f"""
import importlib.metadata, sys
found = importlib.metadata.version
def version(name):
    if name != "executorch":
        return found(name)
    if {installed!r} is None:
        raise importlib.metadata.PackageNotFoundError(name)
    return {installed!r}
importlib.metadata.version = version
try:
    import etconfig_executorch.native
except ImportError as error:
    print(error)
print("etconfig_executorch._native" in sys.modules)
"""
        said, is_loaded = in_process(code).splitlines()
        assert message in said
        assert is_loaded == "False"

    def test_a_backend_that_the_runtime_lacks_is_named(self, in_process: Callable[..., str]) -> None:
        code = """
import sys
import etconfig
data = open(sys.argv[1], "rb").read().replace(b"XnnpackBackend", b"CoreMLBackend\\0")
try:
    etconfig.load_program(data, executor="executorch").load_method("forward")
except etconfig.EtconfigError as error:
    print(error)
"""
        assert "CoreMLBackend" in in_process(code, PROGRAMS / "xnnpack.pte")


FIRST_CALLS_AT_ONCE = """
import threading
from etconfig_executorch import runtime

both = threading.Barrier(2)
made = []

class SlowRuntime(runtime.Runtime):
    def __init__(self):
        made.append(self)
        try:
            both.wait(0.5)  # a second thread comes here, too, if nothing keeps it away
        except threading.BrokenBarrierError:
            pass
        super().__init__()

runtime.Runtime = SlowRuntime
returned = []
threads = [threading.Thread(target=lambda: returned.append(runtime.the_runtime())) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(made), len(returned), len(set(map(id, returned))))
"""


def test_threads_that_load_first_at_once_share_one_runtime(in_process: Callable[..., str]) -> None:
    """Of two runtimes, one would own the backends' functions, the other one the methods that are loaded."""
    assert in_process(FIRST_CALLS_AT_ONCE).split() == ["1", "4", "1"]
