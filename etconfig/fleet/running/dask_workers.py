"""`DaskWorkers`: the workers of a Dask cluster, from the extra `dask`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from etconfig.errors import EtconfigError, WorkersError
from etconfig.fleet.running.workers import FileTask

if TYPE_CHECKING:
    from distributed import Client


_LOOK_SECONDS = 2.0
"""How often to look whether there are workers while none of them answers."""

LOST_SECONDS = 60.0
"""How long to wait for other workers when all are lost."""


class DaskWorkers:
    """The workers of a Dask cluster. Dask schedules the tasks, and repeats tasks of workers that it loses.

    Args:
        client: A client of the cluster. It stays open.

    Raises:
        TypeError: the client is not one of Dask, or is asynchronous.
    """

    def __init__(self, client: Client) -> None:
        from distributed import Client

        if not isinstance(client, Client) or client.asynchronous:
            raise TypeError(
                f"client: expected a distributed.Client that is not asynchronous, given {client!r}"
            )
        self._client = client

    def map(
        self, function: Callable[[FileTask], dict[str, Any]], files: Sequence[FileTask], /
    ) -> Iterator[dict[str, Any]]:
        """Yield the answers of the function, as the files are finished.

        If the iteration ends early, by Ctrl-C or an error, tasks that are not finished are canceled.

        Raises:
            WorkersError: the workers are lost, or one cannot do its part.
            EtconfigError: as the function does.
        """
        from distributed import wait

        futures = self._client.map(function, files, pure=False)
        labels = {future.key: file["label"] for future, file in zip(futures, files, strict=True)}
        pending = set(futures)
        last_answer = time.monotonic()
        try:
            while pending:
                try:
                    with self._client.as_current():
                        done = wait(pending, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED").done
                except (TimeoutError, asyncio.TimeoutError):
                    if self._has_workers():
                        last_answer = time.monotonic()
                    elif time.monotonic() - last_answer > LOST_SECONDS:
                        raise WorkersError(
                            problem=f"the cluster has had no workers for {LOST_SECONDS:g} seconds",
                            help="start some",
                        ) from None
                    continue
                last_answer = time.monotonic()
                for future in done:
                    yield _answer(future, labels[future.key])
                pending -= done
        finally:
            if pending:
                self._client.cancel(list(pending), force=True)

    def _has_workers(self) -> bool:
        return bool(self._client.scheduler_info(n_workers=-1)["workers"])


def _answer(future: Any, label: str) -> dict[str, Any]:
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        found: dict[str, Any] = future.result()
    except EtconfigError:
        raise
    except KilledWorker as error:
        raise WorkersError(
            problem=f"several workers died on {label}", help="give them more memory, or --memory less"
        ) from error
    except (CancelledError, asyncio.CancelledError) as error:
        raise WorkersError(
            problem="the scheduler is lost, or has canceled the tasks", help="start it again"
        ) from error
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise WorkersError(
            problem=f"the cluster failed on {label}: {type(error).__name__}: {reason}",
            help="check that all machines of the cluster have the same etconfig, with etconfig[dask]",
        ) from error
    return found


@contextmanager
def connected_to_dask(place: str, timeout: float) -> Iterator[DaskWorkers]:
    """Connect to a cluster.

    Args:
        place: The host and the port of its scheduler.
        timeout: How long to wait for the scheduler, and for a first worker, in seconds.

    Raises:
        WorkersError: nothing answers there, or there are no workers.
    """
    from distributed import Client

    try:
        client = Client(f"tcp://{place}", timeout=timeout, set_as_default=False)
    except (OSError, asyncio.TimeoutError) as error:
        raise WorkersError(
            problem=f"no scheduler of Dask answers at dask://{place} within {timeout:g} seconds",
            help="check the address, and that `dask scheduler` runs there",
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise WorkersError(
                problem=f"the cluster at dask://{place} has no workers", help="start them with `dask worker`"
            ) from error
        yield DaskWorkers(client)
    finally:
        client.close(timeout=2)
