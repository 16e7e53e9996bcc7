"""Mutants of the checks on methods side by side."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from driver import STATE

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import Mutant

STATE.current = threading.local()
STATE.last = (None, lambda: None)
STATE.pair = threading.Barrier(2, timeout=2)
STATE.is_lost = False


class CurrentModel(Interposer):
    """Has one place per thread for each delegate of a method, and runs the one loaded last."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        self._slots[id(handle)] = context.delegate_index
        vars(STATE.current)[context.delegate_index] = handle
        return handle

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, vars(STATE.current).get(self._slots[id(handle)], handle), args)


class LateClearing(Interposer):
    """Keeps the output of a method, and clears it when another one runs."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        owner, find_output = STATE.last
        if owner is not self and (output := find_output()) is not None:
            output[...] = 0
        STATE.last = (self, weakref.ref(args[-1]))


class SharedStaging(Interposer):
    """Passes results through one buffer for all methods, in which two threads collide."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if threading.current_thread() is threading.main_thread():
            return
        output = args[-1]
        assert isinstance(output, np.ndarray)
        STATE.staging = output.copy()
        with contextlib.suppress(threading.BrokenBarrierError):
            STATE.pair.wait()
            output[...] = STATE.staging


class ThreadBound(Interposer):
    """Works only in the thread that loaded the method."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        self._thread = threading.get_ident()
        return super().init(context, processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError("no context is current in this thread")
        super().execute(context, handle, args)


class DeviceLost(Interposer):
    """Stops working after a bad call, until something is loaded again."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        STATE.is_lost = False
        return super().init(context, processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if STATE.is_lost:
            raise RuntimeError("the device is lost")
        try:
            super().execute(context, handle, args)
        except ValueError:
            STATE.is_lost = True
            raise


class TakesAnything(Interposer):
    """Silently does nothing if there are no arguments."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if args:
            super().execute(context, handle, args)


CURRENT_MODEL = Mutant("matrix", r"two_methods\.\w of program \d fails next to", backend=CurrentModel)
LATE_CLEARING = Mutant("interleave", "argument 2 of this one changed", backend=LateClearing)
SHARED_STAGING = Mutant("parallel-methods", "fails while other methods run", backend=SharedStaging)
THREAD_BOUND = Mutant("parallel-same", "no context is current", backend=ThreadBound)
DEVICE_LOST = Mutant(
    "fault-contained",
    "loaded before, fails after a failed init and a failed execute.*is lost",
    backend=DeviceLost,
)
TAKES_ANYTHING = Mutant("fault-contained", "without any argument did not raise", backend=TakesAnything)
