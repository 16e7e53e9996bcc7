"""Fleets on a cluster of Dask: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import Outcome

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet-dask]")
distributed = pytest.importorskip("distributed", reason="needs the extra etconfig[fleet-dask]")

from doomed_worker import wait_or_count  # noqa: E402
from fleet_devices import random_devices, write_devices, write_profiles  # noqa: E402

from etconfig.fleet.dask_workers import DaskWorkers, connected, scheduler_address  # noqa: E402
from etconfig.fleet.inventory import find_sources  # noqa: E402
from etconfig.fleet.worker import WorkersError  # noqa: E402
from etconfig.fleet.workers import InventoryReading, job_text, summarize_on  # noqa: E402

pytestmark = pytest.mark.posix

Cli = Callable[..., Outcome]

_SECONDS = 60


def _start(*words: str, log: Path, environ: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environ or {})},
        )


class Cluster:
    """A scheduler, and the workers that are started."""

    def __init__(self, directory: Path, environ: dict[str, str] | None = None) -> None:
        self.directory = directory
        self.file = directory / "scheduler.json"
        self._processes = [
            _start(
                "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter",
                "--scheduler-file", str(self.file), log=directory / "scheduler.log", environ=environ,
            )
        ]  # fmt: skip
        end = time.monotonic() + _SECONDS
        while not self.file.exists():
            assert time.monotonic() < end, (directory / "scheduler.log").read_text()
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"].replace("tcp://", "dask://")

    def start_worker(self, environ: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        number = len(self._processes)
        started = _start(
            "dask_worker", scheduler_address(self.address), "--nthreads", "1", "--no-dashboard", "--no-nanny",
            "--host", "127.0.0.1", "--local-directory", str(self.directory / f"worker-{number}"),
            log=self.directory / f"worker-{number}.log", environ=environ,
        )  # fmt: skip
        self._processes.append(started)
        return started

    def wait_for(self, workers: int) -> None:
        with distributed.Client(scheduler_address(self.address), set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=_SECONDS)

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()


@contextmanager
def started(directory: Path, environ: dict[str, str] | None = None) -> Iterator[Cluster]:
    cluster = Cluster(directory, environ)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with started(tmp_path_factory.mktemp("cluster")) as found:
        found.start_worker()
        found.start_worker()
        found.wait_for(2)
        yield found


@pytest.fixture
def fleet(place: Path) -> Path:
    """The current directory, with 400 devices in four files, profiles and a project file."""
    devices = random_devices(Random(2), 400)
    (place / "fleet").mkdir()
    for n in range(4):
        write_devices(
            duckdb.connect(),
            place / "fleet" / f"{n}.parquet",
            devices[100 * n : 100 * n + 100],
            start=100 * n,
        )
    write_profiles(place / "profiles")
    (place / "etconfig.toml").write_text(
        'profile_path = ["profiles"]\n\n[options.ReferenceCpuBackend]\nnum_threads = 3\n'
    )
    return place


RUN = ("fleet/*.parquet", "--program", "model.pte")


def rows_of(directory: Path) -> list[list[tuple[Any, ...]]]:
    return [
        duckdb.connect().execute(f"SELECT * FROM '{directory}/{name}.parquet' ORDER BY ALL").fetchall()
        for name in ("assignments", "resolutions", "problems")
    ]


class TestEqual:
    """Two workers give what one process gives."""

    def test_tables_of_resolve(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        here = cli("fleet", "resolve", *RUN, "-o", "here", "--json")
        there = cli("fleet", "resolve", *RUN, "-o", "there", "--json", "--on", cluster.address)
        assert there.status == here.status == 0, there.stderr
        assert there.json == here.json
        tables = rows_of(fleet / "there")
        assert tables == rows_of(fleet / "here")
        assert len(tables[0]) == 400
        assert sorted(each.name for each in (fleet / "there").iterdir()) == [
            "assignments.parquet",
            "problems.parquet",
            "resolutions.parquet",
        ]

    @pytest.mark.parametrize(
        "words",
        [
            ("coverage", *RUN, "--show-ids"),
            ("coverage", *RUN, "--fact", "os.name=android", "--set", "ReferenceCpuBackend.num_threads=2"),
            ("coverage", *RUN, "--profile", "profiles/acme/phone.toml"),
            ("histogram", "ReferenceCpuBackend.num_threads", *RUN),
        ],
    )  # fmt: skip
    def test_reports(self, cli: Cli, fleet: Path, cluster: Cluster, words: tuple[str, ...]) -> None:
        here, there = cli("fleet", *words), cli("fleet", *words, "--on", cluster.address)
        assert (there.status, there.stdout) == (here.status, here.stdout), there.stderr
        assert here.status == 0

    def test_a_diff(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        other = fleet / "changed"
        write_profiles(other / "profiles")
        text = (other / "profiles" / "acme" / "phone.toml").read_text()
        (other / "profiles" / "acme" / "phone.toml").write_text(text.replace("< 0.2", "< 0.6"))
        (other / "etconfig.toml").write_text('profile_path = ["profiles"]\n')
        words = ("diff", *RUN[:1], "changed", ".", *RUN[1:], "--show-ids", "--json")
        here, there = cli("fleet", *words), cli("fleet", *words, "--on", cluster.address)
        assert (there.status, there.json) == (here.status, here.json), there.stderr
        assert here.json["changed"] > 0

    def test_json_lines(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        (fleet / "devices.jsonl").write_text('{"device_id": "a", "os.name": "linux"}\n{"device_id": 2}\n')
        words = ("coverage", "devices.jsonl", "--json")
        here = cli("fleet", *words)
        there = cli("fleet", *words, "--cache", "elsewhere", "--on", cluster.address)
        assert there.json == here.json, there.stderr
        assert list((fleet / "elsewhere").glob("*.parquet"))


class Doomed:
    """Workers of which one is killed while it works on a file."""

    def __init__(self, workers: DaskWorkers, directory: Path) -> None:
        self._workers = workers
        self._directory = directory

    def map(self, function: Any, files: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        marker = self._directory / "running"
        doomed = partial(wait_or_count, str(self._directory), *function.args)
        for number, answer in enumerate(self._workers.map(doomed, files)):
            if number == 0:
                while not (marker.exists() and marker.read_text()):
                    time.sleep(0.01)
                os.kill(int(marker.read_text()), signal.SIGKILL)
            yield answer


class TestFailures:
    """Lost workers cost time only; what is wrong on a worker is named, and nothing is half written."""

    def test_a_worker_killed_in_the_middle(self, cli: Cli, fleet: Path) -> None:
        job, sources = captured_job(cli)
        (fleet / "log").mkdir()
        importing = {"PYTHONPATH": str(Path(wait_or_count.__code__.co_filename).parent)}
        with started(fleet / "log", importing) as cluster:
            for _ in range(2):
                cluster.start_worker(importing)
            cluster.wait_for(2)
            with connected(cluster.address) as workers:
                result = summarize_on(Doomed(workers, fleet), sources, job, lambda *given: None)
                assert (fleet / "running").exists()
                assert summarize_on(workers, sources, job, lambda *given: None) == result
        assert result.devices == 400

    def test_ctrl_c_cancels_what_is_left(self, cli: Cli, fleet: Path) -> None:
        """The next run with the same options continues after the finished files."""
        (fleet / "patch").mkdir()
        (fleet / "patch" / "sitecustomize.py").write_text(
            "import os, time\n"
            "import etconfig.fleet.worker as worker\n"
            "whole = worker.count_devices\n"
            "def slow(text, task):\n"
            "    if '/2.parquet' in task['path']:\n"
            f"        open({str(fleet / 'running')!r}, 'w').close()\n"
            "        time.sleep(10)\n"
            "    return whole(text, task)\n"
            "worker.count_devices = slow\n"
        )
        (fleet / "log").mkdir()
        with started(fleet / "log") as cluster:
            cluster.start_worker({"PYTHONPATH": str(fleet / "patch")})
            cluster.wait_for(1)
            words = ("fleet", "resolve", *RUN, "-o", "out", "--on", cluster.address)
            process = subprocess.Popen([sys.executable, "-m", "etconfig", *words])
            while not (
                (fleet / "running").exists() and len(list((fleet / "out" / "parts").glob("*.json"))) == 2
            ):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(_SECONDS) == 130
            assert [each.name for each in (fleet / "out").iterdir()] == ["parts"]
            with distributed.Client(scheduler_address(cluster.address), set_as_default=False) as client:
                end = time.monotonic() + _SECONDS
                while any(client.processing().values()):
                    assert time.monotonic() < end
                    time.sleep(0.1)
            assert cli(*words).status == 0
        cli("fleet", "resolve", *RUN, "-o", "here")
        assert rows_of(fleet / "out") == rows_of(fleet / "here")

    def test_a_file_that_is_missing_there(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        job, sources = captured_job(cli)
        (fleet / "fleet" / "2.parquet").unlink()
        with connected(cluster.address) as workers, pytest.raises(WorkersError) as refused:
            summarize_on(workers, sources, job, lambda *given: None)
        assert "there is no file fleet/2.parquet on worker " in str(refused.value)

    def test_another_version(self, cli: Cli, fleet: Path) -> None:
        (fleet / "patch").mkdir()
        (fleet / "patch" / "sitecustomize.py").write_text(
            "import etconfig.version\netconfig.version.__version__ = '0.0.9'\n"
        )
        (fleet / "log").mkdir()
        with started(fleet / "log") as cluster:
            cluster.start_worker({"PYTHONPATH": str(fleet / "patch")})
            cluster.wait_for(1)
            done = cli("fleet", "resolve", *RUN, "-o", "out", "--on", cluster.address)
        assert done.status == 2, done.stderr
        assert "etconfig is 0.0.9 on worker " in done.stderr
        assert "install one version everywhere" in done.stderr
        assert [each.name for each in (fleet / "out").iterdir()] == ["parts"]
        assert list((fleet / "out" / "parts").iterdir()) == []

    def test_other_plugins(self, cli: Cli, fleet: Path) -> None:
        (fleet / "patch").mkdir()
        (fleet / "patch" / "sitecustomize.py").write_text(
            "import etconfig.facts.registry as r\n"
            "whole = r.FactRegistry.__post_init__\n"
            "def fewer(self):\n"
            "    object.__setattr__(self, 'infos', self.infos[:-1])\n"
            "    whole(self)\n"
            "r.FactRegistry.__post_init__ = fewer\n"
        )  # fmt: skip
        (fleet / "log").mkdir()
        with started(fleet / "log") as cluster:
            cluster.start_worker({"PYTHONPATH": str(fleet / "patch")})
            cluster.wait_for(1)
            done = cli("fleet", "coverage", *RUN, "--on", cluster.address)
        assert done.status == 2
        assert "would resolve otherwise: the definitions of facts differ" in done.stderr

    def test_nothing_answers(self, cli: Cli, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig.fleet.dask_workers.connected.__wrapped__.__defaults__", (0.5,))
        done = cli("fleet", "coverage", *RUN, "--on", "dask://127.0.0.1:1")
        assert done.status == 2
        assert "no scheduler of Dask answers at dask://127.0.0.1:1 within 0.5 seconds" in done.stderr

    def test_a_cluster_without_workers(self, fleet: Path) -> None:
        (fleet / "log").mkdir()
        with (
            started(fleet / "log") as cluster,
            pytest.raises(WorkersError, match="has no workers"),
            connected(cluster.address, timeout=1.0),
        ):
            pass

    @pytest.mark.parametrize(
        "text", ["host:8786", "dask://host", "ray://host:1", "dask://host:99999", "dask://"]
    )
    def test_what_is_no_address(self, cli: Cli, fleet: Path, text: str) -> None:
        done = cli("fleet", "coverage", *RUN, "--on", text)
        assert done.status == 2
        assert f"'{text}' is not an address of workers, such as dask://host:8786" in done.stderr

    def test_a_wrong_column(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        duckdb.connect().execute("COPY (SELECT 'a' AS device_id, 1 AS nofact) TO 'fleet/9.parquet'")
        here, there = (
            cli("fleet", "coverage", *RUN, *further) for further in ((), ("--on", cluster.address))
        )
        assert (there.status, there.stderr) == (here.status, here.stderr)
        assert "nofact" in here.stderr


def captured_job(cli: Cli) -> tuple[str, Any]:
    """The job of `etconfig fleet coverage`, and its files."""
    from etconfig.cli.shared.fleet_options import PlanRequest
    from etconfig.cli.shared.options import make_installation

    request = PlanRequest(
        programs=[Path("model.pte")],
        profile=None,
        require_match=False,
        fact_texts=(),
        overrides=(),
        profile_paths=(),
    )
    plan = request.plan(make_installation())
    return job_text([request.recipe(plan)], InventoryReading()), find_sources(["fleet/*.parquet"])
