"""Texts of fact sheets: right ones, and some with a few pieces changed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

from etconfig.errors import FactError
from etconfig.facts.sheet import FactSheet

SHEETS = [path.read_text() for path in sorted(Path(__file__).parents[1].glob("data/sheets/*.json"))]
TEXTS = 2_000
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


def test_a_read_sheet_has_what_json_has_and_places_lie_in_the_text() -> None:
    random = Random(20_261_123)
    counts: Counter[str] = Counter()
    for _ in range(TEXTS):
        text = mutated(random, random.choice(SHEETS))
        try:
            sheet = FactSheet.from_json(text, "sheet.json")
        except FactError as error:
            counts["wrong"] += 1
            lines = text.split("\n")
            for span in (span for each in error.diagnostics for span in each.spans if span.line):
                assert lines[span.line - 1] == span.text, text
            continue
        counts["right"] += 1
        for name, entry in json.loads(text)["facts"].items():
            fact = sheet[name]
            expected = entry.get("value")
            assert fact.value == (tuple(expected) if isinstance(expected, list) else expected), text
            assert fact.is_known == (name in sheet.values), text
            line = text.split("\n")[(fact.origin.line or 0) - 1]
            assert line[(fact.origin.column or 0) - 1 :].startswith(json.dumps(name)), text
    assert min(counts["right"], counts["wrong"]) > TEXTS // 10


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
