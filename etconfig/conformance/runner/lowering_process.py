"""Lowering in a process of its own, which a vendor's ahead-of-time half may end.

Run as `python -m etconfig.conformance.runner.lowering_process`: it reads the settings and a directory for
programs from stdin, and writes a line of JSON to stdout for whatever happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from etconfig.base.interrupts import own_process
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.process.child_process import child_environment, describe_end
from etconfig.conformance.subject.lowering import LoweringError, LoweringProgress, lowered_here
from etconfig.conformance.subject.subject import Subject

_COMMAND = (sys.executable, "-m", "etconfig.conformance.runner.lowering_process")

_ENDED = {"ended": True}
"""The last message."""


def lowered_apart(subject: Subject, progress: LoweringProgress) -> Iterator[tuple[str, bytes | None]]:
    """Do the same as `lowered_here`, in another process.

    Raises:
        LoweringError: as for `lowered_here`, or the process ended before its work.
    """
    with TemporaryDirectory(prefix="etconfig-lowering-") as directory:
        process = subprocess.Popen(  # noqa: S603  # the kit's own module, in this Python
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=child_environment(subject.settings, directory),
            start_new_session=True,  # Ctrl-C is for this process, which kills the other
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            json.dump({"settings": subject.settings.to_jsonable(), "directory": directory}, process.stdin)
            process.stdin.close()
            last: dict[str, Any] = {}
            for line in process.stdout:
                last = json.loads(line)
                if "error" in last:
                    raise LoweringError(last["error"])
                if "what" in last:
                    progress(last["name"], last["what"])
                if "program" in last:
                    name, path = last["name"], last["program"]
                    yield name, None if path is None else Path(path).read_bytes()
            if last != _ENDED:
                place = f" after {last['name']}" if last else ""
                raise LoweringError(f"lower failed{place}: {describe_end(process.wait(), '')}")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def lower_requested() -> None:
    """Lower the cases of the request on stdin."""
    own_process()  # no Ctrl-C arrives
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the vendor's tools may print

    def say(message: dict[str, Any]) -> None:
        messages.write(json.dumps(message) + "\n")

    request = json.load(sys.stdin)
    subject, directory = Subject(Settings.from_jsonable(request["settings"])), Path(request["directory"])
    try:
        for name, program in lowered_here(subject, lambda name, what: say({"name": name, "what": what})):
            path = None if program is None else directory / f"{name}.pte"
            if path is not None and program is not None:
                path.write_bytes(program)
            say({"name": name, "program": None if path is None else str(path)})
    except LoweringError as error:
        say({"error": str(error)})
    else:
        say(_ENDED)


if __name__ == "__main__":
    lower_requested()
