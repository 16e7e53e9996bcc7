"""What vendors give the conformance kit: check what a plugin contributes."""

from __future__ import annotations

from pathlib import Path

from etconfig.plugin.call_check import call_problem
from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.plugin.hookspecs import ConformanceContribution


def check_conformance(entry: EntryPoint, contribution: ConformanceContribution) -> ConformanceContribution:
    """Return `contribution` if its programs are a path and `lower` can be called.

    Raises:
        PluginLoadError: they are not.
    """
    programs: object = contribution.programs
    if not isinstance(programs, (Path, type(None))):
        raise load_error(
            entry, f"its programs are a {type(programs).__name__}", "give a pathlib.Path, or None"
        )
    if programs is not None and not programs.is_absolute():
        cause = f"its programs are in {programs}, which is another directory wherever etconfig is run"
        raise load_error(entry, cause, "give Path(__file__).parent / ...")
    lower: object = contribution.lower
    if lower is None:
        return contribution
    if not callable(lower):
        raise load_error(entry, f"its lower is a {type(lower).__name__}", "give a function, or None")
    problem = call_problem(lower, "lower", ("request",))
    if problem is not None:
        raise load_error(entry, problem, "write: def lower(request): ...")
    return contribution
