"""A model of the simulated accelerator's time: it is calculated, not measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etconfig_reference.options import PowerMode

MACS_PER_CYCLE = (64, 64, 16, 16)
"""The multiply-accumulates of each core per cycle: two wide cores, two narrow ones."""

LAUNCH_CYCLES = 50
"""The fixed cost of every operation, in cycles."""

CLOCK_HZ: Mapping[PowerMode, int] = {
    PowerMode.LOW: 5_000_000,
    PowerMode.BALANCED: 10_000_000,
    PowerMode.HIGH: 20_000_000,
}


def count_cycles(multiply_accumulates: Iterable[int], core: int) -> int:
    """Return the cycles of operations with this much work, one after another on one core."""
    return sum(LAUNCH_CYCLES + -(-work // MACS_PER_CYCLE[core]) for work in multiply_accumulates)


def seconds_of(cycles: int, power_mode: PowerMode) -> float:
    """Return the time of these cycles."""
    return cycles / CLOCK_HZ[power_mode]
