"""Ctrl-C at any moment: a Method is usable or closed afterwards, and every handle is destroyed once.

Python raises KeyboardInterrupt where a function begins or a call of a C function ends. `sys.setprofile`
reports these moments, so that a test can interrupt at each of them.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import KERNELS, FakeProgram, PlanBuilder

from etconfig import Method
from etconfig.backend import Backend, BoundBackend, ExecuteContext
from etconfig.errors import MethodClosedError
from etconfig.numpy_executor import load_method
from etconfig.program import open_program

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


class Interrupt:
    """Raises KeyboardInterrupt at the moment of that number; `has_come` is true if there was one."""

    def __init__(self, number: int) -> None:
        self._left = number
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
                raise KeyboardInterrupt

    def during(self, action: Callable[[], object]) -> object:
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            return action()
        except KeyboardInterrupt:
            return None
        finally:
            sys.setprofile(before)


def moments() -> Iterator[Interrupt]:
    """An Interrupt for each moment of an action, until one comes too late."""
    for number in range(1, MOST_MOMENTS):
        interrupt = Interrupt(number)
        yield interrupt
        if not interrupt.has_come:
            assert number > 10
            return
    pytest.fail("the action has no end")


def test_an_execute() -> None:
    handles: list[str] = []
    with load(handles) as method:
        for interrupt in moments():
            interrupt.during(lambda: method.execute([X]))
            assert method.execute([X])[0].tolist() == [3, 4]


def test_a_run_of_a_loop() -> None:
    method = load_method(open_program(DATA / "programs" / "mapping.pte"), "forward", KERNELS, {})
    shapes = [method.metadata.input_tensor_meta(each).sizes() for each in range(2)]
    inputs = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    expected = [each.tolist() for each in method.execute(inputs)]
    for interrupt in moments():
        interrupt.during(lambda: method.execute(inputs))
        assert [each.tolist() for each in method.execute(inputs)] == expected


def test_an_update_is_done_or_not() -> None:
    handles: list[str] = []
    for interrupt in moments():
        with load(handles) as method:
            interrupt.during(lambda: method.update({"Adding.amount": 5}))
            amount = method.options("Adding")
            assert amount in (1, 5)
            assert method.execute([X])[0].tolist() == [1 + 2 * amount, 2 + 2 * amount]


def test_a_close_that_is_interrupted_can_be_called_again() -> None:
    for interrupt in moments():
        handles: list[str] = []
        method = load(handles)
        interrupt.during(method.close)
        method.close()
        assert handles == DESTROYED
        with pytest.raises(MethodClosedError):
            method.execute([X])


def test_a_close_that_is_interrupted_is_done_by_the_collector_otherwise() -> None:
    for interrupt in moments():
        handles: list[str] = []
        method = load(handles)
        interrupt.during(method.close)
        del method
        assert handles == DESTROYED


def test_a_load() -> None:
    load([]).close()  # what is made once in a process
    for interrupt in moments():
        handles: list[str] = []
        method = interrupt.during(lambda: load(handles))  # noqa: B023  it is called here
        del method
        assert handles in ([], ["made", "destroyed"], DESTROYED)
        assert gc.isenabled()


def test_opening_a_program() -> None:
    data = (DATA / "programs" / "branch.pte").read_bytes()
    for interrupt in moments():
        interrupt.during(lambda: open_program(data))
        assert gc.isenabled()
