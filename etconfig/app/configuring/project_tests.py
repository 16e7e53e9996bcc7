"""The tests of a project, checked against the schemas and the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import PluginError, ProfileError
from etconfig.expression import Expression, Unknown
from etconfig.profile.device_tests import DeviceTest
from etconfig.resolver.compiling.option_facts import OptionsAndFacts, parse_assertion
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.spec import BackendSpec

TestOutcome: TypeAlias = Literal["passed", "failed", "undecided", "skipped"]
"""`undecided` if a fact in it is unknown; `skipped` if it is for other devices or methods."""

RESOLVES = "resolves"
"""The name of the test that every device has: its options resolve."""

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
        registry: The options and facts that it may read.
    """

    test: DeviceTest
    assertion: Expression
    registry: OptionsAndFacts

    def trials(self, resolution: Resolution) -> Iterator[TestTrial]:
        """Yield a trial for each instance of its methods that has all backends whose options it reads."""
        backends = self.registry.backends_in(self.assertion)
        if not backends:
            yield TestTrial(None, {})
            return
        for arguments in resolution:
            is_for = any(fnmatchcase(arguments.method, pattern) for pattern in self.test.methods)
            if is_for and backends <= arguments.backends.keys():
                yield TestTrial(arguments, self.registry.values(arguments, backends))

    def outcome(self, trials: Sequence[TestTrial], facts: Mapping[str, object]) -> TestOutcome:
        """Return the outcome on a device with these facts."""
        is_for = self.test.where is None or self.test.where.evaluate(facts) is True
        if not trials or not is_for:
            return "skipped"
        found = [self.assertion.evaluate({**facts, **each.values}) for each in trials]
        if all(each is True for each in found):
            return "passed"
        return "undecided" if all(each is True or isinstance(each, Unknown) for each in found) else "failed"


def check_tests(installation: Installation, tests: Iterable[DeviceTest]) -> list[CheckedTest]:
    """Check the conditions of tests against the schemas and the facts.

    Raises:
        ProfileError: with the problems of all of them.
    """

    def find_spec(backend: str) -> BackendSpec | None:
        try:
            return installation.plugins.backend_spec(backend)
        except PluginError:
            return None

    registry = OptionsAndFacts(installation.fact_registry, installation.backend_ids, find_spec)
    problems: list[Diagnostic] = []
    checked = []
    for each in tests:
        try:
            checked.append(CheckedTest(each, parse_assertion(each.assertion, registry), registry))
        except ProfileError as error:
            problems += error.diagnostics
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return checked
