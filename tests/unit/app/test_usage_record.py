"""`UsageRecord`: right and wrong records, the limit of 2,048 bytes, and what is never in one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from effort import seeds
from jsonschema import Draft4Validator
from usage_records import REASONS, broken, random_record

import etconfig
from etconfig import UsageRecord
from etconfig.app.configuring import usage_record
from etconfig.fleet.usage import usage_files

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "etconfig-usage.json").read_text(encoding="utf-8"))
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"


def is_right(data: dict[str, Any]) -> bool:
    try:
        UsageRecord.from_json(json.dumps(data))
    except ValueError:
        return False
    return True


def test_a_record_is_right_exactly_if_the_published_schema_says_so() -> None:
    """But for the bytes of a failure, which no schema counts, and numbers that are written as 7.0."""
    schema = Draft4Validator(SCHEMA)
    for seed in seeds(3000):
        random = Random(seed)
        record = random_record(random)
        assert is_right(record), record
        for each in (record, broken(random, record), broken(random, broken(random, record))):
            assert is_right(each) == schema.is_valid(each), each


def test_a_record_that_is_written_and_read_is_the_same() -> None:
    for seed in seeds(500):
        record = UsageRecord.from_json(json.dumps(random_record(Random(seed))))
        text = record.to_json()
        assert "\n" not in text
        assert len(text.encode()) < 2048
        assert UsageRecord.from_json(text).to_json() == text
        assert next(iter(json.loads(text))) == "etconfig_usage"


class TestLength:
    """A record has at most 2,048 bytes: entries at the ends of three lists are left out, in a fixed order."""

    def test_entries_are_left_out_in_the_documented_order(self) -> None:
        for seed in seeds(300):
            random = Random(seed)
            lists = {
                "rejected": [{"variant": "v" * random.randrange(1, 90), "reason": "é" * 30}]
                * random.randrange(12),
                "facts": {f"fact.n{n}": "f" * random.randrange(60) for n in range(random.randrange(20))},
                "options": [
                    {"path": f"a:B.c{n}", "value": "v" * random.randrange(90), "source": "profile"}
                    for n in range(random.randrange(30))
                ],
            }
            given = {"reason": "matched", "device": "d", **lists}
            assert json.loads(UsageRecord(**given).to_json()) == self._shortened(given)

    @staticmethod
    def _shortened(given: dict[str, Any]) -> dict[str, Any]:
        """The rule of the page, one entry at a time."""
        left: dict[str, int] = {}

        def data() -> dict[str, Any]:
            kept = {key: value for key, value in given.items() if value}
            return {"etconfig_usage": 1, **kept, **({"left_out": left} if left else {})}

        def size() -> int:
            return len(json.dumps(data(), ensure_ascii=False, separators=(",", ":")).encode()) + 1

        for name in ("rejected", "facts", "options"):
            while given[name] and size() > 2048:
                entries = given[name]
                given[name] = dict(list(entries.items())[:-1]) if isinstance(entries, dict) else entries[:-1]
                left[name] = left.get(name, 0) + 1
        return data()

    def test_one_that_is_too_long_without_them_is_refused(self) -> None:
        record = UsageRecord(reason="matched", device="d" * 3000)
        with pytest.raises(ValueError, match=r"without rejected, facts and options.*shorten device"):
            record.to_json()

    def test_a_failure_is_cut_between_characters(self) -> None:
        record = UsageRecord.of(None, failure="é" * 150 + "x")
        assert (record.reason, record.failure) == ("error", "é" * 100)
        with pytest.raises(ValueError, match="failure: expected a text of at most 200 bytes"):
            UsageRecord(reason="error", failure="x" * 201)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not a line of JSON"),
        ("[1]", "is a JSON object with 'etconfig_usage'"),
        ("{}", "is a JSON object with 'etconfig_usage'"),
        ('{"etconfig_usage": 2}', "version 2 is not known; this etconfig reads 1"),
        ('{"etconfig_usage": true}', "version True is not known"),
        ('{"etconfig_usage": 1}', "reason: expected one of matched"),
        ('{"etconfig_usage": 1, "reason": "x"}', "reason: expected one of matched, .*, given 'x'"),
        ('{"etconfig_usage": 1, "reason": "named", "at": null}', "at: expected a whole number, 0 or more"),
        ('{"etconfig_usage": 1, "reason": "named", "reason": "named"}', "'reason' is repeated"),
        (
            '{"etconfig_usage": 1, "reason": "named", "at": -1}',
            "at: expected a whole number, 0 or more, given -1",
        ),
        (
            '{"etconfig_usage": 1, "reason": "named", "durations_us": {"p50": -1}}',
            r"durations_us: expected an object with load, first_run, p50, p95 \(below 10\^15\) and runs",
        ),
        (f'{{"etconfig_usage": 1, "x": "{"x" * 2048}"}}', "takes at most 2,048 bytes"),
        ("[" * 2000, "it is not a line of JSON"),
    ],
)
def test_a_wrong_record_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UsageRecord.from_json(text)


def test_values_that_are_not_plain_data_are_refused() -> None:
    options = [{"path": "A.b", "value": float("nan"), "source": "x"}]
    with pytest.raises(ValueError, match="Out of range float"):
        UsageRecord(reason="named", options=options).to_json()
    with pytest.raises(ValueError, match="a value is not plain data"):
        UsageRecord(reason="named", options=[{"path": "A.b", "value": object(), "source": "x"}]).to_json()


class TestOf:
    """A resolution becomes a record in one call."""

    def test_profile_options_and_facts_of_a_resolution(self) -> None:
        resolution = etconfig.resolve(
            etconfig.load_program(PROGRAM),
            facts=etconfig.load_device("raspberry-pi/pi-5"),
            overrides={"ReferenceCpuBackend.num_threads": 2},
        )
        record = UsageRecord.of(resolution, device="d1", revision=3, durations_us={"load": 12})
        assert (record.reason, record.profile, record.device) == ("matched", resolution.profile, "d1")
        sources = {each["path"]: (each["value"], each["source"]) for each in record.options}
        assert sources["forward:ReferenceCpuBackend.num_threads"][0] == 2
        assert [each["source"] == "default" for each in record.options] == sorted(
            each["source"] == "default" for each in record.options
        )
        assert record.facts is not None
        assert record.facts["os.name"] == "linux"
        assert UsageRecord.from_json(record.to_json()) == record

    def test_a_named_profile(self) -> None:
        resolution = etconfig.resolve(etconfig.load_program(PROGRAM), profile="generic/any")
        assert UsageRecord.of(resolution).reason == "named"
        assert UsageRecord.of(resolution, failure=None).reason == "named"

    def test_a_variant_after_one_that_failed_to_load(self, tmp_path: Path) -> None:
        for name in ("big", "small"):
            shutil.copy(PROGRAM, tmp_path / f"{name}.pte")
        models = tmp_path / "models.toml"
        models.write_text(
            "[model.m]\nfallback = true\n"
            '[[model.m.variants]]\nfile = "big.pte"\nwhen = "cpu.available_cores > 0"\n'
            '[[model.m.variants]]\nfile = "small.pte"\n'
        )
        facts = {"cpu.available_cores": 4, "runtime.backends": ["ReferenceCpuBackend", "ReferenceNpuBackend"]}
        choice = etconfig.select_model("m", models=models, fact_overrides=facts)
        resolution = etconfig.resolve(etconfig.load_program(PROGRAM), fact_overrides=facts)
        first = UsageRecord.of(resolution, choice)
        assert (first.reason, first.model, first.variant, first.rejected) == ("matched", "m", "big.pte", [])
        later = choice.next("no memory")
        record = UsageRecord.of(resolution, later)
        assert (record.reason, record.variant) == ("fallback", "small.pte")
        assert record.rejected == [{"variant": "big.pte", "reason": "its load failed: no memory"}]
        assert record.facts is not None
        assert record.facts["cpu.available_cores"] == 4
        assert UsageRecord.of(None, later, failure="no file").reason == "error"

    def test_what_identifies_the_device_is_in_no_part(self) -> None:
        overrides = {"ReferenceCpuBackend.num_threads": 1}
        facts = {"device.id": "serial-4711"}
        resolution = etconfig.resolve(
            etconfig.load_program(PROGRAM), fact_overrides=facts, overrides=overrides
        )
        text = UsageRecord.of(resolution, failure="no file /data/serial-4711/x").to_json()
        assert "4711" not in text
        assert "no file /data/(set, not shown)/x" in text


def test_the_reasons_are_the_same_everywhere() -> None:
    assert REASONS == usage_record.REASONS == tuple(SCHEMA["properties"]["reason"]["enum"])
    assert usage_files.REASONS is usage_record.REASONS


@pytest.mark.parametrize("wrong", [3, "model.pte", ["model.pte"]])
def test_arguments_of_a_wrong_type_are_refused_by_name(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"resolution: expected what etconfig\.resolve returns, or None"):
        UsageRecord.of(wrong)
    with pytest.raises(TypeError, match="choice: expected what select_model returns, or None"):
        UsageRecord.of(None, wrong)
    with pytest.raises(TypeError, match="text: expected a line of JSON, as str or bytes, given int"):
        UsageRecord.from_json(3)  # type: ignore[arg-type]
