"""A model of the simulated accelerator: how long it takes. It is arithmetic, nothing is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etconfig_reference.options import PowerMode

MACS_PER_CYCLE = (64, 64, 16, 16)
"""Multiply-accumulates that each core does in a cycle: two wide cores, two narrow ones."""

LAUNCH_CYCLES = 50
"""Cycles that every operation costs before it does any work."""

CLOCK_HZ: Mapping[PowerMode, int] = {
    PowerMode.LOW: 5_000_000,
    PowerMode.BALANCED: 10_000_000,
    PowerMode.HIGH: 20_000_000,
}


def count_cycles(multiply_accumulates: Iterable[int], core: int) -> int:
    """The cycles that operations of so much work take, one after the other, on one core."""
    return sum(LAUNCH_CYCLES + -(-work // MACS_PER_CYCLE[core]) for work in multiply_accumulates)


def seconds_of(cycles: int, power_mode: PowerMode) -> float:
    """How long these cycles take."""
    return cycles / CLOCK_HZ[power_mode]
