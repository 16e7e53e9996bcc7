"""`plain_differences`: one line for each value that differs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from etconfig.app.locking.plain_difference import is_too_deep, plain_differences


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ({"a": 1, "b": {"c": 2}}, {"b": {"c": 2}, "a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b: 1 → 2"]),
        ({"a": 1}, {}, ["a: 1 → (absent)"]),
        ({}, {"a": None}, ["a: (absent) → none"]),
        ({"x.y": 1}, {"x.y": 2}, ['"x.y": 1 → 2']),
        ({"a": 1}, {"a": 1.0}, ["a: 1 → 1.0"]),
        ({"a": 1}, {"a": True}, ["a: 1 → true"]),
        ({"a": [1, 2, 3]}, {"a": [1, 2, 9, 3]}, ["a[2]: (absent) → 9"]),
        ({"a": [1, 2, 3]}, {"a": [2, 3]}, ["a[0]: 1 → (absent)"]),
        ({"a": [1, {"b": 1}]}, {"a": [1, {"b": 2}]}, ["a[1].b: 1 → 2"]),
        ({"a": [1, 1]}, {"a": [1]}, ["a[1]: 1 → (absent)"]),
        ({"a": {"b": 1}}, {"a": [1]}, ['a: {"b": 1} → [1]']),
        (3, 4, ["3 → 4"]),
    ],
)
def test_differences_have_their_place(old: object, new: object, lines: list[str]) -> None:
    assert list(plain_differences(old, new)) == lines


def test_there_are_lines_if_and_only_if_values_differ() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        old, new = random_value(rng, 3), random_value(rng, 3)
        assert list(plain_differences(old, old)) == []
        is_same = repr(old) == repr(new) or _sorted_text(old) == _sorted_text(new)
        assert bool(list(plain_differences(old, new))) is not is_same


def random_value(rng: random.Random, depth: int) -> Any:
    kind = rng.choice(("leaf", "table", "array")) if depth else "leaf"
    if kind == "leaf":
        return rng.choice((0, 1, 1.0, True, "a", None))
    if kind == "array":
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice("ab"): random_value(rng, depth - 1) for _ in range(rng.randrange(3))}


def _sorted_text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_sorted_text(value[key])}" for key in sorted(value)) + "}"
    return f"[{','.join(map(_sorted_text, value))}]" if isinstance(value, list) else repr(value)


def test_deep_nesting_is_found() -> None:
    value: Any = 1
    for _ in range(50):
        value = {"a": [value]}
    assert not is_too_deep(value["a"])
    assert is_too_deep([[value]])
