"""What tests of whole commands share: where things are, and what a command left behind."""

from __future__ import annotations

import json
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
DIGITS = DATA / "digits"
TWO_CAMERAS = ROOT / "examples" / "two_cameras"
SCRIPT = Path(sysconfig.get_path("scripts")) / "etconfig"

DEVICE = {
    "os.name": "linux",
    "cpu.arch": "x86_64",
    "cpu.available_cores": 4,
    "cpu.cache.l2": 1048576,
    "power.source": "mains",
}
"""A device that only the generic profiles fit."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """What it printed, which must be JSON and nothing else."""
        return json.loads(self.stdout)
