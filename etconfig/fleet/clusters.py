"""Clusters by address, `dask://host:8786` or `ray://host:10001`, or by the client that a caller has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from etconfig.fleet.cluster_address import parse_cluster_address

if TYPE_CHECKING:
    from distributed import Client

    from etconfig.fleet.workers import FleetWorkers

AnyWorkers: TypeAlias = "FleetWorkers | Client | str"
"""The workers of a fleet: an object with `map`, a client of Dask, or the address of a cluster."""

CONNECT_SECONDS = 10.0
"""How long to wait for a cluster, and for its first worker."""


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
        address = parse_cluster_address(workers)
        if address.kind == "dask":
            from etconfig.fleet.dask_workers import connected_to_dask

            with connected_to_dask(address, timeout) as found:
                yield found
        else:
            from etconfig.fleet.ray_workers import connected_to_ray

            with connected_to_ray(address, timeout) as there:
                yield there
    else:
        yield _workers_of(workers)


def _workers_of(workers: FleetWorkers | Client) -> FleetWorkers:
    distributed = sys.modules.get("distributed")  # whoever has a client has imported it
    if distributed is not None and isinstance(workers, distributed.Client):
        from etconfig.fleet.dask_workers import DaskWorkers

        return DaskWorkers(workers)
    if not callable(getattr(workers, "map", None)):
        raise TypeError(
            "workers: expected an address such as 'dask://host:8786', a client of Dask, RayWorkers(), or "
            f"another object with map(function, files), given {type(workers).__name__}"
        )
    found: FleetWorkers = workers
    return found
