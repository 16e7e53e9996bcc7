"""Damaged bundles, and what the readers in Python and C++ say to them."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from bundle_tables import resolved_tables, small_tables
from mutations import MUTATIONS

from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.device.bundle.bundle_signature import MARK
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import MAX_NOT_AFTER, BundleTables

_NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 255, 256, 65535, 2**31, NONE)
_SCALARS: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("named_profile", "project_fact_count", "least_reader"), _NUMBERS),
    **dict.fromkeys(("revision", "not_after"), (0, 1, MAX_NOT_AFTER, MAX_NOT_AFTER + 1, 2**53 - 1, 2**53)),
    **dict.fromkeys(("fingerprint", "sources"), ("", "0" * 64, "0" * 63, "0" * 65, "A" * 64, "ä" * 32)),
}


def accepted_in_python(data: bytes) -> bool:
    """Return True if `read_tables` accepts a bundle."""
    try:
        read_tables(data)
    except ValueError:
        return False
    return True


def accepted_in_cpp(command: Sequence[str], bundles: Sequence[bytes]) -> list[bool]:
    """Return the answers of `verify_bundles.cpp`, which uses what it accepts in every way."""
    stream = b"".join(struct.pack("<I", len(data)) + data for data in bundles)
    done = subprocess.run(command, input=stream, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [character == "1" for character in done.stdout.decode()]


def _with_changed_row(tables: BundleTables, rng: random.Random) -> BundleTables:
    """Change one number of one row: the bytes stay a sound FlatBuffer."""
    fields = dict(vars(tables))
    vectors = [name for name, rows in fields.items() if isinstance(rows, (list, tuple)) and rows]
    name = rng.choice([*vectors, *_SCALARS])
    if name in _SCALARS:
        return BundleTables(**{**fields, name: rng.choice(_SCALARS[name])})
    rows = list(fields[name])
    at = rng.randrange(len(rows))
    rows[at] = _changed(rows[at], rng)
    if rng.random() < 0.1:
        del rows[at]
    return BundleTables(**{**fields, name: tuple(rows)})


def _changed(row: Any, rng: random.Random) -> Any:
    if isinstance(row, str):
        return rng.choice((row + "x", "", "ä", row))
    if isinstance(row, int):
        return rng.choice(_NUMBERS)
    field = rng.choice(row._fields)
    old = getattr(row, field)
    if isinstance(old, float):
        return row._replace(
            **{field: rng.choice((0.0, -1.0, 0.5, float("inf"), float("-inf"), float("nan")))}
        )
    return row._replace(**{field: rng.choice((old + 1, max(0, old - 1), rng.choice(_NUMBERS)))})


def damaged_bundles(count: int, seed: int = 7) -> Iterator[bytes]:
    """Yield damaged bundles: half of them with changed bytes, half with changed rows."""
    rng = random.Random(seed)
    originals = (small_tables(), resolved_tables())
    sound = [write_tables(tables) for tables in originals]
    while count:
        which = rng.randrange(len(originals))
        if rng.random() < 0.5:
            data = bytearray(sound[which])
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                rng.choice(MUTATIONS)(data, rng)
        else:
            tables = originals[which]
            for _ in range(rng.choice((1, 1, 2))):
                tables = _with_changed_row(tables, rng)
            if rng.random() < 0.7:  # so that many of the changes are all that is wrong
                with suppress(ValueError, IndexError):
                    tables = counted(tables)
            try:
                data = bytearray(write_tables(tables))
            except struct.error:
                continue  # the number does not fit its field
        if rng.random() < 0.1:  # no reader looks behind the mark
            data = data[: rng.choice((len(data), len(data) - 72, len(data) - 8))] + MARK + data[-64:]
        count -= 1
        yield bytes(data)


def check_same_verdicts(command: Sequence[str], count: int, seed: int = 7) -> None:
    """Check that both readers accept the same of `count` damaged bundles."""
    sound = [write_tables(tables) for tables in (small_tables(), resolved_tables())]
    bundles = [*sound, *damaged_bundles(count, seed)]
    wanted = list(map(accepted_in_python, bundles))
    assert wanted[: len(sound)] == [True] * len(sound)
    assert 0.05 < sum(wanted) / len(wanted) < 0.9
    found = accepted_in_cpp(command, bundles)
    assert len(found) == len(bundles)
    differing = [i for i, pair in enumerate(zip(wanted, found, strict=True)) if pair[0] is not pair[1]]
    assert not differing, f"Python accepts {differing[0]}: {wanted[differing[0]]}"


_WRONG = (NONE, 0xFFFF, 0, 1)
_MOST_ROWS = 3
"""The rows of each vector that are changed: bundles that are not small have many equal ones."""


def each_wrong_number(tables: BundleTables) -> Iterator[tuple[str, BundleTables]]:
    """Yield the tables with each number of each row wrong in several ways, and the place of the change."""
    for vector, rows in vars(tables).items():
        if vector in _SCALARS:
            for number in _SCALARS[vector]:
                yield f"{vector} = {number}", BundleTables(**{**vars(tables), vector: number})
        if not isinstance(rows, tuple):
            continue
        for at, row in enumerate(rows[:_MOST_ROWS]):
            for change in _changes(row):
                changed = (*rows[:at], change, *rows[at + 1 :])
                yield f"{vector}[{at}]: {row} -> {change}", BundleTables(**{**vars(tables), vector: changed})


def _changes(row: Any) -> Iterator[Any]:
    if isinstance(row, str):
        return
    if isinstance(row, int):
        yield from {*_WRONG, row + 1, max(row - 1, 0)} - {row}
        return
    for field in row._fields:
        old = getattr(row, field)
        if field == "steps" or isinstance(old, float):
            continue
        for number in sorted({*_WRONG, old + 1, max(old - 1, 0)} - {old}):
            yield row._replace(**{field: number})


def wrong_bundles(tables: BundleTables) -> Iterator[tuple[str, bytes]]:
    """Yield a bundle for each wrong number that fits its field, with right steps where that is possible."""
    for place, each in each_wrong_number(tables):
        with suppress(ValueError, IndexError):
            each = counted(each)
        with suppress(struct.error, ValueError):
            yield place, write_tables(each)
