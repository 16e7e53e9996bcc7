"""`open_fleet`: fleets from Python, in this process or by any object with `map`."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")

from command_line import DIGITS  # noqa: E402
from fleet_runs import rows_of, write_fleet  # noqa: E402

import etconfig  # noqa: E402
import etconfig.fleet  # noqa: E402
from etconfig.errors import FactError, WorkersError  # noqa: E402
from etconfig.fleet import Fleet, FleetResult, open_fleet  # noqa: E402
from etconfig.fleet.running.clusters import parse_cluster_address  # noqa: E402


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with 400 devices in four files, profiles and a project file."""
    monkeypatch.chdir(tmp_path)
    return write_fleet(tmp_path)


@pytest.fixture
def program() -> etconfig.LoadedProgram:
    return etconfig.load_program(DIGITS / "digits.pte")


def table(path: Path) -> list[tuple[Any, ...]]:
    return list(duckdb.connect().execute(f"SELECT * FROM '{path}'").fetchall())


class OneByOne:
    """Workers that are this process, from the last file to the first."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
        for file in reversed(files):
            self.files.append(file["label"])
            yield function(file)


class Stopped(OneByOne):
    """Workers that are interrupted after two files."""

    def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
        for number, answer in enumerate(super().map(function, files)):
            if number == 2:
                raise KeyboardInterrupt
            yield answer


class TestResolve:
    """`open_fleet` resolves as the commands do."""

    def test_counts(self, place: Path) -> None:
        program = etconfig.load_program(DIGITS / "digits.pte", installation=etconfig.Installation(place))
        result = open_fleet("fleet/*.parquet").resolve(program)
        assert (result.devices, result.to_jsonable()["devices"]) == (400, 400)
        assert 0 < result.resolved < 400
        assert sum(result.profiles.values()) == result.resolved
        (values,) = result.histogram("forward:ReferenceCpuBackend.num_threads").values()
        assert sum(values.values()) == result.resolved
        assert repr(result) == f"<FleetResult: {result.resolved} of 400 devices get options>"

    def test_one_device_is_not_several(self, place: Path) -> None:
        (place / "one.jsonl").write_text('{"device_id": "a", "os.name": "linux"}\n')
        result = open_fleet("one.jsonl").resolve(installation=etconfig.Installation(place))
        assert repr(result) == "<FleetResult: 1 of 1 device gets options>"

    def test_by_hand(self, place: Path, program: etconfig.LoadedProgram) -> None:
        settings: dict[str, Any] = {"overrides": {"ReferenceCpuBackend": {"num_threads": 7}}}
        result = open_fleet(place / "fleet").resolve(program, profile="generic/any", **settings)
        assert result.histogram("forward:ReferenceCpuBackend.num_threads") == {
            "forward:ReferenceCpuBackend.num_threads": {"7": 400}
        }
        by_fact = open_fleet(["fleet/0.parquet", place / "fleet" / "1.parquet"]).resolve(
            program, fact_overrides={"os.name": "linux"}, installation=etconfig.Installation(place)
        )
        assert by_fact.devices == 200
        assert "acme/phone" not in by_fact.profiles

    def test_tables(self, place: Path, program: etconfig.LoadedProgram) -> None:
        workers = OneByOne()
        open_fleet("fleet/*.parquet").resolve(program, output="here")
        open_fleet("fleet/*.parquet", workers=workers).resolve(program, output=place / "there")
        assert rows_of(place / "there") == rows_of(place / "here")
        assert workers.files == [f"fleet/{number}.parquet" for number in (3, 2, 1, 0)]

    def test_comparing(self, place: Path, program: etconfig.LoadedProgram) -> None:
        sides = etconfig.Installation(), etconfig.Installation(place)
        found = open_fleet("fleet/*.parquet").compare(*sides, program)
        assert found.changed > 0
        assert open_fleet("fleet/*.parquet", workers=OneByOne()).compare(*sides, program) == found

    def test_pools(self, place: Path, program: etconfig.LoadedProgram) -> None:
        """Threads only, so that no process starts here; the test of clusters has processes."""
        here = open_fleet("fleet/*.parquet").resolve(program).to_jsonable()
        with ThreadPoolExecutor(2) as executor, ThreadPool(2) as pool:
            for workers in (executor, pool):
                assert open_fleet("fleet/*.parquet", workers=workers).resolve(program).to_jsonable() == here

    def test_devices_that_change(self, place: Path, program: etconfig.LoadedProgram) -> None:
        """Workers write their parts beside the file."""
        sides = etconfig.Installation(), etconfig.Installation(place)
        here = open_fleet("fleet/*.parquet").compare(*sides, program, devices="here.parquet")
        workers = OneByOne()
        there = open_fleet("fleet/*.parquet", workers=workers).compare(
            *sides, program, devices=place / "there.parquet"
        )
        assert there == here
        rows = table(place / "here.parquet")
        assert rows == sorted(rows)
        assert table(place / "there.parquet") == rows
        assert len({row[0] for row in rows if row[1] != "profile"}) == here.changed > 0
        assert sorted(each.name for each in place.glob("*here*")) == ["here.parquet", "there.parquet"]
        assert not list(place.glob(".*"))

    def test_a_table_of_another_program_is_not_replaced(self, place: Path) -> None:
        (place / "out").mkdir()
        (place / "out" / "problems.parquet").write_bytes(b"mine")
        for workers in (None, OneByOne()):
            fleet = open_fleet("fleet/*.parquet", workers=workers)
            with pytest.raises(
                FileExistsError, match=r"cannot write out/problems\.parquet: it is there"
            ) as refused:
                fleet.resolve(output="out")
            assert pickle.loads(pickle.dumps(refused.value)).path == Path("out/problems.parquet")
        assert open_fleet("fleet").resolve(output="out", force=True).devices == 400

    def test_a_run_continues_on_workers(self, place: Path, program: etconfig.LoadedProgram) -> None:
        """An interrupted run in this process leaves its finished files, also for another amount of memory."""
        (place / "fleet" / "2.parquet").rename(place / "2.parquet")
        (place / "fleet" / "2.parquet").write_bytes((place / "2.parquet").read_bytes()[:3000] + b"PAR1")
        with pytest.raises((FactError, OSError)):
            open_fleet("fleet").resolve(program, output="out")
        shutil.copy(place / "2.parquet", place / "fleet" / "2.parquet")
        original = Stopped()
        with pytest.raises(KeyboardInterrupt):
            open_fleet("fleet", workers=original).resolve(program, output="out")
        workers = OneByOne()
        found = open_fleet("fleet", workers=workers, memory="2GiB").resolve(program, output="out")
        assert workers.files == ["fleet/1.parquet", "fleet/0.parquet"]
        open_fleet("fleet").resolve(program, output="here")
        assert rows_of(place / "out") == rows_of(place / "here")
        assert found.devices == 400


class TestRefusals:
    """Arguments of a wrong type, and addresses, are refused with what is expected."""

    def test_files_that_are_not_there(self) -> None:
        with pytest.raises(FactError, match="there is no such file"):
            open_fleet("nothing/*.parquet")

    @pytest.mark.parametrize(
        "text", ["host:8786", "dask://host", "spark://host:1", "dask://host:99999", "dask://"]
    )
    def test_what_is_not_an_address(self, place: Path, text: str) -> None:
        with pytest.raises(ValueError, match="is not an address of workers, such as dask://host:8786"):
            open_fleet("fleet", workers=text).resolve()

    def test_a_cluster_of_ray(self, place: Path) -> None:
        with pytest.raises(ValueError, match="has no address here") as refused:
            open_fleet("fleet", workers="ray://host:10001").resolve()
        assert str(refused.value) == (
            "'ray://host:10001' is a cluster of Ray, which has no address here; from Python, "
            "etconfig.fleet.open_fleet takes ray.util.multiprocessing.Pool() as workers"
        )

    def test_an_address(self) -> None:
        assert parse_cluster_address("dask://[::1]:8786").place == "[::1]:8786"

    def test_a_package_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig.fleet.running.clusters.find_spec", lambda name: None)
        missing = str(parse_cluster_address("dask://h:1").missing)
        assert "dask:// needs Dask distributed, which is not installed" in missing
        assert "'etconfig[dask]'" in missing

    def test_workers_of_another_type(self, place: Path) -> None:
        workers: Any = 4
        with pytest.raises(TypeError, match="workers: expected an address such as 'dask://host:8786'"):
            open_fleet("fleet", workers=workers).resolve()

    @pytest.mark.parametrize(
        "given",
        [{"overrides": ["ReferenceCpuBackend.num_threads=1"]}, {"fact_overrides": {"os.name": {1, 2}}}],
    )
    def test_values_that_cannot_travel(self, place: Path, given: dict[str, Any]) -> None:
        with pytest.raises(TypeError, match=r"overrides: expected plain values by name"):
            open_fleet("fleet").resolve(**given)

    def test_duckdb_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig.fleet.fleet.is_installed", lambda: False)
        with pytest.raises(
            ImportError, match=r"a fleet needs DuckDB, which is not installed: .*etconfig\[fleet\]"
        ):
            open_fleet("fleet")

    @pytest.mark.parametrize(
        "wrong",
        [None, {}, {"number": "0", "found": {}}, {"number": 7, "found": {}}, {"number": 0, "found": 3}],
    )
    def test_workers_that_answer_something_else(self, place: Path, wrong: Any) -> None:
        class Inventive(OneByOne):
            def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
                return iter([wrong])

        with pytest.raises(
            WorkersError, match="the workers returned something else than the function's answer"
        ):
            open_fleet("fleet", workers=Inventive()).resolve()

    def test_workers_that_try_again_give_the_same(self, place: Path) -> None:
        class Twice(OneByOne):
            def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
                for answer in super().map(function, files):
                    yield from (answer, answer)

        assert repr(open_fleet("fleet", workers=Twice()).resolve()) == repr(open_fleet("fleet").resolve())

    def test_workers_that_leave_files_out(self, place: Path) -> None:
        class Lazy(OneByOne):
            def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
                return super().map(function, files[1:])

        with pytest.raises(WorkersError, match=r"the workers returned nothing for fleet/0\.parquet"):
            open_fleet("fleet", workers=Lazy()).resolve()

    def test_a_table_that_did_not_arrive(self, place: Path, program: etconfig.LoadedProgram) -> None:
        class Elsewhere(OneByOne):
            def map(self, function: Any, files: Any) -> Iterator[dict[str, Any]]:
                return super().map(function, [{**file, "target": None} for file in files])

        with pytest.raises(WorkersError, match="and they are not there") as refused:
            open_fleet("fleet", workers=Elsewhere()).resolve(program, output="out")
        assert refused.value.help == "give --output a directory that all workers share"


def test_classes_are_public() -> None:
    assert {Fleet.__name__, FleetResult.__name__} <= set(etconfig.fleet.__all__)
