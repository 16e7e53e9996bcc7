"""Conditions in SQL: on every row, DuckDB gives what the language's own evaluation gives."""

from __future__ import annotations

import json
import os
from random import Random

import pytest
from command_line import DATA
from random_expressions import REGISTRY, random_condition, random_facts
from version_texts import SIGNS, model_comparison, random_version_text

from etconfig.errors import ProfileError
from etconfig.expression import Expression, ExpressionType, parse_expression

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from fleet_rows import fill_devices, sql_answers  # noqa: E402

ROWS = int(os.environ.get("ETCONFIG_FLEET_ROWS", "5000"))
"""`make test-fleet` sets more."""


def parsed(text: str) -> Expression | None:
    """The condition; None if it names a value that a fact never has."""
    try:
        return parse_expression(text, REGISTRY, expect=ExpressionType.BOOL)
    except ProfileError:
        return None


def some_condition(random: Random) -> str:
    """A condition; some ask for the bucket of a device, too."""
    text = random_condition(random)
    if random.random() < 0.1:
        place, share = f"bucket(a.model + '{random.randrange(9)}', 'rollout')", random.random()
        text = f"({text}) {random.choice(('&&', '||'))} {place} < {share}"
    return text


def test_random_conditions_are_equal_in_sql_and_python_on_every_row() -> None:
    random = Random(20_261_123)
    connection = duckdb.connect()
    sheets = [random_facts(random) for _ in range(max(ROWS // 1000, 25))]
    fill_devices(connection, REGISTRY, sheets)
    compared = pushed = written = 0
    while compared < ROWS:
        conditions = [condition for _ in range(50) if (condition := parsed(some_condition(random)))]
        by_hand = random_facts(random) if random.random() < 0.3 else {}
        by_hand = {name: value for name, value in by_hand.items() if random.random() < 0.3}
        for condition, answers in zip(
            conditions, sql_answers(connection, REGISTRY, conditions, by_hand), strict=True
        ):
            written += 1
            if answers is None:
                continue
            pushed += 1
            for facts, answer in zip(sheets, answers, strict=True):
                expected = condition.evaluate({**facts, **by_hand})
                known = expected if isinstance(expected, bool) else None
                assert answer is known, (condition.source, facts, by_hand)
                compared += 1
    assert pushed > 0.8 * written


def test_versions_have_the_order_of_the_model() -> None:
    random = Random(20_261_129)
    texts = [random_version_text(random) for _ in range(ROWS)]
    connection = duckdb.connect()
    fill_devices(connection, REGISTRY, [{"a.model": text} for text in texts])
    bounds = [(sign, bound) for sign in SIGNS for bound in ("0", "1.10", "9.0.100", "535.104.5")]
    conditions = [parse_expression(f'version(a.model) {sign} "{bound}"', REGISTRY) for sign, bound in bounds]
    answers = sql_answers(connection, REGISTRY, conditions, {})
    expected = [[model_comparison(text, sign, bound) for text in texts] for sign, bound in bounds]
    assert answers == expected


def test_buckets_are_those_of_python() -> None:
    vectors = json.loads((DATA / "bucket_vectors.json").read_text(encoding="utf-8"))
    connection = duckdb.connect()
    sheets = [{"a.model": vector["text"]} for vector in vectors]
    for vector, sheet in zip(vectors, sheets, strict=True):
        fill_devices(connection, REGISTRY, [sheet])
        text = f"bucket(a.model, {json.dumps(vector['salt'], ensure_ascii=False)}) <= {vector['bucket']!r}"
        both = [parse_expression(each, REGISTRY) for each in (text, text.replace("<=", "<"))]
        assert [each.evaluate(sheet) for each in both] == [True, False]
        assert sql_answers(connection, REGISTRY, both, {}) == [[True], [False]]
