"""Fleets on workers of Dask, each in a network namespace of its own; they share a bridge and the files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Outcome

pytest.importorskip("duckdb", reason="needs the extra etconfig[fleet]")
pytest.importorskip("distributed", reason="needs the extra etconfig[dask]")

from fleet_clusters import Cluster
from fleet_runs import IMPORTING, RUN, Doomed, job_of_coverage, no_progress, rows_of, write_fleet

from etconfig.fleet.running.clusters import connected
from etconfig.fleet.running.workers import FleetWorkers, summarize_on

pytestmark = [pytest.mark.posix, pytest.mark.timeout(300)]

Cli = Callable[..., Outcome]

SOON = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
}
"""A worker that cannot be reached counts as lost after seconds, not minutes."""


class Network:
    """A bridge with an address of this machine, and namespaces that reach it."""

    def __init__(self) -> None:
        self.bridge = f"etc{os.getpid() % 100000}"
        self.prefix = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.host = f"{self.prefix}.1"
        self.names: list[str] = []
        _ip("link", "add", self.bridge, "type", "bridge")
        try:
            _ip("addr", "add", f"{self.host}/24", "dev", self.bridge)
            _ip("link", "set", self.bridge, "up")
        except OSError:
            self.remove()
            raise

    def add_space(self) -> tuple[list[str], str]:
        """Add a namespace; return the words that run a command in it, and its address."""
        number = len(self.names) + 2
        name, link = f"{self.bridge}-{number}", f"{self.bridge}v{number}"
        address = f"{self.prefix}.{number}"
        _ip("netns", "add", name)
        self.names.append(name)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", link, "master", self.bridge, "up")
        inside = ["ip", "netns", "exec", name]
        for words in (("addr", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            _run(*inside, "ip", *words)
        _run(*inside, "ip", "link", "set", "lo", "up")
        return inside, address

    def cut_off(self, number: int) -> None:
        """Take away the link of the first namespace (0), the second (1) and so on."""
        _ip("link", "set", f"{self.bridge}v{number + 2}", "down")

    def remove(self) -> None:
        """Remove all of it."""
        for name in self.names:
            _ip("netns", "del", name)
        _ip("link", "del", self.bridge)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture
def network() -> Iterator[Network]:
    if shutil.which("ip") is None:
        pytest.skip("needs the command ip, of iproute2")
    try:
        found = Network()
    except OSError as error:
        pytest.skip(f"needs the right to add networks: {error}")
    try:
        yield found
    finally:
        found.remove()


@pytest.fixture
def cluster(network: Network, place: Path) -> Iterator[Cluster]:
    """A scheduler here, and two workers, each in a namespace."""
    write_fleet(place)
    (place / "log").mkdir()
    found = Cluster(place / "log", {**SOON, **IMPORTING}, host=network.host)
    try:
        for number in (1, 2):
            inside, address = network.add_space()
            found.start_worker(host=address, inside=inside)
            found.wait_for(number)
        yield found
    finally:
        found.stop()


def test_the_same_tables_as_in_one_process(cli: Cli, place: Path, network: Network, cluster: Cluster) -> None:
    here = cli("fleet", "resolve", *RUN, "-o", "here", "--json")
    there = cli("fleet", "resolve", *RUN, "-o", "there", "--json", "--on", cluster.address)
    assert (there.status, there.json) == (here.status, here.json), there.stderr
    assert rows_of(place / "there") == rows_of(place / "here")
    assert network.host in cluster.address


class CutOff(Doomed):
    """Workers of which one, while it works on a file, loses its network."""

    def __init__(self, workers: FleetWorkers, directory: Path, network: Network) -> None:
        super().__init__(workers, directory)
        self._network = network

    def lose(self, process: int) -> None:
        """Cut off the namespace in which the process is."""
        wanted = Path(f"/proc/{process}/ns/net").stat().st_ino
        for number, name in enumerate(self._network.names):
            if Path(f"/run/netns/{name}").stat().st_ino == wanted:
                self._network.cut_off(number)
                return
        raise AssertionError("the worker is in none of the namespaces")


def test_a_worker_cut_off_from_the_network(place: Path, network: Network, cluster: Cluster) -> None:
    job, sources = job_of_coverage()
    with connected(cluster.address) as workers:
        result = summarize_on(CutOff(workers, place, network), sources, job, no_progress)
    assert (place / "running").exists()
    assert result.devices == 400
