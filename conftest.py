"""Set-up of every test, those of the plugins, too.

A test sees a simulated machine, of the installed plugins those that it is about
(tests/support/seen_machine.py), and nothing from the home directory of the user who runs it.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator

import pytest
import seen_machine

QUICK = "--quick"
"""The option of `make test-quick`."""

ONE_IN = "--one-in"
"""The option of a second Python, which runs a part of what the first one runs."""

_STARTING = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
)
"""The events by which a test starts a process (https://docs.python.org/3/library/audit_events.html)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(QUICK, action="store_true", help="skip each test as soon as it starts a process")
    parser.addoption(ONE_IN, type=int, default=1, metavar="N", help="run the first of every N tests")


def pytest_configure(config: pytest.Config) -> None:
    seen_machine.limit_collection(config)
    for name in ("COLUMNS", "LINES"):  # workers of xdist have them, too
        os.environ.pop(name, None)
    if config.getoption(QUICK):
        sys.addaudithook(_skip_at_a_process)


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    """Report a warning of a class of a library as one of its built-in base.

    The process that collects the reports of workers imports the modules of such classes, and importing
    executorch's warns.
    """
    message = warning_message.message
    if isinstance(message, Warning):
        base = next(each for each in type(message).__mro__ if each.__module__ == "builtins")
        warning_message.category, warning_message.message = base, base(str(message))


def _skip_at_a_process(event: str, _arguments: object) -> None:
    if event in _STARTING and "PYTEST_CURRENT_TEST" in os.environ:
        gc.enable()  # a thread that waits for the process may have stopped it
        pytest.skip("starts a process: make test runs it")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with seen_machine.seen_by(item):
        return (yield)


_ON_WINDOWS = pytest.mark.skip(reason="Windows lacks what the test needs")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption(ONE_IN)
    config.hook.pytest_deselected(items=[each for at, each in enumerate(items) if at % part])
    items[:] = items[::part]
    if sys.platform == "win32":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(_ON_WINDOWS)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Collected tests stay until the end, so no search for cycles has to look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _no_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("home")))
        yield
