"""`RayWorkers`: the workers of a Ray cluster, from the extra `ray`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from etconfig.errors import EtconfigError, WorkersError
from etconfig.fleet.losses import LossWatch, died_on, failed_on
from etconfig.fleet.workers import FileTask

if TYPE_CHECKING:
    from etconfig.fleet.cluster_address import ClusterAddress

_LOOK_SECONDS = 2.0
"""How often to look whether there are workers while none of them answers."""

_FIRST_LOOK_SECONDS = 0.2
"""How often to look for a first worker."""


class RayWorkers:
    """The workers of the Ray cluster that this process is connected to, by `ray.init`.

    Ray schedules the tasks, each on one CPU, and repeats those of workers that it loses.

    Raises:
        WorkersError: the process is not connected to a cluster.
    """

    def __init__(self) -> None:
        import ray

        if not ray.is_initialized():
            raise WorkersError(
                problem="this process is not connected to a cluster of Ray", help="call ray.init before"
            )

    def map(
        self, function: Callable[[FileTask], dict[str, Any]], files: Sequence[FileTask]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the place of each file with the answer of the function, as they are finished.

        Raises:
            WorkersError: the workers are lost, or one cannot do its part.
            EtconfigError: as the function does.
        """
        import ray

        task = ray.remote(_call)
        shared = ray.put(function)
        places = {task.remote(shared, file): place for place, file in enumerate(files)}
        pending = list(places)
        watch = LossWatch(_has_workers)
        try:
            while pending:
                done, rest = ray.wait(pending, num_returns=1, timeout=_LOOK_SECONDS)
                if not done:
                    watch.look()
                    continue
                watch.reset()
                for each in done:
                    yield places[each], _answer(each, files[places[each]])
                pending = rest
        finally:
            for each in pending:
                ray.cancel(each)


def _call(function: Callable[[FileTask], dict[str, Any]], file: FileTask) -> dict[str, Any]:
    return function(file)


def _has_workers() -> bool:
    import ray

    return bool(ray.cluster_resources().get("CPU"))


def _answer(reference: Any, file: FileTask) -> dict[str, Any]:
    import ray
    from ray.exceptions import NodeDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError

    try:
        found: dict[str, Any] = ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, EtconfigError):
            raise error.cause from None
        raise failed_on(file["label"], error.cause, "ray") from error
    except (NodeDiedError, OutOfMemoryError, WorkerCrashedError) as error:
        raise died_on(file["label"]) from error
    except Exception as error:
        raise failed_on(file["label"], error, "ray") from error
    return found


@contextmanager
def connected_to_ray(address: ClusterAddress, timeout: float) -> Iterator[RayWorkers]:
    """Connect to a cluster, by the server for clients that runs on its head.

    Args:
        address: The address of that server.
        timeout: How long to wait for the server, and for a first worker, in seconds.

    Raises:
        WorkersError: nothing answers there, there are no workers, or this process is connected to a cluster
            already.
    """
    import ray

    if ray.is_initialized():
        raise WorkersError(
            problem=f"this process is connected to a cluster of Ray, which may not be that at {address.text}",
            help="give RayWorkers() in place of the address",
        )
    _check_reachable(address, timeout)
    try:
        context = ray.init(f"ray://{address.place}", log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError) as error:
        reason = str(error).strip().rpartition("\n")[2]  # of a traceback, what it ends with
        raise WorkersError(
            problem=f"the cluster of Ray at {address.text} refuses this client: {reason}",
            help="check that Ray and Python have the same versions there, and RAY_AUTH_TOKEN the same value",
        ) from error
    with context:
        _wait_for_workers(address, timeout)
        yield RayWorkers()


def _wait_for_workers(address: ClusterAddress, timeout: float) -> None:
    end = time.monotonic() + timeout
    while not _has_workers():
        if time.monotonic() > end:
            raise WorkersError(
                problem=f"the cluster at {address.text} has no workers", help="start them with `ray start`"
            )
        time.sleep(_FIRST_LOOK_SECONDS)


def _check_reachable(address: ClusterAddress, timeout: float) -> None:
    """Check that something listens there: Ray itself tries for half a minute."""
    import socket

    host, _, port = address.place.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout).close()
    except OSError as error:
        raise WorkersError(
            problem=f"no cluster of Ray answers at {address.text} within {timeout:g} seconds",
            help="check the address, and that `ray start --head` runs there, with etconfig[ray]",
        ) from error
