"""The declared memory of XNNPACK: packed weights beside the stored ones, once if they are cached."""

from __future__ import annotations

from etconfig_upstream.xnnpack import SPEC, XnnpackOptions

from etconfig.plugin.v1 import DelegateFacts


def test_named_data_are_packed_too_and_a_weight_cache_is_shared() -> None:
    facts = DelegateFacts(
        payload_bytes=100, named_data_bytes=900, argument_bytes=5, read=lambda: memoryview(b"odd")
    )
    assert SPEC.memory is not None
    found = SPEC.memory(XnnpackOptions(), facts)
    assert (found.held_bytes, found.loading_bytes, found.is_shared, found.keeps_payload) == (
        1000,
        0,
        False,
        False,
    )
    assert SPEC.memory(XnnpackOptions(weight_cache_enabled=True), facts).is_shared
