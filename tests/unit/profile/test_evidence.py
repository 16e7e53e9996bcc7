"""`[evidence]`: what is read of it, what is reported, and what explanations say."""

from __future__ import annotations

import datetime

import pytest

from etconfig.errors import ProfileError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.document import parse_document
from etconfig.profile.evidence import TuningEvidence, gain_text
from etconfig.profile.profile import Profile, parse_profile

TEXT = """\
[profile]
name = "tuned"

[options.TinyBackend]
threads = 1

[evidence]
made = 2026-12-01
model = "sha256:0123"
engine = "tiny 1.2.0"
device = { "cpu.model" = "Xeon", "cpu.available_cores" = 2 }
noise = 1.008
objective = "latency"
ratio = 0.58
interval = [0.56, 0.60]
pairs = 160

[[evidence.options]]
option = "TinyBackend.threads"
ratio = 0.5814
interval = [0.56, 0.6]
pairs = 160
"""


def profile_of(text: str) -> Profile:
    document = parse_document(text, "tuned.toml")
    return parse_profile(document, ExpressionParser(BUILTIN_FACTS))


def evidence_of(text: str) -> TuningEvidence:
    found = profile_of(text).evidence
    assert found is not None
    return found


def problem_of(old: str, new: str) -> str:
    """Return the problems of the text with a part replaced."""
    assert TEXT.count(old) == 1
    with pytest.raises(ProfileError) as caught:
        profile_of(TEXT.replace(old, new))
    return "\n".join(f"{each.code} {each.spans[0].place} {each.message}" for each in caught.value.diagnostics)


def test_evidence_is_read() -> None:
    found = evidence_of(TEXT)
    assert found.made == datetime.date(2026, 12, 1)
    assert (found.model, found.engine, found.noise) == ("sha256:0123", "tiny 1.2.0", 1.008)
    assert found.device == {"cpu.model": "Xeon", "cpu.available_cores": 2}
    assert (found.whole.ratio, found.whole.low, found.whole.high, found.whole.pairs) == (0.58, 0.56, 0.6, 160)
    assert [each.option for each in found.options] == ["TinyBackend.threads"]
    assert found.find_span().place == "tuned.toml:7:2"


def test_the_short_form_without_a_whole_is_enough() -> None:
    short = TEXT.replace('objective = "latency"\nratio = 0.58\ninterval = [0.56, 0.60]\npairs = 160\n\n', "")
    assert evidence_of(short).objective == "latency"


def test_profiles_without_evidence_have_none() -> None:
    assert profile_of(TEXT[: TEXT.index("[evidence]")]).evidence is None


def test_sentences_say_how_much_and_how_old() -> None:
    found, path = evidence_of(TEXT), "TinyBackend.threads"
    cases = {
        datetime.date(2026, 12, 1): "measured 1.72 x on Xeon; made today",
        datetime.date(2026, 12, 2): "measured 1.72 x on Xeon; 1 day old",
        datetime.date(2026, 12, 15): "measured 1.72 x on Xeon; 14 days old",
    }
    assert {day: found.sentence(path, day) for day in cases} == cases
    assert found.sentence("TinyBackend.other", datetime.date(2026, 12, 2)) is None
    assert gain_text(0.8, "memory") == "0.80 x the memory"


def test_what_is_wrong_is_reported_at_its_place() -> None:
    cases = {
        ("made = 2026-12-01", 'made = "2026-12-01"'): (
            "wrong-type tuned.toml:8:8 'evidence.made' must be a date, but is a string"
        ),
        ("made = 2026-12-01\n", ""): "missing-key tuned.toml:7:2 [evidence] has no 'made'",
        ("noise = 1.008", "noise = true"): (
            "wrong-type tuned.toml:12:9 'evidence.noise' must be a number, but is a bool"
        ),
        ("noise = 1.008", "noise = -1"): (
            "wrong-type tuned.toml:12:9 'noise' must be a ratio above 0, but is -1"
        ),
        ("ratio = 0.5814", 'ratio = "fast"'): (
            "wrong-type tuned.toml:20:9 'evidence.options.ratio' must be a number, but is a string"
        ),
        ("interval = [0.56, 0.60]", "interval = [0.6, 0.56]"): (
            "wrong-type tuned.toml:15:12 'interval' must be an array of two numbers, the lower one first"
        ),
        ("interval = [0.56, 0.60]", "interval = 1"): (
            "wrong-type tuned.toml:15:12 'evidence.interval' must be an array of two numbers, but is an int"
        ),
        (
            'option = "TinyBackend.threads"',
            "",
        ): "missing-key tuned.toml:18:12 [[evidence.options]] has no 'option'",
        ('engine = "tiny 1.2.0"', 'engin = "tiny 1.2.0"'): (
            "unknown-key tuned.toml:10:1 [evidence] has no key 'engin'"
        ),
        ("[[evidence.options]]", "[evidence.options]"): (
            "wrong-type tuned.toml:18:11 'evidence.options' must be an array of tables, but is a table"
        ),
        ('device = { "cpu.model" = "Xeon", "cpu.available_cores" = 2 }', 'device = "Xeon"'): (
            "wrong-type tuned.toml:11:10 'evidence.device' must be a table, but is a string"
        ),
    }
    found = {change: problem_of(*change).split("\n")[0] for change in cases}
    assert found == cases
