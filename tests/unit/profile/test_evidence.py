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

INTERVAL = "'interval' must be an array of two numbers above 0, the lower one first"
ENGINE = "'engine' must be NAME VERSION, such as onnxruntime 1.32.0"


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
    assert list(found.options) == ["TinyBackend.threads"]
    assert (found.backend, found.shapes) == (None, ())
    assert found.find_span().place == "tuned.toml:7:2"


def test_the_backend_and_the_shapes_are_optional() -> None:
    found = evidence_of(
        TEXT.replace("noise =", 'backend = "TinyBackend"\nshapes = ["x=1,3,48,192", "y=1"]\nnoise =')
    )
    assert (found.backend, found.shapes) == ("TinyBackend", ("x=1,3,48,192", "y=1"))


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
    assert found.sentence(path, datetime.date(2026, 11, 1)) == "measured 1.72 x on Xeon; made on 2026-12-01"
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
        ("interval = [0.56, 0.60]", "interval = [0.6, 0.56]"): (f"wrong-type tuned.toml:15:12 {INTERVAL}"),
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


NONSENSE: dict[tuple[str, str], list[str]] = {
    (ENGINE, 'engine = "tiny 1.2.0"'): [
        f'engine = "{each}"'
        for each in ("", "x", " 1.0", "tiny ", "tiny  1.0", "tiny 1.0 2", "- 1", "tiny\\n1")
    ],
    ("'model' must be sha256: and the hash of the model's file", 'model = "sha256:0123"'): [
        f'model = "{each}"' for each in ("", "sha256:", "0123", "sha256:xyz", "sha256:0123\\n")
    ],
    ("'objective' must be one of latency, throughput, memory", 'objective = "latency"'): [
        f'objective = "{each}"' for each in ("", "nonsense", "energy", "Latency")
    ],
    (INTERVAL, "interval = [0.56, 0.60]"): [
        f"interval = [{each}]"
        for each in ("nan, nan", "-inf, inf", "0.5, inf", "-1, 1", "0, 1", "0.5", "0.5, true")
    ],
    ("'interval' must contain the ratio", "interval = [0.56, 0.60]"): [
        "interval = [0.1, 0.2]",
        "interval = [0.59, 0.6]",
    ],
    ("'pairs' must be 1 or more", "pairs = 160\n\n"): [f"pairs = {each}\n\n" for each in ("0", "-1")],
    ("'noise' must be a ratio above 0", "noise = 1.008"): [
        f"noise = {each}" for each in ("0", "-1", "nan", "inf", "-inf")
    ],
    ("[evidence] has no 'ratio'", "ratio = 0.58\n"): [""],
    ("'option' must be BACKEND.OPTION", 'option = "TinyBackend.threads"'): [
        f'option = "{each}"' for each in ("", "threads", ".threads", "TinyBackend.", "Tiny Backend.threads")
    ],
    ("'TinyBackend.threads' has its gain twice", 'option = "TinyBackend.threads"\nratio = 0.5814\n'): [
        'option = "TinyBackend.threads"\nratio = 0.58\n[[evidence.options]]\n'
        'option = "TinyBackend.threads"\nratio = 0.58\n'
    ],
    ("'backend' must be the id of a backend", "noise ="): [
        f'backend = "{each}"\nnoise =' for each in ("", "Tiny Backend", "Tiny.threads")
    ],
    ("'evidence.backend' must be a string", "noise ="): ["backend = 1\nnoise =", "backend = []\nnoise ="],
    ("'evidence.shapes' must be an array of strings", "noise ="): [
        'shapes = "x=1"\nnoise =',
        "shapes = 1\nnoise =",
    ],
    ("'evidence.shapes' is an array of strings, but contains an int", "noise ="): ["shapes = [1]\nnoise ="],
    ("'shapes' must be texts NAME=1,3,48,192", "noise ="): [
        f'shapes = ["x=1", "{each}"]\nnoise ='
        for each in ("", "x", "x=", "x=a", "x=1,", "=1", f"x={'9' * 30}")
    ],
}


@pytest.mark.parametrize(
    ("message", "old", "new"),
    [(*key, new) for key, news in NONSENSE.items() for new in news],
    ids=lambda text: str(text)[:40],
)
def test_nonsense_is_refused(message: str, old: str, new: str) -> None:
    assert message in problem_of(old, new)


USED = """\
[profile]
name = "used"

[evidence]
source = "usage"
made = 2026-12-01
rollout = 'bucket(device.id, "new") < 0.3'
objective = "p95"
ratio = 0.8
interval = [0.75, 0.85]
devices = 6000

[[evidence.options]]
option = "TinyBackend.threads"
"""


class TestUsage:
    """Evidence from usage names a rollout, and neither a model nor an engine."""

    def test_it_is_read(self) -> None:
        found = evidence_of(USED)
        assert (found.model, found.engine, found.device) == ("", "", {})
        assert (found.rollout, found.objective) == ('bucket(device.id, "new") < 0.3', "p95")
        assert found.options == {"TinyBackend.threads": found.whole}
        assert (found.whole.ratio, found.whole.low, found.whole.high, found.whole.pairs) == (
            0.8,
            0.75,
            0.85,
            6000,
        )

    def test_the_sentence_names_the_rollout(self) -> None:
        day, path = datetime.date(2026, 12, 2), "TinyBackend.threads"
        end = 'at least 6,000 devices on each side of bucket(device.id, "new") < 0.3; 1 day old'
        assert evidence_of(USED).sentence(path, day) == f"used: p95 1.25 x, {end}"
        two = evidence_of(USED + '[[evidence.options]]\noption = "TinyBackend.other"\n')
        assert two.sentence(path, day) == f"used: p95 1.25 x with 1 more, {end}"
        assert two.sentence("TinyBackend.third", day) is None

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('"usage"', '"use"', "'source' must be usage; leave it out"),
            ('"usage"', "1", "'evidence.source' must be a string"),
            ("made = 2026-12-01\n", "", "[evidence] has no 'made'"),
            ('"p95"', '"latency"', "'objective' must be one of load, first_run, p50, p95"),
            ("devices = 6000", "devices = 0", "'devices' must be 1 or more"),
            ("devices = 6000", "devices = 1.5", "'evidence.devices' must be an int"),
            ("devices = 6000", "pairs = 6000", "[evidence] has no key 'pairs'"),
            ("ratio = 0.8\n", "", "[evidence] has no 'ratio'"),
            ("interval = [0.75, 0.85]", "interval = [0.5, 0.6]", "'interval' must contain the ratio"),
            ('source = "usage"', 'source = "usage"\nengine = "a 1"', "[evidence] has no key 'engine'"),
            ('source = "usage"\n', "", "[evidence] has no key 'devices'"),
            ('.threads"', '.threads"\nratio = 0.8', "[[evidence.options]] has no key 'ratio'"),
        ],
    )
    def test_what_is_wrong_is_reported(self, old: str, new: str, message: str) -> None:
        assert USED.count(old) == 1
        with pytest.raises(ProfileError) as caught:
            profile_of(USED.replace(old, new))
        assert message in "\n".join(each.message for each in caught.value.diagnostics)
