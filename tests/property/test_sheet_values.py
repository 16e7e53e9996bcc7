"""`plain_values` accepts only sheets that the full reader accepts, with the same values in the same order."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

from etconfig.errors import FactError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import FactSheet
from etconfig.facts.sheet_json import parse_sheet
from etconfig.facts.sheet_values import plain_values

SHEETS = [path.read_text() for path in sorted(Path(__file__).parents[1].glob("data/sheets/*.json"))]
TEXTS = 5_000
PIECES = (
    *'{}[]:",\\ \n',
    *('"value"', '"unit"', '"unknown"', '"origin"', '"facts"', '"etconfig_fact_sheet"', '"bytes"', "null"),
    *("true", "1", "-1", "1.0", "0.5", "NaN", "1e999", "9" * 30, '""', '"\\u0000"', '"\\ud800"', "\ud800"),
    *('"aarch64"', '["a"]', "{}", "[]", '{"value": 1}', '"gpu.0.name"', '"gpu.<n>.name"', "\ufeff", "é"),
)


def mutated(random: Random, text: str) -> str:
    """A sheet of a few lines, with some pieces replaced, inserted, removed or repeated."""
    lines = text.splitlines()
    kept = sorted(random.sample(range(3, len(lines) - 2), random.randint(1, 4)))
    body = "\n".join(lines[index] for index in kept).rstrip(",")
    text = "\n".join((*lines[:3], body, *lines[-2:]))
    for _ in range(random.randint(0, 2)):
        start = random.randrange(len(text))
        end = start + random.choice((0, 1, 1, 3, 9))
        piece = random.choice((random.choice(PIECES), "", text[start:end] * 2))
        text = text[:start] + piece + text[end:]
    if random.random() < 0.3:
        parts = text.split('"')
        at = random.randrange(len(parts))
        parts[at] = random.choice(parts)
        text = '"'.join(parts)
    return text


def fully_read(text: str) -> dict[str, object] | None:
    try:
        facts = parse_sheet(text, "sheet.json", BUILTIN_FACTS)
    except FactError:
        return None
    return {name: fact.value for name, fact in facts.items() if fact.value is not None}


def typed(values: dict[str, object]) -> list[object]:
    """The values with their types, since 1, 1.0 and True are equal."""
    return [(name, type(value), value) for name, value in values.items()]


def test_what_is_plainly_right_is_right_with_the_same_values() -> None:
    random = Random(20_261_123)
    counts: Counter[str] = Counter()
    for _ in range(TEXTS):
        text = mutated(random, random.choice(SHEETS))
        full, plain = fully_read(text), plain_values(text, BUILTIN_FACTS)
        if plain is None:
            counts["closer look" if full is not None else "wrong"] += 1
        else:
            assert full is not None, text
            assert typed(plain) == typed(full), text
            counts["plainly right"] += 1
    assert counts["plainly right"] > TEXTS // 10
    assert counts["wrong"] > TEXTS // 10
    assert counts["closer look"] == 0, "every right sheet takes the short way"


def test_sheets_keep_the_order_of_their_facts() -> None:
    for text in SHEETS:
        sheet = FactSheet.from_json(text, "sheet.json")
        values = [*sheet.values]
        assert values == [name for name, fact in sheet.facts.items() if fact.is_known]
        assert sheet.to_json() == FactSheet(dict(sheet.facts), sheet.registry).to_json()


def test_values_alone_make_an_equal_sheet() -> None:
    for text in SHEETS:
        sheet = FactSheet.from_json(text, "sheet.json")
        values = json.loads(json.dumps(dict(sheet.values)))
        again = FactSheet.from_values(values)
        assert again == sheet
        assert [*again.values] == [*sheet.values]
        assert again.fingerprint() == sheet.fingerprint()
