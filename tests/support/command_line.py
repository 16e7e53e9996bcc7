"""Helpers for tests of whole commands: paths, outcomes of commands, and the form of errors."""

from __future__ import annotations

import json
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from etconfig.cli.startup.main import main

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
DIGITS = DATA / "digits"
TWO_CAMERAS = ROOT / "examples" / "two_cameras"
SCRIPT = Path(sysconfig.get_path("scripts")) / ("etconfig.exe" if sys.platform == "win32" else "etconfig")

DEVICE = {
    "os.name": "linux",
    "cpu.arch": "x86_64",
    "cpu.available_cores": 4,
    "cpu.cache.l2": 1048576,
    "power.source": "mains",
}
"""A device that only the generic profiles match."""
ON_DEVICE = ("--facts", "device.json")
"""The arguments that select `DEVICE`."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command: status and output."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The output, which must be JSON and nothing else."""
        return json.loads(self.stdout)


def run_command(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> Outcome:
    """Run one command in this process. Whatever happens, it must not show a traceback."""
    capfd.readouterr()
    status: Any = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as leaving:
        status = leaving.code
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err
    return Outcome(status, captured.out, captured.err)


def error(message: str, advice: str | None = None) -> str:
    """Return the text of an error without a place."""
    return f"error: {message}\n" + (f"  = help: {advice}\n" if advice else "")


def error_at(
    place: str, text: str, marked: str, code: str, message: str, *, note: str = "", advice: str = ""
) -> str:
    """Return the text of an error with a place: `text` is the line, `marked` its underlined part."""
    number = place.split(":")[-2]
    shown = (
        f"error[{code}]: {message}\n"
        f" --> {place}\n"
        f"  |\n"
        f"{number} | {text}\n"
        f"  | {' ' * text.index(marked)}{'^' * max(1, len(marked))}\n"
    )
    return shown + (f"  = note: {note}\n" if note else "") + (f"  = help: {advice}\n" if advice else "")
