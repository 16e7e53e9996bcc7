"""The times at which the bytes of a straight plan's memory are written and read.

Tensors share memory on purpose: one after the other, or as views of one storage in which
one tensor is written and another read. So a `LiveRange` belongs to a place in memory, and
to all tensors that are read there until something else is written there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from etconfig.kernel.memory import AddressRange, Array, address_of
from etconfig.numpy_executor.effects import Effects
from etconfig.numpy_executor.registers import Registers

FEW_WRITES = 32
"""Up to this many writes, a loop is faster than numpy."""


@dataclass(eq=False, slots=True)
class LiveRange:
    """The span from a write to a place in memory to the last read of what was written.

    Attributes:
        place: The bytes.
        written: The instruction that wrote them; -1 is before the first.
        overwritten: The next one that writes any of them; if none does, a number after `end`.
        end: The last one that reads them; the count of instructions is after the last.
        values: The tensors, by value index, that are written or read.
        readers: The instructions that read, in order.
        is_fixed: More happens here than one write of one tensor: the bytes live from run to
            run, are changed in part, or a tensor of this range is in another one too.
    """

    place: AddressRange
    written: int
    overwritten: int
    end: int
    values: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    is_fixed: bool = False


class Liveness:
    """The live ranges of a plan's planned memory. Constants have none."""

    def __init__(
        self,
        registers: Registers,
        effects: Sequence[Effects],
        inputs: Sequence[int],
        outputs: Sequence[int],
    ) -> None:
        """Follow the effects of the instructions in order.

        Args:
            registers: The plan's values.
            effects: Of each instruction.
            inputs: The tensors that are written before the first instruction.
            outputs: Those that are read after the last.
        """
        self.of_value: dict[int, LiveRange] = {}
        self.end = len(effects)
        self._never = self.end + 1
        self._registers = registers
        self._latest: dict[AddressRange, LiveRange] = {}
        self._owners = _Owners()
        # places that are read although not one write of this run filled them: they must stay as planned
        self._mixed: list[AddressRange] = [*registers.visible_outside]
        self._places = _Places(registers)
        self._write_times: list[int] = []
        self._write_places: list[AddressRange] = []
        for value in inputs:
            self._write(value, -1)
        for index, (reads, writes) in enumerate(effects):
            for value in reads:
                self._read(value, index)
            for value in writes:
                self._write(value, index, is_update=value in reads)
        for value in outputs:
            self._read(value, self.end)
        self._merged_mixed = _merged(self._mixed)

    def is_written(self, place: AddressRange, after: int, before: int) -> bool:
        """Return whether an instruction after `after` and before `before` writes a byte of `place`."""
        start, end = place
        first, last = bisect_right(self._write_times, after), bisect_left(self._write_times, before)
        if last - first <= FEW_WRITES:
            return any(each[0] < end and each[1] > start for each in self._write_places[first:last])
        starts, ends = self._write_table[first:last].T
        return bool(((starts < end) & (ends > start)).any())

    def can_be_left_unwritten(self, live: LiveRange) -> bool:
        """Return whether only readers of `live` would notice if its bytes were not written.

        In odd plans the bytes belong to other tensors as well.
        """
        if live.is_fixed or live.overwritten <= live.written:
            return False
        start, end = live.place
        after = bisect_right(self._merged_mixed, start, key=_end_of)
        return after == len(self._merged_mixed) or self._merged_mixed[after][0] >= end

    @cached_property
    def _write_table(self) -> Array:
        return np.array(self._write_places, np.int64)

    def _write(self, value: int, index: int, is_update: bool = False) -> None:
        place = self._places[value]
        if place is None:
            return
        self._write_times.append(index)
        self._write_places.append(place)
        if is_update:
            live = self.of_value[value]
            live.is_fixed = True
        else:
            live = self._latest[place] = LiveRange(place, index, self._never, index, [value])
            self._enter(value, live)
        self._owners.write(live, index)

    def _read(self, value: int, index: int) -> None:
        place = self._places[value]
        if place is None:
            return
        live = self._latest.get(place)
        if live is None:  # an earlier run left the bytes
            live = self._latest[place] = LiveRange(place, -1, self._never, self.end, is_fixed=True)
            self._mixed.append(place)
        elif live.overwritten < index or self._is_partial(live, value):
            self._mixed.append(place)
        if live.end < index:
            live.end = index
        live.readers.append(index)
        self._enter(value, live)

    def _is_partial(self, live: LiveRange, value: int) -> bool:
        """Return whether `value` may read more than was written, by a dynamic tensor within its bounds."""
        written = live.values[0]
        return value != written and self._registers.arrays[written] is None

    def _enter(self, value: int, live: LiveRange) -> None:
        known = self.of_value.setdefault(value, live)
        if known is not live:
            known.is_fixed = live.is_fixed = True
        if value not in live.values:
            live.values.append(value)


class _Places(dict[int, "AddressRange | None"]):
    """The places of tensors, found on first use; a constant has none, since nothing writes it.

    A tensor without bytes, or whose memory is not planned, has an imaginary place of its own.
    """

    def __init__(self, registers: Registers) -> None:
        super().__init__()
        self._registers = registers

    def __missing__(self, value: int) -> AddressRange | None:
        place = self._registers.planned_places[value]
        if place is None and not self._registers.is_constant(value):
            place = (-1 - value, -1 - value)
        self[value] = place
        return place


class _Owners:
    """The live ranges that nothing has overwritten yet, by their places, which are disjoint."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: list[LiveRange] = []

    def write(self, live: LiveRange, index: int) -> None:
        """Record that the bytes of `live` are its own from instruction `index` on."""
        start, end = live.place
        first = bisect_left(self._starts, start)
        if first > 0 and self._ranges[first - 1].place[1] > start:
            first -= 1
        last = bisect_left(self._starts, end, first)
        for each in self._ranges[first:last]:
            if each is not live:
                each.overwritten = index
        self._starts[first:last] = [start]
        self._ranges[first:last] = [live]


def _merged(places: Sequence[AddressRange]) -> list[AddressRange]:
    """Return the same bytes as disjoint places, in order."""
    merged: list[AddressRange] = []
    for start, end in sorted(places):
        if merged and start <= merged[-1][1]:
            start, known_end = merged.pop()
            end = max(end, known_end)
        merged.append((start, end))
    return merged


def _end_of(place: AddressRange) -> int:
    return place[1]


def address_range_of(array: Array) -> AddressRange:
    """Return the bytes that an array spans, gaps included."""
    first = last = address_of(array)
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            first += (size - 1) * stride
        else:
            last += (size - 1) * stride
    return (first, last + array.itemsize)
