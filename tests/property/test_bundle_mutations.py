"""Damaged bundles are refused with one error, or decided within bounds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from bundle_tables import resolved_tables, small_tables
from random_bundles import random_stack, sheet
from random_expressions import random_facts

from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.description import describe_bundle
from etconfig.device.device_bundle import DeviceBundle
from etconfig.errors import ConfigError


def mutated(random: Random, data: bytes) -> bytes:
    """The bytes with a few changes, more often of small numbers than of anything else."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(changed))
        changed[at] = random.choice((random.randrange(256), (changed[at] + 1) % 256, 0, 255))
    size = len(data) if random.random() < 0.75 else random.randrange(len(data))
    return bytes(changed[:size])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_are_refused_or_decided(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    originals = [
        write_tables(small_tables()),
        random_stack(random, tmp_path).bundle.to_bytes(),
        write_tables(resolved_tables()),
    ]
    accepted = 0
    for _ in range(1000):
        data = mutated(random, random.choice(originals))
        try:
            bundle = DeviceBundle(read_tables(data))
        except ValueError:
            continue
        accepted += 1
        describe_bundle(bundle.tables)
        for profile in bundle.profile_names:
            try:
                bundle.resolve(sheet(random_facts(random)), profile)
            except ConfigError:
                continue
    assert 0 < accepted < 1000
