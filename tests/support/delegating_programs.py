"""Programs that consist of one delegate, with one input and one output tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from program_writer import instruction, plan, table, tensor, write

FLOAT, DYNAMIC_BOUND = 6, 1


def delegating_program(
    backend_id: str,
    payload: bytes = b"",
    *,
    specs: Mapping[str, bytes] | Sequence[tuple[str, bytes]] = (),
    named_data: Mapping[str, bytes] | None = None,
    scalar_type: int = FLOAT,
    is_dynamic: bool = False,
    copies: int = 1,
) -> bytes:
    """Return a .pte whose method `forward` passes its input of shape (2,) to one delegate.

    Args:
        backend_id: The backend of the delegate.
        payload: The delegate's bytes.
        specs: Compile specs; a sequence may repeat keys.
        named_data: Data that the program stores by key.
        scalar_type: The type of both tensors.
        is_dynamic: Input and output may be shorter.
        copies: The number of such delegates; each is called.
    """
    tensors = [
        tensor(
            scalar_type=scalar_type,
            shape_dynamism=DYNAMIC_BOUND * is_dynamic,
            allocation_info=table("AllocationDetails", memory_id=1, memory_offset_low=16 * index),
        )
        for index in range(2)
    ]
    pairs = specs.items() if isinstance(specs, Mapping) else specs
    delegate = table(
        "BackendDelegate",
        id=backend_id,
        processed=table("BackendDelegateDataReference", location=0, index=0),
        compile_specs=[table("CompileSpec", key=key, value=value) for key, value in pairs],
    )
    method = plan(
        values=tensors,
        inputs=[0],
        outputs=[1],
        delegates=[delegate] * copies,
        instructions=[
            instruction("DelegateCall", delegate_index=each, args=[0, 1]) for each in range(copies)
        ],
    )
    return write(
        method,
        backend_delegate_data=[table("BackendDelegateInlineData", data=payload)],
        payloads=list((named_data or {}).values()),
        named_data=[
            table("NamedData", key=key, segment_index=index) for index, key in enumerate(named_data or {})
        ],
    )
