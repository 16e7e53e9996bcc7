"""The view of a test: the simulated machine `usual`, and of the installed plugins the reference plugin.

A test with the mark `host` or `device` sees the real machine, as C++ does, one with `peers` or `engines` all
installed plugins, too, and one of a plugin's directory also this plugin. Processes that tests start see the
same, by the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DOOR = Path(__file__).parent / "simulated"
ROOT = Path(__file__).parents[2]
_RUNS_ON = os.environ.get("SIMULATED_HOST", "usual")
_REAL = ("peers", "engines")


def limit_collection(config: pytest.Config) -> None:
    """Open the doors for this process and those that it starts; modules of tests see what most tests see."""
    path = os.environ.get("PYTHONPATH")
    if str(DOOR) not in (path or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(DOOR), path)))
    sys.path.insert(0, str(DOOR))  # takes itself out
    module = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize

        sitecustomize.install()
    finally:
        if module is not None:
            sys.modules["sitecustomize"] = module
    if not config.option.markexpr.startswith(_REAL):
        os.environ["SIMULATED_HOST"] = _RUNS_ON
        os.environ["SEEN_PLUGINS"] = "etconfig_reference"


@contextmanager
def seen_by(item: pytest.Item) -> Iterator[None]:
    """Limit what this test and its fixtures see."""
    is_real = any(item.get_closest_marker(name) for name in _REAL)
    with pytest.MonkeyPatch.context() as patch:
        reads_it = item.get_closest_marker("host") or item.get_closest_marker("device")
        if is_real or reads_it or sys.platform == "win32":
            patch.delenv("SIMULATED_HOST", raising=False)
        else:
            patch.setenv("SIMULATED_HOST", _RUNS_ON)
        if is_real:
            patch.delenv("SEEN_PLUGINS", raising=False)
        else:
            patch.setenv("SEEN_PLUGINS", " ".join(("etconfig_reference", *_own_plugin(item.path))))
        yield


def _own_plugin(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else ()
    return (parts[1].replace("-", "_"),) if parts[:1] == ("plugins",) else ()
