"""A process that loads a plugin and little else, and reports the time, the imports and the options.

Run as `python -m etconfig.conformance.process.import_probe`; `child_process` describes the request.
"""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.conformance.process.guards import watch_imports
from etconfig.conformance.process.stopwatch import Stopwatch
from etconfig.diagnostics.error_text import error_text

if TYPE_CHECKING:
    from etconfig.conformance.kit.settings import Settings


def run_requested_probe() -> None:
    """Read the request from stdin, and write the answer to the file that it names.

    The request contains the modules to import `first`, the `costly` packages to watch for, the settings,
    and `makes_backend`: whether to create a backend, which may be unavailable. The answer contains the
    `seconds` that loading took afterwards, the `places` where costly packages were imported, the `options`
    from loading twice, or the `problem`.
    """
    request = json.load(sys.stdin)
    places = watch_imports(request["costly"])
    try:
        answer = {"problem": None, **_load(request)}
    except Exception as error:
        answer = {"problem": error_text(error)}
    Path(request["answer"]).write_text(json.dumps({**answer, "places": places}), encoding="utf-8")


def _load(request: dict[str, Any]) -> dict[str, Any]:
    before = Stopwatch()
    for name in request["first"]:
        importlib.import_module(name)
    delay = before.delay
    from etconfig.conformance.kit.settings import Settings  # after `first`, whose imports come before all

    settings = Settings.from_jsonable(request["settings"])
    watch = Stopwatch()
    options = _options(settings)
    seconds = watch.seconds_without_load(delay)
    if request["makes_backend"]:
        _make_backend(settings)
    return {"seconds": seconds, "options": [options, _options(settings)]}


def _options(settings: Settings) -> list[str]:
    spec = settings.installation().plugins.backend_spec(settings.backend)
    return list(spec.options.option_infos())


def _make_backend(settings: Settings) -> None:
    from etconfig.errors import BackendUnavailableError

    with suppress(BackendUnavailableError):
        settings.installation().plugins.create_backend(settings.backend)


if __name__ == "__main__":
    run_requested_probe()
