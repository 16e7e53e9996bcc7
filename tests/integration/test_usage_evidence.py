"""`tune --from-usage`: a rollout that made devices faster becomes a profile with evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import md5
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import Outcome
from effort import seeds

from etconfig.app.installation.installation import Installation
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.rollout_settings import rollout_settings

Cli = Callable[..., Outcome]

ROLLOUT = 'bucket(device.id, "new") < 0.3'
LABEL = f"{ROLLOUT} in acme/board"
PROFILE = """[profile]
name = "acme/board"
match = 'cpu.arch == "arm64"'

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.available_cores" }
scratch_bytes = 1048576
"""
HERE = ("--fact", "cpu.arch=arm64", "--fact", "cpu.available_cores=4", "--fact", "device.id=x")


def when(condition: str, options: str) -> str:
    return f"\n[[when]]\nif = '{condition}'\n[when.options.ReferenceCpuBackend]\n{options}\n"


def write_profile(place: Path, further: str, project: str = "") -> None:
    (place / "profiles" / "acme").mkdir(parents=True, exist_ok=True)
    (place / "profiles" / "acme" / "board.toml").write_text(PROFILE + further)
    (place / "etconfig.toml").write_text('profile_path = ["profiles"]\n' + project)


def bucket(device: str, name: str = "new") -> float:
    return int(md5(f"{name}:{device}".encode(), usedforsecurity=False).hexdigest()[:13], 16) / 2**52


def write_fleet(place: Path, **factors: float) -> None:
    """Write devices with records; the durations of devices that the rollout reaches have these factors."""
    random, devices, records = Random(1), [], []
    for n in range(2000):
        name, cores = f"d{n}", (2, 4, 8)[n % 3]
        devices.append({"device_id": name, "cpu.arch": "arm64", "cpu.available_cores": cores})
        is_reached = bucket(name) < 0.3 and cores > 2
        durations = {
            metric: random.lognormvariate(7, 0.2) * (factors.get(metric, 1) if is_reached else 1)
            for metric in ("load", "p50", "p95")
        }
        record = {"device": name, "reason": "matched", "profile": "acme/board", "durations_us": durations}
        records.append({"etconfig_usage": 1, **record})
    for file, rows in (("devices.jsonl", devices), ("used.jsonl", records)):
        (place / file).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_comparison(place: Path, cli: Cli) -> dict[str, Any]:
    pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")
    done = cli("fleet", "compare", "devices.jsonl", "--usage", "used.jsonl", "--json")
    assert done.status == 0, done.stderr
    (place / "compared.json").write_text(done.stdout)
    return dict(json.loads(done.stdout))


def row(metric: str = "p95", claim: str | None = "faster", label: str = LABEL) -> dict[str, Any]:
    """Return a comparison as `fleet compare --json` has it."""
    counts = {"devices": 600, "others": 1400, "ratio": 0.8, "interval": [0.75, 0.85]}
    return {"by": "rollout", "label": label, "metric": metric, "claim": claim, **counts}


def rollout(**changes: Any) -> dict[str, Any]:
    data = {"rollout": ROLLOUT, "profile": "acme/board", "match": "true", "when": "has(device.id)"}
    return {**data, "options": {"ReferenceCpuBackend.num_threads": 2}, "problem": None, **changes}


def tune(cli: Cli, place: Path, data: object, *further: str) -> Outcome:
    whole = {"failures": [], **data} if isinstance(data, dict) else data
    (place / "compared.json").write_text(whole if isinstance(whole, str) else json.dumps(whole))
    return cli("tune", "--from-usage", "compared.json", *further)


class TestWalk:
    """A rollout, records, a comparison, a profile."""

    def test_a_faster_rollout_becomes_a_profile_with_evidence(self, cli: Cli, place: Path) -> None:
        write_profile(place, when(f"{ROLLOUT} && cpu.available_cores > 2", "scratch_bytes = 65536"))
        write_fleet(place, p50=0.8, p95=0.8)
        write_comparison(place, cli)
        done = cli("tune", "--from-usage", "compared.json", "--output", "profiles/acme/used.toml")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{LABEL}: 1.2")
        text = (place / "profiles/acme/used.toml").read_text()
        for line in (
            'extends = ["acme/board"]\nmatch = \'cpu.arch == "arm64"\'',
            "if = 'has(device.id) && cpu.available_cores > 2'",
            "[when.options.ReferenceCpuBackend]\nscratch_bytes = 65536",
            f"rollout = '{ROLLOUT}'\nobjective = \"p50\"\n",
            '[[evidence.options]]\noption = "ReferenceCpuBackend.scratch_bytes"',
        ):
            assert line in text
        for file in ("etconfig.toml", "profiles/acme/used.toml"):
            checked = cli("validate", file)
            assert (checked.status, checked.stderr) == (0, "1 file checked: 0 errors, 0 warnings\n")
        explained = cli("explain", "forward:ReferenceCpuBackend.scratch_bytes", "model.pte", *HERE).stdout
        assert "acme/used.toml" in explained
        assert "  used: p50 1.2" in explained
        assert f"devices on each side of {ROLLOUT}; made today" in explained
        assert cli("lock", "model.pte", "--profile", "acme/used", *HERE).status == 0
        assert cli("report", "model.pte", "--profile", "acme/used", "--output", "page.html").status == 0
        assert f"p50, {ROLLOUT}" in (place / "page.html").read_text().replace("&#34;", '"').replace(
            "&lt;", "<"
        )
        verified = cli("tune", "model.pte", "--verify", "profiles/acme/used.toml")
        assert verified.status == 2
        assert "has its [evidence] from usage" in verified.stderr

    def test_without_a_difference_or_with_a_slower_rollout_nothing_is_written(
        self, cli: Cli, place: Path
    ) -> None:
        write_profile(place, when(ROLLOUT, "scratch_bytes = 65536"))
        for factors, verdict in (
            ({}, "nothing better: no interval lacks 1"),
            ({"p50": 1.25}, "nothing better: slower by p50; lower its bound"),
            ({"p50": 0.8, "load": 1.25}, "nothing better: slower by load; lower its bound"),
        ):
            write_fleet(place, **factors)
            write_comparison(place, cli)
            done = cli("tune", "--from-usage", "compared.json", "--output", "profiles/acme/used.toml")
            assert done.status == 0
            assert done.stdout == f"{LABEL}: {verdict}\nnothing better than what is configured\n"
            assert not (place / "profiles/acme/used.toml").exists()


class TestTables:
    """The table that it reads."""

    @pytest.fixture(autouse=True)
    def profiles(self, place: Path) -> None:
        write_profile(place, "")
        other = PROFILE.replace("acme/board", "acme/other").replace("arm64", "x86_64")
        (place / "profiles/acme/other.toml").write_text(other)

    def test_a_value_that_devices_chose_is_no_evidence(self, cli: Cli, place: Path) -> None:
        by_choice = [row() | {"by": by, "label": "num_threads = 2"} for by in ("option", "profile")]
        done = tune(cli, place, {"latency": by_choice, "rollouts": [rollout()]}, "--output", "used.toml")
        assert (done.status, (place / "used.toml").exists()) == (0, False)
        assert "nothing better" in done.stdout

    def test_only_chooses_among_several(self, cli: Cli, place: Path) -> None:
        other = f"{ROLLOUT} in acme/other"
        data = {"latency": [row(), row(label=other)], "rollouts": [rollout(), rollout(profile="acme/other")]}
        done = tune(cli, place, data, "--output", "used.toml")
        assert (done.status, (place / "used.toml").exists()) == (2, False)
        assert f"several rollouts are faster; choose one with --only: {LABEL}, {other}" in done.stderr
        assert tune(cli, place, data, "--output", "used.toml", "--only", other).status == 0
        assert 'extends = ["acme/other"]' in (place / "used.toml").read_text()
        done = tune(cli, place, data, "--only", "mine")
        assert (done.status, "--only: no rollout 'mine'; there are " in done.stderr) == (2, True)

    def test_as_json(self, cli: Cli, place: Path) -> None:
        found = json.loads(tune(cli, place, {"latency": [row()], "rollouts": [rollout()]}, "--json").stdout)
        assert found["rollouts"] == {LABEL: "1.25 x [1.18, 1.33] by p95"}
        assert "num_threads = 2" in found["profile_text"]

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ("", "JSONDecodeError"),
            ("[" * 100_000, "RecursionError"),
            ("{}", "KeyError('rollouts')"),
            ([], "TypeError"),
            ({"rollouts": [1], "latency": []}, "TypeError"),
            ({"rollouts": [rollout()], "latency": [{**row(), "metric": "p99"}]}, "ValueError"),
            ({"rollouts": [rollout()], "latency": [{**row(), "interval": [0.7, None]}]}, "TypeError"),
            ({"rollouts": [rollout()], "latency": [{**row(), "interval": [0, 0]}]}, "ZeroDivisionError"),
            ({"rollouts": [rollout()], "latency": [{**row(), "ratio": "a"}]}, "TypeError"),
            ({"rollouts": [rollout(options=[])], "latency": [row()]}, "AttributeError"),
        ],
    )
    def test_a_damaged_or_foreign_file_is_an_error(
        self, cli: Cli, place: Path, data: object, message: str
    ) -> None:
        done = tune(cli, place, data, "--output", "used.toml")
        assert (done.status, (place / "used.toml").exists()) == (2, False)
        assert "error: compared.json is not a whole comparison of usage: " in done.stderr
        assert message in done.stderr
        assert "write it with `etconfig fleet compare" in done.stderr

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"profile": "acme/none"}, "there is no profile 'acme/none'"),
            ({"profile": "x\n"}, "'x\\n'"),
            ({"profile": "used"}, "extends itself"),
            ({"when": "x y"}, "expected the end or an operator, found 'y'"),
            ({"match": "no.fact == 1"}, "no.fact"),
            ({"options": {"a b": 1}}, "invalid TOML"),
            ({"options": {"a.b": float("nan")}, "when": "true", "match": "1"}, "bool"),
        ],
    )
    def test_a_profile_that_is_not_valid_here_is_not_written(
        self, cli: Cli, place: Path, changes: dict[str, Any], message: str
    ) -> None:
        found = rollout(**changes)
        label = f"{ROLLOUT} in {found['profile']}"
        done = tune(cli, place, {"latency": [row(label=label)], "rollouts": [found]}, "--output", "used.toml")
        assert (done.status, (place / "used.toml").exists()) == (2, False)
        assert "error: compared.json leads to no valid profile: " in done.stderr
        assert message in done.stderr

    def test_what_measures_does_not_go_with_it(self, cli: Cli, place: Path) -> None:
        for further in (["model.pte"], ["--budget", "1s"], ["--control", "model.pte"]):
            done = tune(cli, place, {"latency": [], "rollouts": []}, *further)
            assert (done.status, "--from-usage measures nothing; leave out" in done.stderr) == (2, True)
        assert "cannot read no.json" in cli("tune", "--from-usage", "no.json").stderr

    def test_a_rollout_whose_devices_fail_is_not_written(self, cli: Cli, place: Path) -> None:
        for claim, is_written in (("more", False), ("fewer", True), (None, True)):
            data = {"latency": [row()], "failures": [row("failures", claim)], "rollouts": [rollout()]}
            done = tune(cli, place, data, "--output", "used.toml")
            assert (place / "used.toml").exists() is is_written
            assert ("more of its devices fail" in done.stdout) is not is_written
            (place / "used.toml").unlink(missing_ok=True)

    def test_a_file_of_somebody_else_stays(self, cli: Cli, place: Path) -> None:
        (place / "used.toml").write_text("# mine\n")
        done = tune(cli, place, {"latency": [row()], "rollouts": [rollout()]}, "--output", "used.toml")
        assert (done.status, (place / "used.toml").read_text()) == (2, "# mine\n")


CONDITIONS = (
    ROLLOUT,
    ROLLOUT,
    ROLLOUT,
    f"{ROLLOUT} && cpu.available_cores > 2",
    f"(cpu.available_cores > 4 || cpu.available_cores < 3) && {ROLLOUT}",
    f"{ROLLOUT} || cpu.available_cores > 4",
    f"!({ROLLOUT})",
    'bucket(device.id, "new") < 0.1',
    '0.3 > bucket(device.id, "new")',
    f'{ROLLOUT} && bucket(device.id, "new") > 0.1',
    f'{ROLLOUT} && bucket(device.id, "other") < 0.5',
    "cpu.available_cores > 2",
)
SETTINGS = (
    "num_threads = 1",
    "scratch_bytes = 65536",
    'num_threads = { expr = "cpu.available_cores / 2" }',
    "scratch_bytes = { unset = true }",
    f"num_threads = {{ expr = '{ROLLOUT} ? 1 : 2' }}",
    "scratch_bytes = 65536\nnum_threads = 3",
)
PROJECT = "[options.ReferenceCpuBackend]\nscratch_bytes = 131072\n"


def decided(plan: FleetPlan, facts: Mapping[str, Any]) -> dict[str, str]:
    return {str(each.path): each.value for each in plan.outcome(facts).options}


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        (when(ROLLOUT, "scratch_bytes = 65536"), None),
        (when(ROLLOUT, "num_threads = 1") + when("cpu.available_cores > 2", "scratch_bytes = 4096"), None),
        (
            when(ROLLOUT, "scratch_bytes = 65536") + when("cpu.available_cores > 2", "scratch_bytes = 4096"),
            "ReferenceCpuBackend.scratch_bytes is set again after it",
        ),
        (
            when(ROLLOUT, "num_threads = 1")
            + when(f"{ROLLOUT} && cpu.available_cores > 2", "num_threads = 2"),
            "it sets options of one method or instance, or under several conditions",
        ),
        (
            when(ROLLOUT, "num_threads = 1").replace("when.options", "when.methods.forward.options"),
            "it sets options of one method or instance, or under several conditions",
        ),
        (
            when(ROLLOUT, f"num_threads = {{ expr = '{ROLLOUT} ? 1 : 2' }}"),
            f"its bucket also decides in {ROLLOUT} ? 1 : 2",
        ),
        (
            when(f"{ROLLOUT} && {ROLLOUT.replace('<', '>=').replace('3', '1')}", "num_threads = 1"),
            "its bucket also decides in",
        ),
    ],
)
def test_a_problem_says_why_a_rollout_is_no_evidence(place: Path, blocks: str, problem: str | None) -> None:
    write_profile(place, blocks)
    found = {each["rollout"]: each for each in rollout_settings(FleetPlan(None, Installation(place)))}
    said = found[ROLLOUT]["problem"]
    assert said == problem if problem is None else said.startswith(problem)


def test_a_rollout_of_whole_models_is_no_evidence(cli: Cli, place: Path) -> None:
    """Devices of one model are alike, so that they do not count one by one."""
    text = 'bucket(device.model, "new") < 0.3'
    write_profile(place, when(text, "num_threads = 1"))
    (found,) = rollout_settings(FleetPlan(None, Installation(place)))
    assert found["problem"] == "it does not draw devices one by one, by device.id"
    data = {"latency": [row(label=f"{text} in acme/board")], "rollouts": [found]}
    done = tune(cli, place, data, "--output", "used.toml")
    assert (done.status, (place / "used.toml").exists()) == (0, False)
    assert "faster by p95, but no evidence for its options: it does not draw" in done.stdout


def test_with_the_profile_every_device_gets_what_reached_devices_had(cli: Cli, place: Path) -> None:
    """Whatever the conditions, a profile is written only if it gives all devices the options of one side."""
    names = [f"d{n}" for n in range(30)]
    kept = 0
    for seed in seeds(100):
        random = Random(seed)
        blocks = [
            when(random.choice(CONDITIONS), random.choice(SETTINGS))
            for _ in range(random.choice((1, 1, 1, 2, 2, 3)))
        ]
        project = ["", "", when(random.choice(CONDITIONS), random.choice(SETTINGS)), PROJECT]
        write_profile(place, "".join(blocks), random.choice(project))
        (place / "profiles/acme/used.toml").unlink(missing_ok=True)
        plan = FleetPlan(None, Installation(place))
        for found in rollout_settings(plan):
            if found["rollout"] != ROLLOUT or found["problem"] is not None:
                continue
            data = {"latency": [row()], "rollouts": [found]}
            (place / "profiles/acme/used.toml").unlink(missing_ok=True)
            done = tune(cli, place, data, "--output", "profiles/acme/used.toml")
            assert done.status == 0, done.stderr
            after = FleetPlan(None, Installation(place))
            kept += 1
            for cores in (2, 4, 8):
                facts = {"cpu.arch": "arm64", "cpu.available_cores": cores}
                for side in (True, False):  # of the other rollout, which stays
                    alike = [each for each in names if (bucket(each, "other") < 0.5) is side]
                    given = {each: str(decided(plan, {**facts, "device.id": each})) for each in alike}
                    reached = {given[each] for each in alike if bucket(each) < 0.3}
                    now = {str(decided(after, {**facts, "device.id": each})) for each in alike}
                    assert len(reached) == 1, (blocks, cores)
                    assert now == reached, (blocks, cores)
                assert decided(after, facts) == decided(plan, facts), (
                    "devices without an id keep their options"
                )
    assert kept > 3
