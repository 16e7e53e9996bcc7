"""The tests of a project, checked against the schemas and the facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal, TypeAlias

from etconfig.app.configuring.project_programs import known_in_project
from etconfig.app.installation.installation import Installation
from etconfig.base.packages import BACKEND_PACKAGES, how_to_declare
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, did_you_mean_backend, guessed_fix, nearest, shown_names_near
from etconfig.errors import ProfileError
from etconfig.expression import Expression, Unknown
from etconfig.facts.problems import unknown_fact
from etconfig.profile.device_tests import DeviceTest
from etconfig.profile.profile import Reference
from etconfig.resolver.compiling.option_facts import OptionsAndFacts, parse_assertion
from etconfig.resolver.deciding.arguments import Arguments, instance_label
from etconfig.resolver.deciding.program_check import KnownPrograms, unknown_method
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import reported_values

TestOutcome: TypeAlias = Literal["passed", "failed", "undecided", "skipped"]
"""`undecided` if a fact in it is unknown; `skipped` if it is for other devices or methods."""

OUTCOMES: tuple[TestOutcome, ...] = ("passed", "failed", "undecided", "skipped")


@record(frozen=True)
class TestTrial:
    """A test on one method instance.

    Attributes:
        arguments: The arguments of the instance; None for a test on facts alone.
        values: The values of the options that the test may read, by name.
    """

    arguments: Arguments | None
    values: Mapping[str, object]


@record(frozen=True)
class CheckedTest:
    """A test whose condition is checked.

    Attributes:
        test: The test.
        assertion: The condition.
        backends: The backends whose options it reads.
    """

    test: DeviceTest
    assertion: Expression
    backends: frozenset[str]

    def trials(self, resolved: OptionsUnderTest) -> Iterator[TestTrial]:
        """Yield a trial for each instance of its methods that has all backends whose options it reads."""
        if not self.backends:
            yield TestTrial(None, {})
            return
        for arguments in resolved.resolution:
            if self.test.is_for(arguments.method) and self.backends <= arguments.backends.keys():
                found = (resolved.values(arguments, backend) for backend in self.backends)
                yield TestTrial(arguments, {name: value for each in found for name, value in each.items()})

    def outcome(self, trials: Sequence[TestTrial], facts: Mapping[str, object]) -> TestOutcome:
        """Return the outcome on a device with these facts."""
        is_for = self.test.where is None or self.test.where.evaluate(facts) is True
        if not trials or not is_for:
            return "skipped"
        found = [self.assertion.evaluate({**facts, **each.values}) for each in trials]
        if all(each is True for each in found):
            return "passed"
        return "undecided" if all(each is True or isinstance(each, Unknown) for each in found) else "failed"


class OptionsUnderTest:
    """The options of a device as tests read them, each found once.

    Args:
        registry: The options and facts that tests may read.
        resolution: The arguments of the device.
    """

    def __init__(self, registry: OptionsAndFacts, resolution: Resolution) -> None:
        self.resolution = resolution
        self._registry = registry
        self._values: dict[tuple[str, str], Mapping[str, object]] = {}

    def values(self, arguments: Arguments, backend: str) -> Mapping[str, object]:
        """Return the values of the options of a backend in a method instance, by name."""
        key = (arguments.label, backend)
        if key not in self._values:
            self._values[key] = self._registry.values(backend, arguments.backends[backend].options)
        return self._values[key]

    @cached_property
    def reported(self) -> Mapping[tuple[str, str], str]:
        """The value and origin of each option in words, by the label of its instance and its name."""
        return {
            (instance_label(str(path.method), path.instance), f"{path.backend}.{path.option}"): str(value)
            for path, value in reported_values(self.resolution).items()
        }


@record(frozen=True)
class CheckedTests:
    """The tests of a project.

    Attributes:
        registry: The options and facts that they may read.
        tests: The tests.
    """

    registry: OptionsAndFacts
    tests: Sequence[CheckedTest]

    def __iter__(self) -> Iterator[CheckedTest]:
        return iter(self.tests)

    def on(self, resolution: Resolution) -> OptionsUnderTest:
        """Return the options of a device."""
        return OptionsUnderTest(self.registry, resolution)


def check_tests(
    installation: Installation, tests: Iterable[DeviceTest], programs: KnownPrograms | None = None
) -> CheckedTests:
    """Check the conditions of tests against the schemas and the facts, and their methods against programs.

    Args:
        installation: The schemas and the facts.
        tests: The tests.
        programs: The programs that the tests are for; by default those of the project file.

    Raises:
        ProfileError: with the problems of all of them.
    """
    tests = [*tests]
    registry = OptionsAndFacts(
        installation.fact_registry, installation.backend_ids, installation.plugins.backend_spec
    )
    problems: list[Diagnostic] = []
    checked = []
    for each in tests:
        try:
            assertion = parse_assertion(each.assertion, registry)
            checked.append(CheckedTest(each, assertion, registry.backends_in(assertion)))
        except ProfileError as error:
            problems += (_explained(found, each, registry, installation) for found in error.diagnostics)
    named = [method for each in tests for method in each.methods or ()]
    if named:
        known = known_in_project(installation) if programs is None else programs
        lacking = () if known.unread else tuple(known.methods)
        problems += (
            unknown_method(each.target, known, lacking, each.span)
            for each in named
            if lacking and not any(fnmatchcase(name, each.target) for name in known.all_methods)
        )
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return CheckedTests(registry, checked)


_METHOD = re.compile(r"[^?]*?([\w*.-]+)(@[\w.-]+)?:[A-Z]\w*\.\w")
"""A condition up to an option path with a method, which only other places take."""


def _explained(
    problem: Diagnostic, test: DeviceTest, registry: OptionsAndFacts, installation: Installation
) -> Diagnostic:
    """Return a problem of a condition, whose options are like facts, with the reason and what to do."""
    method = _METHOD.match(test.assertion.target)
    if problem.code == "invalid-expression" and method is not None:
        help = f'leave out the method, and add the line methods = ["{method[1]}"]'
        return replace(problem, help=help, fix=None)
    name, installed = problem.spans[0].underlined or "", installation.backend_ids
    backend, _, option = name.partition(".")
    if problem.code != "unknown-fact" or not option:
        return problem
    if backend in registry.broken:
        return replace(problem, notes=(*problem.notes, registry.broken[backend]), help=None, fix=None)
    if backend in installed:
        known = registry.options_of(backend)
        guess = nearest(name, known)
        return replace(
            problem,
            code="unknown-option",
            message=f"{backend} has no option {option!r} that a condition can read",
            help=f"did you mean {guess!r}?" if guess else f"it has {shown_names_near(name, known) or 'none'}",
            fix=guessed_fix(name, guess, known, problem.spans[0]),
        )
    if backend[:1].isupper():
        message = f"no installed plugin declares the backend {backend!r}"
        guessed = None if backend in BACKEND_PACKAGES else did_you_mean_backend(backend, installed)
        help = guessed or how_to_declare(backend)
        return replace(problem, code="unknown-backend", message=message, help=help, fix=None)
    if any(f"{each}." in (problem.help or "") for each in installed):  # a fact means no option
        likely = unknown_fact(name, registry.facts, problem.spans[0])
        return replace(problem, help=likely.help, fix=likely.fix)
    return problem


def missing_expected(expect: Reference) -> Diagnostic:
    """Return the problem that there is no file of expected options where the project file says."""
    return Diagnostic(
        code="unreadable-file",
        message=f"there is no file {expect.target!r}",
        spans=(expect.span,),
        help=f"write it: etconfig matrix --write-expect {expect.target}",
    )
