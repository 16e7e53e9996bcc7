"""Findings as a part of a page: each with the lines of the file that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from etconfig.diagnostics.model import Diagnostic
from etconfig.diagnostics.render import MAX_DIAGNOSTICS, render_text
from etconfig.report.model import Cell, Table, View, count_text, marked


def findings_part(found: Mapping[Diagnostic, str]) -> View:
    """Return problems with what each is about, such as devices; a table, and the excerpts below it."""
    shown = [*islice(found.items(), MAX_DIAGNOSTICS)]
    rows = [(*_cells(problem, f"finding-{at}"), about) for at, (problem, about) in enumerate(shown)]
    parts = [
        View(
            name=f"finding-{at}",
            title=f"{problem.code}: {problem}",
            excerpt=render_text(problem),
            is_folded=len(shown) > 3,
        )
        for at, (problem, _) in enumerate(shown)
    ]
    more = len(found) - len(shown)
    lines = [f"and {more:,} more"] if more else [] if found else ["No problem was found."]
    headers = ("problem", "where", "message", "devices")
    return View(
        name="findings",
        title=f"Problems: {count_text(len(found), 'finding')}" if found else "Problems: none",
        lines=lines,
        tables=(Table(headers=headers, rows=rows),) if rows else (),
        parts=parts,
    )


def _cells(problem: Diagnostic, name: str) -> tuple[Cell, ...]:
    place = problem.spans[0].place if problem.spans else ""
    severity = problem.severity.value
    return (
        marked(f"{severity}: {problem.code}", severity, part=name),
        Cell(place),
        Cell(problem.message),
    )
