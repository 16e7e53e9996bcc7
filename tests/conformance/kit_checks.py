"""Checks that end as tests need it, and a subject to run them on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from etconfig.backend import Backend, Capabilities, ExecuteContext, Value
from etconfig.conformance.checks.check import Check, check
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcome import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.kit.settings import Settings
from etconfig.conformance.subject.subject import Subject
from etconfig.method.method import Method


class NativeSubject(Subject):
    """A subject, as if another runtime held its backend."""

    is_native = True


def subject(backend: str = "ReferenceCpuBackend", **changed: Any) -> Subject:
    """A reference backend as it is installed."""
    return Subject(Settings(backend=backend, **changed))


def passing(subject: Subject) -> None:
    """It passes."""


def failing(subject: Subject) -> None:
    """It fails."""
    raise CheckFailedError("seen 2, expected 1")


def stumbling(subject: Subject) -> None:
    """It meets an error that nobody expected."""
    raise ZeroDivisionError("by zero")


def inapplicable(subject: Subject) -> None:
    """It has nothing to look at."""
    raise NotApplicableError("there is no such option")


def undelegated(subject: Subject) -> None:
    """It has no program."""
    raise NotDelegatedError("there is no add.pte")


def crashing(subject: Subject) -> None:
    """It ends the process."""
    os.write(1, b"last words\n")
    os.abort()


def leaving(subject: Subject) -> None:
    """It leaves the process without an answer."""
    os._exit(7)


def quitting(subject: Subject) -> None:
    """It asks Python to end."""
    raise SystemExit(0)


def littering(subject: Subject) -> None:
    """It leaves a file, and a process that holds its output open."""
    handle, path = tempfile.mkstemp()
    os.close(handle)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    raise CheckFailedError(f"{path} {child.pid}")


def hanging(subject: Subject) -> None:
    """It never ends."""
    while True:
        time.sleep(60)


def lingering(subject: Subject) -> None:
    """It passes, and leaves threads of one name that never end."""
    for _ in range(2):
        threading.Thread(target=threading.Event().wait, name="acme-poll").start()


def clinging(subject: Subject) -> None:
    """It fails, and leaves a thread that never ends."""
    lingering(subject)
    raise CheckFailedError("a thread is left")


def greedy(subject: Subject) -> None:
    """It takes all memory."""
    bytearray(2**46)


def made(function: Callable[[Subject], None], check_id: str = "made", **changed: Any) -> Check:
    """A check of level 2 that runs `function`."""
    return check(check_id, **{"level": 2, "prevents": "nothing", **changed})(function)


class Fronted(Subject):
    """The reference, with something of the test's own in front of it, and declaring what the test says.

    Args:
        front: Makes what stands there.
        declared: Capabilities that differ.
    """

    def __init__(self, front: Callable[[], Interposer], **declared: Any) -> None:
        super().__init__(Settings(backend="ReferenceCpuBackend"))
        self._front = front
        self._declared = declared

    @property
    def capabilities(self) -> Capabilities:
        """The reference's, but for what differs."""
        return replace(super().capabilities, **self._declared)

    def load_from(self, *args: Any, through: Interposer | None = None, **options: Any) -> Method:
        """As for any subject; what a check puts in between stands before the front."""
        front = self._front()
        chained = front if through is None else Chained(through, front)
        return super().load_from(*args, through=chained, **options)


class Chained(Interposer):
    """Two that stand one behind the other."""

    def __init__(self, first: Interposer, second: Interposer) -> None:
        self._first = first
        self._second = second

    def around(self, inner: Backend[Any, Any]) -> Interposer:
        """The first before the second before `inner`."""
        return self._first.around(self._second.around(inner))


class Zeros(Interposer):
    """Does everything but answer: the last output is zero."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        """Hand on, then clear the output."""
        super().execute(context, handle, args)
        output = args[-1]
        assert isinstance(output, np.ndarray)
        output[...] = 0
