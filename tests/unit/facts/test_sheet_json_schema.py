from __future__ import annotations

import json
from pathlib import Path

import pytest
from every import every
from jsonschema import Draft202012Validator

from etconfig.errors import FactError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detection import detect
from etconfig.facts.json_schema import sheet_schema
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.facts.sheet import FactSheet

ROOT = Path(__file__).parents[3]
SHEETS = [*(ROOT / "sheets").rglob("*.json"), *(ROOT / "tests" / "data" / "sheets").glob("*.json")]
SCHEMA = sheet_schema(BUILTIN_FACTS)
VALIDATOR = Draft202012Validator(SCHEMA)


def text_with(facts: str) -> str:
    return f'{{"etconfig_fact_sheet": 1, "facts": {{{facts}}}}}'


class TestSchema:
    """The JSON Schema accepts what the reader accepts, and refuses what it refuses."""

    def test_it_is_a_schema_of_draft_2020_12(self):
        Draft202012Validator.check_schema(SCHEMA)
        assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    @every("path", sorted(SHEETS), ids=lambda path: path.stem)
    def test_every_sheet_here_is_valid(self, path):
        assert list(VALIDATOR.iter_errors(json.loads(path.read_text("utf-8")))) == []

    def test_the_sheet_of_this_device_is_valid(self):
        assert list(VALIDATOR.iter_errors(json.loads(detect().to_json()))) == []

    @pytest.mark.parametrize(
        "text",
        [
            text_with('"cpu.arch": {"value": "arm64"}'),
            text_with('"cpu.quota_cores": {"value": 2, "unit": "cores", "origin": "x"}'),
            text_with('"gpu.12.name": {"unknown": "why"}'),
            text_with('"cpu.features": {"value": ["a"]}'),
            text_with('"power.battery_level": {"value": 1}'),
        ],
    )
    def test_both_accept(self, text):
        assert FactSheet.from_json(text, "sheet.json")
        assert list(VALIDATOR.iter_errors(json.loads(text))) == []

    @pytest.mark.parametrize(
        "text",
        [
            "[]",
            "{}",
            '{"etconfig_fact_sheet": 2, "facts": {}}',
            '{"etconfig_fact_sheet": 1}',
            '{"etconfig_fact_sheet": 1, "facts": {}, "more": 1}',
            text_with('"cpu.arc": {"value": "arm64"}'),
            text_with('"gpu.<n>.name": {"value": "A"}'),
            text_with('"gpu.01.name": {"value": "A"}'),
            text_with('"gpu.0.names": {"value": "A"}'),
            text_with('"cpu.arch": "arm64"'),
            text_with('"cpu.arch": {"value": 1}'),
            text_with('"cpu.arch": {}'),
            text_with('"cpu.arch": {"value": "a", "unknown": "b"}'),
            text_with('"cpu.arch": {"value": "a", "unit": "bytes"}'),
            text_with('"cpu.arch": {"value": "a", "why": "b"}'),
            text_with('"memory.total": {"value": 8, "unit": "GiB"}'),
            text_with('"gpu.count": {"value": -1}'),
            text_with('"gpu.count": {"value": true}'),
            text_with('"power.source": {"value": "sun"}'),
            text_with('"power.battery_level": {"value": 1.5}'),
            text_with('"cpu.features": {"value": [1]}'),
        ],
    )
    def test_both_refuse(self, text):
        with pytest.raises(FactError):
            FactSheet.from_json(text, "sheet.json")
        assert list(VALIDATOR.iter_errors(json.loads(text)))

    def test_a_plugins_facts_are_in_it(self):
        info = FactInfo(name="acme.<n>.on", type=FactType.BOOL, doc="On.", volatility=Volatility.LIVE)
        validator = Draft202012Validator(sheet_schema(BUILTIN_FACTS.extended([info])))
        assert validator.is_valid(json.loads(text_with('"acme.0.on": {"value": true}')))
        assert not validator.is_valid(json.loads(text_with('"acme.0.on": {"value": 1}')))
