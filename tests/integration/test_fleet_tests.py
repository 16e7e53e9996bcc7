"""`etconfig fleet test`: SQL counts the devices as Python does one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from command_line import Outcome

duckdb = pytest.importorskip("duckdb")

DIGITS = Path(__file__).parents[1] / "data" / "digits" / "digits.pte"
PROJECT = f"""
programs = ["{DIGITS.as_posix()}"]
profile = "board.toml"
[[test]]
name = "cores"
assert = "ReferenceCpuBackend.num_threads <= cpu.logical_cores"
[[test]]
name = "phones"
where = 'os.name == "android"'
assert = "ReferenceCpuBackend.num_threads * 2 <= cpu.available_cores || memory.total > 4000000000"
[[test]]
name = "facts"
assert = 'os.name != "android" || memory.total > 1000000000'
[[test]]
name = "precision"
where = "has(memory.total)"
assert = 'ReferenceNpuBackend.precision == "fp16" || cpu.logical_cores / (cpu.logical_cores - 3) > 1'
"""
PROFILE = """
[profile]
name = "board"
[options.ReferenceCpuBackend]
num_threads = 2
[[when]]
if = "cpu.logical_cores > 4"
options.ReferenceCpuBackend.num_threads = 6
[[when]]
if = "memory.total > 2000000000"
options.ReferenceCpuBackend.num_threads = { expr = "cpu.available_cores" }
"""
CHOICES = {
    "os.name": (None, "linux", "android"),
    "cpu.logical_cores": (None, 1, 2, 3, 4, 6, 8),
    "cpu.available_cores": (None, 1, 2, 4, 8),
    "memory.total": (None, 500_000_000, 1_500_000_000, 3_000_000_000, 8_000_000_000),
}


def test_counts_are_those_of_the_devices_one_by_one(place: Path, cli: Callable[..., Outcome]) -> None:
    source = Random(8)
    devices = [
        {name: value for name, values in CHOICES.items() if (value := source.choice(values)) is not None}
        for _ in range(400)
    ]
    Path("etconfig.toml").write_text(PROJECT)
    Path("board.toml").write_text(PROFILE)
    Path("sheets").mkdir()
    with Path("devices.jsonl").open("w") as lines:
        for number, facts in enumerate(devices):
            lines.write(json.dumps({"device_id": f"d{number}", **facts}) + "\n")
            values = {name: {"value": value} for name, value in facts.items()}
            text = json.dumps({"etconfig_fact_sheet": 1, "facts": values})
            Path(f"sheets/d{number}.json").write_text(text)
    done = cli("fleet", "test", "devices.jsonl", "--json")
    assert (done.status, done.stderr) == (1, "400 devices: 5 of 5 tests failed\n")
    counted = {
        (row["test"], outcome): count
        for row in json.loads(done.stdout)["tests"]
        for outcome, count in row.items()
        if outcome != "test" and count
    }
    results = json.loads(cli("test", "--facts", "sheets", "--json").stdout)["results"]
    assert counted == Counter((each["test"], each["outcome"]) for each in results)
    assert len(counted) >= 12


@pytest.mark.parametrize(
    ("rules", "arguments", "status"),
    [
        ("", (), 1),
        ('undecided-test = "warning"', (), 0),
        ('undecided-test = "warning"', ("--fail-on", "warning"), 1),
        ('undecided-test = "off"', ("--fail-on", "note"), 0),
        ('failed-test = "off"', (), 1),
    ],
)
def test_levels_decide_as_for_etconfig_test(
    place: Path, cli: Callable[..., Outcome], rules: str, arguments: tuple[str, ...], status: int
) -> None:
    head, _, tests = PROJECT.partition("[[test]]")
    Path("etconfig.toml").write_text(f"{head}[rules]\n{rules}\n[[test]]{tests.partition('[[test]]')[0]}")
    Path("board.toml").write_text(PROFILE.partition("[[when]]")[0])
    Path("devices.jsonl").write_text('{"device_id": "a"}\n')
    Path("sheet.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
    assert cli("fleet", "test", "devices.jsonl", *arguments).status == status
    assert cli("test", "--facts", "sheet.json", *arguments).status == status


def test_without_failures_the_status_is_0(place: Path, cli: Callable[..., Outcome]) -> None:
    Path("etconfig.toml").write_text(PROJECT.partition("[[test]]")[0])
    Path("board.toml").write_text(PROFILE.partition("[[when]]")[0])
    Path("devices.jsonl").write_text('{"device_id": "a"}\n')
    done = cli("fleet", "test", "devices.jsonl")
    assert (done.status, done.stdout.split()[-7:]) == (0, ["resolves", "1", "0", "0", "0", "100", "%"])
