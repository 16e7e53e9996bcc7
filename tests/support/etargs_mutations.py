"""Damaged `.etargs` files."""

from __future__ import annotations

import random

from mutations import MUTATIONS
from packages import EVERYTHING

from etconfig.errors import SavedResultError
from etconfig.transport import read_package, write_package

SOUND = write_package(EVERYTHING)


def mutant(seed: int) -> bytes:
    """Return the damaged file of this seed."""
    rng = random.Random(seed)
    data = bytearray(SOUND)
    for _ in range(rng.randint(1, 3)):
        rng.choice(MUTATIONS)(data, rng)
    return bytes(data)


def refused(data: bytes) -> bool:
    """Return True if the reader refuses it; otherwise check that it is valid and can be written again."""
    try:
        package = read_package(data)
    except SavedResultError:
        return True
    assert read_package(write_package(package)) == package
    return False
