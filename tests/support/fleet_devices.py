"""Random fleets, as tables of facts that etconfig knows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from fleet_rows import SQL_TYPES

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.fleet.inventory.sql_names import quoted_name

FACTS: dict[str, tuple[object, ...]] = {
    "os.name": ("linux", "android", "macos"),
    "cpu.arch": ("arm64", "x86_64"),
    "cpu.available_cores": (1, 2, 3, 4, 8),
    "cpu.performance_cores": (1, 2, 4),
    "cpu.quota_cores": (0.5, 1.0, 2.5, 3.0),
    "cpu.features": (("asimd",), ("asimd", "i8mm"), ()),
    "cpu.cache.l2": (262144, 524288),
    "device.model": ("phone 1", "phone 2", "board"),
    "power.source": ("mains", "battery"),
    "power.battery_level": (0.0, 0.1, 0.15, 0.2, 0.5, 1.0),
    "thermal.state": ("nominal", "serious"),
    "memory.available": (1 << 20, 1 << 30, (1 << 33) + 1),
}


def random_devices(random: Random, count: int) -> list[dict[str, object]]:
    """The known facts of devices."""
    return [
        {name: random.choice(values) for name, values in FACTS.items() if random.random() < 0.85}
        for _ in range(count)
    ]


def write_devices(
    connection: Any, path: Path, devices: list[dict[str, object]], *, dots: str = ".", start: int = 0
) -> Path:
    """Write a Parquet file with a row for each device, named `device-0`, `device-1` and so on."""
    names = list(dict.fromkeys([*FACTS, *(name for facts in devices for name in facts)]))
    infos = [BUILTIN_FACTS.get(name) for name in names]
    columns = ", ".join(
        f"{quoted_name(name.replace('.', dots))} {SQL_TYPES[info.type]}"
        for name, info in zip(names, infos, strict=True)
        if info is not None
    )
    connection.execute(f"CREATE OR REPLACE TABLE fleet (device_id VARCHAR, {columns})")
    places = ", ".join("?" for _ in range(len(names) + 1))
    rows = [
        [f"device-{number}", *(_plain(facts.get(name)) for name in names)]
        for number, facts in enumerate(devices, start)
    ]
    connection.executemany(f"INSERT INTO fleet VALUES ({places})", rows)
    connection.execute(f"COPY fleet TO '{path}' (FORMAT parquet)")
    return path


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


PROFILES = {
    "acme/any": '[profile]\nname = "acme/any"\nmatch = "has(os.name)"\n',
    "acme/phone": """\
[profile]
name = "acme/phone"
extends = ["acme/any"]
match = 'os.name == "android" && (power.battery_level < 0.2 || !has(cpu.quota_cores))'

[facts]
"cpu.performance_cores" = 4

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.performance_cores" }

[[when]]
if = 'power.battery_level < 0.15 && thermal.state != "nominal"'

[when.options.ReferenceCpuBackend]
num_threads = 1

[[when]]
if = 'cpu.performance_cores > 3 && "i8mm" in cpu.features'

[when.options.ReferenceNpuBackend]
core = 1
""",
    "acme/arm": """\
[profile]
name = "acme/arm"
extends = ["acme/any"]
match = 'cpu.arch == "arm64" && memory.available / 2 > 4096'

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.performance_cores" }

[[when]]
if = '!("i8mm" in cpu.features)'

[when.options.ReferenceCpuBackend]
num_threads = { unset = true }
""",
    "acme/board": """\
[profile]
name = "acme/board"
match = 'device.model == "board" && cpu.quota_cores >= 1'
""",
}
"""Profiles with each way of deciding; some devices match two that do not extend each other."""


def write_profiles(directory: Path, profiles: dict[str, str] | None = None) -> Path:
    """Write profiles into a directory, each at the path that its name gives."""
    for name, text in (profiles or PROFILES).items():
        path = directory / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return directory
