"""Fleets on clusters of Dask: a scheduler and two workers, each a process of its own; and on pools."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome

duckdb = pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")
pytest.importorskip("distributed", reason="needs the extra etconfig[dask]")

from fleet_clusters import Cluster, started, wait_until  # noqa: E402
from fleet_devices import write_profiles  # noqa: E402
from fleet_runs import IMPORTING, RUN, Doomed, job_of_coverage, no_progress, rows_of, write_fleet  # noqa: E402

import etconfig  # noqa: E402
from etconfig.errors import FactError, WorkersError  # noqa: E402
from etconfig.fleet import open_fleet  # noqa: E402
from etconfig.fleet.running.clusters import connected  # noqa: E402
from etconfig.fleet.running.worker_tasks import count_devices  # noqa: E402
from etconfig.fleet.running.workers import summarize_on  # noqa: E402

pytestmark = [pytest.mark.posix, pytest.mark.timeout(400)]

Cli = Callable[..., Outcome]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with two workers."""
    with started(tmp_path_factory.mktemp("cluster"), workers=2) as found:
        yield found


@pytest.fixture
def fleet(place: Path) -> Path:
    """The current directory, with 400 devices in four files, profiles and a project file."""
    return write_fleet(place)


def patched(directory: Path, text: str) -> dict[str, str]:
    """The variables of workers that run some code when Python starts."""
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(text)
    return {"PYTHONPATH": str(directory)}


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
            ("coverage", *RUN, "--program", "second.pte"),
            ("histogram", "ReferenceCpuBackend.num_threads", *RUN),
        ],
        ids=["coverage", "by hand", "a profile by path", "several programs", "histogram"],
    )
    def test_reports(self, cli: Cli, fleet: Path, cluster: Cluster, words: tuple[str, ...]) -> None:
        (fleet / "second.pte").write_bytes((fleet / "model.pte").read_bytes())
        here, there = cli("fleet", *words), cli("fleet", *words, "--on", cluster.address)
        assert (there.status, there.stdout) == (here.status, here.stdout), there.stderr
        assert here.status == 0

    def test_usage_compared_with_decisions(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        lines = (
            f'{{"etconfig_usage": 1, "device": "device-{n}", "reason": "matched"}}' for n in range(0, 400, 3)
        )
        (fleet / "usage.jsonl").write_text("\n".join(lines))
        words = ("fleet", "compare", *RUN, "--usage", "usage.jsonl", "--json", "--output")
        here, there = cli(*words, "here"), cli(*words, "there", "--on", cluster.address)
        assert (there.status, there.json) == (here.status, here.json), there.stderr
        assert here.json["outcomes"]["no_record"] == 266
        refused = cli(*words[:-1], "--on", cluster.address)
        assert refused.status == 2
        assert "give --output, a directory that all workers share" in refused.stderr

    def test_profiles_at_absolute_paths(
        self, cli: Cli, fleet: Path, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Reports show the paths of here, and none of the copies that workers write."""
        elsewhere = write_profiles(tmp_path_factory.mktemp("own"))
        text = (elsewhere / "acme" / "phone.toml").read_text().replace("num_threads = 1", "num_threads = 999")
        (elsewhere / "acme" / "phone.toml").write_text(text)
        (fleet / "etconfig.toml").unlink()
        words = ("coverage", *RUN, "--profile-path", str(elsewhere), "--show-ids")
        here, there = cli("fleet", *words), cli("fleet", *words, "--on", cluster.address)
        assert (there.status, there.stdout, there.stderr) == (here.status, here.stdout, here.stderr)
        for directory, address in (("here", ()), ("there", ("--on", cluster.address))):
            done = cli("fleet", "resolve", *words[1:-1], "-o", directory, *address)
            assert done.status == 0, done.stderr
        assert rows_of(fleet / "there") == rows_of(fleet / "here")
        assert str(elsewhere) in str(rows_of(fleet / "there"))

    @pytest.mark.parametrize(
        "options", [("--profile-path", "profiles"), ("--profile", "profiles/acme/arm.toml")]
    )
    def test_origins_at_relative_paths(
        self, cli: Cli, fleet: Path, cluster: Cluster, options: tuple[str, ...]
    ) -> None:
        (fleet / "etconfig.toml").unlink()
        arm = fleet / "profiles" / "acme" / "arm.toml"
        arm.write_text(arm.read_text().replace("acme/any", "./any.toml"))
        (fleet / "profiles" / "acme" / "any.toml").write_text(
            '[profile]\nname = "acme/any"\n[options.ReferenceNpuBackend]\ncore = 1\n'
        )
        assert cli("fleet", "resolve", *RUN, *options, "-o", "here").status == 0
        there = cli("fleet", "resolve", *RUN, *options, "-o", "there", "--on", cluster.address)
        assert there.status == 0, there.stderr
        assert rows_of(fleet / "there") == rows_of(fleet / "here")
        origins = {row[6] for row in rows_of(fleet / "here")[1]}
        assert any(origin.startswith("profile profiles/acme/any.toml:") for origin in origins)

    def test_a_diff_of_directories(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        other = fleet / "changed"
        write_profiles(other / "profiles")
        text = (other / "profiles" / "acme" / "phone.toml").read_text()
        (other / "profiles" / "acme" / "phone.toml").write_text(text.replace("< 0.2", "< 0.6"))
        (other / "etconfig.toml").write_text('profile_path = ["profiles"]\n')
        words = ("diff", *RUN[:1], "changed", ".", *RUN[1:], "--show-ids", "--json")
        here, there = cli("fleet", *words), cli("fleet", *words, "--on", cluster.address)
        assert (there.status, there.json) == (here.status, here.json), there.stderr
        assert here.json["changed"] > 0

    def test_the_devices_that_a_diff_moves(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        words = ("diff", *RUN[:1], "empty", ".", *RUN[1:])
        (fleet / "empty").mkdir()
        (fleet / "empty" / "etconfig.toml").write_text("")
        tables = []
        for name, further in (("here", ()), ("there", ("--on", cluster.address))):
            done = cli("fleet", *words, "--devices", f"moved/../{name}.parquet", *further)
            assert done.status == 2  # there is no such directory
            assert "No such file or directory" in done.stderr
            done = cli("fleet", *words, "--devices", f"{name}.parquet", *further)
            assert done.status == 0, done.stderr
            tables.append(duckdb.connect().execute(f"FROM '{name}.parquet'").fetchall())
        assert tables[0] == tables[1] == sorted(tables[0])
        assert len(tables[0]) > 400
        assert not list(fleet.glob(".*"))

    def test_a_diff_of_a_revision_of_git(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        for words in (
            ("init", "-q"),
            ("add", "profiles", "etconfig.toml"),
            (*author, "commit", "-qm", "Add"),
        ):
            subprocess.run(["git", *words], check=True, cwd=fleet)
        path = fleet / "profiles" / "acme" / "phone.toml"
        path.write_text(path.read_text().replace("< 0.2", "< 0.6"))
        diff = ("diff", *RUN[:1], "HEAD", ".", *RUN[1:], "--json")
        here, there = cli("fleet", *diff), cli("fleet", *diff, "--on", cluster.address)
        assert (there.status, there.json) == (here.status, here.json), there.stderr
        assert here.json["changed"] > 0

    def test_json_lines(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        (fleet / "devices.jsonl").write_text('{"device_id": "a", "os.name": "linux"}\n{"device_id": 2}\n')
        words = ("coverage", "devices.jsonl", "--json")
        here = cli("fleet", *words)
        there = cli("fleet", *words, "--cache", "elsewhere", "--on", cluster.address)
        assert there.json == here.json, there.stderr
        assert list((fleet / "elsewhere").glob("*.parquet"))

    def test_tables_of_duckdb(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        for number in range(2):
            with duckdb.connect(str(fleet / f"{number}.duckdb")) as database:
                database.execute(f"CREATE TABLE phones AS FROM 'fleet/{number}.parquet'")
                database.execute("CREATE TABLE other AS SELECT 1")
        words = ("coverage", "*.duckdb", "--table", "phones", "--json")
        here, there = cli("fleet", *words), cli("fleet", *words, "--on", cluster.address)
        assert (there.status, there.json) == (here.status, here.json), there.stderr
        assert here.json["devices"] == 200


SETTINGS: dict[str, Any] = {
    "fact_overrides": {"cpu.available_cores": 4},
    "overrides": {"forward:ReferenceCpuBackend.num_threads": 2},
}


class TestPython:
    """`open_fleet` with an address, or with a client, gives what it gives without."""

    def test_an_address(self, fleet: Path, cluster: Cluster) -> None:
        program = etconfig.load_program("model.pte")
        here = open_fleet("fleet/*.parquet").resolve(program, output="here", **SETTINGS)
        with_workers = open_fleet("fleet/*.parquet", workers=cluster.address)
        there = with_workers.resolve(program, output=fleet / "there", **SETTINGS)
        assert there.to_jsonable() == here.to_jsonable()
        assert rows_of(fleet / "there") == rows_of(fleet / "here")
        assert with_workers.resolve(program, **SETTINGS).to_jsonable() == here.to_jsonable()

    def test_a_client(self, fleet: Path, cluster: Cluster) -> None:
        """It stays open."""
        from distributed import Client

        installation = etconfig.Installation(fleet)
        bare = etconfig.Installation()
        with Client(cluster.scheduler, set_as_default=False) as client:
            for _ in range(2):
                there = open_fleet("fleet/*.parquet", workers=client).compare(bare, installation)
                here = open_fleet("fleet/*.parquet").compare(bare, installation)
                assert there == here
                assert there.changed > 0


class TestLosses:
    """Lost workers cost time only."""

    def test_a_worker_killed_in_the_middle(self, fleet: Path) -> None:
        job, sources = job_of_coverage()
        with (
            started(fleet / "log", workers=2, environ=IMPORTING) as cluster,
            connected(cluster.address) as workers,
        ):
            result = summarize_on(Doomed(workers, fleet), sources, job, no_progress)
            assert (fleet / "running").exists()
            assert summarize_on(workers, sources, job, no_progress) == result
        assert result.devices == 400

    def test_a_file_that_ends_its_workers(self, fleet: Path) -> None:
        job, sources = job_of_coverage()
        environ = {**IMPORTING, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        with (
            started(fleet / "log", workers=2, environ=environ) as cluster,
            connected(cluster.address) as workers,
            pytest.raises(WorkersError, match=r"several workers died on .*\.parquet; give them more memory"),
        ):
            summarize_on(Doomed(workers, fleet), sources, job, no_progress)

    def test_all_workers_lost(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig.fleet.running.dask_workers.LOST_SECONDS", 1.0)
        job, sources = job_of_coverage()
        with (
            started(fleet / "log", workers=1, environ=IMPORTING) as cluster,
            connected(cluster.address) as workers,
        ):
            doomed = Doomed(workers, fleet)
            (fleet / "running").write_text(str(os.getpid()))
            monkeypatch.setattr(doomed, "lose", lambda process: end_node(cluster))
            with pytest.raises(WorkersError, match="the cluster has had no workers for 1 seconds"):
                summarize_on(doomed, [*sources] * 50, job, no_progress)

    def test_ctrl_c_cancels_what_is_left(self, cli: Cli, fleet: Path) -> None:
        """The next run with the same options continues after the finished files."""
        environ = patched(
            fleet / "patch",
            "import os, time\n"
            "import etconfig.fleet.running.worker_tasks as worker\n"
            "whole = worker.count_devices\n"
            "def slow(text, task):\n"
            "    if '/2.parquet' in task['path'] and not os.path.exists('RUNNING'):\n"
            "        open('RUNNING', 'w').close()\n"
            "        time.sleep(10)\n"
            "    return whole(text, task)\n"
            "worker.count_devices = slow\n".replace("RUNNING", str(fleet / "running")),
        )
        with started(fleet / "log") as cluster:
            cluster.start_worker(environ)
            cluster.wait_for(1)
            words = ("fleet", "resolve", *RUN, "-o", "out", "--on", cluster.address)
            # what starts the tests may ignore Ctrl-C, as shells do in the background; the command must not
            before = signal.signal(signal.SIGINT, signal.default_int_handler)
            process = subprocess.Popen([sys.executable, "-m", "etconfig", *words])
            signal.signal(signal.SIGINT, before)
            parts = fleet / "out" / ".etconfig-parts"
            wait_until(lambda: (fleet / "running").exists(), "no worker has begun with the third file")
            wait_until(lambda: len(list(parts.glob("*.json"))) >= 2, "no file is finished")
            process.send_signal(signal.SIGINT)
            assert process.wait(90) == 130
            assert [each.name for each in (fleet / "out").iterdir()] == [".etconfig-parts"]
            finished = {each: each.stat().st_mtime_ns for each in parts.glob("*.json")}
            assert finished
            done = cli(*words)
            assert done.status == 0, done.stderr
        cli("fleet", "resolve", *RUN, "-o", "here")
        assert rows_of(fleet / "out") == rows_of(fleet / "here")


def end_node(cluster: Cluster) -> None:
    """End the only worker of a cluster."""
    worker = cluster.processes.pop()
    worker.send_signal(signal.SIGTERM)
    worker.wait(90)


class TestRefusals:
    """Errors name what a worker lacks, and nothing is half written."""

    def test_a_file_that_is_missing_there(self, fleet: Path, cluster: Cluster) -> None:
        job, sources = job_of_coverage()
        (fleet / "fleet" / "2.parquet").unlink()
        with connected(cluster.address) as workers, pytest.raises(WorkersError) as refused:
            summarize_on(workers, sources, job, no_progress)
        assert "there is no file fleet/2.parquet on worker " in str(refused.value)
        assert refused.value.help == "put inventories on a file system that all workers share"

    def test_a_directory_that_is_missing_there(self, fleet: Path, cluster: Cluster) -> None:
        """A worker that cannot write its table says so, with the path."""
        job, sources = job_of_coverage()
        tasks = [
            {
                "number": number,
                "path": str(fleet / each.path),
                "label": each.label,
                "table": None,
                "target": "/nowhere/x",
            }
            for number, each in enumerate(sources)
        ]
        with connected(cluster.address) as workers, pytest.raises(WorkersError) as refused:
            list(workers.map(partial(count_devices, job), tasks))
        assert "failed on fleet/" in str(refused.value)
        assert "/nowhere/" in str(refused.value)

    def test_a_broken_file(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        (fleet / "fleet" / "2.parquet").write_bytes(b"PAR1 and nothing")
        here, there = (
            cli("fleet", "coverage", *RUN, *further) for further in ((), ("--on", cluster.address))
        )
        assert there.status == here.status == 2
        assert there.stderr.replace(f"{fleet}/", "") == here.stderr
        assert "cannot read fleet/2.parquet" in there.stderr

    def test_a_wrong_column(self, cli: Cli, fleet: Path, cluster: Cluster) -> None:
        duckdb.connect().execute("COPY (SELECT 'a' AS device_id, 1 AS nofact) TO 'fleet/9.parquet'")
        here, there = (
            cli("fleet", "coverage", *RUN, *further) for further in ((), ("--on", cluster.address))
        )
        assert (there.status, there.stderr) == (here.status, here.stderr)
        assert "nofact" in here.stderr
        with pytest.raises(FactError, match="nofact"):
            open_fleet("fleet/9.parquet", workers=cluster.address).resolve()

    def test_another_version(self, cli: Cli, fleet: Path) -> None:
        text = "import etconfig.base.version\netconfig.base.version.__version__ = '0.0.9'\n"
        with started(fleet / "log") as cluster:
            cluster.start_worker(patched(fleet / "patch", text))
            cluster.wait_for(1)
            done = cli("fleet", "resolve", *RUN, "-o", "out", "--on", cluster.address)
        assert done.status == 2, done.stderr
        assert (
            f"etconfig is 0.0.9 on worker {os.uname().nodename}, and {etconfig.__version__} here"
            in done.stderr
        )
        assert "help: install one version everywhere" in done.stderr
        assert [each.name for each in (fleet / "out").iterdir()] == [".etconfig-parts"]
        assert list((fleet / "out" / ".etconfig-parts").iterdir()) == []

    def test_other_plugins(self, cli: Cli, fleet: Path) -> None:
        text = (
            "import etconfig.facts.registry as r\n"
            "whole = r.FactRegistry.__post_init__\n"
            "def fewer(self):\n"
            "    object.__setattr__(self, 'infos', self.infos[:-1])\n"
            "    whole(self)\n"
            "r.FactRegistry.__post_init__ = fewer\n"
        )
        with started(fleet / "log") as cluster:
            cluster.start_worker(patched(fleet / "patch", text))
            cluster.wait_for(1)
            done = cli("fleet", "coverage", *RUN, "--on", cluster.address)
        assert done.status == 2
        assert "would resolve otherwise: the definitions of facts differ" in done.stderr

    def test_nothing_answers(self, fleet: Path) -> None:
        place = "dask://127.0.0.1:1"
        with pytest.raises(WorkersError) as refused, connected(place, timeout=0.5):
            pass
        assert f"answers at {place} within 0.5 seconds" in str(refused.value)

    def test_a_cluster_without_workers(self, fleet: Path) -> None:
        with (
            started(fleet / "log") as cluster,
            pytest.raises(WorkersError, match="has no workers"),
            connected(cluster.address, timeout=20.0),
        ):
            pass
