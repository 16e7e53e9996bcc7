"""When the bytes of a straight plan's memory are written and read.

Tensors share memory on purpose: one after the other, or as views of one storage in which
one tensor is written and another read. So a `LiveRange` belongs to a place in memory, and
to all tensors that are read there until the place is written again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from etconfig.executor.memory import Array
from etconfig.executor.optimiser.effects import Effects
from etconfig.executor.tensor import Register, Tensor

Place: TypeAlias = tuple[int, int]
"""The addresses of the first byte and of the one after the last."""


@dataclass(eq=False)
class LiveRange:
    """From where a place is written to the last read of what was written.

    Attributes:
        place: The bytes.
        written: The instruction that wrote them; -1 is before the first.
        end: The last one that reads them; the count of instructions is after the last.
        values: The tensors, by value index, that are written or read.
        readers: The instructions that read, in order.
        is_fixed: More happens here than one write of one tensor: the bytes live from run to
            run, are changed in part, or a tensor of this range is in another one too.
    """

    place: Place
    written: int
    end: int
    values: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    is_fixed: bool = False


class Liveness:
    """The live ranges of a plan's planned memory. Constants have none."""

    def __init__(
        self,
        registers: Sequence[Register],
        effects: Sequence[Effects],
        inputs: Sequence[int],
        outputs: Sequence[int],
    ) -> None:
        """Follow `effects`, those of the instructions in order.

        Args:
            registers: The plan's values.
            effects: Of each instruction.
            inputs: The tensors that are written before the first instruction.
            outputs: Those that are read after the last.
        """
        self.of_value: dict[int, LiveRange] = {}
        self.end = len(effects)
        self._registers = registers
        self._ranges: list[LiveRange] = []
        self._latest: dict[Place, LiveRange] = {}
        self._place_of: dict[int, Place | None] = {}
        self._write_times: list[int] = []
        self._write_places: list[Place] = []
        for value in inputs:
            self._write(value, -1)
        for index, (reads, writes) in enumerate(effects):
            for value in reads:
                self._read(value, index)
            for value in writes:
                self._write(value, index, is_update=value in reads)
        for value in outputs:
            self._read(value, self.end)
        self._writes = _Intervals(self._write_places)
        self._places = _Intervals([each.place for each in self._ranges])
        self._written = np.array([each.written for each in self._ranges], np.int64)
        self._ends = np.array([each.end for each in self._ranges], np.int64)

    def is_written(self, place: Place, after: int, before: int) -> bool:
        """Whether an instruction after one and before another writes a byte of `place`."""
        times = self._write_times
        window = slice(bisect_right(times, after), bisect_right(times, before - 1))
        return bool(self._writes.overlap(place, window).any())

    def can_be_left_unwritten(self, live: LiveRange) -> bool:
        """Whether only readers of `live` would notice if its bytes were not written.

        They belong to other tensors too in a plan that nobody makes on purpose.
        """
        others = (self._written <= live.written) & (self._ends > live.written)
        others &= self._places.overlap(live.place)
        return not live.is_fixed and int(others.sum()) == int(live.end > live.written)

    def _write(self, value: int, index: int, is_update: bool = False) -> None:
        place = self._place(value)
        if place is None:
            return
        self._write_times.append(index)
        self._write_places.append(place)
        if is_update:
            self.of_value[value].is_fixed = True
        else:
            self._enter(value, self._begin(place, index, index))

    def _read(self, value: int, index: int) -> None:
        place = self._place(value)
        if place is None:
            return
        live = self._latest.get(place)
        if live is None:  # it holds what an earlier run left
            live = self._begin(place, -1, self.end)
            live.is_fixed = True
        live.end = max(live.end, index)
        live.readers.append(index)
        self._enter(value, live)

    def _begin(self, place: Place, written: int, end: int) -> LiveRange:
        live = LiveRange(place, written, end)
        self._latest[place] = live
        self._ranges.append(live)
        return live

    def _enter(self, value: int, live: LiveRange) -> None:
        known = self.of_value.setdefault(value, live)
        if known is not live:
            known.is_fixed = live.is_fixed = True
        if value not in live.values:
            live.values.append(value)

    def _place(self, value: int) -> Place | None:
        """Where a tensor lies; a constant's place does not matter.

        A tensor without bytes, or that does not have its memory yet, is alone at a place of its own.
        """
        if value not in self._place_of:
            tensor = self._registers[value].value
            assert isinstance(tensor, Tensor)
            self._place_of[value] = _planned_place(value, tensor)
        return self._place_of[value]


def _planned_place(value: int, tensor: Tensor) -> Place | None:
    array = tensor.array
    if not tensor.has_memory or array.size == 0:
        return (-1 - value, -1 - value)
    if not array.flags.writeable:
        return None
    address: int = array.__array_interface__["data"][0]
    return (address, address + array.nbytes)  # before any copy is elided, all tensors are dense


def place_of(array: Array) -> Place:
    """The bytes that an array spans, gaps included."""
    address: int = array.__array_interface__["data"][0]
    reaches = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    below, above = (sum(map(pick, reaches, (0 for _ in reaches))) for pick in (min, max))
    return (address + below, address + above + array.itemsize)


class _Intervals:
    """Places, to be compared with one all at once."""

    def __init__(self, places: Sequence[Place]) -> None:
        table = np.array(places, np.int64).reshape(-1, 2)
        self._starts, self._ends = table[:, 0], table[:, 1]

    def overlap(self, place: Place, window: slice = slice(None)) -> Array:
        """For each of those in `window`, whether it has a byte in common with `place`."""
        overlaps: Array = (self._starts[window] < place[1]) & (self._ends[window] > place[0])
        return overlaps
