"""Workers of fleets: a cluster of Dask by its address, `dask://host:8786`, or what a caller has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from etconfig.base.packages import how_to_install
from etconfig.base.records import record

if TYPE_CHECKING:
    from distributed import Client

    from etconfig.fleet.running.workers import FleetWorkers

AnyWorkers: TypeAlias = "FleetWorkers | Client | str"
"""The workers of a fleet: an object with `map`, a client of Dask, or the address of a cluster."""

CONNECT_SECONDS = 10.0
"""How long to wait for a cluster, and for its first worker."""


@record(frozen=True)
class ClusterAddress:
    """The address of a cluster of Dask.

    Attributes:
        place: The host and the port, such as `host:8786`.
    """

    place: str

    @property
    def missing(self) -> str | None:
        """The message if the package that connects to such clusters is not installed, else None."""
        if find_spec("distributed") is not None:
            return None
        install = how_to_install("'etconfig[dask]'")
        return f"dask:// needs Dask distributed, which is not installed: {install}"


def parse_cluster_address(text: str) -> ClusterAddress:
    """Return the parts of an address.

    Raises:
        ValueError: it is not the address of a cluster of Dask.
    """
    parts = urlsplit(text)
    if parts.scheme == "ray":
        raise ValueError(
            f"{text!r} is a cluster of Ray, which has no address here; from Python, "
            "etconfig.fleet.open_fleet takes ray.util.multiprocessing.Pool() as workers"
        )
    try:
        is_right = parts.scheme == "dask" and parts.hostname and parts.port and not parts.path.strip("/")
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError(f"{text!r} is not an address of workers, such as dask://host:8786")
    return ClusterAddress(parts.netloc)


@contextmanager
def connected(workers: AnyWorkers, timeout: float = CONNECT_SECONDS) -> Iterator[FleetWorkers]:
    """Connect to workers; a client that the caller has stays open.

    Args:
        workers: The workers, or the address of a cluster.
        timeout: How long to wait for a cluster, and for its first worker, in seconds.

    Raises:
        ValueError: the text is not an address.
        TypeError: `workers` is neither an address nor workers.
        WorkersError: nothing answers at the address, or there are no workers.
    """
    if isinstance(workers, str):
        from etconfig.fleet.running.dask_workers import connected_to_dask

        with connected_to_dask(parse_cluster_address(workers).place, timeout) as found:
            yield found
    else:
        yield _workers_of(workers)


def _workers_of(workers: FleetWorkers | Client) -> FleetWorkers:
    distributed = sys.modules.get("distributed")  # whoever has a client has imported it
    if distributed is not None and isinstance(workers, distributed.Client):
        from etconfig.fleet.running.dask_workers import DaskWorkers

        return DaskWorkers(workers)
    if not callable(getattr(workers, "map", None)):
        raise TypeError(
            "workers: expected an address such as 'dask://host:8786', a client of Dask, or a pool with "
            f"map(function, files), given {type(workers).__name__}"
        )
    found: FleetWorkers = workers
    return found
