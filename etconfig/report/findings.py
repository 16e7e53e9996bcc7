"""Findings as a part of a page: each with the lines of the file that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from etconfig.diagnostics.model import Diagnostic
from etconfig.diagnostics.render import MAX_DIAGNOSTICS, render_text
from etconfig.report.model import View, count_text

_FEW = 5
"""The number of findings up to which none is folded away."""


def findings_part(found: Mapping[Diagnostic, str]) -> View:
    """Return problems with their excerpts, and what each is about, such as devices; empty for nothing."""
    parts = [
        View(
            title=f"{problem.severity.value}: {problem}",
            lines=[f"on {about}"] if about else (),
            excerpt=render_text(problem),
            is_folded=len(found) > _FEW,
        )
        for problem, about in islice(found.items(), MAX_DIAGNOSTICS)
    ]
    more = len(found) - len(parts)
    return View(
        name="findings",
        title=f"Problems: {count_text(len(found), 'finding')}" if found else "Problems: none",
        lines=[f"The first {len(parts):,} of {len(found):,} are shown."] if more else (),
        parts=parts,
    )
