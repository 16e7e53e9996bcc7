"""The processors of `intra_op_thread_affinities`: ONNX Runtime only logs that it could not bind a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence

from etconfig_onnxruntime.errors import unavailable
from etconfig_onnxruntime.options import OnnxRuntimeOptions


def check_processors(options: OnnxRuntimeOptions) -> None:
    """Raise BackendUnavailableError if threads of this process cannot be bound to one of the processors."""
    text = options.intra_op_thread_affinities
    if text is None:
        return
    absent: list[int] = []

    def look() -> None:
        absent.extend(next(((number,) for number in _numbers(text) if not _can_bind(number)), ()))

    thread = threading.Thread(target=look)  # binding changes the thread that does it
    thread.start()
    thread.join()
    if absent:
        raise unavailable(
            f"intra_op_thread_affinities is {text!r}, but threads cannot run on processor {absent[0]} here",
            f"choose among {_usable()}, counted from 1",
        )


def _numbers(affinities: str) -> Iterator[int]:
    """Yield the processors of all threads, counted from 1."""
    for interval in affinities.replace(";", ",").split(","):
        first, _, last = interval.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _can_bind(number: int) -> bool:
    """Bind this thread to a processor, counted from 1; return False if the system refuses."""
    if not hasattr(os, "sched_setaffinity"):
        return number <= (os.cpu_count() or number)
    try:
        os.sched_setaffinity(0, {number - 1})
    except (OSError, OverflowError):
        return False
    return True


def _usable() -> str:
    """Return the processors that this process may use, counted from 1, such as `1-4, 9`."""
    if hasattr(os, "sched_getaffinity"):
        return _intervals([number + 1 for number in sorted(os.sched_getaffinity(os.getpid()))])
    return _intervals(range(1, (os.cpu_count() or 1) + 1))


def _intervals(numbers: Sequence[int]) -> str:
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    pairs = zip(starts, ends, strict=True)
    return ", ".join(str(start) if start == end else f"{start}-{end}" for start, end in pairs)
