"""The value of each observable while a method loads and runs with given options."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np

from etconfig.backend import ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.process.process_resources import open_files, resident_bytes, threads
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DelegateError, OptionError
from etconfig.plugin.option_evidence import Observable

Options: TypeAlias = "Mapping[str, object]"
"""Options of the backend, by name."""

TEMPORARY = "{tmp}"
"""Stands for a directory of the kit in values that are texts."""

_JOB_SECONDS = 0.0005
"""The delay of each of the first jobs, so that every worker gets one."""
_DELAYED_JOBS = 64


def outputs_of(subject: Subject, case: DelegatedCase, options: Options) -> object:
    """Return the bits of all outputs, or the name of the error in their place."""
    try:
        with subject.load(case, options=options) as method:
            return [
                [np.asarray(output).tobytes() for output in method.execute(list(run.inputs))]
                for run in case.runs()
            ]
    except DelegateError as error:
        return f"{type(error).__name__} in {error.phase}"


class _WorkerCounter(Interposer):
    """Counts the threads that share the jobs of one `parallel_for`."""

    def __init__(self) -> None:
        self.most = 1

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        def parallel_for(count: int, body: Callable[[int], None], max_workers: int) -> None:
            seen: set[int] = set()

            def run(index: int) -> None:
                if index < _DELAYED_JOBS:
                    time.sleep(_JOB_SECONDS)
                seen.add(threading.get_ident())
                body(index)

            context.parallel_for(count, run, max_workers)
            self.most = max(self.most, len(seen))

        super().execute(replace(context, parallel_for=parallel_for), handle, args)


def worker_count_of(subject: Subject, case: DelegatedCase, options: Options) -> float:
    """Return how many threads share the work of an execute, or are there after it."""
    counter = None if subject.is_native else _WorkerCounter()
    before = set(threads())
    with subject.load(case, options=options, through=counter) as method:
        method.execute(case.inputs())
        new = len(set(threads()) - before)
    return max(1 if counter is None else counter.most, 1 + new)


def peak_bytes_of(subject: Subject, case: DelegatedCase, options: Options) -> float:
    """Return the largest number of bytes in use, from load to the end of execute."""
    gc.collect()
    if subject.is_native:
        before = resident_bytes() if sys.platform == "linux" else 0
        with subject.load(case, options=options) as method:
            method.execute(case.inputs())
            return (resident_bytes() if sys.platform == "linux" else 0) - before
    tracemalloc.start()
    try:
        with subject.load(case, options=options) as method:
            method.execute(case.inputs())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class _SpanCounter(Interposer):
    """Counts the trace events that the backend records, by name."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        return super().init(replace(context, tracer=self), processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(replace(context, tracer=self), handle, args)

    @property
    def is_enabled(self) -> bool:
        return True

    @contextmanager
    def span(self, name: str, debug_id: int | None = None) -> Iterator[None]:
        self.names[name] += 1
        yield


def trace_of(subject: Subject, case: DelegatedCase, options: Options) -> object:
    """Return how often the backend records each trace event. Raises NotApplicableError in other runtimes."""
    counter = _SpanCounter()
    with subject.load(case, options=options, through=counter) as method:
        method.execute(case.inputs())
    return counter.names


class Timed:
    """A loaded method whose runs are timed; leaving a `with` block closes it."""

    def __init__(self, subject: Subject, case: DelegatedCase, options: Options) -> None:
        self._method = subject.load(case, options=options)
        self._inputs = [list(run.inputs) for run in case.runs()]
        self.run()

    def run(self) -> float:
        """Execute every run of the case, and return the seconds that this took."""
        started = time.perf_counter()
        for each in self._inputs:
            self._method.execute(each)
        return time.perf_counter() - started

    def __enter__(self) -> Timed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._method.close()


class FileWatch:
    """Notes the files that Python code of this process opens; it cannot be removed again."""

    def __init__(self) -> None:
        self._seen: set[str] | None = None
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self._seen is not None and isinstance(arguments[0], (str, bytes)):
            self._seen.add(os.fsdecode(arguments[0]))

    def files_of(self, subject: Subject, case: DelegatedCase, options: Options) -> object:
        """Return the files that are opened, and what the kit's directory contains afterwards."""
        with tempfile.TemporaryDirectory() as directory:
            placed = {
                name: value.replace(TEMPORARY, directory) if isinstance(value, str) else value
                for name, value in options.items()
            }
            seen: set[str] = set()
            self._seen = seen
            try:
                with subject.load(case, options=placed) as method:
                    method.execute(case.inputs())
                    seen.update(name.removeprefix("file ") for name in open_files().values())
            finally:
                self._seen = None
            left = {str(path) for path in Path(directory).rglob("*")}
            return {path.replace(directory, TEMPORARY) for path in seen | left if _is_of_backend(path, case)}


def _is_of_backend(path: str, case: DelegatedCase) -> bool:
    """Leave out modules, the program itself, and whatever is not a file or not of the backend."""
    is_code = path.endswith((".py", ".pyc", ".so"))
    return "/" in path and not is_code and not path.startswith(("/proc/", "/sys/")) and path != str(case.path)


EXACT: Mapping[Observable, Callable[[Subject, DelegatedCase, Options], object]] = {
    Observable.OUTPUT: outputs_of,
    Observable.TRACE: trace_of,
}
"""Observables that are equal or not."""

COUNTED: Mapping[Observable, Callable[[Subject, DelegatedCase, Options], float]] = {
    Observable.THREADS: worker_count_of,
    Observable.MEMORY: peak_bytes_of,
}
"""Observables that are numbers, and differ little from one load to the next."""

MARGINS: Mapping[Observable, Callable[[Subject], float]] = {
    Observable.THREADS: lambda subject: 1,
    Observable.MEMORY: lambda subject: 65536 if subject.is_native else 1024,
}
"""The difference of numbers that is more than noise."""

_PAIRS = 20
_WINS = 17
"""The values are compared in pairs of runs, one after the other, so that the load of the machine affects
both. If they were equally fast, one would win 17 of 20 with a probability of 0.13 %."""
_ROUNDS = 3


def is_faster(first: Callable[[], float], second: Callable[[], float]) -> bool:
    """Compare two works by their times: True if the second one wins nearly all pairs of some round."""
    for _ in range(_ROUNDS):
        wins = sum(_wins(first, second, at % 2 == 0) for at in range(_PAIRS))
        if wins >= _WINS:
            return True
        if wins <= _PAIRS // 2:
            return False
    return False


def _wins(first: Callable[[], float], second: Callable[[], float], in_order: bool) -> bool:
    """Run both, in this order or the other one, so that neither profits from being the later one."""
    if in_order:
        ours = first()
        return second() < ours
    theirs = second()
    return theirs < first()


def gap(firsts: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the distance from all first numbers to all second ones: positive for more, 0 if they overlap."""
    if min(seconds) > max(firsts):
        return min(seconds) - max(firsts)
    return min(0.0, max(seconds) - min(firsts))


def refused(error: Exception) -> CheckFailedError:
    """Return the failure of a check whose declared values the backend refuses."""
    text = (
        "; ".join(each.message for each in error.diagnostics)
        if isinstance(error, OptionError)
        else str(error)
    )
    return CheckFailedError(f"the values are refused: {text}; declare values that it accepts")
