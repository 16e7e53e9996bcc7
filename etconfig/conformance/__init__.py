"""The conformance kit: checks that a backend does what the contract asks and what it declares.

class TestAcme(BackendConformance):
    backend = "AcmeBackend"
    level = 2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "BackendConformance": "kit.suite",
    "Check": "kit.check",
    "KIT": "kit.kit",
    "Outcome": "kit.outcome",
    "Report": "kit.report",
    "Result": "kit.result",
    "Settings": "kit.settings",
    "run_conformance": "kit.running",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.conformance.kit.check import Check
    from etconfig.conformance.kit.kit import KIT
    from etconfig.conformance.kit.outcome import Outcome
    from etconfig.conformance.kit.report import Report
    from etconfig.conformance.kit.result import Result
    from etconfig.conformance.kit.running import run_conformance
    from etconfig.conformance.kit.settings import Settings
    from etconfig.conformance.kit.suite import BackendConformance

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
