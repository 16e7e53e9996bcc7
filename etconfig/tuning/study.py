"""`Study`: every outcome of a search in a file of JSON lines, at once, so that a second run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.written_files import FileKind, FilesOfRun, errors_of, head_of
from etconfig.errors import TuningError
from etconfig.tuning.contest import Trial
from etconfig.tuning.search import MAX_EXHAUSTIVE
from etconfig.tuning.space import Space, key_of

_VERSION_KEY = "etconfig_study"
_VERSION = 1
STUDY = FileKind("a study", lambda path: head_of(path, 64).startswith(f'{{"{_VERSION_KEY}"'.encode()))
"""The kind of file."""
_HELP = "give another file: --study FILE, or remove it to begin again"
_PLURALS = ("bounds", "data", "inputs")
_MOST = 2**63
"""No number of an outcome is as large."""


class Study:
    """The outcomes of one search.

    Args:
        path: The file; None to keep them in memory only.
        identity: The conditions that they depend on, as plain data by name: outcomes of others are not
            comparable.
        files: The files of the run.
        space: The combinations that are searched; outcomes of others stay in the file, and do not count.

    Raises:
        TuningError: the file is not a study, or one of other conditions.
        OSError: it cannot be written.
    """

    def __init__(
        self, path: Path | None, identity: Mapping[str, object], files: FilesOfRun, space: Space
    ) -> None:
        self.path, self.space = path, space
        self.resumed = 0
        self._outcomes: dict[tuple[str, int | None], Trial] = {}
        self._last: dict[str, Trial] = {}
        self._sorted: list[Trial] | None = None
        self._file: IO[bytes] | None = None
        if path is None:
            return
        head = {_VERSION_KEY: _VERSION, **identity}
        files.check(path, STUDY)
        lines = path.read_bytes().split(b"\n") if path.is_file() else [b""]
        cut_off = lines.pop()  # what follows the last line's end: the run was killed while it wrote
        if not lines and _parsed(cut_off) is None:
            files.write(path, f"{json.dumps(head)}\n".encode(), STUDY)
            self._file = path.open("ab")
            return
        is_whole = _parsed(cut_off) is not None
        self._read(path, head, [*lines, cut_off] if is_whole else lines)
        self._file = path.open("ab")
        if is_whole:
            self._file.write(b"\n")
        elif cut_off:
            self._file.truncate(path.stat().st_size - len(cut_off))

    def found(self, configuration: Mapping[str, object], rung: int) -> Trial | None:
        """Return the outcome of a configuration in a round of the search, if there is one."""
        return self._outcomes.get((key_of(configuration), rung))

    def outcomes(self) -> Sequence[Trial]:
        """Return the outcome of the last round of each configuration, the best first."""
        if self._sorted is None:
            self._sorted = sorted(self._last.values(), key=lambda outcome: outcome.value)
        return self._sorted

    def add(self, outcome: Trial) -> Trial:
        """Keep an outcome, and bring it to the file. Raises OSError."""
        self._keep(outcome)
        if self._file is not None:
            path = Path(self._file.name)
            with errors_of(path, path):
                self._file.write(f"{json.dumps(outcome_data(outcome))}\n".encode())
                self._file.flush()
        return outcome

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _keep(self, outcome: Trial) -> None:
        key = key_of(outcome.configuration)
        self._outcomes[key, outcome.rung] = outcome
        if key not in self._last or (self._last[key].rung or 0) <= (outcome.rung or 0):
            self._last[key], self._sorted = outcome, None

    def _read(self, path: Path, head: Mapping[str, object], lines: Sequence[bytes]) -> None:
        found = _parsed(lines[0]) or {}
        if found.get(_VERSION_KEY) != _VERSION:
            raise _refused(f"{path} is a study of another version of etconfig")
        different = [name for name, value in head.items() if _text(found.get(name)) != _text(value)]
        if different:
            words = ", ".join(f"{'other' if name in _PLURALS else 'another'} {name}" for name in different)
            raise _refused(f"{path} was made under other conditions: {words}")
        of_ranges = self.space.size > MAX_EXHAUSTIVE
        for number, line in enumerate(lines[1:], 2):
            try:
                outcome = _outcome(_parsed(line))
            except ValueError as error:
                raise _refused(f"{path}:{number} is not an outcome: {error}") from error
            if self.space.has(outcome.configuration, of_ranges=of_ranges):
                self._keep(outcome)
        self.resumed = len(self._outcomes)


def content_hash(values: Sequence[Any]) -> str:
    """Return `sha256:` and the hash of inputs or outputs."""
    digest = hashlib.sha256()
    _feed(digest.update, values)
    return f"sha256:{digest.hexdigest()}"


def _feed(update: Any, value: Any) -> None:
    if isinstance(value, (list, tuple)):
        update(f"{len(value)} values;".encode())
        for each in value:
            _feed(update, each)
    elif hasattr(value, "__array__") and not np.asarray(value).dtype.hasobject:
        array = np.asarray(value)
        update(f"{array.dtype} {array.shape};".encode())
        update(array.tobytes())
    else:
        update(f"{type(value).__name__} {value!r};".encode("utf-8", "surrogatepass"))


def outcome_data(outcome: Trial) -> dict[str, Any]:
    """Return an outcome as plain data; `options` is what differs from what is configured."""
    ratio = outcome.ratio
    fields = {
        "options": dict(outcome.configuration),
        "rung": outcome.rung,
        **({} if ratio is None else ratio.to_jsonable()),
        "error": outcome.error,
        "latency_ns": outcome.latency_ns,
        "peak_bytes": outcome.peak_bytes,
        "failure": outcome.failure,
    }
    return {name: value for name, value in fields.items() if value not in (None, float("inf"))}


def _outcome(row: dict[str, Any] | None) -> Trial:
    """Return the outcome of a line. Raises ValueError."""
    if row is None:
        raise ValueError("it is not a JSON object")
    configuration, failure, ratio = row.get("options"), row.get("failure"), None
    if not isinstance(configuration, dict):
        raise ValueError("'options' must be a table")
    if failure is not None and not isinstance(failure, str):
        raise ValueError("'failure' must be a text")
    if failure is None or "ratio" in row:
        middle, low = _number(row, "ratio", above=0), _number(row, "low")
        pairs = _number(row, "pairs", int, above=0)
        high = _number(row, "high") if "high" in row else float("inf")
        if not low <= middle <= high:
            raise ValueError("its interval does not contain its ratio")
        ratio = PairedRatio(ratio=middle, low=low, high=high, pairs=pairs)
    kinds = {"rung": int, "error": float, "latency_ns": float, "peak_bytes": int}
    others = {name: _number(row, name, kind) for name, kind in kinds.items() if name in row}
    return Trial(configuration=configuration, ratio=ratio, failure=failure, **others)


def _number(row: Mapping[str, Any], name: str, kind: type = float, *, above: int | None = None) -> Any:
    """Return a number of a line, which is 0 or more, or above a limit. Raises ValueError."""
    value: Any = row.get(name)
    if type(value) not in (int, kind) or not 0 <= value < _MOST or (above is not None and value <= above):
        noun = "a number" if kind is float else "an integer"
        raise ValueError(f"{name!r} must be {noun} {'of 0 or more' if above is None else f'above {above}'}")
    return kind(value)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: object) -> str:
    """Return a text that equal values have in common; a tuple is a list, and true is not 1."""
    return json.dumps(value, sort_keys=True)


def _refused(message: str) -> TuningError:
    return TuningError(problem=message, help=_HELP)
