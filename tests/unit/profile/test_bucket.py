"""`bucket(text, "name")`: its values, their spread, and the checks of expressions that use it."""

from __future__ import annotations

import json
import re
from hashlib import md5
from itertools import pairwise
from pathlib import Path

import pytest

from etconfig.errors import ProfileError
from etconfig.expression import ExpressionType, Unknown, parse_expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_facts import example_facts
from etconfig.expression.proof.ranges import NumberRange
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.condition_checks import ConditionChecker

ROOT = Path(__file__).parents[3]
VECTORS = json.loads((ROOT / "tests" / "data" / "bucket_vectors.json").read_text())
NOTHING = Assumptions.none(BUILTIN_FACTS)
FRACTION = "'bucket' is a fraction from 0 to 1, but is compared with"
NAME = "'bucket' needs the name of the rollout as a text in quotes, found"
USAGE = "bucket takes a string and the name of the rollout, as in bucket(device.id, 'threads-2') < 0.05"


def parsed(text: str):
    return parse_expression(text, BUILTIN_FACTS)


def condition(text: str):
    return parse_expression(text, BUILTIN_FACTS, expect=ExpressionType.BOOL)


def bucket(text: str, salt: str) -> object:
    quoted = salt.replace("\\", "\\\\").replace('"', '\\"')
    return parsed(f'bucket(device.id, "{quoted}")').evaluate({"device.id": text})


def problem(text: str) -> str:
    with pytest.raises(ProfileError) as caught:
        condition(text)
    (found,) = caught.value.diagnostics
    return f"{found.message}; {found.help}"


class TestValue:
    """The first 52 bits of the MD5 of `name:text`, as a fraction of 1."""

    @pytest.mark.parametrize(
        "vector", VECTORS, ids=lambda vector: f"{len(vector['text'])}-{vector['digits']}"
    )
    def test_the_vectors_have_their_values(self, vector: dict[str, str]) -> None:
        assert bucket(vector["text"], vector["salt"]) == vector["bucket"]

    @pytest.mark.parametrize(
        "vector", VECTORS, ids=lambda vector: f"{len(vector['text'])}-{vector['digits']}"
    )
    def test_the_vectors_follow_the_definition(self, vector: dict[str, str]) -> None:
        digest = md5(f"{vector['salt']}:{vector['text']}".encode()).digest()
        assert vector["digits"] == digest.hex()[:13]
        assert vector["bucket"] == (int.from_bytes(digest, "big") >> 76) / 2**52

    def test_the_page_shows_the_same_vectors(self) -> None:
        page = (ROOT / "docs" / "rollouts.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(.+)` \| (.+) \| `([0-9a-f]{13})` \| `(.+)` \|$", page, re.MULTILINE)
        assert len(rows) == 6
        known = {(each["salt"], each["digits"]): each["bucket"] for each in VECTORS}
        assert [known[salt, digits] for salt, _, digits, _ in rows] == [float(row[3]) for row in rows]

    def test_many_conditions_of_a_device_hash_once_for_each_rollout(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hashed: list[bytes] = []

        def counted(data: bytes, **settings: bool) -> object:
            hashed.append(data)
            return md5(data, **settings)

        monkeypatch.setattr("hashlib.md5", counted)
        conditions = [
            condition(f'bucket(device.id, "{salt}") < {n / 100}') for n in range(1, 50) for salt in ("x", "y")
        ]
        for device in ("hashed-1", "hashed-2"):
            for each in conditions:
                each.evaluate({"device.id": device})
        assert hashed == [b"x:hashed-1", b"y:hashed-1", b"x:hashed-2", b"y:hashed-2"]

    def test_an_unknown_text_has_an_unknown_bucket(self) -> None:
        rollout = condition('bucket(device.id, "a") < 0.5')
        assert rollout.evaluate({}) == Unknown(("device.id",))
        assert condition('bucket(device.id, "a") < 0.5 || os.name == "linux"').evaluate({"os.name": "linux"})

    def test_a_device_stays_in_when_the_rollout_grows(self) -> None:
        stages = [condition(f'bucket(device.id, "a") < {bound}') for bound in (0.05, 0.2, 0.5, 0.999)]
        for number in range(500):
            met = [stage.evaluate({"device.id": f"phone-{number}"}) is True for stage in stages]
            assert all(earlier <= later for earlier, later in pairwise(met))


class TestSpread:
    """Texts spread evenly, and rollouts of different names are independent."""

    COUNT, CELLS = 20_000, 20

    def buckets(self, salt: str, pattern: str = "device-{}") -> list[float]:
        expression = parsed(f'bucket(device.id, "{salt}")')
        return [
            expression.evaluate({"device.id": pattern.format(number)})  # type: ignore[misc]
            for number in range(self.COUNT)
        ]

    def chi_square(self, counts: list[int]) -> float:
        expected = self.COUNT / len(counts)
        return sum((count - expected) ** 2 / expected for count in counts)

    @pytest.mark.parametrize("pattern", ["device-{}", "{}", "{:08x}", "R58M{:07}X", "00:1b:44:11:3a:{}"])
    def test_numbered_ids_fill_all_cells_alike(self, pattern: str) -> None:
        counts = [0] * self.CELLS
        for value in self.buckets("rollout", pattern):
            counts[int(value * self.CELLS)] += 1
        assert self.chi_square(counts) < 43.8  # 19 degrees of freedom: exceeded by chance in 1 of 1000 cases

    @pytest.mark.parametrize("other", ["rollout2", "Rollout", "rollout ", "ROLLOUT-2026-11", "r"])
    def test_the_bucket_of_one_rollout_says_nothing_of_another(self, other: str) -> None:
        counts = [0] * (5 * 5)
        for one, two in zip(self.buckets("rollout"), self.buckets(other), strict=True):
            counts[int(one * 5) * 5 + int(two * 5)] += 1
        assert self.chi_square(counts) < 51.2  # 24 degrees of freedom, 1 of 1000


class TestChecks:
    """The name is a constant, and the bound is a fraction."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                'bucket(device.id, "a")',
                "a condition needs a bool, but 'bucket(device.id, \"a\")' is a float; "
                'compare it: bucket(device.id, "a") < 0.5',
            ),
            ("bucket(device.id, 'a') < 5", f"{FRACTION} '5'; {USAGE}"),
            ("os.name == 'linux' && 50 > bucket(device.id, 'a')", f"{FRACTION} '50'; {USAGE}"),
            (
                "bucket(device.id, 'a') >= 1000",
                f"{FRACTION} '1000'; {USAGE}",
            ),
            (
                "bucket(device.id, threads) < 0.1",
                f"{NAME} 'threads'; {USAGE}",
            ),
            (
                "bucket('threads', device.id) < 0.1",
                f"{NAME} 'device.id'; {USAGE}",
            ),
            ("bucket(device.id, '') < 0.1", f"{NAME} \"''\"; {USAGE}"),
            ("bucket(device.id, 'a' + 'b') < 0.1", f"{NAME} \"'a' + 'b'\"; {USAGE}"),
            (
                "bucket('device.id', 'a') < 0.1",
                "'device.id' in quotes is a text, not the fact; write device.id without quotes",
            ),
            (
                "device.id.bucket('a') < 0.1",
                f"'bucket' does not take string, string; {USAGE}",
            ),
            ("bucket(cpu.available_cores, 'a') < 0.1", f"'bucket' does not take int, string; {USAGE}"),
            ("hash(device.id, 'a') < 0.1", "there is no function 'hash'; did you mean 'bucket'?"),
        ],
    )
    def test_a_mistake_is_refused_with_the_way_out(self, text: str, message: str) -> None:
        assert problem(text) == message

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            ('bucket(device.id, "a") < 1.0', "holds wherever its facts are known"),
            ('bucket(device.id, "a") >= 0', "holds wherever its facts are known"),
            ('bucket(device.id, "a") < 0', "never holds"),
            ('bucket(device.id, "a") > 0.9999999999999999', "never holds"),
            ('bucket(device.id, "a") < 0.05 && bucket(device.id, "a") >= 0.05', "never holds"),
            ('bucket(device.id, "a") < 0.05 && 0.5 < bucket(device.id, "a")', "never holds"),
            ('bucket(device.id, "a") < 0.05 && bucket(device.id, "b") >= 0.05', None),
            (
                'bucket(device.id, "a") < 0.05 || bucket(device.id, "a") >= 0.05',
                "holds wherever its facts are known",
            ),
            ('bucket(device.id, "a") < 0.05 || bucket(device.id, "b") >= 0.05', None),
            ('device.id == "phone-1" && bucket(device.id, "new-threads") < 0.2', "never holds"),
            ('device.id == "phone-1" && bucket(device.id, "new-threads") < 0.3', None),
        ],
    )
    def test_a_rollout_without_effect_is_found(self, text: str, verdict: str | None) -> None:
        found = [
            each.message for each in ConditionChecker(BUILTIN_FACTS).constant_conditions([condition(text)])
        ]
        assert found == ([] if verdict is None else [f"{text!r} {verdict}"])

    def test_an_expression_has_the_range_of_its_buckets(self) -> None:
        assert NOTHING.range_of(parsed('bucket(device.id, "a")').tree) == NumberRange(0.0, 1 - 2**-52)
        value = bucket("phone-1", "a")
        assert NOTHING.range_of(parsed('bucket("phone-1", "a")').tree) == NumberRange(value, value)  # type: ignore[arg-type]


class TestExamples:
    """Packing and validation find a device for each stage of a rollout that there is."""

    @pytest.mark.parametrize(
        "conditions",
        [
            ['bucket(device.id, "a") < 0.05'],
            ['bucket(device.id, "a") < 0.0005'],
            ['bucket(device.id, "a") >= 0.05', 'bucket(device.id, "a") < 0.06'],
            [
                'bucket(device.id, "a") < 0.02',
                'bucket(device.id, "b") < 0.02',
                'bucket(device.id, "c") > 0.9',
            ],
            ['device.id.startsWith("beta-") && bucket(device.id, "a") < 0.05'],
            ['device.id != "device-0"', 'bucket(device.id, "a") < 0.5', "cpu.available_cores > 4"],
            ['(bucket(device.id, "a") < 0.1 ? 1 : 2) == 1'],
            ['os.name == "plan9" || bucket(device.id, "a") < 0.1', 'os.name == "linux"'],
            ['bucket(device.model, "a") < 0.01', 'bucket(device.id, "a") > 0.99'],
        ],
    )
    def test_a_device_in_all_of_these_stages_is_found(self, conditions: list[str]) -> None:
        required = [(condition(text), True) for text in conditions]
        device = NOTHING.assume_all((each.tree, True) for each, _ in required)
        assert device is not None
        found = example_facts(required, device)
        assert found is not None
        assert all(each.evaluate(found) is True for each, _ in required)

    def test_a_device_outside_of_a_rollout_may_lack_an_id(self) -> None:
        rollout = condition('bucket(device.id, "a") < 0.05')
        assert example_facts([(rollout, False)], NOTHING) == {}
