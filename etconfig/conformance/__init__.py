"""The conformance kit: checks that a backend does what the contract asks and what it declares.

class TestAcme(BackendConformance):
    backend = "AcmeBackend"
    level = 2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "BackendConformance": "suite",
    "Check": "check",
    "KIT": "kit",
    "Outcome": "outcome",
    "Report": "report",
    "Result": "result",
    "Settings": "settings",
    "run_conformance": "running",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.conformance.check import Check
    from etconfig.conformance.kit import KIT
    from etconfig.conformance.outcome import Outcome
    from etconfig.conformance.report import Report
    from etconfig.conformance.result import Result
    from etconfig.conformance.running import run_conformance
    from etconfig.conformance.settings import Settings
    from etconfig.conformance.suite import BackendConformance

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
