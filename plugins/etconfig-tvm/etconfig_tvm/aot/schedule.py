"""Schedules for a processor's vector units: tiles of an output that stay in registers, and vector loops.

TVM's own pipeline for processors schedules nothing: its convolutions are seven plain loops. The rules here
need no search, so compiling takes seconds and gives the same code each time. For a sum over products
(convolution, matrix product), a tile of `rows` by `vectors` vectors of the output is summed up in registers:
each step loads `vectors` vectors of one factor, and multiplies them with `rows` numbers of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_REDUCTION = 2
"""The kind of a block's iteration variable that is summed over. Source: tirx.IterVar.CommReduce."""

_MIN_PARALLEL_STEPS = 32_768
"""Work below this is done before a second thread has woken up."""

_MAX_ROWS = 14
_MAX_VECTORS = 8


@dataclass(frozen=True, kw_only=True)
class VectorUnits:
    """The vector registers of a processor.

    Attributes:
        lanes: The 32-bit numbers in a register.
        registers: The number of registers.
    """

    lanes: int
    registers: int

    @classmethod
    def of_features(cls, features: Sequence[str], arch: str) -> VectorUnits:
        """Return the numbers of an instruction set, from LLVM's names of its features."""
        if "avx512f" in features:
            return cls(lanes=16, registers=32)
        if "avx" in features:
            return cls(lanes=8, registers=16)
        return cls(lanes=4, registers=32 if arch == "arm64" else 16)


def schedule_module(module: Any, units: VectorUnits) -> tuple[Any, dict[str, str]]:
    """Schedule every function of a lowered module.

    Args:
        module: An IRModule whose operators are lowered to loops.
        units: The vector registers of the target.

    Returns:
        The module, and the rule that scheduled each function, by its name: `tiles`, `vectors`, `reduction`,
        or `none` for those left as they are, such as functions of a dynamic shape.
    """
    import tvm

    rules: dict[str, str] = {}
    for variable, function in list(module.functions.items()):
        if isinstance(function, tvm.tirx.PrimFunc):
            rule, scheduled = _schedule(function, units)
            rules[variable.name_hint] = rule
            if scheduled is not None:
                module.update_func(variable, scheduled)
    return module, rules


def _schedule(function: Any, units: VectorUnits) -> tuple[str, Any]:
    """Return the first rule that fits a function, and the scheduled function."""
    from tvm import s_tir
    from tvm.s_tir.schedule import ScheduleError

    for name, rule in _RULES:
        schedule = s_tir.Schedule(function)
        try:
            is_scheduled = rule(_Function(schedule), units)
        except (ScheduleError, _DynamicError):
            continue
        if is_scheduled:
            return name, schedule.mod["main"]
    return "none", None


class _DynamicError(Exception):
    """A loop has no fixed number of steps."""


class _Function:
    """A function that is being scheduled: its blocks in order, and what the rules ask about them."""

    def __init__(self, schedule: Any) -> None:
        self.schedule = schedule
        self.blocks = list(schedule.get_child_blocks(schedule.get_sblock("root")))

    def is_reduction(self, block: Any) -> bool:
        """Return True if a block sums over something."""
        return any(int(each.iter_type) == _REDUCTION for each in self.schedule.get(block).iter_vars)

    def split_loops(self, block: Any) -> tuple[list[Any], list[Any]]:
        """Return the loops over the output of a block, and the loops that it sums over."""
        kinds = [int(each.iter_type) == _REDUCTION for each in self.schedule.get(block).iter_vars]
        loops = self.schedule.get_loops(block)
        if len(loops) != len(kinds):
            raise _DynamicError
        pairs = list(zip(loops, kinds, strict=True))
        return [loop for loop, sums in pairs if not sums], [loop for loop, sums in pairs if sums]

    def extent(self, loop: Any) -> int:
        """Return the steps of a loop. Raises _DynamicError if they are not fixed."""
        try:
            return int(self.schedule.get(loop).extent)
        except (TypeError, ValueError):
            raise _DynamicError from None

    def steps(self, loops: Sequence[Any]) -> int:
        """Return the steps of nested loops."""
        return math.prod(map(self.extent, loops))


def _schedule_tiles(function: _Function, units: VectorUnits) -> bool:
    """Sum up tiles of the output in registers, and finish each tile before the next."""
    return _tile(function, units, is_epilogue_fused=True)


def _schedule_separate_tiles(function: _Function, units: VectorUnits) -> bool:
    """Sum up tiles of the output in registers; what follows runs after all of them: a transposition."""
    return _tile(function, units, is_epilogue_fused=False)


def _tile(function: _Function, units: VectorUnits, *, is_epilogue_fused: bool) -> bool:
    schedule, blocks = function.schedule, function.blocks
    sums = [block for block in blocks if function.is_reduction(block)]
    if len(sums) != 1:
        return False
    place = blocks.index(sums[0])
    before, after = blocks[:place], blocks[place + 1 :]
    if not function.split_loops(sums[0])[0]:
        return False
    for block in (*before[:-1], *after[:-1]):
        schedule.compute_inline(block)
    for block in before[-1:]:
        _vectorize(function, block, units)
    if after and is_epilogue_fused:
        return _tile_block(function, sums[0], after[-1], units)
    for block in after[-1:]:
        _vectorize(function, block, units)
    return _tile_block(function, sums[0], schedule.cache_write(sums[0], 0, "global"), units)


def _tile_block(function: _Function, block: Any, epilogue: Any, units: VectorUnits) -> bool:
    schedule = function.schedule
    outputs, sums = function.split_loops(block)
    *others, last = outputs
    work = function.steps([*outputs, *sums])
    row = next((loop for loop in reversed(others) if function.extent(loop) > 1), None)
    size = function.extent(last)
    lanes = _largest_power_of_two(size, units.lanes)
    row_size = 1 if row is None else function.extent(row)
    rows, vectors = choose_tile(row_size, size // lanes, units.registers)
    last_outer, vector, lane = schedule.split(last, [None, vectors, lanes])
    tile = [vector, lane]
    if row is not None:
        position = next(index for index, loop in enumerate(others) if loop.same_as(row))
        others[position], row_inner = schedule.split(row, [None, rows])
        schedule.unroll(row_inner)
        tile.insert(0, row_inner)
    schedule.reorder(*others, last_outer, *sums, *tile)
    outer = schedule.fuse(*others, last_outer)
    schedule.reverse_compute_at(epilogue, outer)
    schedule.unroll(vector)
    schedule.vectorize(lane)
    if work >= _MIN_PARALLEL_STEPS and function.extent(outer) > 1:
        schedule.parallel(outer)
    _vectorize_inner(function, schedule.get_loops(epilogue)[1:], lanes)
    if sums:
        schedule.decompose_reduction(block, schedule.get_loops(block)[1])
    return True


def choose_tile(rows: int, vectors: int, registers: int) -> tuple[int, int]:
    """Return the rows and vectors of a tile that need the fewest loads for each product.

    Both divide the sizes of the output, so that no tile is cut off. The sums, and the vectors and the number
    that a step loads, must fit into the registers.

    Args:
        rows: The rows of the output.
        vectors: The vectors in each row.
        registers: The vector registers.
    """
    best = (0.0, 1, 1)
    for tile_rows in _divisors(rows, _MAX_ROWS):
        for tile_vectors in _divisors(vectors, _MAX_VECTORS):
            if tile_rows * tile_vectors + tile_vectors < registers:
                products_per_load = tile_rows * tile_vectors / (tile_rows + tile_vectors)
                best = max(best, (products_per_load, -tile_rows, tile_vectors))
    return abs(best[1]), best[2]


def _schedule_vectors(function: _Function, units: VectorUnits) -> bool:
    """Compute element by element, in vectors."""
    if any(map(function.is_reduction, function.blocks)):
        return False
    for block in function.blocks[:-1]:
        function.schedule.compute_inline(block)
    for block in function.blocks[-1:]:
        _vectorize(function, block, units)
    return True


def _schedule_reduction(function: _Function, units: VectorUnits) -> bool:
    """Leave sums and maxima over rows, such as softmax, as loops; spread the rows over the threads."""
    for block in function.blocks:
        outputs, sums = function.split_loops(block)
        if not sums:
            _vectorize(function, block, units)
        elif outputs and function.steps([*outputs, *sums]) >= _MIN_PARALLEL_STEPS:
            function.schedule.parallel(function.schedule.fuse(*outputs))
    return True


def _vectorize(function: _Function, block: Any, units: VectorUnits) -> None:
    """Compute a block without sums in vectors, spread over the threads."""
    loops = list(function.schedule.get_loops(block))
    if not loops:
        return
    work = function.steps(loops)
    loops = _vectorize_inner(function, loops, _largest_power_of_two(function.extent(loops[-1]), units.lanes))
    if loops and work >= _MIN_PARALLEL_STEPS:
        function.schedule.parallel(function.schedule.fuse(*loops))


def _vectorize_inner(function: _Function, loops: Sequence[Any], lanes: int) -> list[Any]:
    """Make vectors of the innermost loop, and return the loops around them."""
    if not loops or function.extent(loops[-1]) % lanes or lanes == 1:
        return list(loops)
    outer, lane = function.schedule.split(loops[-1], [None, lanes])
    function.schedule.vectorize(lane)
    return [*loops[:-1], outer]


def _divisors(number: int, most: int) -> list[int]:
    return [each for each in range(1, min(number, most) + 1) if number % each == 0]


def _largest_power_of_two(number: int, most: int) -> int:
    """Return the largest power of two up to `most` that divides a number."""
    return min(most, number & -number)


_Rule = Callable[[_Function, VectorUnits], bool]

_RULES: tuple[tuple[str, _Rule], ...] = (
    ("tiles", _schedule_tiles),
    ("tiles", _schedule_separate_tiles),
    ("vectors", _schedule_vectors),
    ("reduction", _schedule_reduction),
)
"""The rules, the best first."""
