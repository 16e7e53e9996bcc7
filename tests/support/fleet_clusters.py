"""Clusters of Dask on this machine, each node a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS = 90
"""How long to wait for what must come."""

Process = subprocess.Popen[bytes]


def wait_until(condition: Callable[[], bool], reason: str) -> None:
    """Wait until a condition holds."""
    last = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < last, reason
        time.sleep(0.05)


class Cluster:
    """A scheduler of Dask, and the workers that are started, each with one thread.

    Attributes:
        address: As `--on` takes it.
    """

    def __init__(
        self, directory: Path, environ: Mapping[str, str] | None = None, host: str = "127.0.0.1"
    ) -> None:
        self.directory = directory
        self.environ = dict(environ or {})
        self.processes: list[Process] = []
        file = directory / "scheduler.json"
        module = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
        words = ["--host", host, "--port", "0", "--no-dashboard", "--no-jupyter"]
        self._start([*module, *words, "--scheduler-file", str(file)])
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
        """Start one more worker."""
        scratch = self.directory / f"worker-{len(self.processes)}"
        module = [sys.executable, "-m", "distributed.cli.dask_worker", self.scheduler]
        words = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", host]
        return self._start([*module, *words, "--local-directory", str(scratch)], environ, inside)

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers are there."""
        from distributed import Client

        with Client(self.scheduler, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=SECONDS)

    def _start(
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


@contextmanager
def started(
    directory: Path, workers: int = 0, environ: Mapping[str, str] | None = None, host: str = "127.0.0.1"
) -> Iterator[Cluster]:
    """A cluster with some workers, which ends with the context."""
    directory.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(directory, environ, host)
    try:
        for _ in range(workers):
            cluster.start_worker()
        if workers:
            cluster.wait_for(workers)
        yield cluster
    finally:
        cluster.stop()
