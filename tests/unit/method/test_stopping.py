"""`execute(timeout=..., cancel=...)` ends a run between two instructions; the Method can be used again."""

from __future__ import annotations

import copy
import pickle
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from mutations import DATA
from plans import KERNELS, FakeProgram, PlanBuilder

import etconfig
from etconfig import CancelToken, Method
from etconfig.backend import Backend, BoundBackend, ExecuteContext
from etconfig.errors import (
    DelegateError,
    ExecutionStoppedError,
    InvalidInputError,
    OptionError,
    UnsupportedCallError,
)
from etconfig.method import RunnableMethod
from etconfig.numpy_executor import load_method
from etconfig.program.model import TensorShapeDynamism

X = np.array([1, 2], np.float32)
Body = Callable[[ExecuteContext[Any], Sequence[Any]], None]


class Calling(Backend[Any, None]):
    """Calls a function of the test at each execute."""

    def __init__(self, body: Body) -> None:
        self._body = body

    def init(self, context: Any, processed: object, compile_specs: object) -> None:
        return None

    def execute(self, context: ExecuteContext[Any], handle: None, args: Sequence[Any]) -> None:
        self._body(context, args)


def delegating(body: Body, **form: Any) -> Method:
    """A method that adds 1 + 1 times its input, delegates the sum, and adds the input to the result."""
    builder = PlanBuilder()
    x, between, result, out = (builder.tensor(2, **form) for _ in range(4))
    builder.inputs, builder.outputs = [x], [out]
    builder.add_(x, x, between)
    builder.delegate_call(builder.delegate("Calling"), between, result)
    builder.add_(result, x, out)
    bound = BoundBackend(
        backend_id="Calling", create=lambda: Calling(body), options=None, changed=lambda old, new: old
    )
    return load_method(builder.program(), "forward", KERNELS, {"Calling": bound})


def copying(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
    args[1][...] = args[0]


def endless() -> FakeProgram:
    """A loop that counts a mutable buffer up and never ends."""
    builder = PlanBuilder()
    x, out = builder.tensor(2), builder.tensor(2)
    count = builder.tensor(1, initial=np.zeros(1, np.float32))
    one, never = builder.constant(np.ones(1, np.float32)), builder.scalar(False)
    builder.inputs, builder.outputs = [x], [out, count]
    builder.add_(x, x, out)
    builder.add_(count, one, count)
    builder.jump_unless(never, 1)
    return builder.program()


class TestTokensAndTimes:
    def test_without_a_reason_the_run_goes_to_its_end(self) -> None:
        method = delegating(copying)
        for call in ({"timeout": 60}, {"cancel": CancelToken()}, {"cancel": CancelToken(timeout=60)}):
            np.testing.assert_array_equal(method.execute([X], **call)[0], X * 3)  # type: ignore[arg-type]

    @pytest.mark.parametrize("timeout", [0, 0.0, -3])
    def test_a_time_of_zero_stops_before_the_first_instruction(self, timeout: float) -> None:
        method = delegating(copying)
        with pytest.raises(ExecutionStoppedError) as caught:
            method.execute([X], timeout=timeout)
        error = caught.value
        assert (error.method, error.reason) == ("forward", "timeout")
        assert (error.instruction, error.operator) == (0, "aten::add.out")
        assert 0 <= error.elapsed_s < 60
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert "reached its time limit after 0." in str(error)
        np.testing.assert_array_equal(method.execute([X])[0], X * 3)

    def test_a_canceled_token_stops_every_run(self) -> None:
        token = CancelToken()
        assert not token.is_canceled
        token.cancel()
        assert token.is_canceled
        method = delegating(copying)
        for _ in range(2):
            with pytest.raises(ExecutionStoppedError, match=r"was canceled after .* at instruction 0 \(aten"):
                method.execute([X], cancel=token)
        np.testing.assert_array_equal(method.execute([X])[0], X * 3)

    def test_the_time_of_a_token_counts_from_its_making(self) -> None:
        token = CancelToken(timeout=0)
        assert token.is_canceled
        with pytest.raises(ExecutionStoppedError) as caught:
            delegating(copying).execute([X], cancel=token, timeout=60)
        assert caught.value.reason == "timeout"

    def test_inputs_are_checked_first(self) -> None:
        with pytest.raises(InvalidInputError):
            delegating(copying).execute([], timeout=0)

    @pytest.mark.parametrize(
        "call", [{"timeout": "1"}, {"timeout": True}, {"cancel": threading.Event()}, {"cancel": True}]
    )
    def test_other_types_are_refused(self, call: Any) -> None:
        with pytest.raises(TypeError, match=r"timeout: expected a number|cancel: expected an etconfig\.C"):
            delegating(copying).execute([X], **call)

    def test_not_a_number_is_refused(self) -> None:
        with pytest.raises(ValueError, match="given NaN"):
            CancelToken(timeout=float("nan"))

    def test_a_token_shows_its_state(self) -> None:
        token = CancelToken()
        assert repr(token) == "<CancelToken: not canceled>"
        token.cancel()
        assert repr(token) == "<CancelToken: canceled>"
        assert repr(CancelToken(timeout=0)) == "<CancelToken: time is up>"
        assert repr(CancelToken(timeout=3600)).endswith(" s left>")

    def test_a_very_long_time_is_no_limit(self) -> None:
        method = delegating(copying)
        np.testing.assert_array_equal(method.execute([X], timeout=float("inf"))[0], X * 3)
        np.testing.assert_array_equal(method.execute([X], timeout=10**400)[0], X * 3)  # more than a float

    @pytest.mark.parametrize("other", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_a_token_has_no_copies(self, other: Callable[[CancelToken], object]) -> None:
        with pytest.raises(TypeError, match="a CancelToken cannot be copied or pickled"):
            other(CancelToken())

    def test_a_number_of_numpy_is_a_number(self) -> None:
        method = delegating(copying)
        np.testing.assert_array_equal(method.execute([X], timeout=np.float32(60))[0], X * 3)
        assert CancelToken(timeout=np.int64(0)).is_canceled  # type: ignore[arg-type]

    def test_a_method_without_instructions_has_no_place(self) -> None:
        builder = PlanBuilder()
        builder.inputs = builder.outputs = [builder.tensor(2)]
        with pytest.raises(ExecutionStoppedError) as caught:
            builder.load().execute([X], timeout=0)
        assert (caught.value.instruction, caught.value.operator) == (None, None)


class TestDispatch:
    def test_the_instruction_after_a_cancel_does_not_run(self) -> None:
        token = CancelToken()

        def cancel(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            copying(context, args)
            token.cancel()

        for form in ({}, {"dynamism": TensorShapeDynamism.DYNAMIC_BOUND}):
            method = delegating(cancel, **form)
            token = CancelToken()
            for _ in range(2):  # bound anew, then bound before
                with pytest.raises(ExecutionStoppedError) as caught:
                    method.execute([X], cancel=token)
                assert caught.value.reason == "canceled"
            token = CancelToken()
            with pytest.raises(ExecutionStoppedError) as caught:
                method.execute([X], cancel=token)
            assert (caught.value.instruction, caught.value.operator) == (2, "aten::add.out")
            np.testing.assert_array_equal(method.execute([X])[0], X * 3)

    @pytest.mark.parametrize("optimize", [True, False])
    def test_an_endless_loop_ends_in_time(self, optimize: bool) -> None:
        method = load_method(endless(), "forward", KERNELS, {}, optimize=optimize)
        for _ in range(2):
            with pytest.raises(ExecutionStoppedError) as caught:
                method.execute([X], timeout=0.02)
            assert caught.value.instruction in (1, 2)
            assert caught.value.elapsed_s >= 0.02

    def test_a_loop_of_a_jump_alone_ends(self) -> None:
        builder = PlanBuilder()
        builder.outputs = [builder.scalar(1)]
        builder.jump_unless(builder.scalar(False), 0)
        method = builder.load()
        with pytest.raises(ExecutionStoppedError) as caught:
            method.execute(timeout=0.01)
        assert (caught.value.instruction, caught.value.operator) == (0, "JumpFalseCall")

    def test_another_thread_cancels(self) -> None:
        method, token = load_method(endless(), "forward", KERNELS, {}), CancelToken()
        timer = threading.Timer(0.02, token.cancel)
        timer.start()
        with pytest.raises(ExecutionStoppedError, match="was canceled"):
            method.execute([X], cancel=token)
        timer.join()

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of timers are Unix")
    def test_a_signal_handler_cancels(self) -> None:
        method, token = load_method(endless(), "forward", KERNELS, {}), CancelToken()
        before = signal.signal(signal.SIGALRM, lambda *_: token.cancel())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(ExecutionStoppedError, match="was canceled"):
                method.execute([X], cancel=token)
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_outputs_and_attributes_keep_what_the_pages_say(self) -> None:
        with etconfig.load_program(DATA / "programs" / "mutable_buffers.pte") as program:
            method = program.load_method(program.method_names[0])
            x = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
            out = np.full(method.metadata.output_tensor_meta(0).sizes(), 7, np.float32)
            expected = program.load_method(program.method_names[0]).execute([x])[0]
            with pytest.raises(ExecutionStoppedError):
                method.execute([x], timeout=0, outputs=[out] + [None] * (method.metadata.num_outputs() - 1))
            np.testing.assert_array_equal(method.execute([x])[0], expected)  # nothing ran before

    def test_names_and_indices_are_those_of_the_program(self) -> None:
        """Whichever step is reached first, optimized or not: the index leads to the operator."""
        for name in ("convolution_channels_last", "lists", "linear", "dynamic_shapes", "branch"):
            with etconfig.load_program(DATA / "programs" / f"{name}.pte") as program:
                plan = program.program.plan("forward")
                for optimize in (True, False):
                    method = program.load_method("forward", optimize=optimize)
                    from etconfig.analysis import generate_inputs

                    with pytest.raises(ExecutionStoppedError) as caught:
                        method.execute(generate_inputs(method.metadata, 0), timeout=0)
                    assert caught.value.instruction is not None
                    instruction: Any = plan.chains[0].instructions[caught.value.instruction]
                    assert plan.operators[instruction.op_index].full_name == caught.value.operator


class TestDelegates:
    """`context.should_stop` and `parallel_for` end a delegate; without a token they never do."""

    def test_a_delegate_may_return_early(self) -> None:
        def wait(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            while not context.should_stop():
                time.sleep(0.001)

        method = delegating(wait)
        with pytest.raises(ExecutionStoppedError) as caught:
            method.execute([X], timeout=0.01)
        assert (caught.value.instruction, caught.value.operator) == (1, "Calling")

    def test_a_delegate_may_raise_then(self) -> None:
        def fail(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            while not context.should_stop():
                time.sleep(0.001)
            raise OSError("the device was interrupted")

        with pytest.raises(ExecutionStoppedError):
            delegating(fail).execute([X], timeout=0.01)

    def test_other_errors_of_a_delegate_stay_errors(self) -> None:
        def fail(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            raise OSError("the device is gone")

        with pytest.raises(DelegateError, match="the device is gone"):
            delegating(fail).execute([X], timeout=60)

    def test_a_plain_call_after_a_stopped_one_has_no_limit(self) -> None:
        seen: list[bool] = []

        def look(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            seen.append(context.should_stop())
            copying(context, args)

        method = delegating(look)
        method.execute([X])
        with pytest.raises(ExecutionStoppedError):
            method.execute([X], timeout=0)
        method.execute([X])
        method.execute([X], cancel=CancelToken())
        assert seen == [False] * 3

    @pytest.mark.parametrize("workers", [1, 3])
    def test_parallel_for_leaves_out_what_has_not_begun(self, workers: int) -> None:
        token, begun = CancelToken(), []

        def split(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            def body(index: int) -> None:
                begun.append(index)
                token.cancel()

            context.parallel_for(1000, body, workers)
            pytest.fail("it goes on")

        with pytest.raises(ExecutionStoppedError):
            delegating(split).execute([X], cancel=token)
        assert 1 <= len(begun) <= workers

    def test_nested_loops_end_in_the_threads_of_the_workers(self) -> None:
        token, ended = CancelToken(), []

        def split(context: ExecuteContext[Any], args: Sequence[Any]) -> None:
            def inner(index: int) -> None:
                if index == 5:
                    token.cancel()
                assert index <= 6, "indices begin after the cancel"

            def outer(index: int) -> None:
                try:
                    context.parallel_for(1000, inner, 2)
                except Exception:
                    ended.append(threading.get_ident())
                    raise

            context.parallel_for(4, outer, 2)

        method = delegating(split)
        with pytest.raises(ExecutionStoppedError) as caught:
            method.execute([X], cancel=token)
        assert caught.value.operator == "Calling"
        assert ended
        token = CancelToken()
        with pytest.raises(ExecutionStoppedError):  # the pool still works
            method.execute([X], cancel=token)


def test_an_executor_that_runs_to_the_end_says_so() -> None:
    class Old(RunnableMethod):
        def execute(self, inputs: Sequence[object], resource: object) -> list[Any]:
            return [X * 2]

        def update(self, changes: Any) -> None:
            raise NotImplementedError

        def effective_options(self) -> Any:
            return {}

        def release(self) -> None:
            pass

    method = delegating(copying)
    method._runnable = Old()
    out = np.zeros(2, np.float32)
    assert method.execute([X], outputs=[out])[0] is out
    np.testing.assert_array_equal(out, X * 2)
    with pytest.raises(UnsupportedCallError, match="does not support a time limit or a token"):
        method.execute([X], timeout=1)
    with pytest.raises(OptionError):
        method.execute([X], options={"Other.gain": 1})
