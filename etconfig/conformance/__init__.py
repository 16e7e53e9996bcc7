"""The conformance kit: checks that a backend does what the contract asks and what it declares.

class TestAcme(BackendConformance):
    backend = "AcmeBackend"
    level = 2

Its parts, lowest first: `kit` (levels, settings, outcomes), `interpose` (stand-ins for a backend), `cases`
(programs and answers), `subject` (the backend under test), `process` (child processes), `checks` (by topic),
and `runner` (running checks, and reports).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.lazy import lazy_names

_HOME = {
    "BackendConformance": "runner.suite",
    "Check": "checks.check",
    "KIT": "kit.outcomes",
    "Outcome": "kit.outcomes",
    "Report": "runner.kit_report",
    "Result": "kit.outcomes",
    "Settings": "kit.kit_settings",
    "run_conformance": "runner.runner",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.conformance.checks.check import Check
    from etconfig.conformance.kit.kit_settings import Settings
    from etconfig.conformance.kit.outcomes import KIT, Outcome, Result
    from etconfig.conformance.runner.kit_report import Report
    from etconfig.conformance.runner.runner import run_conformance
    from etconfig.conformance.runner.suite import BackendConformance

__all__ = [
    "KIT",
    "BackendConformance",
    "Check",
    "Outcome",
    "Report",
    "Result",
    "Settings",
    "run_conformance",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
