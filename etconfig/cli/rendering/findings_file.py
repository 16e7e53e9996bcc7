"""Findings of `etconfig validate` and `etconfig test` as a page, and as results of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from etconfig.cli.shared.output import repository_names
from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.render import render_text
from etconfig.report.junit import JunitCase, junit_xml
from etconfig.report.model import View
from etconfig.report.page.page_writer import Page


def findings_page(view: View, problems: Sequence[Diagnostic], marks: Mapping[str, str] | None = None) -> str:
    """Return a page with a report, its texts as the style marks them, and every finding with its excerpt."""
    shown = repository_names(is_public=True)
    found = [(shown(problem), "") for problem in problems]
    return Page(view.title, "findings", {"view": view, "problems": found, "marks": marks or {}}).html


def findings_junit(files: Sequence[Path], problems: Sequence[Diagnostic]) -> str:
    """Return a case for each file: it fails with its first error, and has all findings as text."""
    shown = repository_names(is_public=True)
    found: dict[str, list[Diagnostic]] = {shown.name_of(str(path)): [] for path in files}
    for problem in map(shown, problems):
        found.setdefault(problem.spans[0].file if problem.spans else "etconfig", []).append(problem)
    errors = {name: [str(each) for each in every if each.is_error] for name, every in found.items()}
    cases = (
        JunitCase(
            name=name,
            group="etconfig.validate",
            outcome="failure" if errors[name] else "passed",
            message="".join(errors[name][:1]),
            text="\n".join(map(render_text, every)),
        )
        for name, every in found.items()
    )
    return junit_xml("etconfig validate", cases).decode()
