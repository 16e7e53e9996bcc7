"""Bundles are read as they were written, and damaged ones are refused."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import fields, replace
from typing import Any

import pytest
from bundle_tables import changed, small_tables
from every import every
from limit_bundles import Limit, limits

from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import STEP_FIELDS, counted
from etconfig.device.bundle.tables import (
    BUNDLE_TABLE,
    BUNDLE_VERSION,
    MAX_PROFILES,
    InstructionRow,
    ProfileRow,
    StoredKind,
)
from etconfig.expression.operations import Op
from etconfig.flatbuffer.layout import REFERENCE, U64, Layout

NAN = int.from_bytes(struct.pack("<d", float("nan")), "little")


def test_content_is_read_as_it_was_written() -> None:
    tables = small_tables()
    read = read_tables(write_tables(tables))
    for field in fields(tables):
        written = getattr(tables, field.name)
        found = getattr(read, field.name)
        assert (tuple(found) if isinstance(written, tuple) else found) == written, field.name


def test_equal_content_gives_equal_bytes_on_every_python() -> None:
    digest = hashlib.sha256(write_tables(small_tables())).hexdigest()
    assert digest == "66cfe5e293f6c3108b70c6e0833d7a8b80656433231739936cf18a47b9563f8d"


WRONG: list[tuple[str, int, dict[str, Any], str]] = [
    ("values", 0, {"kind": 7}, "its kind is unknown"),
    ("values", 0, {"depth": 1}, "its depth is wrong"),
    ("values", 2, {"depth": 0}, "its depth is wrong"),
    ("values", 2, {"depth": 5}, "nested too deep"),
    ("values", 2, {"length": 9}, "leaves 7 elements"),
    ("values", 2, {"bits": 4}, "does not come before it"),
    ("values", 3, {"bits": NAN}, "not finite"),
    ("values", 5, {"bits": 2}, "neither true nor false"),
    ("values", 1, {"bits": 99}, "refers to element 99 of 14"),
    ("facts", 0, {"type": 5}, "its type is unknown"),
    ("facts", 0, {"volatility": 3}, "its volatility is unknown"),
    ("facts", 0, {"minimum": float("nan")}, "not a number"),
    ("facts", 0, {"choice_count": 1}, "only texts have choices"),
    ("facts", 0, {"name": 1}, "not sorted"),
    ("facts", 1, {"name": 0}, "not sorted"),
    ("facts", 1, {"first_choice": 7}, "leaves 7 elements"),
    ("hand_set_facts", 0, {"value": 0}, "another type"),
    ("hand_set_facts", 0, {"fact": 2}, "refers to element 2 of 2"),
    ("instructions", 0, {"op": 35}, "an instruction is unknown"),
    ("instructions", 0, {"operand": 2}, "a fact that is not there"),
    ("instructions", 1, {"operand": 7}, "a constant that is not there"),
    ("instructions", 1, {"operand": 4}, "a constant of no type"),
    ("instructions", 1, {"operand": 1}, "operands of wrong types"),
    ("instructions", 2, {"operand": 1}, "an operand that it does not take"),
    ("instructions", 2, {"op": Op.AND, "operand": 1}, "too few operands"),
    ("instructions", 2, {"op": Op.SELECT}, "takes more than the stack has"),
    ("expressions", 0, {"length": 2}, "do not leave one value"),
    ("expressions", 0, {"length": 0}, "do not leave one value"),
    ("expressions", 0, {"type": 1}, "do not leave one value"),
    ("expressions", 0, {"type": 9}, "its type is unknown"),
    ("expressions", 0, {"stack": 3}, "the depth of its stack is wrong"),
    ("conditions", 0, {"length": 0}, "it has no clauses"),
    ("conditions", 0, {"first": 1}, "a clause is not a condition"),
    ("options", 0, {"kind": 8}, "its kind is unknown"),
    ("options", 0, {"item_kind": 8}, "its kind is unknown"),
    ("options", 0, {"scope": 2}, "its scope is unknown"),
    ("options", 0, {"applies": 2}, "when it applies"),
    ("options", 0, {"is_optional": 2}, "a flag is wrong"),
    ("options", 0, {"maximum": float("nan")}, "not a number"),
    ("options", 0, {"multiple_of": -1.0}, "multiples"),
    ("options", 0, {"default_value": 1}, "the type of its option"),
    ("options", 0, {"default_value": 6}, "the type of its option"),
    ("options", 0, {"key": 14}, "refers to element 14 of 14"),
    ("options", 0, {"from_fact": 2}, "refers to element 2 of 2"),
    ("choices", 0, {"sent": 7}, "refers to element 7 of 7"),
    ("backends", 0, {"option_count": 3}, "leaves 2 elements"),
    ("backends", 0, {"program_beats_recommendation": 2}, "a flag is wrong"),
    ("advice", 0, {"option": 2}, "refers to element 2 of 2"),
    ("backends", 0, {"first_option": 1, "option_count": 1}, "of its advice is elsewhere"),
    ("advice", 0, {"expression": 0}, "the type of its option"),
    ("candidates", 0, {"value": 1}, "the type of its option"),
    ("candidates", 0, {"source": 3}, "its source is unknown"),
    ("candidates", 0, {"layer": 8}, "its layer is unknown"),
    ("candidates", 1, {"value": 0}, "the type of its option"),
    ("candidates", 0, {"condition": 1}, "refers to element 1 of 1"),
    ("option_settings", 0, {"program_value": 1}, "the type of its option"),
    ("option_settings", 1, {"option": 0}, "the type of its option"),
    ("backend_settings", 0, {"backend": 1}, "refers to element 1 of 1"),
    ("slots", 0, {"first": 5}, "refers to element 2 of 1"),
    ("profiles", 0, {"provider": 3}, "its provider is unknown"),
    ("profiles", 0, {"is_fallback": 2}, "a flag is wrong"),
    ("profiles", 0, {"slot_count": 3}, "leaves 2 elements"),
    ("models", 0, {"fallback": 2}, "a flag is wrong"),
    ("variants", 0, {"file": NONE}, "refers to element"),
    ("variants", 0, {"backend": 99}, "refers to element 99 of 14"),
]


@every(("vector", "index", "fields", "problem"), WRONG, ids=[f"{v}-{i}-{f}" for v, i, f, _ in WRONG])
def test_a_wrong_row_is_refused(vector: str, index: int, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_tables(write_tables(changed(vector, index, **fields)))


def test_options_of_settings_are_in_order() -> None:
    tables = small_tables()
    swapped = replace(tables, option_settings=tables.option_settings[::-1])
    with pytest.raises(ValueError, match="in disorder"):
        read_tables(write_tables(swapped))


def test_a_stack_is_at_most_128_deep() -> None:
    tables = small_tables()
    program = (*[InstructionRow(Op.FACT, 0)] * 129, InstructionRow(Op.MIN, 129))
    expressions = (tables.expressions[0]._replace(length=130), *tables.expressions[1:])
    deep = replace(tables, instructions=program, expressions=expressions)
    with pytest.raises(ValueError, match="deeper than 128"):
        read_tables(write_tables(deep))


def test_the_numbers_of_profiles_and_project_facts_are_bounded() -> None:
    tables = small_tables()
    many: tuple[ProfileRow, ...] = tuple(tables.profiles) * (MAX_PROFILES + 1)
    with pytest.raises(ValueError, match="at most 1024"):
        read_tables(write_tables(replace(tables, profiles=many)))
    with pytest.raises(ValueError, match="the project sets more facts"):
        read_tables(write_tables(replace(tables, project_fact_count=2)))
    with pytest.raises(ValueError, match="the profile that it names"):
        read_tables(write_tables(replace(tables, named_profile=1)))


def test_ranges_that_overlap_too_often_are_refused() -> None:
    tables = small_tables()
    value = tables.values[2]._replace(length=1500, kind=StoredKind.ARRAY)
    value = value._replace(steps=1501)
    wide = replace(tables, values=(tables.values[0], *[value] * 3000), items=(0,) * 1500)
    with pytest.raises(ValueError, match="ranges overlap"):
        read_tables(write_tables(wide))


@pytest.mark.parametrize("limit", list(limits()), ids=lambda limit: limit.name)
def test_work_is_limited(limit: Limit) -> None:
    read_tables(write_tables(limit.accepted))
    with pytest.raises(ValueError, match=limit.problem):
        read_tables(write_tables(limit.refused))


@pytest.mark.parametrize("vector", STEP_FIELDS)
def test_wrong_steps_are_refused(vector: str) -> None:
    field = STEP_FIELDS[vector]
    steps = getattr(getattr(small_tables(), vector)[0], field)
    with pytest.raises(ValueError, match="its steps are wrong"):
        read_tables(write_tables(changed(vector, 0, **{field: steps ^ 1})))


def test_a_value_is_limited() -> None:
    tables = small_tables()
    most = tables.values[2]._replace(bits=7, length=65534)
    items = (*tables.items, *[0] * 65535)
    values = (*tables.values[:2], most, *tables.values[3:])
    read_tables(write_tables(counted(replace(tables, values=values, items=items))))
    values = (*tables.values[:2], most._replace(length=65535), *tables.values[3:])
    with pytest.raises(ValueError, match="larger than 65,535"):
        read_tables(write_tables(replace(tables, values=values, items=items)))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "identifier is not ETCB"),
        (b"\x10\0\0\0ETCB", "too early"),
        (write_tables(small_tables())[:400], "too early"),
        (b"\0" * ((16 << 20) + 1), "larger than 16 MiB"),
        (write_tables(small_tables()).replace(b"ETCB", b"ETAR"), "identifier is not ETCB"),
    ],
)
def test_other_bytes_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_tables(data)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etconfig.device.bundle.bundle_writer.BUNDLE_VERSION", 1)
    with pytest.raises(ValueError, match="its version is 1"):
        read_tables(write_tables(small_tables()))


def test_a_later_version_is_read_unless_it_needs_a_later_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = small_tables()
    kinds = {field.name: field.kind for field in BUNDLE_TABLE.fields}
    later = Layout(**kinds, new=U64, newer=REFERENCE)
    monkeypatch.setattr("etconfig.device.bundle.bundle_writer.BUNDLE_TABLE", later)
    monkeypatch.setattr("etconfig.device.bundle.bundle_writer.BUNDLE_VERSION", BUNDLE_VERSION + 1)
    assert read_tables(write_tables(tables)) == read_tables(write_tables(small_tables()))
    with pytest.raises(ValueError, match=f"needs a reader of version {BUNDLE_VERSION + 1}, and this"):
        read_tables(write_tables(replace(tables, least_reader=BUNDLE_VERSION + 1)))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"fingerprint": "abc"}, "its fingerprint should be a SHA-256"),
        ({"fingerprint": "A" * 64}, "its fingerprint should be a SHA-256"),
        ({"fingerprint": ""}, "its fingerprint should be a SHA-256"),
        ({"sources": "a" * 63}, "its sources should be a SHA-256"),
        ({"revision": 1 << 53}, "its revision is larger than 9007199254740991"),
        ({"not_after": 253_402_300_800}, "its not_after is larger than 253402300799"),
    ],
)
def test_a_release_that_other_readers_would_round_is_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_tables(write_tables(replace(small_tables(), **changed)))
