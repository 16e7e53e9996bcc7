"""Mutants of the checks on handles."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from driver import STATE

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import Mutant, output_of

STATE.loaded = []
STATE.weights_of = {}
STATE.kept_weights = set()


class UncountedWeights(Interposer):
    """Shares weights of equal payloads in a thread, and drops them when the first handle is destroyed."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        STATE.weights_of[id(handle)] = threading.get_ident(), bytes(processed.data)
        STATE.kept_weights.add(STATE.weights_of[id(handle)])
        return handle

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if STATE.weights_of[id(handle)] not in STATE.kept_weights:
            raise RuntimeError("the weights are gone")
        super().execute(context, handle, args)

    def destroy(self, handle: Any) -> None:
        STATE.kept_weights.discard(STATE.weights_of[id(handle)])
        super().destroy(handle)


class Chatty(Interposer):
    """Prints whenever it runs, not through Python."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        os.write(1, b"running\n")
        super().execute(context, handle, args)


class DestroysOnError(Interposer):
    """Destroys its handle when an execute fails, although the core destroys it, too."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        try:
            super().execute(context, handle, args)
        except Exception:
            self.destroy(handle)
            raise


class EarlyThread(Interposer):
    """Starts its thread before it reads the payload, and ends it only in destroy."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        self._end = threading.Event()
        # ends after a while, for the process of the tests
        self._thread = threading.Thread(target=self._end.wait, args=(5,), daemon=True)
        self._thread.start()
        return super().init(context, processed, compile_specs)

    def destroy(self, handle: Any) -> None:
        self._end.set()
        self._thread.join()
        super().destroy(handle)


class OneShot(Interposer):
    """Assumes that weights that it has seen are packed already."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        memory, index = processed.data.obj, context.delegate_index
        self._is_packed = any(memory is seen and index == other for seen, other in STATE.loaded)
        STATE.loaded.append((memory, index))
        return super().init(context, processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        if self._is_packed:
            output_of(args)[...] *= 2


class FreedModel(Interposer):
    """Reads memory that destroy has freed."""

    _is_freed = False

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if self._is_freed:
            os.kill(os.getpid(), signal.SIGSEGV)
        super().execute(context, handle, args)

    def destroy(self, handle: Any) -> None:
        self._is_freed = True
        super().destroy(handle)


CHATTY = Mutant("prints-nothing", r"add: the backend prints 'running\\n.*; use a logger", backend=Chatty)
UNCOUNTED_WEIGHTS = Mutant("order", "the weights are gone", backend=UncountedWeights)
DESTROYS_ON_ERROR = Mutant(
    "destroy-once", "add: the CpuHandle that init returned was destroyed 2 times", backend=DestroysOnError
)
EARLY_THREAD = Mutant(
    "failed-init", "refused 50% of the payload of add 5 times, 5 threads are left", backend=EarlyThread
)
ONE_SHOT = Mutant("reinit", "at the second load, .*off by", backend=OneShot)
FREED_MODEL = Mutant("use-after-destroy", "ended with signal SIGSEGV.*lifecycle.py", backend=FreedModel)
