"""`BackendConformance`: the kit as a pytest class for vendors. Needs `etconfig[conformance]`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

try:
    import pytest
except ImportError as error:
    from etconfig.base.packages import how_to_install

    command = how_to_install("'etconfig[conformance]'")
    raise ImportError(f"BackendConformance needs pytest: {command}") from error

from etconfig.app.programs.executors import NUMPY
from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.check_catalog import all_checks, with_bases
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import KIT, LEVELS, Outcome, Result
from etconfig.conformance.process.forking_worker import ForkingWorker
from etconfig.conformance.runner.runner import run_after
from etconfig.conformance.runner.xfails import XfailsError, read_xfails
from etconfig.conformance.subject.subject import Subject


class BackendConformance:
    """Every check of the kit as a test. Subclasses set attributes, but cannot replace a check.

    Attributes:
        backend: The backend's id.
        level: The level to reach.
        kit: The version of the kit that is pinned.
        xfails: The file of expected failures, or None.
        executor: The executor that runs the programs.
        programs: The directory of golden programs, instead of the directory that the vendor's plugin names.
        search_path: The directories to find distributions in; None for `sys.path`.
    """

    backend: ClassVar[str]
    level: ClassVar[int] = max(LEVELS)
    kit: ClassVar[str] = KIT
    xfails: ClassVar[Path | None] = None
    executor: ClassVar[str] = NUMPY
    programs: ClassVar[Path | None] = None
    search_path: ClassVar[tuple[str, ...] | None] = None

    def __init_subclass__(cls) -> None:
        """Refuse attributes that would replace a check, here or in another base class. Raises TypeError."""
        for name in vars(BackendConformance):
            owner = next(each for each in cls.__mro__ if name in vars(each))
            if owner is not BackendConformance and name not in _SETTABLE and not name.startswith("__"):
                raise TypeError(
                    f"{cls.__name__}.{name} would replace a part of the conformance kit; list a check that "
                    "fails in the file of expected failures instead: CHECK-ID # reason"
                )

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of each check up to the level."""
        if "conformance_check" in metafunc.fixturenames:
            self._settings(), self._expected_failures()  # reports a mistake in them once, not for each check
            checks = [each for each in all_checks() if each.level <= self.level]
            metafunc.parametrize("conformance_check", checks, ids=[f"L{c.level}-{c.id}" for c in checks])

    def test_conformance(self, conformance_check: Check, request: pytest.FixtureRequest) -> None:
        """Run one check after the checks that it rests on, and report its outcome to pytest."""
        subject, xfails = Subject(self._settings()), self._expected_failures()
        results = request.session.stash.setdefault(_RESULTS, {}).setdefault(type(self), {})
        for each in with_bases([conformance_check.id], all_checks()):
            if each.id not in results:
                results[each.id] = run_after(each, subject, xfails, results, _worker(request.session))
        result = results[conformance_check.id]
        if result.outcome is Outcome.PASSED:
            return
        text = f"{result.outcome.value}: {result.message}"
        if result.is_advisory:
            pytest.skip(f"advisory, added in kit {conformance_check.since}: {text}")
        if result.rests_on is not None and result.rests_on in _selected(request.session, type(self)):
            pytest.skip(text)  # the root cause fails a test of its own
        if result.outcome in {Outcome.UNDECLARED, Outcome.NOT_APPLICABLE}:
            pytest.skip(text)
        if result.outcome is Outcome.XFAILED and conformance_check.allows_xfail:
            pytest.xfail(f"{result.reason}: {result.message}")
        pytest.fail(text, pytrace=False)

    @classmethod
    def _settings(cls) -> Settings:
        if not hasattr(cls, "backend"):
            raise pytest.Collector.CollectError(
                f'{cls.__name__} has no backend; write: backend = "AcmeBackend"'
            )
        try:
            return Settings(
                backend=cls.backend,
                level=cls.level,
                kit=cls.kit,
                executor=cls.executor,
                programs=None if cls.programs is None else str(cls.programs),
                search_path=cls.search_path,
            )
        except ValueError as error:
            raise pytest.Collector.CollectError(f"{cls.__name__}: {error}") from None

    @classmethod
    def _expected_failures(cls) -> Mapping[str, str]:
        if cls.xfails is None:
            return {}
        try:
            return read_xfails(cls.xfails, [check.id for check in all_checks()])
        except XfailsError as error:
            raise pytest.Collector.CollectError(str(error)) from None


def _selected(session: pytest.Session, cls: type) -> set[str]:
    """Return the ids of the checks that this run of pytest tests for a class."""
    items = (item for item in session.items if getattr(item, "cls", None) is cls)
    parameters = (getattr(getattr(item, "callspec", None), "params", {}) for item in items)
    return {each["conformance_check"].id for each in parameters if "conformance_check" in each}


def _worker(session: pytest.Session) -> ForkingWorker:
    """Return the worker that forks the processes of isolated checks, one for a run of pytest."""
    if _WORKER not in session.stash:
        session.stash[_WORKER] = worker = ForkingWorker()
        session.config.add_cleanup(worker.close)
    return session.stash[_WORKER]


_WORKER = pytest.StashKey[ForkingWorker]()

_RESULTS = pytest.StashKey[dict[type, dict[str, Result]]]()
"""The results of this run of pytest, by class and check id; checks look up their bases."""

_SETTABLE = frozenset(BackendConformance.__annotations__)
