"""The checks of handles, resources and arguments: behavior that their mutants do not show."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from kit_checks import Fronted, subject

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.checks import execute_arguments, lifecycle, resources
from etconfig.conformance.checks.check import Check
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.process import process_resources
from etconfig.conformance.process.process_resources import ProcessResources, open_files, threads

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a fork and /proc")


class TakesAnyPayload(Interposer):
    """Has the program built in."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        return None

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        left, right, output = map(np.asarray, args)
        output[...] = left + right

    def destroy(self, handle: Any) -> None:
        pass


class TestLifecycle:
    """Handles in any order of calls, and handles of other runtimes."""

    def test_closing_one_method_must_not_close_another(self):
        closed: list[object] = []

        class ClosesAll(Interposer):
            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                if len(closed) > 1:
                    raise RuntimeError("the device is closed")
                super().execute(context, handle, args)

            def destroy(self, handle: Any) -> None:
                closed.append(handle)

        with pytest.raises(Exception, match="the device is closed"):
            lifecycle.order.run(Fronted(ClosesAll))

    def test_a_backend_that_refuses_no_payload_has_nothing_to_clean_up(self):
        with pytest.raises(NotApplicableError, match="refuses no payload, not even an empty one"):
            lifecycle.failed_init.run(Fronted(TakesAnyPayload))

    def test_a_handle_for_two_loads_is_reported(self):
        handles: dict[bytes, Any] = {}

        class OneHandle(Interposer):
            def init(
                self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
            ) -> Any:
                handle = super().init(context, processed, compile_specs)
                return handles.setdefault(bytes(processed.data), handle)

        with pytest.raises(
            CheckFailedError, match="CpuHandle that init returned serves two delegates at once"
        ):
            lifecycle.destroy_once.run(Fronted(OneHandle))

    def test_a_handle_may_be_none(self):
        lifecycle.destroy_once.run(Fronted(TakesAnyPayload))

    def test_a_closed_method_that_runs_is_reported(self):
        class Immortal:
            def execute(self, inputs: Sequence[Any]) -> list[Any]:
                return [np.add(*inputs)]

            def close(self) -> None:
                pass

        class Lying(Fronted):
            is_native = True

            def load(self, *args: Any, **options: Any) -> Any:
                return Immortal()

        with pytest.raises(CheckFailedError, match="add: a closed method ran; expected MethodClosedError"):
            lifecycle.use_after_destroy.run(Lying(Interposer))

    def test_a_destroyed_handle_that_answers_wrongly_is_reported(self):
        class Released(Interposer):
            is_released = False

            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                if not self.is_released:
                    super().execute(context, handle, args)

            def destroy(self, handle: Any) -> None:
                self.is_released = True

        with pytest.raises(
            CheckFailedError, match=r"returned with a destroyed handle, but add.* off by 1 .*; raise"
        ):
            lifecycle.use_after_destroy.run(Fronted(Released))

    def test_a_destroyed_handle_may_answer_rightly_or_refuse(self):
        class Refuses(Interposer):
            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                assert handle is not self.destroyed
                super().execute(context, handle, args)

            destroyed = None

            def destroy(self, handle: Any) -> None:
                self.destroyed = handle

        lifecycle.use_after_destroy.run(Fronted(Interposer))
        lifecycle.use_after_destroy.run(Fronted(Refuses))


class TestHoldings:
    """New threads and files are named if there are at least as many as there were loads."""

    def test_threads_have_the_name_that_python_gave_them(self):
        end = threading.Event()
        thread = threading.Thread(target=end.wait, name="prefetch")
        thread.start()
        try:
            assert threads()[thread.native_id or 0] == "thread 'prefetch'"
        finally:
            end.set()
            thread.join()

    @pytest.mark.posix
    @linux
    def test_open_files_have_their_path(self):
        descriptor = os.open(os.devnull, os.O_RDONLY)
        try:
            assert open_files()[descriptor] == "file /dev/null"
        finally:
            os.close(descriptor)
        assert descriptor not in open_files()

    @linux
    def test_fewer_new_files_than_loads_are_accepted(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(process_resources, "_SETTLE_SECONDS", 0)
        resources = ProcessResources()
        descriptor = os.open(os.devnull, os.O_RDONLY)
        try:
            resources.check_unchanged(2, "2 loads", "close it")
            with pytest.raises(
                CheckFailedError, match="after a load, 1 open files are left, such as file /dev"
            ):
                resources.check_unchanged(1, "a load", "close it")
        finally:
            os.close(descriptor)


class TestResources:
    """Payloads kept by their address, children that hang, systems that report nothing."""

    def test_a_payload_that_is_used_after_it_was_freed_gives_wrong_answers(self):
        class KeepsAddress(TakesAnyPayload):
            def init(
                self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
            ) -> Any:
                address = np.frombuffer(processed.data, np.uint8).__array_interface__["data"][0]
                processed.free()
                return address

            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                super().execute(context, handle, args)
                np.asarray(args[2])[...] += ctypes.c_uint8.from_address(handle).value == 0xA5

        with pytest.raises(CheckFailedError, match="off by"):
            resources.payload_freed.run(Fronted(KeepsAddress))

    @pytest.mark.posix
    @linux
    def test_the_end_of_a_child_is_reported(self):
        def wrong() -> None:
            raise CheckFailedError("3, expected 4")

        def refuses() -> None:
            raise RuntimeError("not in a child")

        forever = threading.Event()
        assert resources.run_in_child(lambda: None, 5) is None
        assert resources.run_in_child(refuses, 5) is None
        assert resources.run_in_child(wrong, 5) == "answered wrongly"
        assert resources.run_in_child(lambda: os.kill(os.getpid(), 9), 5) == "was killed by SIGKILL"
        assert resources.run_in_child(lambda: forever.wait() and None, 0.1) == "did not answer within 0.1 s"

    @pytest.mark.parametrize(
        "check", [resources.rss_slope, resources.fork_after_init], ids=lambda check: check.id
    )
    def test_the_checks_do_not_apply_on_other_systems(self, check: Check, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "platform", "darwin")
        with pytest.raises(NotApplicableError, match="Linux"):
            check.run(subject())


class Scaled(Interposer):
    """Scales its first input in place."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        np.asarray(args[0])[...] *= 2


class Wraps(Interposer):
    """Replaces every error with its own."""

    caught: type[BaseException] = BaseException

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        try:
            super().execute(context, handle, args)
        except self.caught:
            raised = RuntimeError("execute failed")
        else:
            return
        raise raised


class WrapsErrors(Wraps):
    """Wraps ordinary errors, and lets all others pass."""

    caught = RuntimeError


class TestArguments:
    """Changed inputs and lost errors are reported."""

    def test_an_input_that_changed_is_named(self):
        with pytest.raises(CheckFailedError, match="argument 0, an input, has changed; write to outputs"):
            execute_arguments.aliasing.run(Fronted(Scaled))

    def test_an_error_without_its_cause_is_reported(self):
        message = r"raised RuntimeError, but the resulting DelegateError: .* does not have it as its cause"
        with pytest.raises(CheckFailedError, match=message):
            execute_arguments.errors_mapped.run(Fronted(WrapsErrors))

    def test_only_ordinary_errors_may_be_wrapped_with_their_cause(self):
        class WrapsAll(Interposer):
            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                try:
                    super().execute(context, handle, args)
                except BaseException as error:
                    raise RuntimeError("execute failed") from error

        message = r"raised MemoryError, but execute turned it into RuntimeError; catch fewer errors"
        with pytest.raises(CheckFailedError, match=message):
            execute_arguments.errors_mapped.run(Fronted(WrapsAll))

    def test_no_fault_can_be_injected_into_a_backend_that_uses_nothing(self):
        class Idle(Interposer):
            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                pass

        with pytest.raises(NotApplicableError, match="reaches no place where the kit can inject a fault"):
            execute_arguments.errors_mapped.run(Fronted(Idle))

    def test_an_interrupt_by_the_user_ends_the_run(self):
        class Interrupted(Interposer):
            def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            execute_arguments.errors_mapped.run(Fronted(Interrupted))
