"""Checks with every kind of outcome, and subjects to run them on."""

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
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, NotDelegatedError
from etconfig.conformance.subject.subject import Subject
from etconfig.method.method import Method


class NativeSubject(Subject):
    """A subject that looks as if another runtime implemented its backend."""

    is_native = True


def subject(backend: str = "ReferenceCpuBackend", **changed: Any) -> Subject:
    """Return a reference backend as it is installed."""
    return Subject(Settings(backend=backend, **changed))


def passing(subject: Subject) -> None:
    """Pass."""


def failing(subject: Subject) -> None:
    """Fail."""
    raise CheckFailedError("seen 2, expected 1")


def stumbling(subject: Subject) -> None:
    """Raise an unexpected error."""
    raise ZeroDivisionError("by zero")


def inapplicable(subject: Subject) -> None:
    """Find nothing to examine."""
    raise NotApplicableError("there is no such option")


def undelegated(subject: Subject) -> None:
    """Find no program."""
    raise NotDelegatedError("there is no add.pte")


def crashing(subject: Subject) -> None:
    """Crash the process."""
    os.write(1, b"last words\n")
    os.abort()


def leaving(subject: Subject) -> None:
    """Exit the process without an answer."""
    os._exit(7)


def quitting(subject: Subject) -> None:
    """Raise SystemExit."""
    raise SystemExit(0)


def littering(subject: Subject) -> None:
    """Leave a file behind, and a process that keeps its output open."""
    handle, path = tempfile.mkstemp()
    os.close(handle)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    raise CheckFailedError(f"{path} {child.pid}")


def hanging(subject: Subject) -> None:
    """Never end."""
    while True:
        time.sleep(60)


def lingering(subject: Subject) -> None:
    """Pass, but leave threads with one name that never end."""
    for _ in range(2):
        threading.Thread(target=threading.Event().wait, name="acme-poll").start()


def clinging(subject: Subject) -> None:
    """Fail, and leave a thread that never ends."""
    lingering(subject)
    raise CheckFailedError("a thread is left")


def greedy(subject: Subject) -> None:
    """Use all memory."""
    bytearray(2**46)


def made(function: Callable[[Subject], None], check_id: str = "made", **changed: Any) -> Check:
    """Return a check of level 2 that runs `function`."""
    return check(check_id, **{"level": 2, "prevents": "nothing", **changed})(function)


class Fronted(Subject):
    """The reference backend with an interposer and capabilities of the test.

    Args:
        front: Makes the interposer in front of the backend.
        declared: The capabilities that differ.
    """

    def __init__(self, front: Callable[[], Interposer], **declared: Any) -> None:
        super().__init__(Settings(backend="ReferenceCpuBackend"))
        self._front = front
        self._declared = declared

    @property
    def capabilities(self) -> Capabilities:
        """The reference's capabilities, except those that differ."""
        return replace(super().capabilities, **self._declared)

    def load_from(self, *args: Any, through: Interposer | None = None, **options: Any) -> Method:
        """Load as any subject does; an interposer of the check is in front of the test's."""
        front = self._front()
        chained = front if through is None else Chained(through, front)
        return super().load_from(*args, through=chained, **options)


class Chained(Interposer):
    """Two interposers, one behind the other."""

    def __init__(self, first: Interposer, second: Interposer) -> None:
        self._first = first
        self._second = second

    def around(self, inner: Backend[Any, Any]) -> Interposer:
        """Put the first in front of the second, and the second in front of `inner`."""
        return self._first.around(self._second.around(inner))


class Zeros(Interposer):
    """Sets the last output to zero."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        """Forward the call, then clear the output."""
        super().execute(context, handle, args)
        output = args[-1]
        assert isinstance(output, np.ndarray)
        output[...] = 0
