"""`device/verify.h`: C++ accepts the bundles that Python accepts, and stays inside of their bytes."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle_tables import small_tables
from device_programs import SANITIZED, compile_device_program
from mutations import MUTATIONS

from etconfig.device.bundle_reader import read_tables
from etconfig.device.bundle_writer import write_tables
from etconfig.device.tables import NONE, BundleTables

MUTANTS = int(os.environ.get("ETCONFIG_DEVICE_MUTANTS", "4000"))
"""The number of damaged bundles; `make test-device` tries 50,000."""
_NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 255, 256, 65535, 2**31, NONE)
_COUNTS = ("named_profile", "project_fact_count")


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that opens bundles and uses those that it accepts, with sanitizers."""
    target = tmp_path_factory.mktemp("verify") / "verify"
    return compile_device_program("verify_bundles.cpp", target, "-O1", *SANITIZED)


def accepted_in_python(data: bytes) -> bool:
    try:
        read_tables(data)
    except ValueError:
        return False
    return True


def accepted_in_cpp(program: Path, bundles: list[bytes]) -> list[bool]:
    stream = b"".join(struct.pack("<I", len(data)) + data for data in bundles)
    done = subprocess.run([str(program)], input=stream, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [character == "1" for character in done.stdout.decode()]


def with_changed_row(tables: BundleTables, rng: random.Random) -> BundleTables:
    """Change one number of one row: the bytes stay a sound FlatBuffer."""
    fields = dict(vars(tables))
    vectors = [name for name, rows in fields.items() if isinstance(rows, (list, tuple)) and rows]
    name = rng.choice([*vectors, *_COUNTS])
    if name in _COUNTS:
        return BundleTables(**{**fields, name: rng.choice(_NUMBERS)})
    rows = list(fields[name])
    at = rng.randrange(len(rows))
    rows[at] = changed(rows[at], rng)
    if rng.random() < 0.1:
        del rows[at]
    return BundleTables(**{**fields, name: tuple(rows)})


def changed(row: Any, rng: random.Random) -> Any:
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


def mutants(count: int) -> Iterator[bytes]:
    """Yield damaged bundles: half of them with changed bytes, half with changed rows."""
    rng = random.Random(7)
    sound = write_tables(small_tables())
    while count:
        if rng.random() < 0.5:
            data = bytearray(sound)
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                rng.choice(MUTATIONS)(data, rng)
        else:
            tables = small_tables()
            for _ in range(rng.choice((1, 1, 2))):
                tables = with_changed_row(tables, rng)
            try:
                data = bytearray(write_tables(tables))
            except struct.error:
                continue  # the number does not fit its field
        count -= 1
        yield bytes(data)


class TestDamagedBundles:
    """A damaged bundle is refused by both readers, or accepted by both and used within its bytes."""

    def test_both_readers_accept_the_same_bundles(self, verifier: Path) -> None:
        bundles = [write_tables(small_tables()), *mutants(MUTANTS)]
        wanted = list(map(accepted_in_python, bundles))
        assert wanted[0]
        assert 0.05 < sum(wanted) / len(wanted) < 0.9
        found = accepted_in_cpp(verifier, bundles)
        assert len(found) == len(bundles)
        differing = [i for i, pair in enumerate(zip(wanted, found, strict=True)) if pair[0] is not pair[1]]
        assert not differing, f"Python accepts {differing[0]}: {wanted[differing[0]]}"

    def test_every_shortened_bundle_is_refused(self, verifier: Path) -> None:
        sound = write_tables(small_tables())
        shortened = [sound[:size] for size in range(len(sound))]
        assert list(map(accepted_in_python, shortened)) == accepted_in_cpp(verifier, shortened)
