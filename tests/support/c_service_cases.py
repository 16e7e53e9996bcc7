"""Cases of libraries with the C interface that use the services of the host, each with its outcome.

`tests/data/c_interface/services.c` has the code of each case; every executor must answer alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from program_writer import instruction, plan, table, tensor, write

import etconfig
from etconfig.c_interface.backend import CBackend
from etconfig.errors import DelegateError, ExecutionStoppedError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option

CANCELED = "ExecutionStoppedError timeout at ServicesBackend"
_NOT_RESIZED = "CBackendError run failed with InvalidArgument (0x12): not resized"

CASES: Mapping[str, str] = {
    "memory": "ok",
    "odd-alignment": "ValueError the alignment must be a power of 2, not 48",
    "odd-alignment-ignored": "ok",
    "too-much": f"MemoryError cannot allocate {2**62} bytes",
    "all": f"MemoryError cannot allocate {2**64 - 1} bytes",
    "smaller": "ok (3,)",
    "same": "ok",
    "larger": "ValueError shape (5,) exceeds the planned bounds",
    "static-sizes": "ValueError shape (3,) differs from the planned shape (4,)",
    "other-rank": "ValueError shape (2, 2) has rank 2, planned is rank 1",
    "negative-rank": _NOT_RESIZED,
    "huge-rank": _NOT_RESIZED,
    "negative-size": "ValueError shape (-1,) has a negative size",
    "no-argument": "ValueError argument 7 is not a tensor",
    "far-argument": f"ValueError argument {2**64 - 1} is not a tensor",
    "no-sizes": _NOT_RESIZED,
    "failing-parts": "CBackendError run failed with code 0x7002, unknown to ExecuTorch: "
    "the library gives no reason",
    "few-parts": "ok",
    "no-task": "CBackendError run failed with InvalidArgument (0x12): the library gives no reason",
    "wrong-line": "WrongAddressError 4088 bytes at address 0x8 cannot be read",
    "wrong-line-ignored": "ok",
    "line": "ok",
    "run-services": "ok",
    "until-cancelled": CANCELED,
    "until-cancelled-ok": CANCELED,
    "parts-until-cancelled": CANCELED,
}
"""The outcome of each run: `ok` with the output's shape, or the cause of the error."""


class NoOptions(BackendOptions):
    """An option, since a backend has one."""

    level: int = option(0, applies="execute", doc="A number that nothing reads.")


def services_spec(library: Path, case: str) -> BackendSpec:
    """Return the backend of a library, for a case."""
    return BackendSpec(
        id="ServicesBackend",
        doc="Uses a service of the interface.",
        options=NoOptions,
        api=ApiRange(min=1, built=1),
        factory=lambda: CBackend(library, case),
    )


def services_program() -> bytes:
    """Return a program that delegates float32 [4] to ServicesBackend, with an output of up to 4 elements."""
    place = table("AllocationDetails", memory_id=1, memory_offset_low=32)
    values = [tensor(sizes=[4]), tensor(sizes=[4], allocation_info=place, shape_dynamism=1)]
    processed = table("BackendDelegateDataReference", location=0, index=0)
    delegates = [table("BackendDelegate", id="ServicesBackend", processed=processed, compile_specs=[])]
    call = instruction("DelegateCall", delegate_index=0, args=[0, 1])
    forward = plan(values=values, inputs=[0], outputs=[1], delegates=delegates, instructions=[call])
    return write(
        forward,
        payloads=[bytes(16)],
        constant_segment=table("SubsegmentOffsets", segment_index=0, offsets=[0]),
        backend_delegate_data=[table("BackendDelegateInlineData", data=b"payload")],
    )


def outcome(library: Path, case: str, executor: str) -> str:
    """Run a case twice with an executor, and return its outcome."""
    spec = services_spec(library, case)
    with (
        etconfig.load_program(services_program(), executor=executor) as program,
        program.load_method("forward", backends={spec.id: spec}) as method,
    ):
        found = [_run(method, case) for _ in range(2)]
    assert found[0] == found[1], "the second run differs"
    return found[0]


def _run(method: etconfig.Method, case: str) -> str:
    stopping = {"timeout": 0.02} if "until" in case else {}
    try:
        (output,) = method.execute([np.ones(4, np.float32)], **stopping)
    except ExecutionStoppedError as stopped:
        return f"ExecutionStoppedError {stopped.reason} at {stopped.operator}"
    except DelegateError as error:
        cause = error.__cause__
        if cause is None or error.phase != "execute" or str(cause) not in str(error):
            raise
        return f"{type(cause).__name__} {_without_bounds(cause)}"
    return "ok" if output.shape == (4,) else f"ok {output.shape}"


def _without_bounds(cause: BaseException) -> str:
    """The real runtime does not know the bounds of each dimension, only of their product."""
    text = str(cause)
    return text.removesuffix(" (4,)") if "bounds" in text else text
