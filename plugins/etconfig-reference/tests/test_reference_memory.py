"""The declared memory of the reference backends, compared with what they allocate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_reference.options import ReferenceCpuOptions, ReferenceNpuOptions
from etconfig_reference.plugin import SPECS

import etconfig
from etconfig.plugin.v1 import DelegateFacts, DelegateMemory

PROGRAM = Path(__file__).parents[3] / "tests" / "data" / "digits" / "digits.pte"


def prepared_bytes(program: Any, options: dict[str, Any]) -> dict[str, int]:
    """Return the bytes of the constants that each backend copied, and of its temporary memory."""
    found, temporaries = {}, {}
    resolution = etconfig.resolve(program, overrides=options)
    bound = program.bind("forward", resolution.arguments("forward"))

    def watched(backend_id: str, create: Any) -> Any:
        def make() -> Any:
            backend = create()
            init = backend.init

            def watching(context: Any, processed: Any, compile_specs: Any) -> Any:
                handle = init(context, processed, compile_specs)
                delegate = handle.delegate
                copies = [each for each in delegate._constants.values() if each.flags.writeable]
                found[backend_id] = sum(each.nbytes for each in copies)
                return handle

            def running(context: Any, handle: Any, args: Any) -> None:
                temporaries[backend_id] = context.temporary
                execute(context, handle, args)

            execute = backend.execute
            backend.init, backend.execute = watching, running
            return backend

        return make

    for name, each in bound.items():
        object.__setattr__(each, "create", watched(name, each.create))
    method = program.load_method("forward", resolution.arguments("forward"), backends=bound)
    image = np.ones(method.metadata.input_tensor_meta(0).sizes(), np.float32)
    for _ in range(2):
        method.execute([image])
    for backend_id, temporary in temporaries.items():
        found[backend_id] += len(temporary._block)
    method.close()
    return found


@pytest.mark.parametrize("accumulate", ["fp32", "fp64"])
def test_it_is_what_they_allocate(accumulate: str) -> None:
    with etconfig.load_program(PROGRAM) as program:
        options = {"ReferenceCpuBackend.accumulate": accumulate}
        arguments = etconfig.resolve(program, overrides=options).arguments("forward")
        declared = {}
        for delegate in program.program.plan("forward").delegates:
            data = program.program.delegate_data(delegate)
            facts = DelegateFacts(payload_bytes=len(data), read=lambda data=data: data)
            memory = SPECS[delegate.id].memory
            assert memory is not None
            answer = memory(arguments[delegate.id], facts)
            assert answer.keeps_payload == (delegate.id == "ReferenceCpuBackend")
            declared[delegate.id] = answer.held_bytes + answer.running_bytes
        found = prepared_bytes(program, options)
        assert declared == {name: pytest.approx(size, abs=64) for name, size in found.items()}  # alignment


def test_a_payload_that_cannot_be_loaded_takes_nothing() -> None:
    facts = DelegateFacts(payload_bytes=3, read=lambda: memoryview(b"odd"))
    for backend, options in (
        ("ReferenceCpuBackend", ReferenceCpuOptions()),
        ("ReferenceNpuBackend", ReferenceNpuOptions(core=0)),
    ):
        memory = SPECS[backend].memory
        assert memory is not None
        assert memory(options, facts) == DelegateMemory(held_bytes=0)
