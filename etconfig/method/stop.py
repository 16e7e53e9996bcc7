"""Ending a run early: the caller's `CancelToken`, and the check between two instructions."""

from __future__ import annotations

import time

from etconfig.backend import StopSignal
from etconfig.base.parameters import plain_value
from etconfig.errors import ExecutionStoppedError

_NS_PER_S = 1_000_000_000
_NEVER_NS = 2**63 - 1


class CancelToken:
    """Stops the executes that it is passed to. Threads and signal handlers may use it.

    Example:
        >>> token = etconfig.CancelToken()
        >>> token.cancel()
        >>> with etconfig.load_program("model.pte").load_method("forward") as method:
        ...     method.execute([np.zeros((1, 1, 8, 8), np.float32)], cancel=token)
        Traceback (most recent call last):
        etconfig.errors.ExecutionStoppedError: ...

    Args:
        timeout: Seconds from now on after which the token cancels itself: one limit for several executes.
            None for no limit.

    Raises:
        TypeError: `timeout` is not a number.
        ValueError: it is NaN.
    """

    def __init__(self, *, timeout: float | None = None) -> None:
        # one byte of memory, which runtimes outside of Python can look at without asking Python
        self._flag = bytearray(1)
        self._deadline_ns = deadline_ns("timeout", timeout)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a CancelToken cannot be copied or pickled: canceling one would not cancel the other")

    @property
    def is_canceled(self) -> bool:
        """True once `cancel` was called, or the time is up."""
        return bool(self._flag[0]) or time.monotonic_ns() >= self._deadline_ns

    def cancel(self) -> None:
        """Stop the executes under way before their next instruction, and all later ones at once."""
        self._flag[0] = 1

    def __repr__(self) -> str:
        if self._flag[0]:
            return "<CancelToken: canceled>"
        if self._deadline_ns == _NEVER_NS:
            return "<CancelToken: not canceled>"
        left_s = (self._deadline_ns - time.monotonic_ns()) / _NS_PER_S
        return f"<CancelToken: {left_s:.3f} s left>" if left_s > 0 else "<CancelToken: time is up>"


class StopCheck:
    """The check that one call makes between two instructions: of a token, and of the time.

    Attributes:
        flag: A byte that becomes 1 when the token is canceled.
        deadline_ns: The value of `time.monotonic_ns()` at which the call must end.
        was_seen: `should_stop` has returned True, so that a backend may have ended early.
    """

    __slots__ = ("_start_ns", "deadline_ns", "flag", "was_seen")

    def __init__(self, timeout: float | None, token: CancelToken | None) -> None:
        self._start_ns = time.monotonic_ns()
        self.deadline_ns = deadline_ns("timeout", timeout)
        self.flag = bytearray(1)
        if token is not None:
            self.flag = token._flag
            self.deadline_ns = min(self.deadline_ns, token._deadline_ns)
        self.was_seen = False

    def should_stop(self) -> bool:
        """Return True if the call must end; from then on, it stays so. Any thread may ask."""
        if self.was_seen or self.flag[0] or time.monotonic_ns() >= self.deadline_ns:
            self.was_seen = True
            return True
        return False

    def check(self) -> None:
        """Raise StopSignal if the call must end."""
        if self.should_stop():
            raise StopSignal

    def error(self, method: str, instruction: int | None, operator: str | None) -> ExecutionStoppedError:
        """Return the error of a call that ended at an instruction."""
        return ExecutionStoppedError(
            method=method,
            reason="canceled" if self.flag[0] else "timeout",
            instruction=instruction,
            operator=operator,
            elapsed_s=(time.monotonic_ns() - self._start_ns) / _NS_PER_S,
        )


def deadline_ns(argument: str, timeout: float | None) -> int:
    """Return the value of `time.monotonic_ns()` in `timeout` seconds; 2**63 - 1 if that is never.

    Raises:
        TypeError: it is not a number.
        ValueError: it is NaN.
    """
    if timeout is None:
        return _NEVER_NS
    seconds = plain_value(timeout)
    expected = "a number of seconds, or None for no limit"
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{argument}: expected {expected}, given {type(timeout).__name__}")
    if seconds != seconds:
        raise ValueError(f"{argument}: expected a number of seconds, given NaN")
    now_ns = time.monotonic_ns()
    return int(min(now_ns + max(seconds, 0) * _NS_PER_S, _NEVER_NS))
