"""Random expressions, as Python and C++ evaluate and explain them."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bundle_tables import small_tables
from random_expressions import REGISTRY as RANDOM_REGISTRY
from random_expressions import random_facts, random_value
from version_texts import SIGNS, random_version_text

from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.bundle.tables import FACT_TYPES, BundleTables, FactRow
from etconfig.device.compiling.table_builder import TableBuilder
from etconfig.errors import ProfileError
from etconfig.expression import ClauseResult, Expression, parse_expression
from etconfig.expression.checked import fact_names
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactRegistry

_ID = BUILTIN_FACTS.get("device.id")
assert _ID is not None
REGISTRY = FactRegistry((*RANDOM_REGISTRY.infos, _ID))
BUCKETS = json.loads((Path(__file__).parents[1] / "data" / "bucket_vectors.json").read_text())

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
    "bucket(a.model, 'x') < 0.5",
    "bucket(device.id, 'x') < 0.5 && a.is_hot",
    "has(device.id) || device.id == 'b'",
    "bucket(a.model + a.source, 'ü€𝄞')",
    *(f"bucket({each['text']!r}, {each['salt']!r})" for each in BUCKETS),
    *(f"bucket({each['text']!r}, {each['salt']!r}) == {each['bucket']!r}" for each in BUCKETS),
)


def _version_comparison(rng: random.Random) -> str:
    left, right = (json.dumps(random_version_text(rng), ensure_ascii=False) for _ in range(2))
    return f"version({left} + '') {rng.choice(SIGNS)} version({right} + '')"


def _expressions(rng: random.Random, count: int) -> Iterator[Expression]:
    texts = [*_SPECIAL, *(random_value(rng, 4) for _ in range(count))]
    texts += [_version_comparison(rng) for _ in range(count)]
    for text in dict.fromkeys(texts):
        try:
            expression = parse_expression(text, REGISTRY)
            _bundle_of([expression])
        except (ProfileError, ValueError):
            continue  # nested too deep, or it may join texts that are too long
        yield expression


def _bundle_of(parsed: list[Expression]) -> bytes:
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
        type_, hidden = FACT_TYPES.index(info.type), int(info.is_identifying is True)
        facts.append(FactRow(low, high, builder.text(name), NONE, 0, 0, type_, 2, hidden))
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
    return write_tables(counted(BundleTables(**fields)))


def _explained(expression: Expression, facts: Mapping[str, object]) -> str:
    read = {name: facts.get(name) for name in fact_names(expression.tree)}
    return ClauseResult(expression.source, expression.evaluate(facts), read).explanation


def check_same_explanations(command: Sequence[str], directory: Path, count: int) -> None:
    """Check that `explain_expressions.cpp` says of random expressions what Python says, on five devices."""
    rng = random.Random(count)
    parsed = list(_expressions(rng, count))
    assert len(parsed) > count / 2
    (directory / "bundle").write_bytes(_bundle_of(parsed))
    sheets: list[Mapping[str, object]] = [{}, *(random_facts(rng) for _ in range(4))]
    sheets[1] = {**sheets[1], "device.id": "phone-1"}
    paths = [str(directory / f"{number}.json") for number in range(len(sheets))]
    for path, facts in zip(paths, sheets, strict=True):
        entries = {name: {"value": value} for name, value in facts.items()}
        Path(path).write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": entries}))
    done = subprocess.run(
        [*command, str(directory / "bundle"), *paths], capture_output=True, text=True, check=True
    )
    found = done.stdout.split("\n--\n")[:-1]
    assert found == [_explained(expression, facts) for facts in sheets for expression in parsed]
