"""`Study`: every outcome of a search in a file of JSON lines, at once, so that a second run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from etconfig.base.records import record
from etconfig.base.written_files import FileKind, FilesOfRun, head_of
from etconfig.errors import TuningError
from etconfig.measuring.pairs import PairedRatio
from etconfig.tuning.contest import Trial
from etconfig.tuning.space import key_of

_VERSION_KEY = "etconfig_study"
_VERSION = 1
STUDY = FileKind("a study", lambda path: head_of(path, 64).startswith(f'{{"{_VERSION_KEY}"'.encode()))
"""The kind of file."""
_HELP = "give another file: --study FILE, or remove it to begin again"


@record(frozen=True, kw_only=True)
class StudyIdentity:
    """The conditions of outcomes: those of other conditions are not comparable.

    Attributes:
        model: `sha256:` and the hash of the model's file.
        engine: The engine and its version.
        device: The facts of the device.
        incumbent: The fingerprint of what is configured.
        objective: What is made small.
    """

    model: str
    engine: str
    device: Mapping[str, object]
    incumbent: str
    objective: str


class Study:
    """The outcomes of one search.

    Args:
        path: The file; None to keep them in memory only.
        identity: What they depend on.
        files: The files of the run.

    Raises:
        TuningError: the file is not a study, or one of another identity.
        OSError: it cannot be written.
    """

    def __init__(self, path: Path | None, identity: StudyIdentity, files: FilesOfRun) -> None:
        self.path = path
        self.resumed = 0
        self._outcomes: dict[tuple[str, int | None], Trial] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        head = {_VERSION_KEY: _VERSION, **vars(identity), "device": dict(identity.device)}
        files.check(path, STUDY)
        if not path.exists() or not path.stat().st_size:
            files.write(path, f"{json.dumps(head)}\n".encode(), STUDY)
        else:
            self._read(path, head)
        self._file = path.open("a", encoding="utf-8")

    def found(self, configuration: Mapping[str, object], rung: int) -> Trial | None:
        """Return the outcome of a configuration in a round of the search, if there is one."""
        return self._outcomes.get((key_of(configuration), rung))

    def outcomes(self) -> list[Trial]:
        """Return the outcome of the last round of each configuration, the best first."""
        last = {key: each for (key, _), each in sorted(self._outcomes.items(), key=_place)}
        return sorted(last.values(), key=lambda outcome: outcome.value)

    def add(self, outcome: Trial) -> Trial:
        """Keep an outcome, and bring it to the file."""
        self._outcomes[key_of(outcome.configuration), outcome.rung] = outcome
        if self._file is not None:
            self._file.write(f"{json.dumps(outcome_data(outcome))}\n")
            self._file.flush()
        return outcome

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _read(self, path: Path, head: Mapping[str, object]) -> None:
        lines = path.read_text("utf-8", errors="replace").splitlines()
        found = _parsed(lines[0])
        different = [name for name, value in head.items() if (found or {}).get(name) != value]
        if different:
            message = f"{path} is a study of another {', '.join(different).replace(_VERSION_KEY, 'version')}"
            raise _refused(message)
        for number, line in enumerate(lines[1:], 2):
            row = _parsed(line)
            if row is None and number == len(lines):
                break  # the run was killed while it wrote the line
            outcome = None if row is None else _outcome(row)
            if outcome is None:
                raise _refused(f"{path}:{number} is not an outcome")
            self._outcomes[key_of(outcome.configuration), outcome.rung] = outcome
        self.resumed = len(self._outcomes)


def outcome_data(outcome: Trial) -> dict[str, Any]:
    """Return an outcome as plain data; `options` is what differs from what is configured."""
    ratio = outcome.ratio
    measured = None if ratio is None else {"ratio": ratio.ratio, "low": ratio.low, "high": ratio.high}
    fields = {
        "options": dict(outcome.configuration),
        "rung": outcome.rung,
        **(measured or {}),
        "pairs": None if ratio is None else ratio.pairs,
        "error": outcome.error,
        "latency_ns": outcome.latency_ns,
        "peak_bytes": outcome.peak_bytes,
        "failure": outcome.failure,
    }
    return {name: value for name, value in fields.items() if value not in (None, float("inf"))}


def _outcome(row: dict[str, Any]) -> Trial | None:
    try:
        ratio = None
        if "ratio" in row:
            high = float(row.get("high", "inf"))
            ratio = PairedRatio(ratio=row["ratio"], low=row["low"], high=high, pairs=row["pairs"])
        others = {name: row.get(name) for name in ("rung", "error", "latency_ns", "peak_bytes", "failure")}
        return Trial(configuration=dict(row["options"]), ratio=ratio, **others)
    except (KeyError, TypeError, ValueError):
        return None


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _place(item: tuple[tuple[str, int | None], Trial]) -> int:
    rung = item[0][1]
    return -1 if rung is None else rung


def _refused(message: str) -> TuningError:
    return TuningError(problem=message, help=_HELP)
