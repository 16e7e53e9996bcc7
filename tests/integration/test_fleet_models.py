"""`etconfig fleet coverage --variants`: SQL counts the devices of each variant as Python selects it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from command_line import Outcome
from model_catalogs import expected_variant, random_catalog, random_devices, write_catalog

import etconfig
from etconfig.app.programs.variant_conditions import read_models

duckdb = pytest.importorskip("duckdb")

from fleet_rows import fill_devices, sql_answers  # noqa: E402


@pytest.mark.parametrize("seed", range(3))
def test_sql_selects_the_variant_of_each_device(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    entries, devices = random_catalog(random), random_devices(random, 1_000)
    installation = etconfig.Installation().with_project(write_catalog(tmp_path, entries))
    (read,) = read_models(installation)
    connection = duckdb.connect()
    fill_devices(connection, installation.fact_registry, devices)
    answers = sql_answers(connection, installation.fact_registry, read.conditions, {})
    columns = [answer for answer in answers if answer is not None]
    assert len(columns) == len(entries)
    for facts, row in zip(devices, zip(*columns, strict=True), strict=True):
        found = next((number for number, truth in enumerate(row, 1) if truth is True), None)
        assert found == expected_variant(entries, facts), facts


def test_coverage_counts_the_devices_of_each_variant(place: Path, cli: Callable[..., Outcome]) -> None:
    random = Random(5)
    entries, devices = random_catalog(random), random_devices(random, 400)
    write_catalog(place, entries)
    lines = [json.dumps({"device_id": f"d{number}", **facts}) for number, facts in enumerate(devices)]
    Path("devices.jsonl").write_text("\n".join(lines))
    done = cli("fleet", "coverage", "devices.jsonl", "--program", "model.pte", "--variants", "--json")
    assert done.status == 0, done.stderr
    counted = {row["variant"]: row["devices"] for row in json.loads(done.stdout)["variants"]}
    expected = Counter(expected_variant(entries, facts) for facts in devices)
    assert {number: count for number, count in counted.items() if count} == dict(expected)
    assert set(counted) == {*range(1, 11), None}
    shown = cli("fleet", "coverage", "devices.jsonl", "--program", "model.pte", "--variants").stdout
    lines = shown.splitlines()
    assert lines[lines.index("Variants:") + 1].split() == ["MODEL", "VARIANT", "FILE", "DEVICES", "SHARE"]


def test_models_do_not_travel_to_workers(place: Path, cli: Callable[..., Outcome]) -> None:
    Path("devices.jsonl").write_text('{"device_id": "a"}\n')
    done = cli(
        "fleet",
        "coverage",
        "devices.jsonl",
        "--program",
        "model.pte",
        "--variants",
        "--on",
        "dask://localhost:1",
    )
    assert done.status == 2
    assert "leave out --variants or --on" in done.stderr
