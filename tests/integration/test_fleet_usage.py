"""`fleet compare` and an independent model of it: outcomes, differences, medians, rollouts and guards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import md5
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

import pytest
from command_line import Outcome
from effort import seeds
from newcombe import difference_of_shares

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

Cli = Callable[..., Outcome]

PROFILE = """[profile]
name = "acme/{name}"
match = 'cpu.performance_cores == {cores}'

[options.ReferenceCpuBackend]
num_threads = {{ expr = "cpu.available_cores" }}

[[when]]
if = '{condition}'

[when.options.ReferenceCpuBackend]
scratch_bytes = 65536
"""
CONDITIONS = {
    "a": 'bucket(device.id, "new") < 0.3 && cpu.available_cores > 2',
    "b": 'bucket(device.id, "new") < 0.3',
}
ROLLOUT = 'bucket(device.id, "new") < 0.3'
THREADS, SCRATCH = "*:ReferenceCpuBackend.num_threads", "*:ReferenceCpuBackend.scratch_bytes"


def bucket(device: str, name: str = "new") -> float:
    return int(md5(f"{name}:{device}".encode(), usedforsecurity=False).hexdigest()[:13], 16) / 2**52


def write_project(place: Path, further: str = "") -> None:
    (place / "profiles" / "acme").mkdir(parents=True)
    for cores, (name, condition) in enumerate(CONDITIONS.items(), 1):
        text = PROFILE.format(name=name, cores=cores, condition=condition)
        (place / "profiles" / "acme" / f"{name}.toml").write_text(text)
    (place / "etconfig.toml").write_text(f'profile_path = ["profiles"]\nrequire_match = true\n{further}')


def write_devices(place: Path, devices: Sequence[tuple[str, int, int]]) -> None:
    connection = duckdb.connect()
    connection.execute(
        'CREATE TABLE t (device_id VARCHAR, "cpu.performance_cores" BIGINT, "cpu.available_cores" BIGINT)'
    )
    columns = [list(column) for column in zip(*devices, strict=True)]
    connection.execute("INSERT INTO t SELECT unnest(?), unnest(?), unnest(?)", columns)
    connection.execute(f"COPY t TO '{place / 'devices.parquet'}' (FORMAT parquet)")


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> None:
    lines = [json.dumps({"etconfig_usage": 1, **each}) for each in records]
    path.write_text("\n".join(lines) + "\n")


class Model:
    """The rules of the page, one device at a time."""

    def __init__(self, devices: Sequence[tuple[str, int, int]], records: Sequence[dict[str, Any]]) -> None:
        self.outcomes: Counter[str] = Counter()
        self.differences: Counter[tuple[str, str, str]] = Counter()
        self.sides: dict[tuple[str, str, str], tuple[list[float], list[float]]] = {}
        self.failures: dict[str, tuple[list[bool], list[bool]]] = {}
        groups: dict[str, list[tuple[dict[str, str], float]]] = {"profile": [], "option": []}
        newest = max(each.get("revision", 0) for each in records)
        by_device: dict[str, list[dict[str, Any]]] = {}
        for each in records:
            by_device.setdefault(each["device"], []).append(each)
        known = {name: (cores, available) for name, cores, available in devices}
        for device in {*known, *by_device}:
            own = sorted(by_device.get(device, []), key=lambda each: each["at"])
            outcome = self._judge(device, known.get(device), own, newest)
            self.outcomes[outcome] += 1
            if own and device in known:
                self._count_failure(device, known[device], own[-1], newest)
            if not own or outcome == "failed":
                continue
            durations = [each["durations_us"]["p95"] for each in own if self._key(each) == self._key(own[-1])]
            value = mean(durations)
            if "profile" in own[-1]:
                groups["profile"].append(({"": own[-1]["profile"]}, value))
            options = {f"{each['path']} = ": json.dumps(each["value"]) for each in own[-1].get("options", [])}
            groups["option"].append((options, value))
            if device in known and outcome not in ("old_revision", "other_profile", "option_not_in_force"):
                cores, available = known[device]
                if cores == 2 or (cores == 1 and available > 2):
                    for label in (ROLLOUT, f"{ROLLOUT} in acme/{'ab'[cores - 1]}"):
                        sides = self.sides.setdefault(("rollout", label, "p95"), ([], []))
                        sides[bucket(device) >= 0.3].append(value)
        for by, rows in groups.items():
            for start in {key for labels, _ in rows for key in labels}:
                values = {labels[start] for labels, _ in rows if start in labels}
                for each in values if len(values) > 1 else ():
                    self.sides[by, start + each, "p95"] = (
                        [value for labels, value in rows if labels.get(start) == each],
                        [value for labels, value in rows if labels.get(start, each) != each],
                    )

    def _count_failure(self, device: str, facts: tuple[int, int], last: dict[str, Any], newest: int) -> None:
        """A device counts on the side that is decided, unless its record shows something else."""
        has_failed = "failure" in last or last["reason"] == "error"
        loaded = {key: value for key, value in last.items() if key != "failure"}
        loaded["reason"] = "named" if last["reason"] == "error" else last["reason"]
        differences = self.differences.copy()
        outcome, self.differences = self._judge(device, facts, [loaded], newest), differences
        if outcome not in ("old_revision", "other_profile", "option_not_in_force") and (
            facts[0] == 2 or (facts[0] == 1 and facts[1] > 2)
        ):
            for label in (ROLLOUT, f"{ROLLOUT} in acme/{'ab'[facts[0] - 1]}"):
                self.failures.setdefault(label, ([], []))[bucket(device) >= 0.3].append(has_failed)

    @staticmethod
    def _key(record: dict[str, Any]) -> object:
        return {
            key: value for key, value in record.items() if key not in ("at", "durations_us", "failure")
        }, ("failure" in record)

    def _judge(
        self, device: str, facts: tuple[int, int] | None, own: list[dict[str, Any]], newest: int
    ) -> str:
        if facts is None:
            return "unknown_device"
        if not own:
            return "no_record"
        last, (cores, available) = own[-1], facts
        if "failure" in last or last["reason"] == "error":
            return self._differs("failed", None, last.get("variant"))
        if last.get("revision", newest) < newest:
            return self._differs("old_revision", str(newest), str(last["revision"]))
        if last["reason"] == "fallback":
            return self._differs("fallback", None, last.get("variant"))
        if cores > 2:
            return self._differs("nothing_decided", None, last.get("profile"))
        profile = f"acme/{'ab'[cores - 1]}"
        if last.get("profile", profile) != profile:
            return self._differs("other_profile", profile, last["profile"])
        is_in = bucket(device) < 0.3 and (cores == 2 or available > 2)
        decided = {THREADS: available, **({SCRATCH: 65536} if is_in else {})}
        used = {each["path"].replace("forward:", "*:"): each for each in last.get("options", [])}
        has_all = not last.get("left_out")
        found = [
            (
                used[path]["path"] if path in used else path,
                value,
                used[path]["value"] if path in used else None,
            )
            for path, value in decided.items()
            if (path in used and used[path]["value"] != value) or (path not in used and has_all and used)
        ]
        if SCRATCH in used and not is_in and used[SCRATCH]["value"] != 1048576:
            found.append((used[SCRATCH]["path"], 1048576, used[SCRATCH]["value"]))
        for path, value, other in found:
            self.differences[path, str(value), "(nothing)" if other is None else str(other)] += 1
        return "option_not_in_force" if found else "as_decided"

    def _differs(self, why: str, decided: str | None, used: str | None) -> str:
        self.differences[why, decided or "(nothing)", used or "(nothing)"] += 1
        return why


def random_fleet(random: Random, count: int) -> tuple[list[tuple[str, int, int]], list[dict[str, Any]]]:
    devices = [(f"d{n}", random.choice((1, 2, 2, 3)), random.choice((2, 4, 8))) for n in range(count)]
    records = []
    for name, cores, available in [*devices, ("stranger", 1, 2)]:
        for _ in range(random.choice((0, 1, 1, 2, 5))):
            record: dict[str, Any] = {
                "device": name,
                "at": len(records) * 7919 % 100_003,
                "reason": random.choice(("matched",) * 12 + ("named", "fallback", "error")),
                "profile": random.choice((f"acme/{'abc'[cores - 1]}",) * 8 + ("acme/z",)),
                "options": [
                    {"path": THREADS.replace("*:", "forward:"), "value": available, "source": "profile"}
                ],
                "durations_us": {"p95": random.lognormvariate(7, 0.3)},
            }
            if random.random() < 0.2:
                record["options"][0]["value"] = 1
            if random.random() < 0.8:
                value = 65536 if bucket(name) < 0.3 else 1048576
                record["options"].append({"path": SCRATCH, "value": value, "source": "profile"})
            if random.random() < 0.3:
                record["revision"] = random.choice((6, 7, 7, 7))
                record["bundle"] = f"content of {record['revision']}"  # a release has an id of its own
            if random.random() < 0.1:
                record |= {"variant": "big.pte", "failure": f"no memory {random.random()}"}
            if ("failure" in record or record["reason"] == "error") and random.random() < 0.5:
                del record["profile"], record["options"]
            if random.random() < 0.1:
                record["left_out"] = {"options": 1}
            records.append(record)
    return devices, records


def compared(cli: Cli, *arguments: str) -> dict[str, Any]:
    done = cli("fleet", "compare", "devices.parquet", "--usage", "*.jsonl", "--json", *arguments)
    assert done.status == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_an_independent_model_finds_the_same(cli: Cli, place: Path) -> None:
    write_project(place)
    for seed in seeds(8):
        devices, records = random_fleet(Random(seed), 300)
        write_devices(place, devices)
        write_records(place / "one.jsonl", records[::2])
        write_records(place / "other.jsonl", records[1::2])
        found, model = compared(cli, "--output", "out"), Model(devices, records)
        assert {key: count for key, count in found["outcomes"].items() if count} == model.outcomes
        differences = {
            (row["why"], row["decided"], row["used"]): row["devices"] for row in found["differences"]
        }
        assert differences == model.differences
        rows = {(row["by"], row["label"], row["metric"]): row for row in found["latency"]}
        assert rows.keys() == {key for key, sides in model.sides.items() if all(sides)}
        for key, row in rows.items():
            one, other = model.sides[key]
            assert (row["devices"], row["others"]) == (len(one), len(other)), key
            assert row["median_us"] == pytest.approx(median(one), rel=1.1e-3)
            assert row["ratio"] == pytest.approx(median(one) / median(other), rel=2.2e-3)
        failures = {row["label"]: row for row in found["failures"]}
        assert failures.keys() == {label for label, sides in model.failures.items() if all(sides)}
        for label, row in failures.items():
            (failed, count), (others_failed, others) = ((sum(n), len(n)) for n in model.failures[label])
            assert (row["devices"], row["others"]) == (count, others), label
            assert row["share"] == pytest.approx(failed / count)
            assert row["others_share"] == pytest.approx(others_failed / others)
            error = 0.001 / (len(found["latency"]) + len(failures))
            expected = difference_of_shares(failed, count, others_failed, others, error)
            assert [row["difference"], *row["interval"]] == pytest.approx(expected, abs=1e-9)
        table = duckdb.sql(f"SELECT outcome, count(*) FROM '{place}/out/usage.parquet' GROUP BY 1").fetchall()
        assert dict(table) == model.outcomes


def fleet_of(count: int, random: Random, slower: Callable[[str, int], float]) -> tuple[Any, Any]:
    devices = [(f"d{n}", 1 + n % 2, (4, 8)[n // 2 % 2]) for n in range(count)]
    records = [
        {
            "device": name,
            "reason": "matched",
            "profile": f"acme/{'ab'[cores - 1]}",
            "options": [
                {"path": THREADS, "value": available, "source": "profile"},
                {"path": SCRATCH, "value": 65536 if bucket(name) < 0.3 else 1048576, "source": "profile"},
            ],
            "durations_us": {
                metric: random.lognormvariate(7, 0.2) * slower(name, cores)
                for metric in ("load", "p50", "p95")
            },
        }
        for name, cores, available in devices
    ]
    return devices, records


def claims(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(row["label"], row["metric"], row["claim"]) for row in data["latency"] if row["claim"]]


class TestClaims:
    """A ratio is claimed if its interval, whose error all comparisons share, has no 1 in it."""

    def test_twenty_data_sets_without_a_difference_have_no_claim(self, cli: Cli, place: Path) -> None:
        write_project(place)
        for seed in range(20):
            devices, records = fleet_of(600, Random(seed), lambda name, cores: 1)
            write_devices(place, devices)
            write_records(place / "usage.jsonl", records)
            assert claims(compared(cli)) == []

    def test_five_percent_in_one_profile_are_found(self, cli: Cli, place: Path) -> None:
        write_project(place)
        devices, records = fleet_of(6000, Random(1), lambda name, cores: 1.05 if cores == 2 else 1)
        write_devices(place, devices)
        write_records(place / "usage.jsonl", records)
        found = claims(compared(cli))
        assert [each for each in found if each[0] == "acme/b"] == [
            ("acme/b", metric, "slower") for metric in ("load", "p50", "p95")
        ]
        assert {each[0] for each in found} == {"acme/a", "acme/b"}

    def test_a_device_with_ten_thousand_records_counts_once(self, cli: Cli, place: Path) -> None:
        write_project(place)
        devices, records = fleet_of(200, Random(1), lambda name, cores: 1)
        write_devices(place, devices)
        slow = {**records[1], "durations_us": {"p95": 1e6}}
        write_records(place / "usage.jsonl", [*records, *[slow] * 10_000])
        (row,) = (
            row for row in compared(cli)["latency"] if (row["label"], row["metric"]) == ("acme/b", "p95")
        )
        assert (row["devices"], row["claim"]) == (100, None)


GUARD = """
[[guard]]
metric = "p95"
worse_than = "5%"
min_devices = {0}
"""


FAILURES = GUARD.replace("p95", "failures").replace("5%", "{0}").replace("= {0}\n", "= {1}\n")


class TestGuards:
    """A guard of the project file stops a rollout."""

    @pytest.fixture
    def slow_rollout(self, place: Path) -> Path:
        devices, records = fleet_of(3000, Random(1), lambda name, cores: 1.2 if bucket(name) < 0.3 else 1)
        write_devices(place, devices)
        write_records(place / "usage.jsonl", records)
        return place

    @pytest.mark.parametrize(
        ("guard", "status", "message"),
        [
            (GUARD.format(500), 1, "guard broken: p95 by rollout: at most 5% worse: 1."),
            (
                GUARD.format(5000),
                3,
                "no comparison has 5,000 devices on each side, at most 905; wait, do not raise",
            ),
            (GUARD.format(500).replace("5%", "40%"), 0, ""),
            (GUARD.format(500) + 'by = "profile"\n', 0, ""),
        ],
    )
    def test_its_verdict_is_the_exit_status(
        self, cli: Cli, slow_rollout: Path, guard: str, status: int, message: str
    ) -> None:
        write_project(slow_rollout, guard)
        done = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl")
        assert done.status == status, done.stderr
        assert message in done.stderr

    def test_devices_that_do_not_run_the_decision_yet_prove_nothing(
        self, cli: Cli, slow_rollout: Path
    ) -> None:
        """The bound is raised, but the records are older: most of the side runs the old value."""
        write_project(slow_rollout, GUARD.format(500))
        for path in (slow_rollout / "profiles").rglob("*.toml"):
            path.write_text(path.read_text().replace("< 0.3", "< 0.9"))
        done = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl")
        assert (done.status, "guard undecided" in done.stderr) == (3, True)

    @pytest.mark.parametrize(
        ("guard", "status", "message"),
        [
            (FAILURES.format("1%", 500), 1, "at most 1 percentage points more: +4"),
            (FAILURES.format("60%", 500), 0, ""),
            (FAILURES.format("1%", 5000), 3, "no comparison has 5,000 devices on each side, at most 905"),
            (GUARD.format(300), 0, "failed devices take no part, and their shares differ: bucket("),
            (GUARD.format(300) + 'by = "profile"\n', 0, ""),
        ],
    )
    def test_half_of_the_reached_devices_fail(
        self, cli: Cli, place: Path, guard: str, status: int, message: str
    ) -> None:
        """They have neither a profile nor options nor durations; a few of the others fail too."""
        devices, records = fleet_of(3000, Random(1), lambda name, cores: 1)
        for n, each in enumerate(records):
            if bucket(each["device"], "luck") < (0.5 if bucket(each["device"]) < 0.3 else 0.02):
                records[n] = {"device": each["device"], "reason": "error", "failure": "no memory"}
        write_project(place, guard)
        write_devices(place, devices)
        write_records(place / "usage.jsonl", records)
        done = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl")
        assert done.status == status, done.stderr
        assert message in done.stderr
        assert ("take no part" in done.stderr) == ("take no part" in message)
        assert " failures  905 " in " ".join(
            done.stdout.split("Comparisons:")[1].partition("Guards")[0].splitlines()
        )

    @pytest.mark.parametrize(
        ("is_failed", "further", "status"),
        [
            (lambda name: bucket(name) < 0.3, {"revision": 6}, 3),
            (lambda name: bucket(name, "luck") < 0.2, {}, 0),
            (lambda name: bucket(name) >= 0.3, {}, 0),
        ],
    )
    def test_failures_before_the_rollout_on_both_sides_or_on_the_other_break_nothing(
        self, cli: Cli, place: Path, is_failed: Callable[[str], bool], further: dict[str, int], status: int
    ) -> None:
        devices, records = fleet_of(3000, Random(1), lambda name, cores: 1)
        for each in records:
            each |= {"revision": 7}
            each |= {"failure": "no memory", **further} if is_failed(each["device"]) else {}
        write_project(place, FAILURES.format("1%", 500))
        write_devices(place, devices)
        write_records(place / "usage.jsonl", records)
        done = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl")
        assert done.status == status, done.stderr

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('metric = "p59"', "'metric' must be one of load, first_run, p50, p95, failures"),
            ('metric = "failures"\nby = "profile"', "'by' must be rollout for failures"),
            ("worse_than = 5", "'worse_than' must be a share of 0 or more, such as"),
            ('worse_than = "a bit"', "'worse_than' must be a share of 0 or more"),
            ("worse_than = -0.1", "'worse_than' must be a share of 0 or more"),
            ("min_devices = 0", "'min_devices' must be 1 or more"),
            ('by = "device"', "'by' must be one of rollout, profile, option"),
            ("worst = 5", "has no key 'worst'"),
        ],
    )
    def test_a_wrong_guard_is_a_problem(self, cli: Cli, place: Path, line: str, message: str) -> None:
        keys = {"metric": 'metric = "p95"', "worse_than": 'worse_than = "5%"', line.split(" ")[0]: line}
        write_project(place, "[[guard]]\n" + "\n".join(keys.values()) + "\n")
        done = cli("validate", "etconfig.toml")
        assert done.status == 1
        assert message in done.stdout + done.stderr


def test_the_reach_of_a_rollout_and_what_another_bound_moves(cli: Cli, place: Path) -> None:
    write_project(place)
    devices, _ = random_fleet(Random(4), 2000)
    write_devices(place, devices)
    for share in ("0.1", "0.5", "30%", "0", "1"):
        done = cli("fleet", "rollout", "devices.parquet", "--to", share, "--json")
        bound = float(share.rstrip("%")) / (100 if "%" in share else 1)
        own = [
            bucket(name) for name, cores, available in devices if cores == 2 or (cores == 1 and available > 2)
        ]
        moved = sum((each < 0.3) != (each < bound) for each in own)
        reached = sum(each < 0.3 for each in own)
        (row,) = json.loads(done.stdout)["rollouts"]
        assert row == {"rollout": ROLLOUT, "decides": len(own), "reached": reached, "moved": moved}


def test_damaged_records_and_repeated_devices_are_counted_and_named(cli: Cli, place: Path) -> None:
    write_project(place)
    write_devices(place, [("d1", 1, 4), ("d1", 1, 4), ("<b>\u202e", 2, 4)])
    lines = ["no", '{"etconfig_usage": 2, "reason": "x"}', '{"etconfig_usage": 1, "reason": "matched"}', ""]
    (place / "usage.jsonl").write_text("\n".join(lines))
    done = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl")
    assert done.status == 0
    assert "usage.jsonl  it is not a line of JSON" in done.stdout
    assert "etconfig_usage: version 2 is not known" in done.stdout
    assert "3 records; left out: 1 without a device, 2 wrong" in done.stderr
    assert "1 device in the inventory more than once" in done.stderr
    page = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl", "--html", "page.html")
    assert page.status == 0, page.stderr
    assert "Wrong records" in (place / "page.html").read_text()
    (place / "usage.jsonl").write_text("")
    assert compared(cli)["outcomes"]["no_record"] == 2


def test_wrong_use_is_refused(cli: Cli, place: Path) -> None:
    write_project(place)
    write_devices(place, [("d1", 1, 4)])
    duckdb.sql(
        "COPY (SELECT 1 AS etconfig_usage, 'fixed' AS reason, '[7]' AS options) "
        f"TO '{place}/wrong.parquet' (FORMAT parquet)"
    )
    wrong = cli("fleet", "compare", "devices.parquet", "--usage", "wrong.parquet")
    assert wrong.status == 0
    assert "options: expected a list of objects with path, value and source" in wrong.stdout
    nothing = cli("fleet", "compare", "devices.parquet", "--usage", "")
    assert (nothing.status, "cannot read '': there is no such file" in nothing.stderr) == (2, True)
    missing = cli("fleet", "compare", "devices.parquet", "--usage", "no.jsonl")
    assert (missing.status, "there is no such file" in missing.stderr) == (2, True)
    (place / "out").mkdir()
    (place / "out" / "usage.parquet").write_text("mine")
    (place / "usage.jsonl").write_text("")
    kept = cli("fleet", "compare", "devices.parquet", "--usage", "usage.jsonl", "-o", "out")
    assert kept.status == 2
    assert "it is there, and not a table that" in kept.stderr
