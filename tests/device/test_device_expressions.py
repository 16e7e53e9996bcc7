"""`device/evaluate.h`: expressions have the values and the explanations that they have in Python."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from bundle_tables import small_tables
from device_programs import SANITIZED, compile_device_program, run_device_program
from random_expressions import REGISTRY, random_facts, random_value

from etconfig.device.bundle_format import FACT_TYPES
from etconfig.device.bundle_writer import write_tables
from etconfig.device.table_builder import TableBuilder
from etconfig.device.tables import NONE, BundleTables, FactRow
from etconfig.errors import ProfileError
from etconfig.profile import ClauseResult, Expression, parse_expression
from etconfig.profile.expression.checked import fact_names

EXPRESSIONS = int(os.environ.get("ETCONFIG_DEVICE_EXPRESSIONS", "2000"))
"""The number of random expressions; `make test-device` evaluates 10,000."""
SHEETS = 5
_SPECIAL = (
    "(0.0 / 0.0) in [0.0 / 0.0]",
    "[0.0 / 0.0] == [0.0 / 0.0]",
    "1 / 0 + a.offset",
    "a.offset + 1 / 0",
    "a.cores > 2 || 1 / 0 == 1",
    "1 / 0 == 1 && a.is_hot",
    "9223372036854775807 + 1",
    "-9223372036854775807 - 1",
    "(-9223372036854775807 - 1) / -1",
    "(-9223372036854775807 - 1) % -1",
    "-(-9223372036854775807 - 1)",
    "a.offset * 3",
    "a.offset / 7 * 7 + a.offset % 7",
    "9007199254740993 == 9007199254740992.0",
    "9223372036854775807 < 9223372036854775808.0",
    "a.offset > a.heat",
    "[1, 2] == [1.0, 2.0]",
    "1.0 in [1, 2]",
    "[1] in []",
    "size('äöü€𝄞')",
    "'ä' < '€' && '€' < '𝄞'",
    "('a' + a.model).startsWith('') && a.model.contains('')",
    "min(0.0, -0.0)",
    "max(0.0 / 0.0, 1.0)",
    "max(1.0, 0.0 / 0.0)",
    "1.0 / -0.0",
    "!(a.level < 0.5 && a.heat > 10.0 && a.is_hot)",
    "has(a.level) && a.level * 3.0 > 0.1 + 0.2",
)


def expressions(rng: random.Random) -> Iterator[Expression]:
    texts = [*_SPECIAL, *(random_value(rng, 4) for _ in range(EXPRESSIONS))]
    for text in dict.fromkeys(texts):
        try:
            yield parse_expression(text, REGISTRY)
        except ProfileError:
            continue  # nested too deep


def bundle_of(parsed: list[Expression]) -> bytes:
    """Return a bundle that contains expressions and facts, and nothing else."""
    names = sorted(REGISTRY.names)
    builder = TableBuilder(names)
    for expression in parsed:
        builder.expression(expression)
    empty: dict[str, tuple[()]] = {
        name: () for name, rows in vars(small_tables()).items() if isinstance(rows, tuple)
    }
    facts = []
    for name in names:
        info = REGISTRY.get(name)
        assert info is not None
        low = float("-inf") if info.minimum is None else float(info.minimum)
        high = float("inf") if info.maximum is None else float(info.maximum)
        facts.append(FactRow(low, high, builder.text(name), NONE, 0, 0, FACT_TYPES.index(info.type), 2))
    fields = {
        **vars(small_tables()),
        **empty,
        "texts": tuple(builder.texts),
        "values": tuple(builder.value_rows),
        "items": tuple(builder.items),
        "instructions": tuple(builder.instructions),
        "expressions": tuple(builder.expressions),
        "facts": tuple(facts),
        "project_fact_count": 0,
        "named_profile": NONE,
    }
    return write_tables(BundleTables(**fields))


def explained(expression: Expression, facts: Mapping[str, object]) -> str:
    read = {name: facts.get(name) for name in fact_names(expression.tree)}
    return ClauseResult(expression.source, expression.evaluate(facts), read).explanation


class TestRandomExpressions:
    """The result of an expression, its missing facts, its fault and its explanation are those of Python."""

    def test_they_have_the_results_of_python(self, tmp_path: Path) -> None:
        rng = random.Random(3)
        parsed = list(expressions(rng))
        assert len(parsed) > EXPRESSIONS / 2
        (tmp_path / "bundle").write_bytes(bundle_of(parsed))
        sheets: list[Mapping[str, object]] = [{}, *(random_facts(rng) for _ in range(SHEETS - 1))]
        paths = [str(tmp_path / f"{number}.json") for number in range(SHEETS)]
        for path, facts in zip(paths, sheets, strict=True):
            entries = {name: {"value": value} for name, value in facts.items()}
            Path(path).write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": entries}))
        program = compile_device_program("explain_expressions.cpp", tmp_path / "explain", "-O1", *SANITIZED)
        found = run_device_program(program, str(tmp_path / "bundle"), *paths).split("\n--\n")[:-1]
        assert found == [explained(expression, facts) for facts in sheets for expression in parsed]
