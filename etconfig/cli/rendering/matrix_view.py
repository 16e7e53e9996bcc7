"""A matrix for people: options as rows and results as columns.

The text has as many columns as the terminal has room for; Markdown has all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from etconfig.analysis.device_matrix import DeviceMatrix, MatrixResult
from etconfig.analysis.expected_matrix import MatrixDifference
from etconfig.diagnostics import Diagnostic
from etconfig.report.junit import JunitCase
from etconfig.report.model import MAX_ROWS, Table, View, cell_text, count_text
from etconfig.report.text import aligned, more_text, wrapped_rows
from etconfig.resolver.explaining.difference import ABSENT_TEXT

Shown: TypeAlias = Callable[[Diagnostic], Diagnostic]
"""Gives the files of a problem the names that readers know."""

_GAP = 2
_MAX_CELL = 24
"""The width of a value; a longer one is wrapped."""
_MAX_PATH = 48
_MAX_NAMES = 6
"""The most devices that the header of a column of Markdown names."""
_MAX_TABLES, _MAX_RESULTS = 2, 20
"""With more tables below each other, or more results, each option lists its values instead."""


def matrix_view(
    matrix: DeviceMatrix, differences: Sequence[MatrixDifference] | None, *, every: bool, shown: Shown
) -> View:
    """Return what each device gets, as it is written in Markdown.

    Args:
        matrix: The matrix.
        differences: The differences from what is expected, if it is compared.
        every: True to list the options that are the same on every device, too.
        shown: Gives the files of a problem the names that readers know.
    """
    differing = {*matrix.differing}
    same = [path for path in matrix.options if path not in differing] if every else []
    tables = [
        *differences_view(differences or ()).tables,
        Table(
            caption="Problems",
            headers=("problem", "message", "devices"),
            rows=[
                (f"{problem.severity.value}: {problem.code}", str(shown(problem)), names_of(devices, matrix))
                for problem, devices in matrix.problems.items()
            ],
        ),
        Table(
            caption="Options that differ",
            headers=("option", *map(_result_header, matrix.results)),
            rows=[(path, *matrix.values(path)) for path in matrix.differing],
        ),
        Table(
            caption="Devices",
            headers=[*map(str.lower, matrix.device_headers)],
            rows=[*matrix.device_rows],
            is_folded=differences is not None,
        ),
        Table(
            caption="Options that are the same on every device",
            headers=("option", "value"),
            rows=[(path, matrix.values(path)[0]) for path in same],
            is_folded=True,
        ),
    ]
    return View(title=matrix.summary, tables=tables)


def differences_view(differences: Sequence[MatrixDifference]) -> View:
    """Return the differences from what is expected."""
    title = f"{count_text(len(differences), 'difference')} from what is expected"
    headers = ("device", "option", "expected", "got")
    table = Table(caption=title, headers=headers, rows=[*map(_difference, differences)])
    return View(title=title, tables=(table,))


def matrix_cases(
    matrix: DeviceMatrix, differences: Sequence[MatrixDifference], shown: Shown
) -> Iterator[JunitCase]:
    """Yield each device as a check: it gets options, and gets the expected ones."""
    names = dict.fromkeys([*(each.device for each in matrix), *(each.device for each in differences)])
    found = {each.device: each for each in matrix}
    for name in names:
        problems = [] if name not in found else [*map(shown, found[name].problems)]
        errors = [str(each) for each in problems if each.is_error]
        differing = [" ".join(_difference(each)[1:]) for each in differences if each.device == name]
        yield JunitCase(
            name=cell_text(name),
            group="etconfig.matrix",
            outcome="error" if errors else "failure" if differing else "passed",
            message=(errors or differing or [""])[0],
            text="\n".join([*(f"{each.severity.value}: {each}" for each in problems), *differing]),
        )


def _result_header(result: MatrixResult) -> str:
    """Return the number of a result, and the first of its devices in further lines."""
    more = len(result.devices) - _MAX_NAMES
    names = [*map(cell_text, result.devices[:_MAX_NAMES]), *([f"and {more:,} more"] if more > 0 else [])]
    return "\n".join([str(result.number), *names])


def _difference(each: MatrixDifference) -> tuple[str, ...]:
    return each.device, each.subject, each.expected or ABSENT_TEXT, each.got or ABSENT_TEXT


def devices_text(matrix: DeviceMatrix, width: int) -> str:
    """Return a row for each device: its profile, and the number of its result."""
    shown = [tuple(map(cell_text, row)) for row in islice(matrix.device_rows, MAX_ROWS)]
    numbers = (_MAX_CELL,) * (len(matrix.device_headers) - 2)
    wide = (width - 10 - _MAX_CELL * (len(numbers) - 1)) // 2  # 6 for RESULT, and two gaps
    rows = [matrix.device_headers, *shown]
    return _grid(rows, (wide, wide, *numbers)) + more_text(len(matrix) - MAX_ROWS)


def options_text(matrix: DeviceMatrix, paths: Sequence[str], width: int) -> str:
    """Return a row for each option, and a column for each result."""
    rows = [[cell_text(cell) for cell in (path, *matrix.values(path))] for path in paths[:MAX_ROWS]]
    more = more_text(len(paths) - MAX_ROWS)
    first, *widths = (min(max(map(len, column)), _MAX_CELL) for column in zip(*rows, strict=True))
    widest = min(_MAX_PATH, width - _MAX_CELL - _GAP)
    first = min(max(len(row[0]) for row in rows), widest)
    names = [cell_text(result.devices[0]) for result in matrix.results]
    if all(len(result.devices) == 1 for result in matrix.results):
        wide = [max(own, len(name)) for own, name in zip(widths, names, strict=True)]
        if first + sum(wide) + _GAP * len(wide) <= width:
            return _grid([("OPTION", *names), *rows], (widest, *wide)) + more
    numbers = [str(result.number) for result in matrix.results] if len(names) > 1 else ["VALUE"]
    widths = [max(own, len(number)) for own, number in zip(widths, numbers, strict=True)]
    groups = [*_groups(widths, width - first)]
    if len(groups) > _MAX_TABLES or len(widths) > _MAX_RESULTS:
        return "\n".join(_by_value(matrix, path, width) for path in paths[:MAX_ROWS]) + more
    tables = (
        _grid(
            [(row[0], *row[1 + start : 1 + end]) for row in [["OPTION", *numbers], *rows]],
            (widest, *widths[start:end]),
        )
        for start, end in groups
    )
    return "\n".join(tables) + more


def differences_text(differences: Sequence[MatrixDifference], width: int) -> str:
    """Return a row for each difference: the device, what differs, the expected value and the actual one."""
    rows = [[*map(cell_text, _difference(each))] for each in differences[:MAX_ROWS]]
    room = width - 3 * _GAP
    limits = (room // 4, room * 3 // 8, room * 3 // 16, room * 3 // 16)
    return _grid([("DEVICE", "OPTION", "EXPECTED", "GOT"), *rows], limits) + more_text(
        len(differences) - MAX_ROWS
    )


def _by_value(matrix: DeviceMatrix, path: str, width: int) -> str:
    """Return an option, and a line for each of its values with the devices that get it."""
    devices: dict[str, list[str]] = {}
    for result, value in zip(matrix.results, matrix.values(path), strict=True):
        devices.setdefault(value, []).extend(result.devices)
    rows = [
        (cell_text(value), count_text(len(names), "device"), _listed(names, width // 2))
        for value, names in sorted(devices.items(), key=lambda each: -len(each[1]))
    ]
    lines = _grid(rows, (_MAX_CELL // 2, _MAX_CELL, width // 2)).splitlines(keepends=True)
    return f"{cell_text(path)}\n" + "".join(f"  {line}" for line in lines)


def _listed(names: Sequence[str], width: int) -> str:
    """Return as many names as there is room for, and the number of others."""
    shown, length = 0, 0
    for name in names:
        length += len(cell_text(name)) + 2
        if shown and length > width - len(" and 10,000 more"):
            break
        shown += 1
    more = len(names) - shown
    return ", ".join(map(cell_text, names[:shown])) + (f" and {more:,} more" if more else "")


def _groups(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last column, exclusive, of each table that fits into `room` characters."""
    start = used = 0
    for index, width in enumerate(widths):
        if index > start and used + width + _GAP > room:
            yield start, index
            start, used = index, 0
        used += width + _GAP
    yield start, len(widths)


def _grid(rows: Iterable[Sequence[str]], limits: Sequence[int]) -> str:
    return "".join(f"{line}\n" for line in aligned(wrapped_rows(rows, limits, _pieces)))


def _pieces(cell: str, width: int) -> list[str]:
    """Return the lines of a cell, broken after a separator where there is one in the second half."""
    lines: list[str] = []
    while len(cell) > width:
        cut = max(cell.rfind(mark, width // 2, width) for mark in " ,/.:_-") + 1 or width
        lines.append(cell[:cut])
        cell = cell[cut:]
    return [*lines, cell]


def hidden_text(matrix: DeviceMatrix) -> str | None:
    """Return the line about the options that are the same on every device, or None if there are none."""
    same = len(matrix.options) - len(matrix.differing)
    if not same:
        return None
    if len(matrix) == 1:
        return f"The device gets {count_text(same, 'option')}; --all lists them"
    which = (
        f"The other {count_text(same, 'option')}" if matrix.differing else f"All {count_text(same, 'option')}"
    )
    verb = "is" if same == 1 else "are"
    where = "every device without errors" if matrix.has_errors else "every device"
    return f"{which} {verb} the same on {where}; --all lists them"


def names_of(devices: Iterable[str], matrix: DeviceMatrix) -> str:
    """Return the devices that have a problem, in words."""
    names = list(devices)
    if len(names) == len(matrix) > 1:
        return "on every device"
    return f"on {_listed(names, 100)}"
