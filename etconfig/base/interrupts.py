"""Exceptions that a handler of a signal raises in the middle of other code, which did not fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType, TracebackType
from typing import NoReturn

_TAKES_REST = 0x04
"""The flag of the code of a function with `*args`: `inspect.CO_VARARGS`, and inspect takes long to import."""


_EXIT, _ABORT = os._exit, os.abort

_is_own_process = False
"""True in a process that belongs to the command line, and not to an application that calls etconfig."""


class CtrlC(KeyboardInterrupt):
    """The KeyboardInterrupt of somebody who pressed Ctrl-C, in a process of the command line."""


def own_process() -> None:
    """Tell Ctrl-C in this process from a KeyboardInterrupt that a plugin raises."""
    global _is_own_process  # handlers of signals are the process's
    _is_own_process = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not one that ignores the signal
        signal.signal(signal.SIGINT, _raise_ctrl_c)


def is_own_process() -> bool:
    """Return True in a process that belongs to the command line."""
    return _is_own_process


@contextmanager
def going_on() -> Iterator[None]:
    """Let `os._exit` and `os.abort` raise SystemExit instead, in a process of the command line.

    What a plugin's library in C does ends the process all the same.
    """
    if not _is_own_process:
        yield
        return
    process = os.getpid()

    def end(status: int) -> NoReturn:
        if os.getpid() != process:  # a fork
            _EXIT(status)
        raise SystemExit(f"it calls os._exit({status!r})")

    def abort() -> NoReturn:
        if os.getpid() != process:
            _ABORT()
        raise SystemExit("it calls os.abort()")

    os._exit, os.abort = end, abort
    try:
        yield
    finally:
        os._exit, os.abort = _EXIT, _ABORT


def may_be_ctrl_c(error: BaseException) -> bool:
    """Return True for a KeyboardInterrupt, unless it is certain that nobody has pressed Ctrl-C."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    is_told = signal.getsignal(signal.SIGINT) in (_raise_ctrl_c, signal.SIG_IGN)
    return isinstance(error, CtrlC) or not (_is_own_process and is_told)


def _raise_ctrl_c(_number: int, _frame: FrameType | None) -> None:
    raise CtrlC


def is_of_signal_handler(error: BaseException) -> bool:
    """Return True if a signal handler raised an exception, such as a handler of SIGALRM for a time limit.

    Such an exception belongs to the caller, not to the code that it interrupted. Python passes a handler the
    frame that it interrupts, which is its caller in the traceback. A handler that is written in C,
    or has forgotten the frame, is not recognized.
    """
    frames = _frames(error.__traceback__)
    return any(_received(handler, interrupted) for interrupted, handler in pairwise(frames))


def _frames(traceback: TracebackType | None) -> list[FrameType]:
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return frames


def _received(handler: FrameType, interrupted: FrameType) -> bool:
    """Return True if one of the positional arguments is the frame; other variables may be it by chance."""
    code, values = handler.f_code, handler.f_locals
    given = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & _TAKES_REST:
        given += values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    return any(each is interrupted for each in given)
