"""`program_part`: the contents of a program as a part of a page."""

from __future__ import annotations

from pathlib import Path

from etconfig.analysis.memory_picture import memory_svg
from etconfig.analysis.program_report import METHOD_HEADERS, MethodReport, ProgramReport
from etconfig.base.number_text import format_bytes
from etconfig.report.model import Table, View

_NETRON = ("Look at the graph in Netron: open the file there", "https://netron.app/")


def program_part(report: ProgramReport) -> View:
    """Return the methods, delegates and operators of a program, and its memory plans as pictures."""
    name = Path(report.path or "program in memory").name
    methods = Table(headers=METHOD_HEADERS, rows=[each.cells for each in report.methods])
    delegates = Table(
        caption="Delegates",
        headers=("method", "backend", "calls", "payload", "plugin installed"),
        rows=[
            (
                method.name,
                each.backend,
                each.calls,
                format_bytes(each.payload_bytes),
                "yes" if each.installed else "no",
            )
            for method in report.methods
            for each in method.delegates
        ],
    )
    operators = Table(
        caption="Operators outside of delegates",
        headers=("method", "operator", "calls"),
        rows=[
            (method.name, operator, calls)
            for method in report.methods
            for operator, calls in method.operators.items()
        ],
        is_folded=True,
    )
    return View(
        name="program",
        title=f"Program {name}",
        lines=[report.summary],
        link=_NETRON,
        tables=[methods, delegates, operators],
        parts=[_memory_part(each) for each in report.methods if each.memory_plan.arena_bytes],
    )


def _memory_part(method: MethodReport) -> View:
    svg = memory_svg({method.name: method.memory_plan}, most=_MAX_RECTANGLES)
    return View(title=f"Memory plan of {method.name}", picture=svg, is_folded=True)


_MAX_RECTANGLES = 300
"""The number of tensors that the picture of an arena has one by one: a page is not a megabyte."""
