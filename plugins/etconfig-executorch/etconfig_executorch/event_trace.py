"""`EventTrace`: the events of the runtime and its backends, in etconfig's own tracer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter_ns
from typing import Any, TypeAlias

from etconfig_executorch.native import native

Place: TypeAlias = tuple[int, int]
"""The indices of a chain and of an instruction in it."""

_KINDS: Mapping[str, str] = {"OPERATOR_CALL": "kernel", "DELEGATE_CALL": "delegate"}
"""The kinds of the runtime's events for whole instructions. Source: runtime/executor/method.cpp."""


class EventTrace:
    """The events of one method instance.

    Args:
        track: The tracer of the request to load the method.
        plan: The method's plan, which has the names of the instructions.

    Attributes:
        recorder: Receives the events of the runtime.
    """

    def __init__(self, track: Any, plan: Any) -> None:
        self._track = track
        self._label: str = track.method
        self._write = partial(_write, track, dict(_names(plan)))
        self.recorder = native.EventRecorder(partial(_at_delegate, track, self._write))

    @contextmanager
    def load(self) -> Iterator[None]:
        """Record the events of loading, which takes place meanwhile."""
        with self._track.record(self._label.partition("@")[0], "load"), self._recording():
            yield

    @contextmanager
    def execute(self) -> Iterator[None]:
        """Record the events of one execute, which takes place meanwhile."""
        start_ns = perf_counter_ns()
        with self._track.run():
            try:
                with self._recording():
                    yield
            except BaseException:  # the runtime does not end the event of an execute that fails
                self._track.add(self._label, "method", start_ns, perf_counter_ns())
                raise

    @contextmanager
    def _recording(self) -> Iterator[None]:
        self.recorder.begin(self._track.room)
        try:
            yield
        finally:
            self._write(self.recorder.take())
            self._track.lose(self.recorder.take_lost())


def _at_delegate(track: Any, write: Any, events: Sequence[Any], chain: int, instruction: int) -> None:
    """Write the events so far, so that the events of a Python backend come after them and have a place."""
    write(events)
    track.at(chain, instruction)


def _write(track: Any, names: Mapping[Place, str], events: Sequence[Any]) -> None:
    """Add events of the runtime to the tracer."""
    for name, is_backends, start_ns, end_ns, chain, instruction, debug_id in events:
        place = {} if chain < 0 else {"chain": chain, "instruction": instruction}
        if is_backends:
            number = None if debug_id < 0 else debug_id
            track.add(name or str(number), "backend", start_ns, end_ns, **place, debug_id=number)
        elif name in _KINDS:
            track.add(names[chain, instruction], _KINDS[name], start_ns, end_ns, **place)
        elif name == "Method::execute":
            track.add(track.method, "method", start_ns, end_ns)
        else:
            track.add(name, "backend" if place else "phase", start_ns, end_ns, **place)


def _names(plan: Any) -> Iterator[tuple[Place, str]]:
    """Yield the operator or the backend of each instruction that calls one."""
    for chain_index, chain in enumerate(plan.chains):
        for index, instruction in enumerate(chain.instructions):
            if hasattr(instruction, "op_index"):
                yield (chain_index, index), plan.operators[instruction.op_index].full_name
            elif hasattr(instruction, "delegate_index"):
                yield (chain_index, index), plan.delegates[instruction.delegate_index].id
