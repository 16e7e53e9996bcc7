"""Fleets: inventories of very many devices, resolved by groups that cannot differ in any decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.lazy import lazy_names

_HOME = {
    "DaskWorkers": "dask_workers",
    "FileTask": "workers",
    "Fleet": "fleets",
    "FleetChange": "difference",
    "FleetDifference": "difference",
    "FleetResult": "fleets",
    "FleetWorkers": "workers",
    "AnyWorkers": "clusters",
    "open_fleet": "fleets",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.fleet.clusters import AnyWorkers
    from etconfig.fleet.dask_workers import DaskWorkers
    from etconfig.fleet.difference import FleetChange, FleetDifference
    from etconfig.fleet.fleets import Fleet, FleetResult, open_fleet
    from etconfig.fleet.workers import FileTask, FleetWorkers

__all__ = [
    "AnyWorkers",
    "DaskWorkers",
    "FileTask",
    "Fleet",
    "FleetChange",
    "FleetDifference",
    "FleetResult",
    "FleetWorkers",
    "open_fleet",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
