"""Every index and every field of a bundle, wrong one at a time: refused when it is opened, or never used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from bundle_tables import list_tables, resolved_tables, small_tables
from device_mutants import wrong_bundles

import etconfig
from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import BundleTables
from etconfig.device.description import describe_bundle
from etconfig.device.device_bundle import DeviceBundle
from etconfig.errors import ConfigError

FACTS = (
    {},
    {"cpu.model": "fast", "cpu.logical_cores": 8, "cpu.features": ["sve"]},
    {"cpu.model": "other", "cpu.logical_cores": 128, "cpu.features": ["a", "b", "c"]},
)


def known_tables() -> BundleTables:
    """Return the small bundle with names of facts that sheets have."""
    tables = small_tables()
    return counted(replace(tables, texts=("cpu.logical_cores", "cpu.model", *tables.texts[2:])))


def use(bundle: DeviceBundle) -> None:
    """Use a bundle in every way; it may refuse, with a `ConfigError`."""
    describe_bundle(bundle.tables)
    with suppress(ConfigError):
        bundle.check_fingerprints()
    for values in FACTS:
        facts = etconfig.FactSheet.empty().with_overrides(values)
        for profile in (None, *bundle.profile_names):
            with suppress(ConfigError):
                bundle.resolve(facts, profile)
    for profile in bundle.profile_names:
        if bundle.is_configuration(profile):
            bundle.configuration(profile)


@pytest.mark.parametrize("tables", [known_tables, list_tables, resolved_tables])
def test_a_wrong_number_is_refused_or_does_no_harm(tables: Callable[[], BundleTables]) -> None:
    failures, accepted, refused = [], 0, 0
    for place, data in wrong_bundles(tables()):
        try:
            bundle = DeviceBundle(read_tables(data))
        except ValueError:
            refused += 1
            continue
        accepted += 1
        try:
            use(bundle)
        except ConfigError:
            continue
        except Exception as error:
            failures.append((place, repr(error)))
    assert not failures, (len(failures), failures[:8])
    assert min(refused, accepted) > 0
