"""The tests of a project, checked against the schemas and the facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import PluginError, ProfileError
from etconfig.expression import Expression
from etconfig.profile.device_tests import DeviceTest
from etconfig.resolver.compiling.option_facts import OptionsAndFacts, parse_assertion
from etconfig.schema.spec import BackendSpec


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


def check_tests(
    installation: Installation, tests: Iterable[DeviceTest]
) -> tuple[OptionsAndFacts, Sequence[CheckedTest]]:
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
            assertion = parse_assertion(each.assertion, registry)
        except ProfileError as error:
            problems += error.diagnostics
            continue
        checked.append(CheckedTest(each, assertion, registry.backends_in(assertion)))
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    return registry, checked
