"""The tests of a project, checked against the schemas and the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal, TypeAlias

from etconfig.app.installation.installation import Installation
from etconfig.base.packages import BACKEND_PACKAGES, how_to_declare
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import PluginError, ProfileError
from etconfig.expression import Expression, Unknown
from etconfig.profile.device_tests import DeviceTest
from etconfig.resolver.compiling.option_facts import OptionsAndFacts, parse_assertion
from etconfig.resolver.deciding.arguments import Arguments, instance_label
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import reported_values
from etconfig.schema.spec import BackendSpec

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
            is_for = any(fnmatchcase(arguments.method, pattern) for pattern in self.test.methods)
            if is_for and self.backends <= arguments.backends.keys():
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


def check_tests(installation: Installation, tests: Iterable[DeviceTest]) -> CheckedTests:
    """Check the conditions of tests against the schemas and the facts.

    Raises:
        ProfileError: with the problems of all of them.
    """
    broken: dict[str, str] = {}

    def find_spec(backend: str) -> BackendSpec | None:
        try:
            return installation.plugins.backend_spec(backend)
        except PluginError as error:
            broken[backend] = error.message
            return None

    registry = OptionsAndFacts(installation.fact_registry, installation.backend_ids, find_spec)
    problems: list[Diagnostic] = []
    checked = []
    for each in tests:
        try:
            assertion = parse_assertion(each.assertion, registry)
            checked.append(CheckedTest(each, assertion, registry.backends_in(assertion)))
        except ProfileError as error:
            problems += (_explained(problem, broken, installation) for problem in error.diagnostics)
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return CheckedTests(registry, checked)


def _explained(problem: Diagnostic, broken: Mapping[str, str], installation: Installation) -> Diagnostic:
    """Return a problem of a condition; if it reads options of a backend without a schema, with the reason."""
    if problem.code != "unknown-fact":
        return problem
    backend = (problem.spans[0].underlined or "").partition(".")[0]
    if backend in broken:
        return replace(problem, notes=(*problem.notes, broken[backend]), help=None, fix=None)
    is_missing = backend in BACKEND_PACKAGES and backend not in installation.backend_ids
    return replace(problem, help=how_to_declare(backend), fix=None) if is_missing else problem
