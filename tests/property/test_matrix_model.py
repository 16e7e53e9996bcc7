"""Every cell of a matrix is what `etconfig resolve --json` says for that device alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from effort import seeds

import etconfig
from etconfig.cli.startup.command_group import run

PROGRAM = Path(__file__).parents[1] / "data" / "digits" / "digits.pte"

CONDITIONS = (
    "cpu.available_cores > 2",
    "cpu.available_cores == 4",
    'os.name == "linux"',
    'power.source == "battery"',
    "power.battery_level < 0.5",
    '"neon" in cpu.features',
    "has(cpu.performance_cores)",
    "cpu.performance_cores * 2 > cpu.available_cores",
    "8 / cpu.available_cores > 2",
    "true",
)
SETTINGS = (
    ("ReferenceCpuBackend", "num_threads", ("1", "3", '{ expr = "cpu.available_cores" }')),
    ("ReferenceCpuBackend", "num_threads", ('{ expr = "cpu.performance_cores" }', "{ unset = true }")),
    ("ReferenceCpuBackend", "num_threads", ('{ expr = "cpu.available_cores - 1" }',)),
    ("ReferenceNpuBackend", "core", ("0", "2", '{ expr = "cpu.available_cores / 2" }')),
    ("ReferenceNpuBackend", "power_mode", ('"low"', '"high"')),
)
FACTS: Mapping[str, tuple[object, ...]] = {
    "cpu.available_cores": (1, 2, 3, 4, 8),
    "cpu.performance_cores": (1, 2),
    "os.name": ("linux", "android"),
    "power.source": ("battery", "mains"),
    "power.battery_level": (0.1, 0.5, 0.9),
    "cpu.features": (["neon"], []),
}


def condition(random: Random) -> str:
    chosen = random.sample(CONDITIONS, random.randint(1, 2))
    return random.choice((" && ", " || ")).join(chosen)


def settings(random: Random, scope: str) -> Iterator[str]:
    chosen = {
        (backend, name): values for backend, name, values in random.sample(SETTINGS, random.randint(0, 2))
    }
    for (backend, name), values in chosen.items():
        yield f"[{scope}options.{backend}]\n{name} = {random.choice(values)}\n"


def distinct(parts: Iterator[str]) -> str:
    """The tables, each once: TOML has no second table of one name."""
    return "".join({part.splitlines()[0]: part for part in parts}.values())


def profile(random: Random, name: str, bases: list[str]) -> str:
    text = f"[profile]\nname = '{name}'\n"
    if bases:
        text += f"extends = {json.dumps(bases)}\n"
    if random.random() < 0.9:
        text += f"match = '{condition(random)}'\n"
    text += distinct(settings(random, ""))
    if random.random() < 0.3:
        text += "[instances.left]\nmethod = 'forward'\n" + distinct(settings(random, "instances.left."))
    for _ in range(random.randint(0, 2)):
        text += f"[[when]]\nif = '{condition(random)}'\n" + distinct(settings(random, "when."))
    return text


def write_tree(random: Random, directory: Path) -> None:
    """Write a project with random profiles and sheets."""
    names = [f"p{number}" for number in range(random.randint(1, 5))]
    (directory / "profiles").mkdir(parents=True)
    for number, name in enumerate(names):
        bases = random.sample(names[:number], random.randint(0, min(1, number)))
        (directory / "profiles" / f"{name}.toml").write_text(profile(random, name, bases))
    named = random.random() < 0.2
    project = 'profile_path = ["profiles"]\n' + (f'profile = "{random.choice(names)}"\n' if named else "")
    (directory / "etconfig.toml").write_text(project + distinct(settings(random, "")))
    (directory / "sheets").mkdir()
    for number in range(8):
        facts = {
            name: {"value": random.choice(values)} for name, values in FACTS.items() if random.random() < 0.8
        }
        text = json.dumps({"etconfig_fact_sheet": 1, "facts": facts})
        (directory / "sheets" / f"{number}.json").write_text("{" if random.random() < 0.05 else text)


def alone(directory: Path, sheet: Path) -> tuple[str | None, dict[str, object] | set[str]]:
    """The profile and the options of one device, resolved by itself; the codes of the errors if it fails."""
    try:
        resolution = etconfig.resolve(
            etconfig.load_program(PROGRAM),
            facts=etconfig.load_fact_sheet(sheet),
            installation=etconfig.Installation(directory, environ={}),
        ).to_jsonable()
    except etconfig.ConfigError as error:
        return None, {each.code for each in error.diagnostics if each.is_error}
    return resolution["profile"], cells(resolution)


def cells(resolution: Any) -> dict[str, object]:
    """Option paths and values, put together from the rows of `etconfig resolve --json`."""
    found: dict[str, object] = {}
    for row in resolution["arguments"]:
        instance = "" if row["instance"] is None else f"@{row['instance']}"
        for name, option in row["options"].items():
            found[f"{row['method']}{instance}:{row['backend']}.{name}"] = option["value"]
    return found


@pytest.mark.parametrize("seed", seeds(1))
def test_every_cell_is_that_of_the_device_alone(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    counts: Counter[str] = Counter()
    for number in range(25):
        directory = tmp_path / str(number)
        write_tree(random, directory)
        sheets = sorted((directory / "sheets").iterdir())
        random.shuffle(sheets)
        installation = etconfig.Installation(directory, environ={})
        program = etconfig.load_program(PROGRAM, installation=installation)
        matrix = etconfig.resolve_devices(program, devices=sheets)
        assert [device.device for device in matrix] == [sheet.stem for sheet in sheets]
        for device, sheet in zip(matrix, sheets, strict=True):
            selected, wanted = alone(directory, sheet)
            if isinstance(wanted, set):
                assert {each.code for each in device.problems if each.is_error} == wanted
                assert not device.options
                counts.update(wanted)
            else:
                assert (device.profile, json.dumps(device.options)) == (selected, json.dumps(wanted))
                counts["resolved"] += 1
        check_results(matrix)
    assert counts["resolved"] > 40, counts
    assert counts["ambiguous-profile"] + counts["unknown-fact-value"] > 10, counts


def check_results(matrix: etconfig.DeviceMatrix) -> None:
    """Devices share a result if and only if their options are equal; the options that differ are those."""
    whole = {each.device: json.dumps(each.options, sort_keys=True) for each in matrix if not each.has_errors}
    for one in whole:
        for other in whole:
            is_same = matrix.result_numbers[one] == matrix.result_numbers[other]
            assert is_same == (whole[one] == whole[other])
    paths = {path for each in matrix for path in each.options}
    values = {
        path: {json.dumps(each.options.get(path, "absent")) for each in matrix if not each.has_errors}
        for path in paths
    }
    assert {*matrix.differing} == {path for path in paths if len(values[path]) > 1}


def test_the_command_prints_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ETCONFIG_SET", raising=False)
    random = Random(7)
    compared = 0
    for number in range(6):
        directory = tmp_path / str(number)
        write_tree(random, directory)
        monkeypatch.chdir(directory)
        run(["matrix", str(PROGRAM), "--facts", "sheets/*.json", "--json"])
        devices = json.loads(capsys.readouterr().out)["devices"]
        assert [each["device"] for each in devices] == [str(name) for name in range(8)]
        for device in devices:
            status = run(["resolve", str(PROGRAM), "--facts", f"sheets/{device['device']}.json", "--json"])
            printed = capsys.readouterr().out
            assert bool(device["options"]) == (status == 0)
            if status == 0:
                data = json.loads(printed)
                assert json.dumps(device["options"]) == json.dumps(cells(data))
                assert [device[key] for key in ("profile", "selected_by", "is_fallback")] == [
                    data[key] for key in ("profile", "selected_by", "is_fallback")
                ]
                compared += 1
    assert compared > 10
