"""`ask_engines`: the options in force in engines that only the environment configures, in a process for them.

As a process, this module reads the requested values as JSON, and answers with the
compared ones. What plugins print goes to stderr.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from etconfig.app.installation.installation import Installation
from etconfig.base.effective import compare_options
from etconfig.base.own_python import module_command
from etconfig.errors import EtconfigError
from etconfig.resolver.deciding.options_in_force import reported_options

_FAILED = "asking the engine failed"
_SECONDS = 60


def ask_engines(
    requested: Mapping[str, Mapping[str, object]], environ: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Yield each requested option with `ComparedOption.to_jsonable`; or a backend with the reason why not.

    Args:
        requested: The values as plain data, by backend and option.
        environ: The environment of the process, and of the engines.
    """
    for backend, options in requested.items():  # one engine may end its process, or disturb another
        try:
            done = subprocess.run(  # noqa: S603  # this Python
                [*module_command(__name__), backend],
                input=json.dumps(options),
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=environ,
                check=False,
                timeout=_SECONDS,
            )
            found = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            found = f"{_FAILED}: no answer after {_SECONDS} seconds"
        except ValueError:
            reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            found = f"{_FAILED}: {reason}"
        if isinstance(found, str):
            yield backend, found
        else:
            yield from ((f"{backend}.{name}", each) for name, each in found.items())


def _answer(backend: str, requested: Mapping[str, object]) -> dict[str, Any] | str:
    try:
        spec = Installation(Path.cwd()).plugins.backend_spec(backend)
        read = spec.read_environment
        reported = reported_options(spec, read, "read_environment", "the environment")
    except EtconfigError as error:
        return f"{_FAILED}: {error.message}"
    compared = compare_options(requested, reported)
    return {name: compared[name].to_jsonable() for name in requested}


if __name__ == "__main__":
    output = os.dup(1)
    os.dup2(2, 1)
    answer = _answer(sys.argv[1], json.load(sys.stdin))
    with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123  (a descriptor)
        json.dump(answer, file)
