"""`DaskWorkers`: the workers of a Dask cluster, from the extra `fleet-dask`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from etconfig.errors import EtconfigError
from etconfig.fleet.worker import WorkersError
from etconfig.fleet.workers import FileTask

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10.0
"""How long to wait for the scheduler, and for a first worker."""

LOST_SECONDS = 60.0
"""How long to wait for other workers when all are lost."""

_LOOK_SECONDS = 2.0


def is_dask_installed() -> bool:
    """Return True if Dask distributed is installed."""
    from importlib.util import find_spec

    return find_spec("distributed") is not None


def scheduler_address(text: str) -> str:
    """Return the address of a scheduler as Dask has it: `dask://host:8786` is `tcp://host:8786`.

    Raises:
        ValueError: it is not such an address.
    """
    parts = urlsplit(text)
    try:
        is_right = parts.scheme == "dask" and parts.hostname and parts.port and not parts.path.strip("/")
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError(f"{text!r} is not an address of workers, such as dask://host:8786")
    return f"tcp://{parts.netloc}"


class DaskWorkers:
    """The workers of a Dask cluster. Dask schedules the tasks, and repeats those of workers that it loses.

    Args:
        client: A client of the cluster.
    """

    def __init__(self, client: Client) -> None:
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
        seen = time.monotonic()
        try:
            while pending:
                try:
                    with self._client.as_current():
                        done = wait(pending, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED").done
                except (TimeoutError, asyncio.TimeoutError):
                    seen = self._last_seen(seen)
                    continue
                seen = time.monotonic()
                for future in sorted(done, key=lambda each: places[each.key]):
                    yield places[future.key], self._answer(future, files[places[future.key]])
                pending -= done
        finally:
            if pending:
                self._client.cancel(list(pending), force=True)

    def _last_seen(self, seen: float) -> float:
        """Return the time when there were workers.

        Raises:
            WorkersError: there have been none for too long.
        """
        now = time.monotonic()
        if self._client.scheduler_info(n_workers=-1)["workers"]:
            return now
        if now - seen > LOST_SECONDS:
            raise WorkersError(f"the cluster has had no workers for {LOST_SECONDS:g} seconds; start some")
        return seen

    def _answer(self, future: Any, file: FileTask) -> dict[str, Any]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            found: dict[str, Any] = future.result()
        except (WorkersError, EtconfigError):
            raise
        except KilledWorker as error:
            raise WorkersError(
                f"several workers died on {file['label']}; give them more memory, or --memory less"
            ) from error
        except (CancelledError, asyncio.CancelledError) as error:
            raise WorkersError("the scheduler is lost, or has canceled the tasks; start it again") from error
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise WorkersError(
                f"the cluster failed on {file['label']}: {type(error).__name__}: {reason}; check that the "
                "scheduler and all workers have the same etconfig, with etconfig[fleet-dask]"
            ) from error
        return found


@contextmanager
def connected(address: str, timeout: float = CONNECT_SECONDS) -> Iterator[DaskWorkers]:
    """Connect to a cluster.

    Args:
        address: Such as `dask://host:8786`.
        timeout: How long to wait for the scheduler, and for a first worker, in seconds.

    Raises:
        ValueError: it is not an address.
        WorkersError: nothing answers there, or there are no workers.
    """
    from distributed import Client

    place = scheduler_address(address)
    try:
        client = Client(place, timeout=timeout, set_as_default=False)
    except (OSError, asyncio.TimeoutError) as error:
        raise WorkersError(
            f"no scheduler of Dask answers at {address} within {timeout:g} seconds; check the address, and "
            "that `dask scheduler` runs there"
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise WorkersError(
                f"the cluster at {address} has no workers; start them with `dask worker`"
            ) from error
        yield DaskWorkers(client)
    finally:
        client.close(timeout=2)
