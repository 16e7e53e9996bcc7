from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from etconfig_reference.graph import Graph, Operation

from etconfig.plugin.v1 import ExecuteContext, InitContext


class Heap:
    """An allocator that counts."""

    def __init__(self) -> None:
        self.allocated_bytes = 0

    def allocate(self, size_bytes: int, alignment_bytes: int = 64) -> np.ndarray[Any, Any]:
        self.allocated_bytes += size_bytes
        return np.zeros(size_bytes, np.uint8)


@dataclass
class Payload:
    data: memoryview

    def free(self) -> None:
        raise AssertionError("the reference backends keep views into the payload")


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
    """Real threads, and a record of how many jobs and workers each `parallel_for` was asked for."""

    calls: list[tuple[int, int]] = field(default_factory=list)

    def parallel_for(self, count: int, body: Callable[[int], None], max_workers: int) -> None:
        self.calls.append((count, max_workers))
        with ThreadPoolExecutor(max_workers) as pool:
            list(pool.map(body, range(count)))


class Harness:
    """Drives one backend as the executor does."""

    def __init__(self, backend: Any, options: Any) -> None:
        self.backend, self.options = backend, options
        self.heap, self.temporary = Heap(), Heap()
        self.spans, self.workers = Spans(), Workers()

    def init(self, payload: bytes, compile_specs: dict[str, bytes] | None = None) -> Any:
        context = InitContext(
            options=self.options,
            method_name="forward",
            instance_name=None,
            delegate_index=0,
            named_data={},
            allocator=self.heap,
            tracer=self.spans,
        )
        return self.backend.init(context, Payload(memoryview(payload)), compile_specs or {})

    def execute(self, handle: Any, *args: Any, **changed: Any) -> None:
        context = ExecuteContext(
            options=self.options.model_copy(update=changed),
            method_name="forward",
            instance_name=None,
            temporary=self.temporary,
            parallel_for=self.workers.parallel_for,
            tracer=self.spans,
        )
        self.backend.execute(context, handle, list(args))


@pytest.fixture
def make_harness() -> type[Harness]:
    return Harness


@pytest.fixture
def small_graph() -> Graph:
    """One linear layer from 3 to 2, then a relu."""
    weight = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.1]], np.float32)
    bias = np.array([0.25, -4.0], np.float32)
    return Graph(
        shapes=((2, 3), (2,), (1, 3), (1, 2), (1, 2)),
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
        shapes=((8, 3, 3, 3), (8,), (30, 17), (2, 3, 24, 17), (2, 8, 24, 17), (2, 8, 24, 30)),
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
