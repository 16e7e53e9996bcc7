"""Memory plans as pictures: offsets in an arena go up, instructions go to the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

from etconfig.base.number_text import format_bytes
from etconfig.base.written_files import FileKind, head_of
from etconfig.program.memory_plan import Allocation, MemoryPlan
from etconfig.report.model import count_text, shown_text

_WIDTH, _HEIGHT = 960, 320
"""The size of the field of one arena, in pixels."""
_LEFT, _RIGHT, _TOP, _GAP, _STRIP = 90, 20, 68, 84, 48
"""Margins, the gap between fields, and the height of the curve of bytes in use, in pixels."""
_COLORS = {"input": "#4c78a8", "output": "#e45756", "state": "#b279a2", "intermediate": "#3f8f8b"}
_MAX_RECTANGLES = 3000
"""The number of tensors of an arena that are drawn one by one, the largest ones."""
_CELL = 2
"""The size of the cells to which all other tensors are rounded, in pixels."""
_LABEL_WIDTH, _LABEL_HEIGHT = 46, 13
"""The smallest rectangle with a label in it, in pixels."""
_LEAST = 1.5
"""The smallest size of a rectangle that can be seen, in pixels."""
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.title{font:bold 15px sans-serif}"
    ".inside{font:11px sans-serif;fill:#fff;pointer-events:none}.axis{fill:#777;font-size:11px}"
    "rect.tensor{stroke:#fff;stroke-width:.6}rect.tensor:hover{stroke:#000}"
    "@media(prefers-color-scheme:dark){svg{background:#fff}}"
)

_MARK = "<!-- a memory plan, drawn by etconfig -->"
PICTURE = FileKind("a memory plan that etconfig drew", lambda path: _MARK.encode() in head_of(path))

_TEXT_COLUMNS, _TEXT_ROWS = 64, 12
_SHADES = " ░▒▓█"


def memory_svg(plans: Mapping[str, MemoryPlan], most: int = _MAX_RECTANGLES) -> str:
    """Draw the arenas of all methods as an SVG document; pointing at a tensor shows its type and lifetime."""
    panels = [(method, memory_id, plan) for method, plan in plans.items() for memory_id in plan.arena_bytes]
    height = _TOP + sum(_STRIP + _HEIGHT + _GAP for _ in panels)
    width = _LEFT + _WIDTH + _RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" class="plan">',
        _MARK,
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_legend(),
    ]
    y = _TOP
    for method, memory_id, plan in panels:
        parts += _panel(method, memory_id, plan, y, most)
        y += _STRIP + _HEIGHT + _GAP
    return "\n".join([*parts, "</svg>\n"])


def _legend() -> Iterator[str]:
    x = _LEFT
    for role, color in _COLORS.items():
        yield f'<rect x="{x}" y="14" width="12" height="12" fill="{color}"/>'
        yield f'<text x="{x + 18}" y="24">{role}</text>'
        x += 110
    yield f'<text x="{x}" y="24" class="axis">curve: bytes in use</text>'


def _panel(method: str, memory_id: int, plan: MemoryPlan, y: int, most: int) -> Iterator[str]:
    size = plan.arena_bytes[memory_id]
    top = y + _STRIP
    live = plan.live_bytes(memory_id)
    yield (
        f'<text x="{_LEFT}" y="{y - 8}" class="title">{escape(shown_text(method))}, memory {memory_id}: '
        f"{use_text(plan, memory_id)}</text>"
    )
    yield _curve(live, size, y)
    yield f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" fill="#f4f4f4"/>'
    ranked = sorted(
        plan.of_arena(memory_id), key=lambda each: -each.size_bytes * (each.last - each.first + 1)
    )
    yield from _small(ranked[most:], plan, size, top)
    for each in reversed(ranked[:most]):
        yield from _rectangle(each, plan, size, top)
    yield from _axes(plan, size, top)


def _curve(live: Sequence[int], size: int, y: int) -> str:
    """Draw the bytes in use over the instructions, with at most one step for each pixel."""
    highest = max(*live, size)
    step = max(1, len(live) // _WIDTH)
    base = y + _STRIP - 4
    path = [f"M{_LEFT} {base}"]
    for start in range(0, len(live), step):
        peak = max(live[start : start + step])
        path.append(f"V{base - (_STRIP - 10) * peak / highest:.1f}")
        path.append(f"H{_LEFT + _WIDTH * min(start + step, len(live)) / len(live):.1f}")
    return f'<path d="{"".join(path)}V{base}Z" fill="#cfd8dc"/>'


def _box(each: Allocation, plan: MemoryPlan, size: int, top: int) -> tuple[float, float, float, float]:
    """Return left, top, width and height of a tensor in pixels; offset 0 is at the bottom."""
    x = _LEFT + _WIDTH * each.first / plan.instructions
    width = _WIDTH * (each.last - each.first + 1) / plan.instructions
    height = _HEIGHT * each.size_bytes / size
    return x, top + _HEIGHT - _HEIGHT * each.offset / size - height, width, height


def _rectangle(each: Allocation, plan: MemoryPlan, size: int, top: int) -> Iterator[str]:
    x, y, width, height = _box(each, plan, size, top)
    tensor = each.tensor
    kind = f"{tensor.scalar_type.dtype_name} {list(tensor.sizes)}"
    description = (
        f"value {each.value}, {each.role}: {kind}, {format_bytes(each.size_bytes)} at {each.offset}, "
        f"instructions {each.first} to {each.last}"
    )
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, _LEAST):.1f}" height="{max(height, _LEAST):.1f}"'
    title = f"<title>{escape(description)}</title>"
    yield f'<rect class="tensor" {place} fill="{_COLORS[each.role]}">{title}</rect>'
    if height >= _LABEL_HEIGHT and width >= _LABEL_WIDTH:
        text = kind if width >= 7 * len(kind) else format_bytes(each.size_bytes)
        if width >= 7 * len(text):
            middle = f'x="{x + 5:.1f}" y="{y + height / 2 + 4:.1f}"'
            yield f'<text class="inside" {middle}>{escape(text)}</text>'


def _small(rest: Sequence[Allocation], plan: MemoryPlan, size: int, top: int) -> Iterator[str]:
    """Draw the small tensors as one shape, rounded to cells."""
    cells: set[tuple[int, int]] = set()
    for each in rest:
        x, y, width, height = _box(each, plan, size, top)
        for row in range(int(y / _CELL), int((y + height) / _CELL) + 1):
            cells.update((row, column) for column in range(int(x / _CELL), int((x + width) / _CELL) + 1))
    path = []
    for row, group in groupby(sorted(cells), lambda cell: cell[0]):
        columns = [column for _, column in group]
        for _, run in groupby(enumerate(columns), lambda pair: pair[1] - pair[0]):
            members = [column for _, column in run]
            length = _CELL * len(members)
            path.append(f"M{_CELL * members[0]} {_CELL * row}h{length}v{_CELL}h-{length}z")
    if path:
        description = f"{count_text(len(rest), 'small tensor')}, rounded"
        yield f'<path d="{"".join(path)}" fill="#8fbfbc"><title>{description}</title></path>'


def _axes(plan: MemoryPlan, size: int, top: int) -> Iterator[str]:
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = top + _HEIGHT * (1 - share)
        label = format_bytes(round(size * share))
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" class="axis">{label}</text>'
        x = _LEFT + _WIDTH * share
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        place = f'x="{x:.1f}" y="{top + _HEIGHT + 16}" text-anchor="{anchor}"'
        yield f'<text {place} class="axis">{round(plan.instructions * share)}</text>'
    yield (
        f'<text x="{_LEFT + _WIDTH / 2}" y="{top + _HEIGHT + 30}" text-anchor="middle" class="axis">'
        "instruction</text>"
    )


def use_text(plan: MemoryPlan, memory_id: int) -> str:
    """Return how much of an arena is in use, in words."""
    most, mean = plan.use(memory_id)
    return f"{format_bytes(plan.arena_bytes[memory_id])}, {most:.0%} in use at most, {mean:.0%} on average"


def memory_text(method: str, plan: MemoryPlan) -> Iterator[str]:
    """Draw the arenas of one method in lines of text; fuller cells are darker."""
    for memory_id, size in plan.arena_bytes.items():
        yield f"{method}, memory {memory_id}: {use_text(plan, memory_id)}"
        columns, rows = min(_TEXT_COLUMNS, plan.instructions), _TEXT_ROWS
        filled = _filled(plan, memory_id, columns, rows)
        repeat = max(1, _TEXT_COLUMNS // columns // 2)
        for row in reversed(range(rows)):
            label = format_bytes(size * (row + 1) // rows).rjust(11)
            cells = "".join(_shade(filled[row][column]) * repeat for column in range(columns))
            yield f"{label} |{cells}|"
        yield f"{'instruction':>11}  0{str(plan.instructions - 1).rjust(columns * repeat - 1)}"
        yield f"{'full':>11}  {_SHADES.strip()}, from a part of the cell to all of it"


def _filled(plan: MemoryPlan, memory_id: int, columns: int, rows: int) -> list[list[float]]:
    """Return the share of each cell that tensors take, by row and column."""
    filled = [[0.0] * columns for _ in range(rows)]
    size = plan.arena_bytes[memory_id]
    for each in plan.of_arena(memory_id):
        over_time = list(_overlaps(each.first, each.last + 1, plan.instructions, columns))
        for row, in_row in _overlaps(each.offset, each.offset + each.size_bytes, size, rows):
            for column, in_column in over_time:
                filled[row][column] += in_row * in_column
    return filled


def _overlaps(start: int, end: int, total: int, cells: int) -> Iterator[tuple[int, float]]:
    """Yield the cells that a range touches, and the share of each that it covers."""
    first, last = start * cells / total, end * cells / total
    for cell in range(int(first), min(int(last) + 1, cells)):
        covered = min(last, cell + 1) - max(first, cell)
        if covered > 0:
            yield cell, covered


def _shade(filled: float) -> str:
    return _SHADES[min(len(_SHADES) - 1, int(filled * (len(_SHADES) - 1) + 0.999))]
