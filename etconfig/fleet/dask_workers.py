"""`DaskWorkers`: the workers of a Dask cluster, from the extra `dask`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from etconfig.errors import EtconfigError, WorkersError
from etconfig.fleet.losses import LossWatch, died_on, failed_on
from etconfig.fleet.workers import FileTask

if TYPE_CHECKING:
    from distributed import Client

    from etconfig.fleet.cluster_address import ClusterAddress

_LOOK_SECONDS = 2.0
"""How often to look whether there are workers while none of them answers."""


class DaskWorkers:
    """The workers of a Dask cluster. Dask schedules the tasks, and repeats those of workers that it loses.

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
        self, function: Callable[[FileTask], dict[str, Any]], files: Sequence[FileTask]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the place of each file with the answer of the function, as they are finished.

        Raises:
            WorkersError: the workers are lost, or one cannot do its part.
            EtconfigError: as the function does.
        """
        from distributed import wait

        futures = self._client.map(function, files, pure=False)
        places = {future.key: place for place, future in enumerate(futures)}
        pending = set(futures)
        watch = LossWatch(self._has_workers)
        try:
            while pending:
                try:
                    with self._client.as_current():
                        done = wait(pending, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED").done
                except (TimeoutError, asyncio.TimeoutError):
                    watch.look()
                    continue
                watch.reset()
                for future in sorted(done, key=lambda each: places[each.key]):
                    yield places[future.key], self._answer(future, files[places[future.key]])
                pending -= done
        finally:
            if pending:
                self._client.cancel(list(pending), force=True)

    def _has_workers(self) -> bool:
        return bool(self._client.scheduler_info(n_workers=-1)["workers"])

    def _answer(self, future: Any, file: FileTask) -> dict[str, Any]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            found: dict[str, Any] = future.result()
        except EtconfigError:
            raise
        except KilledWorker as error:
            raise died_on(file["label"]) from error
        except (CancelledError, asyncio.CancelledError) as error:
            raise WorkersError(
                problem="the scheduler is lost, or has canceled the tasks", help="start it again"
            ) from error
        except Exception as error:
            raise failed_on(file["label"], error, "dask") from error
        return found


@contextmanager
def connected_to_dask(address: ClusterAddress, timeout: float) -> Iterator[DaskWorkers]:
    """Connect to a cluster.

    Args:
        address: The address of its scheduler.
        timeout: How long to wait for the scheduler, and for a first worker, in seconds.

    Raises:
        WorkersError: nothing answers there, or there are no workers.
    """
    from distributed import Client

    try:
        client = Client(f"tcp://{address.place}", timeout=timeout, set_as_default=False)
    except (OSError, asyncio.TimeoutError) as error:
        raise WorkersError(
            problem=f"no scheduler of Dask answers at {address.text} within {timeout:g} seconds",
            help="check the address, and that `dask scheduler` runs there",
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise WorkersError(
                problem=f"the cluster at {address.text} has no workers", help="start them with `dask worker`"
            ) from error
        yield DaskWorkers(client)
    finally:
        client.close(timeout=2)
