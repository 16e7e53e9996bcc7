"""`Report`: the results of a run of the kit, and the level that was reached."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from etconfig.base.records import record
from etconfig.base.version import __version__
from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.outcomes import KIT, CheckFailedError, Outcome, Result
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import EtconfigError
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.option_evidence import Unobservable

EVIDENCE_CHECK = "option-evidence"
"""The check that accepts options whose effect is unobservable."""

FORMAT = 1
"""The version of the JSON report; fields may be added to it, but none is changed or removed."""


@record(frozen=True, kw_only=True)
class Report:
    """The results of a run of the kit.

    Attributes:
        backend: The backend's id.
        distribution: The distribution that declares it.
        version: The distribution's version.
        executor: The executor that ran the programs.
        level_asked: The highest level whose checks were run.
        pinned_kit: The version of the kit that the vendor pins.
        results: One for each check, level by level.
        checks_asked: The ids of the checks that were asked for; empty for all up to the level.
        unobservable: The reasons of the options whose effect the vendor declares unobservable, by option.
        coverage: True for each case that has a golden program that delegates to the backend, False for
            the others whose needs the backend declares; empty if this cannot be found out.
    """

    backend: str
    distribution: str
    version: str
    executor: str
    level_asked: int
    pinned_kit: str
    results: tuple[Result, ...]
    checks_asked: tuple[str, ...] = ()
    unobservable: Mapping[str, str] = field(default_factory=dict)
    coverage: Mapping[str, bool] = field(default_factory=dict)

    @property
    def level(self) -> int | None:
        """The highest level that was reached, or None if not even the lowest was.

        A level is reached if all of its checks, and all checks of the levels below, ended well. Levels 0 and
        1 allow no expected failures. Advisory results do not count. A part of the checks reaches no level.
        """
        reached = None
        if self.checks_asked:
            return None
        for level in range(self.level_asked + 1):
            if self.obstacles(level):
                return reached
            reached = level
        return reached

    def obstacles(self, level: int) -> list[Result]:
        """Return the results that keep the backend from a level; lower levels may have more."""
        checks = self.checks
        return [
            each
            for each in self.results
            if checks[each.check_id].level == level and _is_obstacle(checks[each.check_id], each)
        ]

    @property
    def checks(self) -> Mapping[str, Check]:
        """Every check of the kit, by id."""
        return {check.id: check for check in all_checks()}

    @property
    def passed(self) -> bool:
        """True if the level that was asked for was reached, or all checks that were asked for ended well."""
        if self.checks_asked:
            checks = self.checks
            return not any(_is_obstacle(checks[each.check_id], each) for each in self.results)
        return self.level == self.level_asked

    @property
    def root_causes(self) -> Mapping[str, tuple[Result, ...]]:
        """The failed checks by id, each with the checks that were not judged because of it."""
        return {
            each.check_id: tuple(other for other in self.results if other.rests_on == each.check_id)
            for each in self.results
            if each.outcome.is_cause and each.rests_on is None
        }

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """The number of results with each outcome, not counting advisory ones."""
        return Counter(each.outcome for each in self.results if not each.is_advisory)

    @property
    def summary(self) -> str:
        """The report in a line, such as `L2 · kit 1.0 · 1 xfail · 3 undeclared`."""
        level = "no level" if self.level is None else f"L{self.level}"
        if self.checks_asked:
            level = f"{len(self.results)} of {len(self.checks)} checks"
        parts = [level, f"kit {self.pinned_kit}"]
        xfails, undeclared = self.counts[Outcome.XFAILED], self.counts[Outcome.UNDECLARED]
        if xfails:
            parts.append(f"{xfails} xfail{'' if xfails == 1 else 's'}")
        if undeclared:
            parts.append(f"{undeclared} undeclared")
        if self.unobservable:
            parts.append(f"{len(self.unobservable)} unobservable")
        not_judged = self.counts[Outcome.NOT_JUDGED]
        if not_judged:
            parts.append(f"{not_judged} not judged")
        return " · ".join(parts)

    def to_jsonable(self) -> dict[str, Any]:
        """Return the report as plain data; see `FORMAT`."""
        checks = self.checks
        return {
            "format": FORMAT,
            "backend": self.backend,
            "distribution": self.distribution,
            "version": self.version,
            "executor": self.executor,
            "level_asked": self.level_asked,
            "level": self.level,
            "summary": self.summary,
            "kit": {"version": KIT, "pinned": self.pinned_kit},
            "etconfig": {"version": __version__, "plugin_api": CURRENT},
            "host": {
                "python": platform.python_version(),
                "platform": sys.platform,
                "machine": platform.machine(),
            },
            "programs": dict(self.coverage),
            "unobservable": dict(self.unobservable),
            "checks_asked": list(self.checks_asked),
            "root_causes": [
                {"check": root, "not_judged": [each.check_id for each in others]}
                for root, others in self.root_causes.items()
            ],
            "results": [_result_json(checks[each.check_id], each) for each in self.results],
        }


def _is_obstacle(check: Check, result: Result) -> bool:
    """Check whether this result prevents the level of its check."""
    if result.is_advisory:
        return False
    is_refused = result.outcome is Outcome.XFAILED and not check.allows_xfail
    return is_refused or not result.outcome.is_good


def findings_of_report(subject: Subject) -> dict[str, Any]:
    """Return what a report needs to know of the backend, as plain data. Imports the vendor's plugin."""
    return {"coverage": _coverage(subject), "unobservable": _unobservable(subject)}


def make_report(subject: Subject, results: Sequence[Result], findings: Mapping[str, Any]) -> Report:
    """Return the report on a subject, from `findings_of_report`, or without them if they are empty."""
    passed = [each.check_id for each in results if each.outcome is Outcome.PASSED]
    return Report(
        backend=subject.backend_id,
        distribution=subject.entry.distribution,
        version=subject.entry.version,
        executor=subject.settings.executor,
        level_asked=subject.settings.level,
        pinned_kit=subject.settings.kit,
        results=tuple(results),
        checks_asked=subject.settings.checks,
        unobservable=findings.get("unobservable", {}) if EVIDENCE_CHECK in passed else {},
        coverage=findings.get("coverage", {}),
    )


def _unobservable(subject: Subject) -> Mapping[str, str]:
    """Return the reasons that the vendor declares."""
    try:
        evidence = subject.evidence
    except EtconfigError:
        return {}  # a check has reported why
    return {name: each.reason for name, each in evidence.items() if isinstance(each, Unobservable)}


def _coverage(subject: Subject) -> Mapping[str, bool]:
    try:
        return subject.coverage()
    except (EtconfigError, CheckFailedError):
        return {}  # a check has reported why


def _result_json(check: Check, result: Result) -> dict[str, Any]:
    return {**result.to_jsonable(), "level": check.level, "doc": check.doc, "bases": list(check.rests_on)}
