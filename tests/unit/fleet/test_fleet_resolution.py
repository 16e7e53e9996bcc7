"""Fleets are resolved as their devices are one by one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from hashlib import md5
from pathlib import Path
from random import Random
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from command_line import DIGITS  # noqa: E402
from fleet_devices import PROFILES, random_devices, write_devices, write_profiles  # noqa: E402

import etconfig  # noqa: E402
from etconfig.app.installation.installation import Installation  # noqa: E402
from etconfig.errors import ConfigError, InternalError, PluginCallError  # noqa: E402
from etconfig.facts.sheet import FactSheet  # noqa: E402
from etconfig.fleet.deciding import grouping  # noqa: E402
from etconfig.fleet.deciding.plan import FleetPlan  # noqa: E402
from etconfig.fleet.inventory.database import Database, opened_database  # noqa: E402
from etconfig.fleet.inventory.inventory import InventoryOpener, InventoryPart, find_sources  # noqa: E402
from etconfig.fleet.running import part_decision  # noqa: E402
from etconfig.fleet.running.moved_devices import compare_fleet  # noqa: E402
from etconfig.fleet.running.part_decision import decide_part  # noqa: E402
from etconfig.fleet.running.part_result import PartResult, merged_results  # noqa: E402
from etconfig.fleet.running.resumable_run import PARTS, resolve_fleet, summarize_fleet  # noqa: E402
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option  # noqa: E402


@pytest.fixture
def database() -> Iterator[Database]:
    with opened_database("256MiB", 2) as found:
        yield found


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(profile_directories=[write_profiles(tmp_path / "profiles")])


def opened(database: Database, *paths: Path) -> list[InventoryPart]:
    opener = InventoryOpener(database, etconfig.Installation().fact_registry)
    return list(opener.open_all(find_sources([str(path) for path in paths])))


def no_progress(part: InventoryPart, number: int, count: int) -> None:
    assert number <= count


def one_by_one(
    program: Any, installation: Installation, facts: Mapping[str, Any]
) -> tuple[str | None, str | None, str | None]:
    """The profile, the fingerprint and the cause of one device, by the resolver itself."""
    try:
        configuration = etconfig.configure(
            program, profile="auto", facts=FactSheet.from_values(facts), installation=installation
        )
    except ConfigError as error:
        return None, None, error.diagnostics[0].code
    name = configuration.chain[-1].name
    try:
        return name, configuration.resolve().fingerprint(), None
    except ConfigError as error:
        return name, None, error.diagnostics[0].code


class TestEqualToTheResolver:
    """Every device gets what the resolver gives it alone."""

    @pytest.mark.parametrize("most", [grouping._MAX_DISTINCT, 0], ids=["by-value", "by-truth"])
    def test_random_devices(
        self,
        database: Database,
        installation: Installation,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        most: int,
    ) -> None:
        monkeypatch.setattr(grouping, "_MAX_DISTINCT", most)
        devices = random_devices(Random(7), 300)
        path = write_devices(duckdb.connect(), tmp_path / "fleet.parquet", devices)
        program = etconfig.load_program(DIGITS / "digits.pte", installation=installation)
        plan = FleetPlan(program, installation, profile="auto")
        result = resolve_fleet(
            database, opened(database, path), plan, tmp_path / "out", "settings", no_progress
        )
        rows = database.rows(
            f"SELECT device_id, profile, resolution FROM '{tmp_path}/out/assignments.parquet'"
        )
        found = {device: (profile, resolution) for device, profile, resolution in rows}
        assert len(rows) == len(found) == result.devices == len(devices)
        causes: dict[str, int] = {}
        for number, facts in enumerate(devices):
            profile, resolution, cause = one_by_one(program, installation, facts)
            assert found[f"device-{number}"] == (profile, resolution), facts
            if cause is not None:
                causes[cause] = causes.get(cause, 0) + 1
        counted: dict[str, int] = {}
        for cause, _, _, count, _ in result.problems():
            counted[cause] = counted.get(cause, 0) + count
        assert counted == causes
        assert {"ambiguous-profile", "unknown-fact-value"} <= set(causes)

    def test_the_order_of_groups_changes_nothing(
        self, database: Database, installation: Installation, tmp_path: Path
    ) -> None:
        """DuckDB returns groups in any order."""
        path = write_devices(duckdb.connect(), tmp_path / "fleet.parquet", random_devices(Random(3), 50))
        plan = FleetPlan(None, installation, profile="auto")
        whole = summarize_fleet(database, opened(database, path), plan, no_progress)
        for seed in range(20):
            counts = Random(seed).sample(whole.counts, len(whole.counts))
            shuffled = PartResult(counts=tuple(counts), groups=whole.groups)
            assert merged_results([shuffled]) == whole

    def test_dots_may_be_two_underscores(
        self, database: Database, installation: Installation, tmp_path: Path
    ) -> None:
        devices = random_devices(Random(3), 50)
        connection = duckdb.connect()
        dotted = write_devices(connection, tmp_path / "a.parquet", devices)
        scored = write_devices(connection, tmp_path / "b.parquet", devices, dots="__")
        plan = FleetPlan(None, installation, profile="auto")
        first, second = (
            summarize_fleet(database, opened(database, path), plan, no_progress) for path in (dotted, scored)
        )
        assert first == second

    def test_a_named_profile_needs_no_match(
        self, database: Database, installation: Installation, tmp_path: Path
    ) -> None:
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", random_devices(Random(3), 50))
        plan = FleetPlan(None, installation, profile="acme/phone")
        result = summarize_fleet(database, opened(database, path), plan, no_progress)
        assert dict(result.profiles) == {"acme/phone": 50}


class TestAdvice:
    """A function of a vendor may read any fact; devices are grouped again by those that it has read."""

    @pytest.mark.parametrize("is_listing", [False, True])
    def test_facts_that_a_function_reads_count(
        self, database: Database, tmp_path: Path, *, is_listing: bool
    ) -> None:
        def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
            if is_listing:
                return {"number": len(dict(facts))}
            level = facts.get("power.battery_level") if facts.get("power.source") == "battery" else 2.0
            return {} if level is None else {"number": round(100 * float(str(level)))}

        installation = advised_installation(recommend)
        devices = random_devices(Random(1), 60)
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", devices)
        plan = FleetPlan(None, installation, profile="generic/any")
        (part,) = opened(database, path)
        decided = decide_part(database, part, [plan])
        numbers = {
            option_.value: 0
            for outcome in decided.outcomes[0]
            for option_ in outcome.options
            if option_.path.option == "number"
        }
        for group, outcome in zip(decided.groups, decided.outcomes[0], strict=True):
            (value,) = {each.value for each in outcome.options if each.path.option == "number"}
            numbers[value] += group.devices
        expected: dict[str, int] = {}
        for number, facts in enumerate(devices):
            value = str(recommend({**facts, "device.id": f"device-{number}"}).get("number", 7))
            expected[value] = expected.get(value, 0) + 1
        assert numbers == expected

    @pytest.mark.parametrize(
        ("reads", "named"),
        [(dict, "every fact"), (lambda facts: facts.get("device.id"), "device.id"), (len, "every fact")],
    )
    def test_a_function_by_which_each_device_differs_is_refused(
        self, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Any, named: str
    ) -> None:
        monkeypatch.setattr(part_decision, "MAX_ADVISED_GROUPS", 50)

        def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
            reads(facts)
            return {}

        plan = FleetPlan(None, advised_installation(recommend), profile="generic/any")
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", random_devices(Random(1), 60))
        few, many = opened(database, path), opened(database, path)
        with pytest.raises(PluginCallError) as refused:
            summarize_fleet(database, many, plan, no_progress)
        message = (
            f"recommend of plugin 'FleetBackend' (etconfig.backends) failed: it reads {named}, which divides "
            f"the 60 devices of {path} into more than 50 groups, each to be resolved on its own"
        )
        assert refused.value.message == message
        assert "--ignore" in str(refused.value.help)
        monkeypatch.setattr(part_decision, "MAX_ADVISED_GROUPS", 60)
        assert summarize_fleet(database, few, plan, no_progress).devices == 60

    def test_a_computed_value_by_which_each_device_differs_is_refused(
        self, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Database, "memory_bytes", 50 * part_decision.GROUP_BYTES)
        text = '[profile]\nname = "acme/all"\n[options.FleetBackend]\nname = { expr = "device.id" }\n'
        (tmp_path / "acme").mkdir()
        (tmp_path / "acme" / "all.toml").write_text(text)
        installation = advised_installation(lambda facts: {})
        plan = FleetPlan(None, installation, profile=str(tmp_path / "acme" / "all.toml"))
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", random_devices(Random(1), 60))
        with pytest.raises(
            OSError, match=r"more than 50 groups, .* computed from device\.id, which has about"
        ) as refused:
            summarize_fleet(database, opened(database, path), plan, no_progress)
        assert str(refused.value).endswith("write several files, or give more --memory")
        monkeypatch.setattr(Database, "memory_bytes", 59 * part_decision.GROUP_BYTES)
        with pytest.raises(OSError, match="more than 59 groups"):
            summarize_fleet(database, opened(database, path), plan, no_progress)
        monkeypatch.setattr(Database, "memory_bytes", 60 * part_decision.GROUP_BYTES)
        assert summarize_fleet(database, opened(database, path), plan, no_progress).devices == 60

    def test_the_limit_counts_only_what_functions_read(
        self, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Values that are computed from facts may differ on every device."""
        monkeypatch.setattr(part_decision, "MAX_ADVISED_GROUPS", 20)

        def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
            return {"number": 1 if facts.get("os.name") == "linux" else 2}

        text = '[profile]\nname = "acme/all"\n\n[options.FleetBackend]\nname = { expr = "device.id" }\n'
        (tmp_path / "acme").mkdir()
        (tmp_path / "acme" / "all.toml").write_text(text)
        plan = FleetPlan(None, advised_installation(recommend), profile=str(tmp_path / "acme" / "all.toml"))
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", random_devices(Random(1), 60))
        result = summarize_fleet(database, opened(database, path), plan, no_progress)
        assert (result.devices, len(result.resolutions)) == (60, 60)


def advised_installation(recommend: Any) -> Installation:
    """An installation with one more backend, whose function recommends options."""

    class AdvisedOptions(BackendOptions):
        """Options of a backend."""

        number: int = option(7, applies="load", doc="A number.")
        name: str = option("", applies="load", doc="A text.")

    spec = BackendSpec(
        id="FleetBackend", doc="A backend.", options=AdvisedOptions, api=ApiRange(1, 1), recommend=recommend
    )
    return Installation().with_backends({"FleetBackend": spec})


class TestSafety:
    """Wrong values and wrong answers never become a wrong table."""

    def test_a_difference_between_sql_and_python_is_an_internal_error(
        self,
        database: Database,
        installation: Installation,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", random_devices(Random(3), 50))
        right = grouping.condition_sql
        monkeypatch.setattr(grouping, "condition_sql", lambda *given: f"(NOT {right(*given)})")
        plan = FleetPlan(None, installation, profile="auto")
        with pytest.raises(InternalError, match="SQL and Python disagree"):
            summarize_fleet(database, opened(database, path), plan, no_progress)

    def test_a_wrong_value_that_decides_is_a_problem_of_its_devices(
        self, database: Database, installation: Installation, tmp_path: Path
    ) -> None:
        devices = random_devices(Random(3), 40)
        devices[0]["power.battery_level"] = float("nan")
        devices[1]["power.battery_level"] = 87.0
        devices[2]["cpu.arch"] = "aarch64"
        path = write_devices(duckdb.connect(), tmp_path / "a.parquet", devices)
        plan = FleetPlan(None, installation, profile="auto")
        result = summarize_fleet(database, opened(database, path), plan, no_progress)
        wrong = [row for row in result.problems() if row[0] == grouping.INVALID]
        assert sorted((row[1], row[3], row[4]) for row in wrong) == [
            ("cpu.arch: it is called 'arm64' here, found 'aarch64'", 1, "device-2"),
            ("power.battery_level: expected a finite number, in fraction", 1, "device-0"),
            ("power.battery_level: expected at most 1, in fraction", 1, "device-1"),
        ]


class TestResuming:
    """A run continues after the last whole file."""

    def test_finished_files_are_not_resolved_again(
        self, database: Database, installation: Installation, tmp_path: Path
    ) -> None:
        connection = duckdb.connect()
        devices = random_devices(Random(5), 90)
        paths = [
            write_devices(connection, tmp_path / f"{n}.parquet", devices[30 * n : 30 * n + 30], start=30 * n)
            for n in range(3)
        ]
        plan = FleetPlan(None, installation, profile="auto")
        parts = opened(database, *paths)
        seen: list[int] = []

        def interrupt(part: InventoryPart, number: int, count: int) -> None:
            seen.append(number)
            if number == 3 and seen.count(3) == 1:
                raise KeyboardInterrupt

        out = tmp_path / "out"
        with pytest.raises(KeyboardInterrupt):
            resolve_fleet(database, parts, plan, out, "x", interrupt)
        assert not (out / "assignments.parquet").exists()
        resumed = resolve_fleet(database, parts, plan, out, "x", interrupt)
        assert seen == [1, 2, 3, 3]
        assert not (out / PARTS).exists()
        whole = resolve_fleet(database, parts, plan, tmp_path / "whole", "x", no_progress)
        assert resumed == whole
        tables = [
            database.rows(f"SELECT * FROM '{where}/{name}.parquet' ORDER BY ALL")
            for name in ("assignments", "resolutions", "problems")
            for where in (out, tmp_path / "whole")
        ]
        assert tables[0::2] == tables[1::2]
        assert len(tables[0]) == 90


def test_a_full_disk_is_an_error_of_the_file(database: Database) -> None:
    wrapped = (
        'IO Error: Async write failed for range [offset=28, size=47520]: {"exception_type":"IO",'
        '"exception_message":"Could not write file \\"out/a.tmp\\": No space left on device","errno":"28"}'
    )
    with pytest.raises(OSError, match=r'^Could not write file "out/a\.tmp": No space'), database.reading():
        raise duckdb.IOException(wrapped)


@pytest.mark.posix
def test_a_summary_that_cannot_be_written_is_named(
    database: Database, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_devices(duckdb.connect(), tmp_path / "a.parquet", random_devices(Random(5), 9))
    plan = FleetPlan(None, installation, profile="auto")

    def full(descriptor: int, mode: str) -> int:
        os.close(descriptor)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fdopen", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/out/\.etconfig-parts/.*json'"):
        resolve_fleet(database, opened(database, path), plan, tmp_path / "out", "x", no_progress)


def test_ctrl_c_in_a_query_is_an_interrupt(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def execute(self, sql: str, parameters: object) -> None:
            raise RuntimeError("Query interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(database, "connection", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            database.rows("SELECT 1")


def test_a_change_of_a_profile_is_counted_by_devices(database: Database, tmp_path: Path) -> None:
    devices = random_devices(Random(11), 400)
    path = write_devices(duckdb.connect(), tmp_path / "a.parquet", devices)
    changed = {**PROFILES, "acme/phone": PROFILES["acme/phone"].replace("< 0.15 &&", "< 0.3 &&")}
    sides = [
        Installation(profile_directories=[write_profiles(tmp_path / name, profiles)])
        for name, profiles in (("old", PROFILES), ("new", changed))
    ]
    program = etconfig.load_program(DIGITS / "digits.pte", installation=sides[0])
    plans = [FleetPlan(program, side, profile="auto") for side in sides]
    found = compare_fleet(database, opened(database, path), plans[0], plans[1], no_progress)
    before, after = ([one_by_one(program, side, facts) for facts in devices] for side in sides)
    differing = sum(old != new for old, new in zip(before, after, strict=True))
    assert found.devices == 400
    assert 0 < found.changed == differing
    assert found.moved == 0
    (change,) = found.changes
    assert (change.path, change.old, change.new) == ("forward:ReferenceCpuBackend.num_threads", "4", "1")


def test_a_staged_rollout_moves_the_devices_of_its_share(database: Database, tmp_path: Path) -> None:
    """The names of the devices are the fact `device.id`, whichever column they are in."""
    devices: list[dict[str, object]] = [{"os.name": "linux"} for _ in range(2000)]
    path = write_devices(duckdb.connect(), tmp_path / "a.parquet", devices)
    text = PROFILES["acme/any"] + "[options.ReferenceCpuBackend]\nnum_threads = 2\n"
    rollout = (
        "[[when]]\nif = 'bucket(device.id, \"threads-1\") < 0.05'\n"
        "[when.options.ReferenceCpuBackend]\nnum_threads = 1\n"
    )
    sides = [
        Installation(profile_directories=[write_profiles(tmp_path / name, {"acme/any": profile})])
        for name, profile in (("old", text), ("new", text + rollout))
    ]
    plans = [FleetPlan(None, side, profile="auto") for side in sides]
    found = compare_fleet(database, opened(database, path), plans[0], plans[1], no_progress)
    expected = sum(
        int(md5(f"threads-1:device-{n}".encode(), usedforsecurity=False).hexdigest()[:13], 16) < 0.05 * 2**52
        for n in range(2000)
    )
    assert found.changed == expected
    assert 60 < expected < 140


@pytest.mark.parametrize(("text", "size"), [("256MiB", 256 << 20), ("1GiB", 1 << 30), ("2GiB", 2 << 30)])
def test_the_memory_that_was_given_is_known(text: str, size: int) -> None:
    with opened_database(text, 1) as database:
        assert database.memory_bytes == size
