"""The backend without a program: the test makes the contexts."""

from contextlib import nullcontext

import numpy as np
from acme_vector.backend import AcmeVectorBackend
from acme_vector.options import AcmeVectorOptions, Precision
from acme_vector.payload import encode

from etconfig.plugin.v1 import ExecuteContext, InitContext


class Memory:
    def allocate(self, size_bytes, alignment_bytes=64):
        return np.zeros(size_bytes, np.uint8)


class NoTracer:
    is_enabled = False

    def span(self, name, debug_id=None):
        return nullcontext()


class Payload:
    def __init__(self, data):
        self.data = memoryview(data)

    def free(self):
        self.data = None


def one_by_one(count, body, max_workers):
    for index in range(count):
        body(index)


def test_results_are_rounded() -> None:
    shared = {"method_name": "forward", "instance_name": None, "tracer": NoTracer()}
    options = AcmeVectorOptions(precision=Precision.FP16)
    backend = AcmeVectorBackend()
    handle = backend.init(
        InitContext(options=options, delegate_index=0, named_data={}, allocator=Memory(), **shared),
        Payload(encode(["abs", "neg"])),
        {},
    )
    result = np.empty((1, 2), np.float32)
    context = ExecuteContext(options=options, temporary=Memory(), parallel_for=one_by_one, **shared)
    backend.execute(context, handle, [np.array([[0.1, -3.0]], np.float32), result])
    assert result.tolist() == [[-0.0999755859375, -3.0]]
    backend.destroy(handle)
