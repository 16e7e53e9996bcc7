"""Bundles at the limits of work, and just beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

from bundle_tables import small_tables

from etconfig.device.bundle import step_counter as steps
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import (
    BundleTables,
    ConditionRow,
    ExpressionRow,
    HandSetFactRow,
    InstructionRow,
    ModelRow,
    OptionSettingsRow,
    ProfileRow,
    SlotRow,
    StoredKind,
    ValueRow,
)
from etconfig.expression.operations import Op

_LIMITS = ("MAX_STEPS", "MAX_INSTRUCTIONS", "MAX_SCRATCH_BYTES", "MAX_SLOTS")


class Limit(NamedTuple):
    """A bundle that is accepted, and one that is refused since it takes a little more."""

    name: str
    accepted: BundleTables
    refused: BundleTables
    problem: str


def uncounted(tables: BundleTables) -> BundleTables:
    """Return tables that say correctly how many steps they take, however many they are."""
    with patch.multiple(steps, **dict.fromkeys(_LIMITS, 1 << 60)):
        return counted(tables)


def _text(tables: BundleTables, text: str) -> tuple[BundleTables, int]:
    """Add a text value, and return its index."""
    row = ValueRow(len(tables.texts), 0, StoredKind.TEXT, 0)
    grown = replace(tables, texts=(*tables.texts, text), values=(*tables.values, row))
    return grown, len(tables.values)


def _array(
    tables: BundleTables, items: Sequence[int], kind: int = StoredKind.ARRAY
) -> tuple[BundleTables, int]:
    length = len(items) if kind == StoredKind.ARRAY else len(items) // 2
    row = ValueRow(len(tables.items), length, kind, 1)
    grown = replace(tables, items=(*tables.items, *items), values=(*tables.values, row))
    return grown, len(tables.values)


def _condition(tables: BundleTables, code: Sequence[tuple[Op, int]], stack: int) -> BundleTables:
    """Add a condition."""
    row = ExpressionRow(len(tables.instructions), len(code), 7, 0, stack)
    condition = ConditionRow(len(tables.expressions), 1, 7)
    return replace(
        tables,
        instructions=(*tables.instructions, *(InstructionRow(op, operand) for op, operand in code)),
        expressions=(*tables.expressions, row),
        conditions=(*tables.conditions, condition),
    )


def _profiles(tables: BundleTables, count: int) -> BundleTables:
    """Replace the profiles by as many that the last condition selects."""
    first = len(tables.texts)
    condition = len(tables.conditions) - 1
    rows = [ProfileRow(first + at, condition, 0, 0, 0, 0, 0, 1, NONE, 2, 0) for at in range(count)]
    return replace(tables, texts=(*tables.texts, *(f"p{at:04}" for at in range(count))), profiles=tuple(rows))


def _instructions(count: int) -> BundleTables:
    return _condition(small_tables(), [(Op.CONSTANT, 5), *[(Op.NOT, 0)] * (count - 1)], 1)


def _contains(part_bytes: int) -> BundleTables:
    tables, text = _text(small_tables(), "a" * 8191)
    tables, part = _text(tables, "a" * (part_bytes - 1) + "b")
    return _profiles(_condition(tables, [(Op.CONSTANT, text), (Op.CONSTANT, part), (Op.CONTAINS, 0)], 2), 1)


def _joined(size_bytes: int) -> BundleTables:
    tables, left = _text(small_tables(), "a" * 4096)
    tables, right = _text(tables, "b" * (size_bytes - 4096))
    code = [
        (Op.CONSTANT, left),
        (Op.CONSTANT, right),
        (Op.JOIN, 0),
        (Op.CONSTANT, right),
        (Op.STARTS_WITH, 0),
    ]
    return _condition(tables, code, 2)


def _grown(count: int) -> BundleTables:
    """Texts of facts that are joined from the left: each is copied once."""
    code = [(Op.FACT, 1), *[(Op.FACT, 1), (Op.JOIN, 0)] * (count - 1), (Op.FACT, 1), (Op.EQUAL, 0)]
    return _condition(small_tables(), code, 2)


def _built(count: int) -> BundleTables:
    lists = [*[(Op.FACT, 0)] * 64, (Op.MAKE_LIST, 64)]
    code = [*lists, (Op.SIZE, 0)] * count
    sums = [(Op.MIN, count), (Op.FACT, 0), (Op.LESS, 0)]
    return _condition(small_tables(), [*code, *sums], 64 + count - 1)


def _selection(profiles: int) -> BundleTables:
    tables, text = _text(small_tables(), "a" * 8191)
    tables, part = _text(tables, "b" * 120)
    code = [(Op.CONSTANT, text), (Op.CONSTANT, part), (Op.CONTAINS, 0)]  # 8192 * 16 and some
    return _profiles(_condition(tables, code, 2), profiles)


def _buckets(count: int) -> BundleTables:
    """A profile under a condition with many buckets of the longest text that a device has."""
    tables, name = _text(small_tables(), "a")
    bucket = [(Op.FACT, 1), (Op.CONSTANT, name), (Op.BUCKET, 0)]
    code = [*bucket * count, (Op.MIN, count), (Op.CONSTANT, name), (Op.FACT, 1), (Op.BUCKET, 0), (Op.LESS, 0)]
    return _profiles(_condition(tables, code, count + 1), 8)


def _slots(count: int) -> BundleTables:
    tables = small_tables()
    profile = tables.profiles[0]._replace(slot_count=count)
    return replace(tables, slots=(SlotRow(4, NONE, 0, 0),) * count, profiles=(profile,))


def _slot_steps(times: int) -> BundleTables:
    """A condition that every candidate evaluates again."""
    tables, text = _text(small_tables(), "a" * 8191)
    tables, part = _text(tables, "b" * 120)
    tables = _condition(tables, [(Op.CONSTANT, text), (Op.CONSTANT, part), (Op.CONTAINS, 0)], 2)
    candidate = tables.candidates[0]._replace(condition=len(tables.conditions) - 1)
    settings = OptionSettingsRow(0, 0, times, NONE, NONE)
    profile = tables.profiles[0]._replace(slot_count=1)
    return replace(
        tables,
        candidates=(candidate,) * times,
        option_settings=(settings,),
        backend_settings=(tables.backend_settings[0]._replace(length=1),),
        profiles=(profile,),
    )


def _hand_set_text(size_bytes: int) -> BundleTables:
    tables, value = _text(small_tables(), "a" * size_bytes)
    return replace(tables, hand_set_facts=(HandSetFactRow(1, value, 13),))


def _hand_set_list(items: int, text: str) -> BundleTables:
    tables, value = _text(small_tables(), text)
    tables, value = _array(tables, [value] * items)
    facts = (tables.facts[0], tables.facts[1]._replace(choice_count=0, type=4))
    return replace(tables, facts=facts, hand_set_facts=(HandSetFactRow(1, value, 13),))


def _table(layers: int) -> BundleTables:
    """Layers of a table of 64 keys, each key of which is compared with all before it."""
    tables = small_tables()
    first = len(tables.texts)
    tables = replace(tables, texts=(*tables.texts, *(f"key{at:02}" for at in range(64))))
    flat = [each for at in range(64) for each in (first + at, 0)]
    tables, value = _array(tables, flat, StoredKind.TABLE)
    option = tables.options[0]._replace(kind=6, default_value=NONE, from_fact=NONE)
    candidate = tables.candidates[0]._replace(value=value)
    settings = OptionSettingsRow(0, 0, layers, NONE, NONE)
    return replace(
        tables,
        options=(option, tables.options[1]),
        advice=(),
        backends=(tables.backends[0]._replace(advice_count=0),),
        candidates=(candidate,) * layers,
        option_settings=(settings,),
        backend_settings=(tables.backend_settings[0]._replace(length=1),),
        profiles=(tables.profiles[0]._replace(slot_count=1),),
    )


def _needs(count: int) -> BundleTables:
    tables = small_tables()
    variant = tables.variants[0]._replace(first_need=len(tables.items), need_count=count)
    return replace(
        tables, items=(*tables.items, *[2] * count), variants=(variant,), models=(ModelRow(1, 0, 1, 0),)
    )


NAMES = {
    **dict.fromkeys(("facts", "options", "profiles", "models"), "name"),
    "backends": "id",
    "slots": "method",
}
"""The field that contains the name of a row, by vector."""


def _named(vector: str, field: str, size_bytes: int) -> BundleTables:
    """Give the last row of a vector a name of this size, with characters of two bytes."""
    tables = small_tables()
    rows = getattr(tables, vector)
    named = rows[-1]._replace(**{field: len(tables.texts)})
    text = "z" * (size_bytes % 2) + "\u07ff" * (size_bytes // 2)
    return replace(tables, texts=(*tables.texts, text), **{vector: (*rows[:-1], named)})


def limits() -> Iterator[Limit]:
    """Yield a pair of bundles for each limit."""
    steps_problem = "may take more than 1,048,576 steps"
    scratch = "more than 8192 bytes"
    long = "longer than devices accept"
    for name, make, most, problem in (
        ("instructions", _instructions, 4096, "at most 4096"),
        ("contains", _contains, 126 * 8, steps_problem),
        ("joined", _joined, 8192, scratch),
        ("grown", _grown, 8, scratch),
        ("built", _built, 4, scratch),
        ("selection", _selection, 7, steps_problem),
        ("buckets", _buckets, 61, steps_problem),
        ("slots", _slots, 1024, "at most 1024"),
        ("slot-steps", _slot_steps, 7, steps_problem),
        ("fact-text", _hand_set_text, 1024, long),
        ("fact-items", lambda count: _hand_set_list(count, "a"), 1024, long),
        ("fact-bytes", lambda count: _hand_set_list(count, "a" * 16), 1024, long),
        ("fact-list-bytes", lambda size: _hand_set_list(64, "a" * size), 256, long),
        ("table", _table, 11, steps_problem),
        ("needs", _needs, 341, steps_problem),
    ):
        beyond = most * 2 if name == "contains" else most + 1
        yield Limit(name, uncounted(make(most)), uncounted(make(beyond)), problem)
    for vector, field in (*NAMES.items(), ("slots", "instance")):
        accepted, refused = (uncounted(_named(vector, field, size)) for size in (256, 257))
        yield Limit(f"name of {vector}.{field}", accepted, refused, "its name has more than 256 bytes")
