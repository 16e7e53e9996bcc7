"""Clusters of Dask and of Ray on this machine, each node a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

SECONDS = 90
"""How long to wait for what must come."""

Process = subprocess.Popen[bytes]


class Cluster(ABC):
    """A head, and the workers that are started, each with one thread or CPU.

    Attributes:
        address: As `--on` takes it.
    """

    address: str

    def __init__(self, directory: Path, environ: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.environ = dict(environ or {})
        self.processes: list[Process] = []

    @abstractmethod
    def start_worker(self, environ: Mapping[str, str] | None = None) -> Process:
        """Start one more worker."""

    @abstractmethod
    def wait_for(self, workers: int) -> None:
        """Wait until so many workers are there."""

    def start(
        self, command: Sequence[str], environ: Mapping[str, str] | None = None, inside: Sequence[str] = ()
    ) -> Process:
        """Start a node; its output goes to a file of the directory."""
        with (self.directory / f"node-{len(self.processes)}.log").open("wb") as log:
            started = subprocess.Popen(
                [*inside, *command],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environ, **(environ or {})},
            )
        self.processes.append(started)
        return started

    def stop(self) -> None:
        """End all nodes, the last one first."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def wait_until(condition: Callable[[], bool], reason: str) -> None:
    """Wait until a condition holds."""
    last = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < last, reason
        time.sleep(0.05)


class DaskCluster(Cluster):
    """A scheduler and workers of Dask."""

    def __init__(
        self, directory: Path, environ: Mapping[str, str] | None = None, host: str = "127.0.0.1"
    ) -> None:
        super().__init__(directory, environ)
        file = directory / "scheduler.json"
        module = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
        words = ["--host", host, "--port", "0", "--no-dashboard", "--no-jupyter"]
        self.start([*module, *words, "--scheduler-file", str(file)])
        wait_until(file.exists, "the scheduler has not begun")
        self.scheduler: str = json.loads(file.read_text())["address"]
        self.address = self.scheduler.replace("tcp://", "dask://")

    def start_worker(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        host: str = "127.0.0.1",
        inside: Sequence[str] = (),
    ) -> Process:
        scratch = self.directory / f"worker-{len(self.processes)}"
        module = [sys.executable, "-m", "distributed.cli.dask_worker", self.scheduler]
        words = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", host]
        return self.start([*module, *words, "--local-directory", str(scratch)], environ, inside)

    def wait_for(self, workers: int) -> None:
        from distributed import Client

        with Client(self.scheduler, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=SECONDS)


def _is_first_server_gone() -> bool:
    """True if nothing listens on the port that each cluster of Ray takes for its first client."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", 23000)) != 0


class RayCluster(Cluster):
    """A head of Ray without CPUs, and workers with one. The token keeps others on this machine away."""

    TOKEN = uuid4().hex * 2

    def __init__(self, directory: Path, environ: Mapping[str, str] | None = None) -> None:
        self.scratch = Path(mkdtemp(prefix="ray-"))  # sockets below it; their paths must be short
        super().__init__(directory, {**self.variables(), "HOME": str(self.scratch), **(environ or {})})
        wait_until(_is_first_server_gone, "another cluster of Ray serves a client")
        port, client_port = free_ports(2)
        self._node = [str(Path(sys.executable).with_name("ray")), "start", "--block"]
        self._node += ["--object-store-memory", "80000000", "--disable-usage-stats"]
        head = ["--head", "--num-cpus", "0", "--include-dashboard", "false", "--port", str(port)]
        head += ["--ray-client-server-port", str(client_port), "--temp-dir", str(self.scratch / "r")]
        self.start([*self._node, *head])
        self._log = directory / "node-0.log"
        wait_until(lambda: "Ray runtime started" in self._log.read_text(), "the head has not begun")
        host = self._log.read_text().partition("Local node IP: ")[2].split()[0]
        self._head = f"{host}:{port}"
        self.address = f"ray://{host}:{client_port}"

    @classmethod
    def variables(cls) -> dict[str, str]:
        """The variables with which a process may connect to the cluster."""
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": cls.TOKEN}

    def start_worker(self, environ: Mapping[str, str] | None = None) -> Process:
        return self.start([*self._node, "--address", self._head, "--num-cpus", "1"], environ)

    def wait_for(self, workers: int) -> None:
        begun = [self.directory / f"node-{number}.log" for number in range(1, workers + 1)]
        wait_until(
            lambda: all("Ray runtime started" in each.read_text() for each in begun),
            "the workers have not begun",
        )
        assert all(each.poll() is None for each in self.processes), "a node of Ray has ended"

    def stop(self) -> None:
        for process in reversed(self.processes):  # each ends what it started
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)
        shutil.rmtree(self.scratch, ignore_errors=True)


KINDS: dict[str, type[Cluster]] = {"dask": DaskCluster, "ray": RayCluster}


@contextmanager
def started(
    kind: str, directory: Path, workers: int = 0, environ: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A cluster with some workers, which ends with the context."""
    directory.mkdir(parents=True, exist_ok=True)
    cluster = KINDS[kind](directory, environ)
    try:
        for number in range(workers):  # one by one: nodes of Ray that begin together take each other's ports
            cluster.start_worker()
            cluster.wait_for(number + 1)
        yield cluster
    finally:
        cluster.stop()


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nothing listens on."""
    found = [socket.socket() for _ in range(count)]
    for each in found:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in found]
    for each in found:
        each.close()
    return ports
