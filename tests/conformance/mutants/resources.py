"""Mutants of the checks of resources."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from driver import STATE

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import Mutant, claiming

STATE.weights = []
STATE.descriptors = []


class Prefetcher(Interposer):
    """Has a thread for each handle that only destroy ends, so that the interpreter waits for it forever."""

    def __init__(self) -> None:
        self._threads: dict[int, tuple[threading.Thread, threading.Event]] = {}

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        self._threads[id(handle)] = (thread, end)
        return handle

    def destroy(self, handle: Any) -> None:
        thread, end = self._threads.pop(id(handle))
        end.set()
        thread.join()
        super().destroy(handle)


class KeepsPayload(Interposer):
    """Frees the payload, and keeps a view of it."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        self._view = processed.data
        handle = super().init(context, processed, compile_specs)
        processed.free()
        return handle


class HoardsWeights(Interposer):
    """Never frees the memory of a model."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        STATE.weights.append(np.ones(1 << 16, np.uint8))
        return super().init(context, processed, compile_specs)


class OpensDevice(Interposer):
    """Opens its device for each model, and never closes it."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        STATE.descriptors.append(os.open(os.devnull, os.O_RDONLY))
        return handle


class BoundToProcess(Interposer):
    """Crashes in any other process than the one that loaded it."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        self._process = os.getpid()
        return super().init(context, processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        if os.getpid() != self._process:
            os.kill(os.getpid(), signal.SIGKILL)
        super().execute(context, handle, args)


_FREES = claiming(frees_processed=True)

PREFETCHER = Mutant(
    "exit-undestroyed",
    "its process must end within 5 s, but threads still run: .*threading.py",
    backend=Prefetcher,
)
KEEPS_PAYLOAD = Mutant("payload-freed", "still referenced", backend=KeepsPayload, declared=_FREES)
NEVER_FREES = Mutant("payload-freed", r"did not call processed\.free", declared=_FREES)
HOARDS_WEIGHTS = Mutant("rss-slope", r"grew by 6\d{4} bytes with each load", backend=HoardsWeights)
OPENS_DEVICE = Mutant("threads-fds", "5 open files are left, such as file /dev/null", backend=OpensDevice)
BOUND_TO_PROCESS = Mutant("fork-after-init", "the child was killed by SIGKILL", backend=BoundToProcess)
