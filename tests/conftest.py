"""Set-up of every test: nothing is read from the home directory of the user who runs them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import pytest

_ON_WINDOWS = pytest.mark.skip(reason="Windows lacks what the test needs")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    if sys.platform == "win32":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(_ON_WINDOWS)


@pytest.fixture(autouse=True, scope="session")
def _no_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("home")))
        yield
