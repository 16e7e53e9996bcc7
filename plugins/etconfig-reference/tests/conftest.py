from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from etconfig_reference.graph import Graph, Operation, ValueType

from etconfig.plugin.v1 import ExecuteContext, InitContext, UpdateContext


class Heap:
    """An allocator that counts the bytes that it allocates."""

    def __init__(self) -> None:
        self.allocated_bytes = 0

    def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> np.ndarray[Any, Any]:
        self.allocated_bytes += size_bytes
        return np.zeros(size_bytes, np.uint8)


@dataclass
class Payload:
    """A payload that reports whether it was freed while it was still referenced."""

    content: bytearray
    is_freed: bool = False

    @property
    def data(self) -> memoryview:
        return memoryview(self.content)

    def free(self) -> None:
        self.is_freed = True
        # raises BufferError as long as a view exists
        self.content.clear()


@dataclass
class Spans:
    is_enabled: bool = True
    names: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def span(self, name: str, debug_id: int | None = None) -> Iterator[None]:
        self.names.append(name)
        yield


@dataclass
class Workers:
    """Real threads, and a record of the jobs and workers of each `parallel_for`."""

    calls: list[tuple[int, int]] = field(default_factory=list)

    def parallel_for(self, count: int, body: Callable[[int], None], max_workers: int) -> None:
        self.calls.append((count, max_workers))
        with ThreadPoolExecutor(max_workers) as pool:
            list(pool.map(body, range(count)))


class Harness:
    """Calls one backend as the executor does."""

    def __init__(self, backend: Any, options: Any) -> None:
        self.backend, self.options = backend, options
        self.heap, self.temporary = Heap(), Heap()
        self.spans, self.workers = Spans(), Workers()
        self.named_data: dict[str, memoryview] = {}
        self.payload = Payload(bytearray())
        self._handles: list[Any] = []

    def init(self, payload: bytes, compile_specs: dict[str, bytes] | None = None) -> Any:
        self.payload = Payload(bytearray(payload))
        context = InitContext(
            options=self.options,
            method_name="forward",
            instance_name=None,
            delegate_index=0,
            named_data=self.named_data,
            allocator=self.heap,
            tracer=self.spans,
        )
        self._handles.append(self.backend.init(context, self.payload, compile_specs or {}))
        return self._handles[-1]

    def execute(self, handle: Any, *args: Any, **changed: Any) -> list[Any]:
        """Execute it; return the arguments, whose outputs may have been replaced by resized ones."""
        values = list(args)

        def resize_output(index: int, shape: Any) -> Any:
            values[index] = np.zeros(shape, values[index].dtype)
            return values[index]

        context = ExecuteContext(
            options=self.options.model_copy(update=changed),
            method_name="forward",
            instance_name=None,
            temporary=self.temporary,
            parallel_for=self.workers.parallel_for,
            tracer=self.spans,
            resize_output=resize_output,
        )
        self.backend.execute(context, handle, values)
        return values

    def update(self, handle: Any, **changed: Any) -> None:
        previous, self.options = self.options, self.options.model_copy(update=changed)
        context = UpdateContext(
            options=self.options, previous=previous, method_name="forward", instance_name=None
        )
        self.backend.update(context, handle, frozenset(changed))

    def destroy(self) -> None:
        """Destroy every handle."""
        while self._handles:
            self.backend.destroy(self._handles.pop())


@pytest.fixture
def make_harness() -> Iterator[Callable[[Any, Any], Harness]]:
    """Make harnesses, and destroy their handles in the end."""
    made = []

    def make(backend: Any, options: Any) -> Harness:
        made.append(Harness(backend, options))
        return made[-1]

    yield make
    for harness in made:
        harness.destroy()


@pytest.fixture
def small_graph() -> Graph:
    """One linear layer from 3 to 2, then a relu."""
    weight = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.1]], np.float32)
    bias = np.array([0.25, -4.0], np.float32)
    return Graph(
        values=tuple(ValueType(shape=shape) for shape in ((2, 3), (2,), (1, 3), (1, 2), (1, 2))),
        inputs=(2,),
        outputs=(4,),
        constants={0: weight, 1: bias},
        operations=(
            Operation(name="linear", inputs=(2, 0, 1), output=3, attributes={}),
            Operation(name="relu", inputs=(3,), output=4, attributes={}),
        ),
    )


@pytest.fixture
def conv_graph() -> Graph:
    """A convolution from 3 to 8 channels over 24 x 17 pixels, then a linear layer over the rows."""
    random = np.random.default_rng(3)
    return Graph(
        values=tuple(
            ValueType(shape=shape)
            for shape in ((8, 3, 3, 3), (8,), (30, 17), (2, 3, 24, 17), (2, 8, 24, 17), (2, 8, 24, 30))
        ),
        inputs=(3,),
        outputs=(5,),
        constants={
            0: random.standard_normal((8, 3, 3, 3), np.float32),
            1: random.standard_normal(8, np.float32),
            2: random.standard_normal((30, 17), np.float32),
        },
        operations=(
            Operation(
                name="conv2d",
                inputs=(3, 0, 1),
                output=4,
                attributes={"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": (1,)},
            ),
            Operation(name="linear", inputs=(4, 2), output=5, attributes={}),
        ),
    )
