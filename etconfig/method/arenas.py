"""Arenas that do not belong to one Method: the caller's, and arenas that methods share."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig.base.parameters import check_type
from etconfig.diagnostics.error_text import error_message
from etconfig.errors import ArenaConflictError, InvalidMemoryError, MethodInUseError
from etconfig.kernel.memory import Array, address_of, allocate_zeroed
from etconfig.method.executor_contract import ExecutorProgram, MethodRequest, RunnableMethod
from etconfig.method.method import Method
from etconfig.program.model import ExecutionPlan
from etconfig.program.shared_state import (
    SHARED_MEMORY_IDS,
    PlannedState,
    read_planned_state,
    shared_arena_sizes,
)

if TYPE_CHECKING:
    from etconfig.program.program import Program

PLANNED_ALIGNMENT_BYTES = 16
"""The alignment of planned tensors in an arena, and so of the arena. Source: exir/memory_planning.py."""

_EXPECTED = "a list with a writable buffer, or None, for each planned buffer of the method"


def check_memory(plan: ExecutionPlan, memory: object) -> tuple[Array | None, ...]:
    """Check the arenas that a caller gives for a method.

    Args:
        plan: The method.
        memory: One item for each planned buffer, from memory 1 on: a writable, contiguous buffer with at
            least as many bytes as planned, or None, for which the executor allocates.

    Returns:
        The buffers as `uint8` arrays of exactly the planned sizes, over the caller's bytes.

    Raises:
        InvalidMemoryError: a buffer does not fit; the error names it.
        TypeError: `memory` is not a list.
    """
    check_type("memory", memory, Sequence, _EXPECTED)
    assert isinstance(memory, Sequence)
    sizes = plan.non_const_buffer_sizes[1:]
    if len(memory) != len(sizes):
        given = str(len(memory))
        raise InvalidMemoryError(
            method=plan.name, buffer=None, expected=f"{len(sizes)}, one for each planned buffer", given=given
        )
    pairs = enumerate(zip(memory, sizes, strict=True))
    arenas = tuple(None if each is None else _arena(plan, at, each, size) for at, (each, size) in pairs)
    _check_apart(plan, arenas)
    return arenas


def check_not_shared(plan: ExecutionPlan, memory: Sequence[Array | None]) -> None:
    """Refuse arenas of the caller in place of shared ones. Raises InvalidMemoryError."""
    for at, memory_id in enumerate(SHARED_MEMORY_IDS[: len(memory)]):
        if memory[at] is not None:
            raise InvalidMemoryError(
                method=plan.name,
                buffer=at,
                expected=f"None: memory {memory_id} is shared, since the program was loaded so",
                given="a buffer",
                help="load the program without share_memory_arenas to give its memory",
            )


class SharedArenas:
    """The arenas that the methods of one program share. Threads may share it.

    As in ExecuTorch's Module, methods have memory 1 and 2 in common, each with the largest size that any
    method plans for it; memory above belongs to one method alone. The arenas are allocated, and zero, when
    the first method is loaded, and live as long as this object or a method.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._arenas: list[Array] | None = None
        self._loaded: dict[str, PlannedState] = {}
        self._inside: dict[None, tuple[object, str]] = {}

    def memory_for(self, plan: ExecutionPlan) -> tuple[Array | None, ...]:
        """Return the arenas of a method: a part of each shared one, and None for its own.

        Raises:
            ArenaConflictError: the method and one that was loaded before would overwrite each other's state.
        """
        with self._lock:
            self._check(read_planned_state(plan))
            if self._arenas is None:
                self._arenas = [
                    *map(
                        allocate_zeroed,
                        shared_arena_sizes(map(self._program.plan, self._program.method_names)),
                    )
                ]
            sizes = plan.non_const_buffer_sizes[1:]
            shared = [arena[:size] for arena, size in zip(self._arenas, sizes, strict=False)]
            return (*shared, *[None] * (len(sizes) - len(shared)))

    @contextmanager
    def entered(self, method: str) -> Iterator[None]:
        """Keep all other methods out, without waiting for one that is inside.

        Raises:
            MethodInUseError: another one is inside.
        """
        me = (object(), method)
        try:
            inside = self._inside.setdefault(None, me)
            if inside is not me:
                raise MethodInUseError(method=method, shares_arenas_with=inside[1])
            yield
        finally:
            if self._inside == {None: me}:
                self._inside.clear()

    def _check(self, new: PlannedState) -> None:
        for known in self._loaded.values():
            for one, other in ((new, known), (known, new)):
                state = one.overwritten_by(other) if one.method != other.method else None
                if state is not None:
                    raise ArenaConflictError(method=one.method, other=other.method, state=str(state))
        self._loaded[new.method] = new


class SharingProgram(ExecutorProgram):
    """A program whose methods run in shared arenas, on any executor."""

    def __init__(self, program: ExecutorProgram, arenas: SharedArenas, plans: Program) -> None:
        self._program = program
        self._arenas = arenas
        self._plans = plans

    def load_method(self, request: MethodRequest) -> RunnableMethod:
        """Load a method in the shared arenas, while none of them is executing.

        Raises:
            MethodInUseError: one of them is executing: loading writes the initial values of state.
            ArenaConflictError: as `SharedArenas.memory_for`.
        """
        try:
            with self._arenas.entered(request.name):
                shared = self._arenas.memory_for(self._plans.plan(request.name))
                given = request.memory or [None] * len(shared)
                memory = [
                    mine if mine is not None else each for mine, each in zip(shared, given, strict=True)
                ]
                return self._program.load_method(replace(request, memory=tuple(memory)))
        except BaseException as error:
            request.host.abandon(error)
            raise

    def close(self) -> None:
        """Release the program. Loaded methods keep the arenas."""
        self._program.close()


class SharingMethod(Method):
    """A Method that shares its arenas with others: one call at a time among them.

    Args:
        arenas: The arenas; the others follow as for `Method`.
    """

    def __init__(self, arenas: SharedArenas, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._arenas = arenas

    def execute(self, *arguments: Any, **named: Any) -> list[Any]:
        """Run the method, as `Method.execute`, unless another one of the program is running."""
        with self._arenas.entered(self.name):
            return super().execute(*arguments, **named)

    def get_attribute(self, name: str) -> Any:
        """Return a copy of a mutable buffer, as `Method.get_attribute`."""
        with self._arenas.entered(self.name):
            return super().get_attribute(name)

    def set_attribute(self, name: str, value: object) -> None:
        """Write to a mutable buffer, as `Method.set_attribute`."""
        with self._arenas.entered(self.name):
            super().set_attribute(name, value)


def _arena(plan: ExecutionPlan, at: int, given: object, size_bytes: int) -> Array:
    """Return one buffer of the caller as an array."""

    def refuse(expected: str, found: str) -> InvalidMemoryError:
        return InvalidMemoryError(method=plan.name, buffer=at, expected=expected, given=found)

    try:
        view = memoryview(given)  # type: ignore[arg-type]  # the except clause below is the check
    except (TypeError, ValueError, BufferError) as error:
        kind = type(given).__name__
        raise refuse(
            "a numpy array, bytearray, mmap or memoryview", f"{kind} ({error_message(error)})"
        ) from error
    if not view.c_contiguous:
        raise refuse("contiguous bytes", "an array with gaps or in another order")
    if view.readonly:
        raise refuse("memory that can be written", f"read-only {type(given).__name__}")
    if "O" in re.sub(":[^:]*:", "", view.format):  # between colons are the names of fields
        raise refuse("an array of numbers", f"{type(given).__name__} of Python objects")
    if view.nbytes < size_bytes:
        raise refuse(f"at least {size_bytes} bytes", f"{view.nbytes}")
    arena: Array = np.frombuffer(view, np.uint8, size_bytes) if size_bytes else np.zeros(0, np.uint8)
    if size_bytes and address_of(arena) % PLANNED_ALIGNMENT_BYTES:
        offset = address_of(arena) % PLANNED_ALIGNMENT_BYTES
        expected = f"an address that is a multiple of {PLANNED_ALIGNMENT_BYTES}"
        raise refuse(expected, f"one with the remainder {offset}")
    return arena


def _check_apart(plan: ExecutionPlan, arenas: Sequence[Array | None]) -> None:
    """Refuse buffers that share bytes."""
    starts = {at: address_of(each) for at, each in enumerate(arenas) if each is not None and len(each)}
    ends = {at: start + plan.non_const_buffer_sizes[at + 1] for at, start in starts.items()}
    in_order = sorted(starts, key=starts.__getitem__)
    for one, other in pairwise(in_order):
        if starts[other] < ends[one]:
            raise InvalidMemoryError(
                method=plan.name,
                buffer=max(one, other),
                expected="memory of its own",
                given=f"bytes of buffer {min(one, other)}",
            )
