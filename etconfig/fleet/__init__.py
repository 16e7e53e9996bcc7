"""Fleets: inventories of very many devices, resolved by groups that cannot differ in any decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.lazy import lazy_names

_HOME = {
    "DaskWorkers": "running.dask_workers",
    "FileTask": "running.workers",
    "Fleet": "fleet",
    "FleetChange": "running.moved_devices",
    "FleetDifference": "running.moved_devices",
    "FleetResult": "fleet",
    "FleetWorkers": "running.workers",
    "AnyWorkers": "running.clusters",
    "open_fleet": "fleet",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from etconfig.fleet.fleet import Fleet, FleetResult, open_fleet
    from etconfig.fleet.running.clusters import AnyWorkers
    from etconfig.fleet.running.dask_workers import DaskWorkers
    from etconfig.fleet.running.moved_devices import FleetChange, FleetDifference
    from etconfig.fleet.running.workers import FileTask, FleetWorkers

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
