"""An interrupt at any moment: a Method is usable or closed afterwards, and every handle is destroyed once.

Python calls handlers of signals where a function begins or a call of a C function ends. `sys.setprofile`
reports these moments, so that a test can interrupt at each of them: with KeyboardInterrupt, as Ctrl-C does,
or with an exception of the user's own, which must come out as itself.
"""

from __future__ import annotations

import gc
import inspect
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import KERNELS, FakeProgram, PlanBuilder
from program_writer import instruction, plan, value, write

from etconfig import Method
from etconfig.backend import Backend, BoundBackend, ExecuteContext
from etconfig.base.interrupts import is_of_signal_handler
from etconfig.errors import KernelArgumentError, MethodClosedError
from etconfig.kernel.registry import Scalar, Step, kernel
from etconfig.kernel.tensor import Tensor
from etconfig.numpy_executor import load_method
from etconfig.program.program import open_program

X = np.array([1, 2], np.float32)
MOST_MOMENTS = 20_000


class Adding(Backend[int, list[int]]):
    """Adds its options to its input, and counts its handles, which keep the options as well."""

    def __init__(self, handles: list[str]) -> None:
        self._handles = handles

    def availability(self) -> Any:
        raise NotImplementedError

    def init(self, context: Any, processed: object, compile_specs: object) -> list[int]:
        self._handles.append("made")
        return [context.options]

    def execute(self, context: ExecuteContext[int], handle: list[int], args: Any) -> None:
        assert handle == [context.options]
        args[1][...] = args[0] + context.options

    def update(self, context: Any, handle: list[int], changed: object) -> None:
        handle[0] = context.options

    def effective_options(self, handle: list[int]) -> Any:
        return {}

    def destroy(self, handle: list[int]) -> None:
        self._handles.append("destroyed")


def two_delegates() -> FakeProgram:
    builder = PlanBuilder()
    x, between, out = (builder.tensor(2) for _ in range(3))
    builder.inputs, builder.outputs = [x], [out]
    for given, result in ((x, between), (between, out)):
        builder.delegate_call(builder.delegate("Adding"), given, result)
    return builder.program()


PROGRAM = two_delegates()
DESTROYED = ["made", "made", "destroyed", "destroyed"]


def load(handles: list[str]) -> Method:
    bound = BoundBackend(
        backend_id="Adding",
        create=lambda: Adding(handles),
        options=1,
        changed=lambda _, values: values["amount"],
    )
    return load_method(PROGRAM, "forward", KERNELS, {"Adding": bound})


class TimeIsUp(Exception):
    """An exception of the user's own, as a handler of SIGALRM raises it."""


class Interrupt:
    """Raises an exception at the moment of that number; `has_come` is true if there was one."""

    def __init__(self, number: int, kind: type[BaseException]) -> None:
        self._left = number
        self._kind = kind
        self.has_come = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        # Python 3.10 lets no generator handle what is raised when it goes on, as it does with Ctrl-C
        goes_on = event == "call" and code.co_flags & inspect.CO_GENERATOR
        if code.co_filename != __file__ and event in ("call", "c_return") and not goes_on:
            self._left -= 1
            if not self._left:
                sys.setprofile(None)
                self.has_come = True
                raise self._kind

    def during(self, action: Callable[[], object]) -> object:
        before = sys.getprofile()
        callbacks, gc.callbacks[:] = gc.callbacks[:], []  # of hypothesis: exceptions in them go nowhere
        sys.setprofile(self)
        try:
            return action()
        except self._kind:
            return None
        finally:
            sys.setprofile(before)
            gc.callbacks[:] = callbacks


Moments = Callable[[], Iterator[Interrupt]]


@pytest.fixture(params=[KeyboardInterrupt, TimeIsUp])
def moments(request: pytest.FixtureRequest) -> Moments:
    """Makes an Interrupt for each moment of an action, until one comes too late."""

    def made() -> Iterator[Interrupt]:
        for number in range(1, MOST_MOMENTS):
            interrupt = Interrupt(number, request.param)
            yield interrupt
            if not interrupt.has_come:
                assert number > 10
                return
        pytest.fail("the action has no end")

    return made


def test_an_execute(moments: Moments) -> None:
    handles: list[str] = []
    with load(handles) as method:
        for interrupt in moments():
            interrupt.during(lambda: method.execute([X]))
            assert method.execute([X])[0].tolist() == [3, 4]


def test_a_run_of_a_loop(moments: Moments) -> None:
    method = load_method(open_program(DATA / "programs" / "mapping.pte"), "forward", KERNELS, {})
    shapes = [method.metadata.input_tensor_meta(each).sizes() for each in range(2)]
    inputs = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    expected = [each.tolist() for each in method.execute(inputs)]
    for interrupt in moments():
        interrupt.during(lambda: method.execute(inputs))
        assert [each.tolist() for each in method.execute(inputs)] == expected


def test_an_update_is_done_or_not(moments: Moments) -> None:
    handles: list[str] = []
    for interrupt in moments():
        with load(handles) as method:
            interrupt.during(lambda: method.update({"Adding.amount": 5}))
            amount = method.options("Adding")
            assert amount in (1, 5)
            assert method.execute([X])[0].tolist() == [1 + 2 * amount, 2 + 2 * amount]


def test_a_close_that_is_interrupted_can_be_called_again(moments: Moments) -> None:
    for interrupt in moments():
        handles: list[str] = []
        method = load(handles)
        interrupt.during(method.close)
        method.close()
        assert handles == DESTROYED
        with pytest.raises(MethodClosedError):
            method.execute([X])


def test_a_close_that_is_interrupted_is_done_by_the_collector_otherwise(moments: Moments) -> None:
    for interrupt in moments():
        handles: list[str] = []
        method = load(handles)
        interrupt.during(method.close)
        del method
        assert handles == DESTROYED


def test_a_load(moments: Moments) -> None:
    load([]).close()  # what is made once in a process
    for interrupt in moments():
        handles: list[str] = []
        method = interrupt.during(lambda: load(handles))  # noqa: B023  it is called here
        del method
        assert handles in ([], ["made", "destroyed"], DESTROYED)
        assert gc.isenabled()


def test_opening_a_program(moments: Moments) -> None:
    data = (DATA / "programs" / "branch.pte").read_bytes()
    for interrupt in moments():
        interrupt.during(lambda: open_program(data))
        assert gc.isenabled()


NEVER = value("Bool", bool_val=False)
JUMP = instruction("JumpFalseCall", cond_value_index=0, destination_instruction=0)


def raise_time_is_up(*handled: object) -> None:
    raise TimeIsUp


class HandlerObject:
    """A handler that is an object, and forgets that it is installed before it raises."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise_time_is_up()


@pytest.fixture(params=[raise_time_is_up, HandlerObject(), lambda number, frame: raise_time_is_up()])
def interrupting(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """Sends this process a signal whose handler raises TimeIsUp."""
    before = signal.signal(signal.SIGUSR1, request.param)
    yield partial(signal.raise_signal, signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


class TestHandlers:
    """The exception of a handler comes out as itself, not as the error of what it interrupted."""

    @pytest.mark.parametrize("is_in_binder", [True, False])
    def test_in_a_kernel(self, interrupting: Callable[[], None], is_in_binder: bool) -> None:
        @kernel("aten::add.out")
        def add_out(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
            if is_in_binder:
                interrupting()
            return interrupting

        program = adding()
        with pytest.raises(TimeIsUp):
            load_method(program, "forward", {"aten::add.out": add_out}, {}).execute([X])

    def test_a_kernel_that_fails_itself_is_still_refused(self) -> None:
        @kernel("aten::add.out")
        def add_out(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
            return raise_time_is_up

        method = load_method(adding(), "forward", {"aten::add.out": add_out}, {})
        with pytest.raises(KernelArgumentError, match="TimeIsUp"):
            method.execute([X])

    @pytest.mark.parametrize("in_worker", [True, False])
    def test_in_a_delegate(self, interrupting: Callable[[], None], in_worker: bool) -> None:
        def body(context: ExecuteContext[int]) -> None:
            if in_worker:
                context.parallel_for(1, lambda _: interrupting(), 1)
            interrupting()

        bound = BoundBackend(
            backend_id="Adding", create=partial(Signaling, body), options=1, changed=lambda *_: 1
        )
        with load_method(PROGRAM, "forward", KERNELS, {"Adding": bound}) as method, pytest.raises(TimeIsUp):
            method.execute([X])

    def test_an_alarm_ends_a_loop(self) -> None:
        before = signal.signal(signal.SIGALRM, raise_time_is_up)
        method = load_method(
            open_program(write(plan(values=[NEVER], instructions=[JUMP]))), "forward", KERNELS, {}
        )
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(TimeIsUp):
                method.execute([])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def adding() -> FakeProgram:
    builder = PlanBuilder()
    x, out = builder.tensor(2), builder.tensor(2)
    builder.inputs, builder.outputs = [x], [out]
    builder.add_(x, x, out)
    return builder.program()


class Signaling(Adding):
    """Calls a function of the test at each execute."""

    def __init__(self, body: Callable[[ExecuteContext[int]], None]) -> None:
        super().__init__([])
        self._body = body

    def execute(self, context: ExecuteContext[int], handle: list[int], args: Any) -> None:
        self._body(context)


def test_a_function_that_looks_at_its_caller_is_not_a_handler() -> None:
    def require(is_right: object) -> None:
        frame = sys._getframe(1)
        raise ValueError(f"line {frame.f_lineno}: {is_right}")

    with pytest.raises(ValueError, match="line") as raised:
        require(False)
    assert not is_of_signal_handler(raised.value)


@pytest.mark.parametrize("has_rest", [False, True])
def test_a_function_that_is_called_as_a_handler_is_one(has_rest: bool) -> None:
    def handle(number: int, frame: object) -> None:
        raise ValueError

    def handle_rest(*given: object) -> None:
        raise ValueError

    with pytest.raises(ValueError) as raised:  # noqa: PT011  it has no message
        (handle_rest if has_rest else handle)(14, sys._getframe())
    assert is_of_signal_handler(raised.value)
