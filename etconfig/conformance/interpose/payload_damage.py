"""Changes that damage a payload, the same ones in each run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

PayloadChange: TypeAlias = Callable[[bytes], bytes]
"""Maps a payload to the changed one."""

_FLIPS = 32
_CUTS = 8
_BURSTS = 8
_BURST_BYTES = 8
_NOISE_BYTES = 509


def damages(seed: str) -> Iterator[tuple[str, PayloadChange]]:
    """Yield each damage with its description; equal seeds give equal damages."""
    numbers = random.Random(seed)  # noqa: S311  # no secret
    for _ in range(_FLIPS):
        at, bit = numbers.random(), numbers.randrange(8)
        yield f"bit {bit} flipped at {at:.1%}", _flipped(at, bit)
    for part in range(1, _CUTS + 1):
        yield f"only {part} of {_CUTS + 1} parts", _cut(part / (_CUTS + 1))
    for _ in range(_BURSTS):
        at = numbers.random()
        yield f"{_BURST_BYTES} bytes of 0xff at {at:.1%}", _overwritten(at, b"\xff" * _BURST_BYTES)
        yield f"{_BURST_BYTES} zeros at {at:.1%}", _overwritten(at, bytes(_BURST_BYTES))
    noise = numbers.randbytes(_NOISE_BYTES)
    yield "random bytes in its place", lambda payload: _repeated(noise, len(payload))
    yield "zeros in its place", lambda payload: bytes(len(payload))


def _repeated(data: bytes, size_bytes: int) -> bytes:
    return (data * (size_bytes // len(data) + 1))[:size_bytes]


def _flipped(at: float, bit: int) -> PayloadChange:
    def change(payload: bytes) -> bytes:
        changed = bytearray(payload)
        if changed:
            changed[int(at * len(changed))] ^= 1 << bit
        return bytes(changed)

    return change


def _cut(part: float) -> PayloadChange:
    return lambda payload: payload[: int(part * len(payload))]


def _overwritten(at: float, data: bytes) -> PayloadChange:
    def change(payload: bytes) -> bytes:
        start = int(at * len(payload))
        return (payload[:start] + data + payload[start + len(data) :])[: len(payload)]

    return change


def incremented(index: int) -> PayloadChange:
    """Return a change that adds one to the byte at `index` (255 becomes 0), if the payload has one."""

    def change(payload: bytes) -> bytes:
        changed = bytearray(payload)
        if index < len(changed):
            changed[index] = (changed[index] + 1) % 256
        return bytes(changed)

    return change
