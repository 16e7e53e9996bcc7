"""The file of a study: what survives a run that was killed, and what is refused with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_machine import IDENTITY

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.written_files import FilesOfRun, RefusedFileError
from etconfig.errors import TuningError
from etconfig.schema.tuned_values import TuneRange
from etconfig.tuning.contest import Trial
from etconfig.tuning.space import Dimension, Space
from etconfig.tuning.study import Study, content_hash

SPACE = Space(dimensions=(Dimension(path="Tiny.b", incumbent=0, values=(1, 2, 3)),))
ROW = {"options": {"Tiny.b": 1}, "rung": 0, "ratio": 0.9, "low": 0.8, "high": 1.1, "pairs": 6, "error": 0.0}


def opened(path: Path | None, space: Space = SPACE, **identity: Any) -> Study:
    return Study(path, {**IDENTITY, **identity}, FilesOfRun(), space)


def trial(value: int, ratio: float = 0.9, rung: int = 0) -> Trial:
    measured = PairedRatio(ratio=ratio, low=0.1, high=float("inf"), pairs=6)
    return Trial(configuration={"Tiny.b": value}, rung=rung, ratio=measured)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A study of two outcomes."""
    found = tmp_path / "a.study.jsonl"
    study = opened(found)
    for value in (1, 2):
        study.add(trial(value))
    study.close()
    return found


def test_a_study_that_is_cut_anywhere_goes_on_whole(path: Path) -> None:
    """All lines that are whole are kept, also the last one without its end; only a part of a line goes."""
    content = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    wrong = []
    for cut in range(2, len(content) + 1):
        path.write_bytes(content[:cut])
        kept = sum(end - 1 <= cut for end in ends)
        try:
            study = opened(path)
            study.add(trial(3))
            study.close()
        except RefusedFileError:  # so little of the first line that it may be any file
            if cut >= len('{"etconfig_study"'):
                wrong.append((cut, "refused"))
            continue
        lines = path.read_bytes().split(b"\n")
        options = [json.loads(line)["options"]["Tiny.b"] for line in lines[1:-1]]
        if options != [*range(1, max(kept, 1)), 3] or study.resumed != len(options) - 1 or lines[-1]:
            wrong.append((cut, options))
    assert wrong == []


CONDITIONS = {
    "model": ("sha256:9", "another model"),
    "data": (["sha256:9"], "other data"),
    "method": ("decode", "another method"),
    "instance": ("left", "another instance"),
    "executor": (["torch", {}], "another executor"),
    "engine": ("tiny 2.0", "another engine"),
    "device": ({"cpu.model": "Y"}, "another device"),
    "incumbent": ("sha256:9", "another incumbent"),
    "objective": ("memory", "another objective"),
    "bounds": (["memory < 3 MiB"], "other bounds"),
    "tolerance": (0.1, "another tolerance"),
    "inputs": ({"shapes": ["x=1,3,1,1"], "seed": 0}, "other inputs"),
    "reference": (content_hash([1]), "another reference"),
}


@pytest.mark.parametrize("name", IDENTITY)
def test_a_study_of_another_condition_is_refused_and_unchanged(path: Path, name: str) -> None:
    content = path.read_bytes()[:-1]  # cut off, too
    path.write_bytes(content)
    value, words = CONDITIONS[name]
    with pytest.raises(
        TuningError, match=f"a.study.jsonl was made under other conditions: {words}; give another"
    ):
        opened(path, **{name: value})
    assert path.read_bytes() == content


def test_all_conditions_that_differ_are_named_and_other_forms_of_a_value_are_not(path: Path) -> None:
    with pytest.raises(TuningError, match="other conditions: another device, another incumbent;"):
        opened(path, incumbent="sha256:9", device={})
    opened(path, data=(), inputs={"seed": 0, "shapes": ("x=1,3,48,192",)}).close()
    path.write_text(path.read_text().replace('"etconfig_study": 1', '"etconfig_study": 2'))
    with pytest.raises(TuningError, match="is a study of another version of etconfig"):
        opened(path)
    path.write_text("notes\n")
    with pytest.raises(RefusedFileError, match="it is there, and not a study"):
        opened(path)


VALUES = (
    '"fast"',
    "null",
    "[1]",
    "{}",
    "true",
    "-1",
    "NaN",
    "Infinity",
    "1e999",
    "1" + "0" * 400,
    "1" * 5000,
)
WRONG = {
    "options": ('"fast"', "null", "[1]", "true", "1"),
    "failure": ("[1]", "{}", "1", "true"),
    **dict.fromkeys(("ratio", "low", "pairs", "rung", "error", "latency_ns", "peak_bytes"), VALUES),
    "high": VALUES[:8],
}


def _lines() -> list[str]:
    rows = [
        json.dumps({**ROW, key: "?"}).replace('"?"', value)
        for key, values in WRONG.items()
        for value in values
    ]
    for key in ("pairs", "rung", "peak_bytes"):
        rows.append(json.dumps({**ROW, key: 1.5}))
    for key in ("options", "ratio", "low", "pairs"):
        rows.append(json.dumps({name: value for name, value in ROW.items() if name != key}))
    rows += [
        json.dumps({**ROW, **change}) for change in ({"ratio": 0}, {"pairs": 0}, {"low": 1}, {"high": 0.85})
    ]
    return [*rows, "", "[]", "{}", "null", "[" * 100_000, "\xff", '{"options"']


@pytest.mark.parametrize("line", _lines(), ids=lambda line: line[:90])
def test_a_line_that_is_no_outcome_is_refused_with_its_place(path: Path, line: str) -> None:
    content = path.read_bytes() + line.encode("latin-1") + b"\n" + json.dumps(ROW).encode() + b"\n"
    path.write_bytes(content)
    with pytest.raises(TuningError, match=r"a\.study\.jsonl:4 is not an outcome: .+; give another file"):
        opened(path)
    assert path.read_bytes() == content


def test_only_combinations_of_the_space_count(path: Path) -> None:
    others = (
        {"Tiny.b": 9},
        {"Tiny.b": 0},
        {"Tiny.b": True},
        {"Tiny.b": 1.0},
        {"Tiny.b": 1, "Tiny.c": 1},
        {"Other.b": 1},
        {},
    )
    with path.open("a") as file:
        file.writelines(json.dumps({**ROW, "options": options}) + "\n" for options in others)
    study = opened(path)
    assert (study.resumed, [each.configuration for each in study.outcomes()]) == (
        2,
        [{"Tiny.b": 1}, {"Tiny.b": 2}],
    )
    study.close()
    narrow = Space(dimensions=(Dimension(path="Tiny.b", incumbent=0, values=(2,)),))
    study = opened(path, narrow)
    assert (study.resumed, len(study.outcomes())) == (1, 1)
    study.close()


@pytest.mark.parametrize(
    ("ends", "value", "is_of"),
    [
        ((1, 9), 4, True),
        ((1, 9), 10, False),
        ((1, 9), 4.5, False),
        ((1, 9), True, False),
        ((1.0, 9.0), 4.5, True),
        ((1.0, 9.0), "4", False),
    ],
)
def test_any_value_of_a_range_counts_where_not_all_are_tried(
    ends: tuple[float, float], value: object, is_of: bool
) -> None:
    tried = Dimension(path="Tiny.b", incumbent=0, values=(1, 9), range=TuneRange(*ends))
    space = Space(dimensions=(tried,))
    assert space.has({"Tiny.b": value}, of_ranges=True) is is_of
    assert not space.has({"Tiny.b": value}, of_ranges=False)


def test_outcomes_are_the_last_rounds_the_best_first() -> None:
    study = opened(None)
    for each in (trial(1, 0.9), trial(2, 0.8), trial(1, 0.7, rung=1), trial(3, 0.75), trial(1, 0.1)):
        study.add(each)
        study.outcomes()
    assert [(each.configuration["Tiny.b"], each.value) for each in study.outcomes()] == [
        (1, 0.7),
        (3, 0.75),
        (2, 0.8),
    ]


def test_hashes_tell_values_apart_and_not_their_memory() -> None:
    values: list[Any] = [
        [],
        [np.zeros(4, "f4")],
        [np.zeros(4, "i4")],
        [np.zeros((2, 2), "f4")],
        [np.zeros(2, "f4"), np.zeros(2, "f4")],
        [[np.zeros(2, "f4"), np.zeros(2, "f4")]],
        [np.array(["a", 1], object)],
        [1],
        ["1"],
        [True],
        [None],
        ["\ud800"],
    ]
    hashes = [content_hash(each) for each in values]
    assert len({*hashes}) == len(values)
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", each) for each in hashes)
    square = np.arange(4.0).reshape(2, 2)
    assert content_hash((np.asfortranarray(square),)) == content_hash([square])
