"""`fleet coverage --fits` counts the devices that have the memory for the programs, as each alone."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from command_line import DIGITS  # noqa: E402
from fleet_devices import write_devices, write_profiles  # noqa: E402

import etconfig  # noqa: E402
from etconfig.errors import ConfigError  # noqa: E402
from etconfig.facts.sheet import FactSheet  # noqa: E402
from etconfig.fleet.deciding import grouping  # noqa: E402
from etconfig.fleet.deciding.plan import FleetPlan  # noqa: E402
from etconfig.fleet.inventory.database import opened_database  # noqa: E402
from etconfig.fleet.inventory.inventory import InventoryOpener, find_sources  # noqa: E402
from etconfig.fleet.running.reports import coverage_data  # noqa: E402
from etconfig.fleet.running.resumable_run import summarize_fleet  # noqa: E402

PROFILES = {
    "acme/any": """\
[profile]
name = "acme/any"
match = "has(os.name)"

[[when]]
if = 'power.battery_level < 0.5'

[when.options.ReferenceCpuBackend]
accumulate = "fp64"
""",
    "acme/phone": """\
[profile]
name = "acme/phone"
extends = ["acme/any"]
match = 'os.name == "android"'

[instances.left]
method = "forward"

[instances.right]
method = "forward"
""",
    "acme/board": """\
[profile]
name = "acme/board"
extends = ["acme/any"]
match = 'device.model == "board"'

[facts]
"memory.available" = 200000
""",
}
"""Profiles that differ in the need, in what decides it, and in the memory that they set by hand."""


def devices_around(needs: set[int]) -> list[dict[str, object]]:
    """Return devices with memory just below, at and above each need, and unknown."""
    random = Random(5)
    sizes = [None, *(need + step for need in sorted(needs) for step in (-1, 0, 1))]
    devices = []
    for available, total, _ in product(sizes, sizes, range(2)):
        facts: dict[str, object] = {
            "memory.available": available,
            "memory.total": total,
            "os.name": random.choice(("linux", "android", None)),
            "device.model": random.choice(("board", "phone", None)),
            "power.battery_level": random.choice((0.2, 0.8, None)),
        }
        devices.append({name: value for name, value in facts.items() if value is not None})
    return devices


def alone(program: Any, facts: dict[str, object]) -> tuple[int, bool | None] | None:
    """Return the need on a device and whether it has the memory, by hand; None without options."""
    try:
        configuration = etconfig.configure(program, profile="auto", facts=FactSheet.from_values(facts))
        resolution = configuration.resolve()
    except ConfigError:
        return None
    known = resolution.facts.values
    memory: Any = known.get("memory.available", known.get("memory.total"))
    needed = etconfig.memory_need(program, resolution).peak.size_bytes
    return needed, None if memory is None else memory >= needed


@pytest.mark.parametrize("most", [grouping._MAX_DISTINCT, 0], ids=["by-value", "by-truth"])
def test_as_each_device_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(grouping, "_MAX_DISTINCT", most)
    profiles = write_profiles(tmp_path / "profiles", PROFILES)
    installation = etconfig.Installation(profile_directories=[profiles])
    program = etconfig.load_program(DIGITS / "digits.pte", installation=installation)
    kinds = product(("linux", "android"), ("board", "phone"), (0.2, 0.8))
    found = [
        alone(program, {"os.name": name, "device.model": model, "power.battery_level": level})
        for name, model, level in kinds
    ]
    needs = {each[0] for each in found if each is not None}
    assert len(needs) == 4
    devices = devices_around(needs)
    expected = Counter(each[1] for facts in devices if (each := alone(program, facts)) is not None)
    assert set(expected) == {True, False, None}
    path = write_devices(duckdb.connect(), tmp_path / "fleet.parquet", devices)
    plan = FleetPlan(program, installation, profile="auto", with_memory=True)
    with opened_database("256MiB", 2) as database:
        opener = InventoryOpener(database, installation.fact_registry)
        parts = list(opener.open_all(find_sources([str(path)])))
        result = summarize_fleet(database, parts, plan, lambda *_: None)
        plain = summarize_fleet(database, parts, FleetPlan(program, installation), lambda *_: None)
    assert result.fits == expected
    assert (result.devices, result.resolved, result.profiles) == (
        plain.devices,
        plain.resolved,
        plain.profiles,
    )
    assert set(plain.fits) == {None}
    assert coverage_data(result, plan)["memory"] == {
        "fits": expected[True],
        "too_little": expected[False],
        "unknown": expected[None],
        "share": expected[True] / len(devices),
    }
