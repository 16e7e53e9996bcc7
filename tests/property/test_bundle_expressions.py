"""The instructions of a bundle give what the expression gives: every value, unknown and fault."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any

import pytest
from effort import seeds
from random_expressions import REGISTRY, random_facts, random_value

from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import FACT_TYPES, BundleTables, FactRow
from etconfig.device.compiling.table_builder import CannotBundleError, TableBuilder
from etconfig.device.deciding.evaluation import BY_ZERO, TOO_LARGE, ExpressionEvaluator
from etconfig.diagnostics import Span
from etconfig.errors import ProfileError
from etconfig.expression import Expression, ExpressionParser, Fault, Unknown, parse_expression

FACTS = sorted(REGISTRY.names)


def tables_of(builder: TableBuilder) -> BundleTables:
    """A bundle with expressions only."""
    facts = [
        FactRow(-math.inf, math.inf, builder.text(name), NONE, 0, 0, FACT_TYPES.index(info.type), 0)
        for name in builder.facts
        if (info := REGISTRY.get(name)) is not None
    ]
    empty: Any = ()
    tables = BundleTables(
        producer="",
        fingerprint="0" * 64,
        texts=tuple(builder.texts),
        values=builder.value_rows,
        items=builder.items,
        instructions=builder.instructions,
        expressions=builder.expressions,
        conditions=builder.conditions,
        facts=facts,
        project_fact_count=0,
        named_profile=NONE,
        require_match=False,
        **dict.fromkeys(("hand_set_facts", "backends", "options", "choices", "advice", "candidates"), empty),
        **dict.fromkeys(("option_settings", "backend_settings", "slots", "profiles"), empty),
        **dict.fromkeys(("models", "variants"), empty),
    )
    return counted(tables)


def plain(result: object) -> object:
    """A result that can be compared: the reason of a fault by its kind, NaN as a text."""
    if isinstance(result, Fault):
        return "fault", "zero" in result.reason
    if isinstance(result, list):
        return [plain(item) for item in result]
    if isinstance(result, float):
        return "nan" if math.isnan(result) else (result, math.copysign(1, result))
    return type(result), result


def random_expressions(random: Random, parser: ExpressionParser) -> Iterator[Expression]:
    """Random expressions but those that compare a fact with a value that it never has, or join too much."""
    span = Span(file="random")
    while True:
        with suppress(ProfileError, ValueError):
            expression = parser.parse(random_value(random, depth=random.randint(1, 4)), lambda: span)
            builder = TableBuilder(FACTS)
            builder.expression(expression)
            tables_of(builder)
            yield expression


class TestRandomExpressions:
    """Each of 4,000 random expressions is evaluated on four devices."""

    @pytest.mark.parametrize("seed", seeds(4))
    def test_instructions_give_the_same_as_the_expression(self, seed: int) -> None:
        random = Random(seed)
        parser = ExpressionParser(REGISTRY)
        expressions = [*islice(random_expressions(random, parser), 1000)]
        builder = TableBuilder(FACTS)
        numbers = [builder.expression(expression) for expression in expressions]
        tables = read_tables(write_tables(tables_of(builder)))
        for _ in range(4):
            facts = random_facts(random)
            evaluator = ExpressionEvaluator(tables, facts)
            for number, expression in zip(numbers, expressions, strict=True):
                expected = plain(expression.evaluate(facts))
                assert plain(evaluator.evaluate(number)) == expected, (expression.source, facts)


def evaluated(text: str, facts: dict[str, object] | None = None) -> object:
    builder = TableBuilder(FACTS)
    number = builder.expression(parse_expression(text, REGISTRY))
    return ExpressionEvaluator(read_tables(write_tables(tables_of(builder))), facts or {}).evaluate(number)


def condition_of(text: str) -> Expression:
    return parse_expression(text, REGISTRY)


class TestExamples:
    """Cases at the borders of the language."""

    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("1 / 0 + a.cores", Unknown(("a.cores",))),
            ("a.cores / 0 == 1 && a.is_hot", Unknown(("a.cores", "a.is_hot"))),
            ("1 / 0 == 1 || true", True),
            ("a.is_hot ? 1 : 1 / 0", Unknown(("a.is_hot",))),
            ("true ? 1 : 1 / 0", 1),
            ("[1 / 0, 2 % 0]", Fault(BY_ZERO)),
            ("-9223372036854775808 / -1", Fault(TOO_LARGE)),
            ("-9223372036854775808 % -1", Fault(TOO_LARGE)),
            ("9223372036854775807 < 9223372036854775808.0", True),
            ("(0.0 / 0.0) in [0.0 / 0.0]", False),
            ("[0.0 / 0.0] == [0.0 / 0.0]", False),
            ("[1.0] == [1]", True),
            ("1 in []", False),
            ("[] == ['a']", False),
            ("-7 / 2", -3),
            ("-7 % 2", -1),
            ("'é😀'.size()", 2),
            ("'😀' > '\uffff'", True),
            ("''.contains('')", True),
            ("'ab'.endsWith('b')", True),
            ("true ? [] : ['a']", []),
            ("min(0.0, -0.0)", 0.0),
        ],
    )
    def test_an_expression_without_facts(self, text: str, result: object) -> None:
        assert evaluated(text) == result
        assert plain(condition_of(text).evaluate({})) == plain(result)

    def test_a_condition_is_met_if_all_of_its_clauses_are(self) -> None:
        builder = TableBuilder(FACTS)
        number = builder.condition(condition_of("a.cores > 2 && (a.is_hot || a.slow == 1)"))
        tables = read_tables(write_tables(tables_of(builder)))
        texts = [tables.texts[each.text] for each in tables.expressions]
        assert texts == ["a.cores > 2", "(a.is_hot || a.slow == 1)"]
        assert ExpressionEvaluator(tables, {"a.cores": 4, "a.slow": 1}).is_met(number)
        assert not ExpressionEvaluator(tables, {"a.cores": 4}).is_met(number)
        assert not ExpressionEvaluator(tables, {"a.cores": 1, "a.is_hot": True}).is_met(number)

    def test_equal_parts_are_kept_once(self) -> None:
        builder = TableBuilder(FACTS)
        same = [builder.condition(condition_of("a.cores > 2")) for _ in range(2)]
        builder.expression(condition_of("a.cores > 2"))
        assert same == [0, 0]
        assert len(builder.instructions) == 3

    def test_a_stack_that_is_too_deep_is_refused(self) -> None:
        deep = f"max({', '.join(f'a.cores + {n}' for n in range(129))})"
        with pytest.raises(CannotBundleError, match="a stack of 130, and a device has 128"):
            TableBuilder(FACTS).expression(condition_of(deep))

    def test_values_that_the_format_lacks_are_refused(self) -> None:
        builder = TableBuilder(())
        with pytest.raises(CannotBundleError, match="nest 4 deep"):
            builder.value([[[[[1]]]]])
        with pytest.raises(CannotBundleError, match="64 bits"):
            builder.value(2**63)
        with pytest.raises(CannotBundleError, match="half a character"):
            builder.value("\ud800")
