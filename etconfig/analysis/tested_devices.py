"""`tests_on`: the tests of a project on each of its devices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.analysis.device_matrix import DeviceMatrix, MatrixDevice
from etconfig.analysis.expected_matrix import ExpectedMatrix, load_expected
from etconfig.app.configuring.project_tests import (
    OUTCOMES,
    CheckedTest,
    OptionsUnderTest,
    TestOutcome,
    TestTrial,
    check_tests,
    missing_expected,
)
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, did_you_mean, on_devices
from etconfig.diagnostics.render import to_jsonable
from etconfig.errors import ProfileError
from etconfig.profile.device_tests import EXPECTED, RESOLVES, DeviceTest
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_names

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation

OUTCOME_MARKS = {"failed": "error", "undecided": "error", "skipped": "off"}
"""The style of each outcome on a page."""
_NO_METHOD = "none of its methods has the backends whose options it reads"
_EVERYWHERE = "on every device"
_FAILED = ("failed-test", "does not hold", "change the options of these devices, or the test")
_UNDECIDED = (
    "undecided-test",
    "is undecided",
    "add the facts to the sheets, ask for others, or leave such devices out: where = 'has(...)'",
)


@record(frozen=True, kw_only=True)
class TestResult:
    """The result of a test on a device.

    Attributes:
        test: The name of the test.
        device: The name of the device.
        outcome: How it ended.
        problems: Why it did not pass.
        reason: Why it was skipped; empty if it was not.
    """

    __test__ = False  # pytest collects what is called Test

    test: str
    device: str
    outcome: TestOutcome
    problems: tuple[Diagnostic, ...] = ()
    reason: str = ""

    def to_jsonable(self) -> dict[str, Any]:
        """Return the result as plain data."""
        problems = [to_jsonable(each) for each in self.problems]
        return {"test": self.test, "device": self.device, "outcome": self.outcome, "problems": problems}


@record(frozen=True)
class TestReport(HasView):
    """The results of all tests on all devices.

    Attributes:
        results: The results, device by device.
        untried: The warning for each test that no device tried, by its name.
        resolution_notes: The warnings and notes of the devices' resolutions, each once with its devices.
    """

    __test__ = False

    results: Sequence[TestResult]
    untried: Mapping[str, Diagnostic]
    resolution_notes: Sequence[Diagnostic] = ()

    @property
    def problems(self) -> list[Diagnostic]:
        """The problems, each once with its devices, and a warning for each test that no device tried."""
        found: dict[Diagnostic, dict[str, None]] = {}
        for each in self.results:
            for problem in each.problems:
                found.setdefault(problem, {})[each.device] = None
        devices = {each.device for each in self.results}
        return [*on_devices(found, len(devices), _EVERYWHERE), *self.untried.values()]

    @property
    def bad(self) -> Sequence[TestResult]:
        """The results that failed or are undecided."""
        return [each for each in self.results if OUTCOME_MARKS.get(each.outcome) == "error"]

    @property
    def summary(self) -> str:
        """One line that counts the tests that hold on each device, and the devices on which all hold."""
        tests = dict.fromkeys(each.test for each in self.results)
        devices = dict.fromkeys(each.device for each in self.results)
        lost = {each.device for each in self.bad if each.test == RESOLVES}
        bad = [*self.bad, *(each for each in self.results if each.device in lost)]
        good_tests = len(tests) - len({each.test for each in bad}.union(self.untried))
        good_devices = len(devices) - len({each.device for each in bad})
        verb = "holds" if 1 in (good_tests, len(tests)) else "hold"
        return (
            f"{good_tests:,} of {count_text(len(tests), 'test')} {verb} on every device; "
            f"all hold on {good_devices:,} of {count_text(len(devices), 'device')}"
        )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the report as plain data: the output of `etconfig test --json`."""
        return {"etconfig_test": 1, "results": [each.to_jsonable() for each in self.results]}

    @property
    def table(self) -> Table:
        """A row for each test: the number of devices by outcome."""
        counts = Counter((each.test, each.outcome) for each in self.results)
        rows = [
            (test, *(str(counts[test, outcome]) for outcome in OUTCOMES))
            for test in dict.fromkeys(each.test for each in self.results)
        ]
        return Table(headers=("TEST", *map(str.upper, OUTCOMES)), rows=rows)

    def _view(self) -> View:
        return View(title=self.summary, tables=[self.table])

    def each(self, shown: Callable[[Diagnostic], Diagnostic]) -> View:
        """Return counts, reasons of failures, and the rest, for pages; `shown` names files for readers."""
        found: dict[tuple[str, str, Diagnostic | str], dict[str, None]] = {}
        for each in self.results:
            for why in each.problems or (each.reason,):
                found.setdefault((each.outcome, each.test, why), {})[each.device] = None
        every = {each.device for each in self.results}
        rows: dict[bool, list[tuple[str, ...]]] = {True: [], False: []}  # by whether they hold
        for (outcome, test, cause), devices in found.items():
            names = "every device" if devices.keys() == every and len(every) > 1 else ", ".join(devices)
            problem = shown(cause) if isinstance(cause, Diagnostic) else None
            texts = (problem.message.removeprefix(f"{test!r} "), *problem.notes) if problem else (str(cause),)
            rows[OUTCOME_MARKS.get(outcome) != "error"].append((outcome, test, names, "; ".join(texts)))
        counts = sorted(self.table.rows, key=lambda row: row[2:4] == ("0", "0"))  # those that hold come last
        headers = ("outcome", "test", "devices", "why")
        tables = [
            Table(headers=[*map(str.lower, self.table.headers)], rows=counts, caption="Devices by outcome"),
            Table(headers=headers, rows=sorted(rows[False]), caption="Tests that do not hold"),
            Table(headers=headers, rows=sorted(rows[True]), caption="Passed and skipped", is_folded=True),
        ]
        return View(title="Tests", lines=[self.summary], tables=tables)


def project_expected(installation: Installation) -> ExpectedMatrix | None:
    """Return the options that the file of `expect` in the project file names; None without one.

    Raises:
        ConfigError: the project file or that file is wrong.
    """
    project, path = installation.project, installation.project_path
    if project is None or project.expect is None or path is None:
        return None
    file = Path(os.path.relpath(path.parent / project.expect.target))
    if not file.exists():
        raise ProfileError(diagnostics=(missing_expected(project.expect),))
    return load_expected(file)


def tests_on(
    devices: Iterable[MatrixDevice],
    installation: Installation,
    expected: ExpectedMatrix | None,
    *,
    has_every_device: bool,
) -> TestReport:
    """Run the tests of the project file on devices that are resolved. A device that is not skips the tests.

    Args:
        devices: The devices.
        installation: The project.
        expected: The options that devices should get.
        has_every_device: False if the user chose the devices, so that only those in both are compared.

    Raises:
        ConfigError: the project file, or a test, is wrong.
    """
    project = installation.project
    tests = check_tests(installation, () if project is None else project.tests)
    results: list[TestResult] = []
    rows: list[MatrixDevice] = []
    methods: dict[str, None] = {}
    known: set[str] = set()
    for row in devices:
        rows.append(row.result)
        errors = tuple(each for each in row.problems if each.is_error)
        results.append(_result(RESOLVES, row.device, errors))
        if row.resolution is None:
            names = (each.test.name for each in tests)
            results += (TestResult(test=name, device=row.device, outcome="skipped") for name in names)
            continue
        options = tests.on(row.resolution)
        results += (_tried(each, options, row.device) for each in tests)
        methods |= dict.fromkeys(each.method for each in row.resolution)
        known.update(row.resolution.facts.values)
    tried = {each.test for each in results if each.outcome != "skipped"}
    untried = {
        each.test.name: _untried(each.test, methods, known)
        for each in tests
        if each.test.name not in tried and not any(row.has_errors for row in rows)
    }
    results += [] if expected is None else _compared(expected, rows, has_every_device=has_every_device)
    order = {row.device: at for at, row in enumerate(rows)}
    found = DeviceMatrix(rows).problems
    notes = on_devices({each: found[each] for each in found if not each.is_error}, len(rows), _EVERYWHERE)
    return TestReport(sorted(results, key=lambda each: order.get(each.device, len(order))), untried, notes)


def _result(test: str, device: str, problems: Sequence[Diagnostic]) -> TestResult:
    outcome: TestOutcome = "failed" if problems else "passed"
    return TestResult(test=test, device=device, outcome=outcome, problems=tuple(problems))


def _compared(
    expected: ExpectedMatrix, rows: Sequence[MatrixDevice], *, has_every_device: bool
) -> Iterator[TestResult]:
    found: dict[str, list[Diagnostic]] = {row.device: [] for row in rows}
    for each in expected.differences(DeviceMatrix(rows)):
        if has_every_device or each.part != "device":
            found.setdefault(each.device, []).append(each.diagnostic(names_device=False))
    uncompared = {row.device for row in rows if row.has_errors or row.device not in expected.devices}
    for device, problems in found.items():
        if problems or device not in uncompared:
            yield _result(EXPECTED, device, problems)
        else:
            yield TestResult(test=EXPECTED, device=device, outcome="skipped")


def _tried(checked: CheckedTest, options: OptionsUnderTest, device: str) -> TestResult:
    trials, facts = [*checked.trials(options)], options.resolution.facts.values
    outcome = checked.outcome(trials, facts)
    found = () if outcome in ("passed", "skipped") else _problems(checked, trials, options)
    test, reason = checked.test, ""
    if outcome == "skipped":
        where = () if test.where is None else test.where.explain(facts)
        reason = "; ".join(each.verdict for each in where if each.result is not True) or _NO_METHOD
    return TestResult(test=test.name, device=device, outcome=outcome, problems=tuple(found), reason=reason)


def _untried(test: DeviceTest, methods: Collection[str], known: Collection[str]) -> Diagnostic:
    help = "`where` holds on none, or no method has the backend whose options it names; add a device"
    span = test.assertion.span
    unknown = [] if test.where is None else [each for each in sorted(test.where.facts) if each not in known]
    if unknown:
        help = f"`where` needs {shown_names(unknown)}, which no device has; add it to the sheets"
    if test.methods and not any(map(test.is_for, methods)):
        wrong, span = test.methods[0].target, test.methods[0].span
        guess = did_you_mean(wrong, methods)
        help = f"{guess or f'there are {shown_names(methods)}'}; no method is called {wrong!r}"
    return Diagnostic(
        code="untried-test",
        message=f"no device tries the test {test.name!r}",
        spans=(span,),
        severity=Severity.WARNING,
        help=help,
    )


def _problems(
    checked: CheckedTest, trials: Sequence[TestTrial], options: OptionsUnderTest
) -> Iterator[Diagnostic]:
    """Yield a problem for each trial that does not hold."""
    facts, assertion = options.resolution.facts.values, checked.assertion
    for trial in trials:
        outcome = checked.outcome([trial], facts)
        if outcome == "passed":
            continue
        explained = assertion.explain({**facts, **trial.values})
        notes = [each.explanation for each in explained if each.result is not True]
        where = ""
        if trial.arguments is not None:
            label = trial.arguments.label
            where = f" in {label}"
            known = ((name, options.reported.get((label, name))) for name in sorted(assertion.facts))
            notes += (f"{name} is {value}" for name, value in known if value is not None)
        code, verb, help = _UNDECIDED if outcome == "undecided" else _FAILED
        yield Diagnostic(
            code=code,
            message=f"{checked.test.name!r} {verb}{where}",
            spans=(checked.test.assertion.span,),
            notes=tuple(notes),
            help=help,
        )
