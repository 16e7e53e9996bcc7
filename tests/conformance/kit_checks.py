"""Checks that end as tests need it, and a subject to run them on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from etconfig.conformance.check import (
    Check,
    CheckFailedError,
    NotApplicableError,
    NotDelegatedError,
    check,
)
from etconfig.conformance.settings import Settings
from etconfig.conformance.subject import Subject


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
    raise SystemExit(7)


def hanging(subject: Subject) -> None:
    """It never ends."""
    while True:
        time.sleep(60)


def greedy(subject: Subject) -> None:
    """It takes all memory."""
    bytearray(2**46)


def made(function: Callable[[Subject], None], check_id: str = "made", **changed: Any) -> Check:
    """A check of level 2 that runs `function`."""
    return check(check_id, **{"level": 2, "prevents": "nothing", **changed})(function)
