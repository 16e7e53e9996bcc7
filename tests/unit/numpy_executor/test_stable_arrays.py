"""`InitContext.has_stable_arrays`: a delegate whose arrays stay where they are between calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plans import PlanBuilder, floats

import etconfig
from etconfig.backend import Backend, BoundBackend, ExecuteContext, InitContext, Processed, Value
from etconfig.program.model import TensorShapeDynamism

DATA = Path(__file__).parents[2] / "data"


@dataclass
class Seen:
    """The promise made to a delegate, and the places of its arrays at each execute."""

    is_promised: bool
    places: list[list[tuple[int, tuple[int, ...]]]] = field(default_factory=list)

    @property
    def summary(self) -> tuple[bool, bool, int]:
        return self.is_promised, self.is_stable, len(self.places)

    @property
    def is_stable(self) -> bool:
        return all(each == self.places[0] for each in self.places)


class Looking(Backend[None, Seen]):
    """Writes its first argument to its last one, and remembers where they are."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def init(
        self, context: InitContext[None], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Seen:
        self.seen.append(Seen(context.has_stable_arrays))
        return self.seen[-1]

    def execute(self, context: ExecuteContext[None], handle: Seen, args: Sequence[Value]) -> None:
        arrays = [each for each in args if isinstance(each, np.ndarray)]
        if arrays[-1].shape != arrays[0].shape:
            arrays[-1] = context.resize_output(len(args) - 1, arrays[0].shape)
        arrays[-1][...] = arrays[0]
        handle.places.append([(each.ctypes.data, each.shape) for each in arrays])


def seen_in(builder: PlanBuilder, *calls: Sequence[Any], **options: Any) -> list[Seen]:
    """Load a method, execute it with each of the inputs, and return what its delegates saw."""
    backend = Looking()
    bound = BoundBackend(backend_id="Looking", create=lambda: backend, options=None, changed=lambda o, _: o)
    with builder.load({"Looking": bound}, **options) as method:
        kept = [method.execute([*inputs]) for inputs in calls]  # no memory returns between calls
    assert len(kept) == len(calls)
    return backend.seen


def row(builder: PlanBuilder, count: int = 1, **options: Any) -> list[int]:
    """Add delegates in a row, from an input to an output; return the values between them."""
    values = [builder.tensor(4, **options) for _ in range(count + 1)]
    for source, out in pairwise(values):
        builder.delegate_call(builder.delegate("Looking"), source, out)
    builder.inputs, builder.outputs = values[:1], values[-1:]
    return values


CALLS = [[floats(1, 2, 3, 4)], [floats(5, 6, 7, 8)], [floats(0, 0, 0, 0)]]


class TestPromised:
    """Fixed shapes: the promise is made, and kept."""

    @pytest.mark.parametrize("optimize", [True, False])
    @pytest.mark.parametrize("is_planned", [True, False])
    def test_fixed_shapes_in_a_row(self, optimize: bool, is_planned: bool) -> None:
        builder = PlanBuilder()
        row(builder, 3, is_planned=is_planned)
        for seen in seen_in(builder, *CALLS, optimize=optimize):
            assert seen.summary == (True, True, 3)

    def test_tensors_that_share_planned_memory(self) -> None:
        builder = PlanBuilder()
        x, shared = builder.tensor(4), builder.tensor(4, offset=0)
        builder.planned_bytes = 16
        builder.delegate_call(builder.delegate("Looking"), x, shared)
        builder.inputs, builder.outputs = [x], [shared]
        (seen,) = seen_in(builder, *CALLS)
        assert (seen.is_promised, seen.is_stable) == (True, True)

    def test_constants_scalars_and_lists(self) -> None:
        builder = PlanBuilder()
        x, out, constant = builder.tensor(4), builder.tensor(4), builder.constant(floats(1, 2, 3, 4))
        builder.delegate_call(
            builder.delegate("Looking"), x, constant, builder.scalar(2), builder.tensors(x), out
        )
        builder.inputs, builder.outputs = [x], [out]
        (seen,) = seen_in(builder, *CALLS)
        assert (seen.is_promised, seen.is_stable) == (True, True)

    def test_the_same_call_twice(self) -> None:
        builder = PlanBuilder()
        x, out = row(builder)
        builder.delegate_call(0, x, out)
        (seen,) = seen_in(builder, *CALLS)
        assert seen.summary == (True, True, 6)

    def test_methods_that_share_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Seen] = []
        watch("etconfig_reference.npu.ReferenceNpuBackend", seen, monkeypatch)
        x = np.zeros((1, 1, 8, 8), np.float32)
        with etconfig.load_program(DATA / "digits" / "digits.pte", share_memory_arenas=True) as program:
            methods = [program.load_method(name) for name in ("embed", "forward", "embed")]
            for value in (0, 1, 2):
                for method in methods:
                    method.execute([x + np.float32(value)])
            for method in methods:
                method.close()
        assert [each.summary for each in seen] == [(True, True, 3)] * 3

    def test_outputs_of_the_caller(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Seen] = []
        watch("etconfig_reference.npu.ReferenceNpuBackend", seen, monkeypatch)
        x = np.zeros((1, 1, 8, 8), np.float32)
        with etconfig.load_program(DATA / "digits" / "digits.pte").load_method("forward") as method:
            for _ in range(3):
                method.execute([x], outputs=[np.zeros((1, 10), np.float32)])
                method.execute([x])
        assert [each.summary for each in seen] == [(True, True, 6)]


def watch(backend: str, seen: list[Seen], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a class of backends add what its delegates see."""
    from etconfig_reference.npu import ReferenceNpuBackend

    init, execute = ReferenceNpuBackend.init, ReferenceNpuBackend.execute
    by_handle: dict[int, Seen] = {}

    def watched_init(self: Any, context: Any, *rest: Any) -> Any:
        handle = init(self, context, *rest)
        seen.append(Seen(context.has_stable_arrays))
        by_handle[id(handle)] = seen[-1]
        return handle

    def watched_execute(self: Any, context: Any, handle: Any, args: Any) -> None:
        by_handle[id(handle)].places.append([(each.ctypes.data, each.shape) for each in args])
        execute(self, context, handle, args)

    monkeypatch.setattr(f"{backend}.init", watched_init)
    monkeypatch.setattr(f"{backend}.execute", watched_execute)


def dynamic(builder: PlanBuilder) -> None:
    row(builder, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)


def resized_output(builder: PlanBuilder) -> None:
    x, out = builder.tensor(4), builder.tensor(8, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
    builder.delegate_call(builder.delegate("Looking"), x, out)
    builder.inputs, builder.outputs = [x], [out]


def unbounded(builder: PlanBuilder) -> None:
    row(builder, dynamism=TensorShapeDynamism.DYNAMIC_UNBOUND, is_planned=False)


def moved(builder: PlanBuilder) -> None:
    x, other, out = builder.tensor(4), builder.tensor(4), builder.tensor(4)
    builder.inputs, builder.outputs = [x], [out]
    builder.move(x, other)
    builder.delegate_call(builder.delegate("Looking"), other, out)


def moved_in_a_list(builder: PlanBuilder) -> None:
    x, other, out = builder.tensor(4), builder.tensor(4), builder.tensor(4)
    builder.inputs, builder.outputs = [x], [out]
    builder.move(x, other)
    builder.delegate_call(builder.delegate("Looking"), x, builder.tensors(other), out)


def other_arguments(builder: PlanBuilder) -> None:
    x, between, out = (builder.tensor(4) for _ in range(3))
    builder.inputs, builder.outputs = [x], [out]
    delegate = builder.delegate("Looking")
    builder.delegate_call(delegate, x, between)
    builder.delegate_call(delegate, between, out)


class TestNotPromised:
    """Anything that may differ between calls: no promise."""

    @pytest.mark.parametrize(
        "build", [dynamic, resized_output, unbounded, moved, moved_in_a_list, other_arguments]
    )
    def test_what_may_differ(self, build: Callable[[PlanBuilder], None]) -> None:
        builder = PlanBuilder()
        build(builder)
        (seen,) = seen_in(builder, *CALLS)
        assert seen.is_promised is False

    def test_each_delegate_has_its_own_answer(self) -> None:
        builder = PlanBuilder()
        values = row(builder, 2)
        other = builder.tensor(4)
        builder.move(values[-1], other)
        out = builder.tensor(4)
        builder.delegate_call(builder.delegate("Looking"), other, out)
        builder.outputs = [out]
        assert [seen.is_promised for seen in seen_in(builder, *CALLS)] == [True, True, False]
