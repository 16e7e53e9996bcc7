"""The devices that a change moves: two plans, decided on the same groups."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from etconfig.base.records import record
from etconfig.base.written_files import directory_beside, whole_file
from etconfig.fleet.deciding.grouping import group_number, keyed_devices
from etconfig.fleet.deciding.outcome import DeviceOutcome
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.inventory.sql_names import quoted_path, quoted_text
from etconfig.fleet.running.part_decision import DecidedGroups, decide_part
from etconfig.fleet.running.result_tables import TABLE_FORMAT
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, part_text

NOTHING = "(nothing)"
"""Stands for the value of an option that a device does not get."""


@record(frozen=True)
class FleetChange:
    """A change of one option, of the profile, or from options to a problem.

    Attributes:
        path: The option; `profile` for the profile, `problem` for a problem.
        old: The value before, as JSON text; the name of a profile, or a cause.
        new: The value after.
    """

    path: str
    old: str
    new: str


@record(frozen=True, kw_only=True)
class FleetDifference(HasView):
    """The effect of a change on a fleet.

    Attributes:
        devices: The number of devices.
        changed: The number of those whose options change, or that get options before or after only.
        moved: The number of devices that get another profile, whether or not an option changes.
        changes: The number of devices of each change.
        examples: The name of the first device of each change.
    """

    devices: int
    changed: int
    moved: int
    changes: dict[FleetChange, int]
    examples: dict[FleetChange, str | None]

    @property
    def share(self) -> float:
        """The part of the devices that change, from 0 to 1."""
        return self.changed / self.devices if self.devices else 0.0

    def _view(self) -> View:
        rows = [(each.path, each.old, each.new, count) for each, count in self.changes.items()]
        return View(
            title=part_text(self.changed, self.devices, "device", "change"),
            tables=(Table(headers=("OPTION", "OLD", "NEW", "DEVICES"), rows=rows),),
        )

    def to_jsonable(self, *, with_ids: bool) -> dict[str, Any]:
        """Return the difference as plain data."""
        rows = [
            {
                "path": change.path,
                "old": change.old,
                "new": change.new,
                "devices": count,
                **({"example": self.examples[change]} if with_ids else {}),
            }
            for change, count in self.changes.items()
        ]
        return {
            "devices": self.devices,
            "changed": self.changed,
            "moved": self.moved,
            "share": self.share,
            "changes": rows,
        }

    @classmethod
    def from_jsonable(cls, data: Mapping[str, Any]) -> FleetDifference:
        """Return the difference that `to_jsonable` described, with names of devices."""
        rows = [(FleetChange(row["path"], row["old"], row["new"]), row) for row in data["changes"]]
        return cls(
            devices=data["devices"],
            changed=data["changed"],
            moved=data["moved"],
            changes={change: row["devices"] for change, row in rows},
            examples={change: row["example"] for change, row in rows},
        )


def compare_fleet(
    database: Database,
    parts: Sequence[InventoryPart],
    old: FleetPlan,
    new: FleetPlan,
    on_part: Callable[[InventoryPart, int, int], None],
    moved: Path | None = None,
) -> FleetDifference:
    """Decide about every device by two plans, and count what differs.

    Args:
        database: The database.
        parts: The files.
        old: Decides before the change.
        new: Decides after it.
        on_part: Called before each file.
        moved: A Parquet file to write, with a row for each change of each device; None for none.

    Raises:
        OSError: the file cannot be written.
    """

    def differences(tables: Sequence[Path] | None) -> Iterator[FleetDifference]:
        for number, part in enumerate(parts, 1):
            on_part(part, number, len(parts))
            decided = decide_part(database, part, [old, new])
            if tables is not None:
                write_moved_part(database, decided, tables[number - 1])
            yield compare_groups(decided)

    if moved is None:
        return merged_differences(differences(None))
    with directory_beside(moved) as directory:
        tables = [directory / f"{number}.parquet" for number in range(len(parts))]
        found = merged_differences(differences(tables))
        write_moved(database, tables, moved)
    return found


def write_moved_part(
    database: Database, decided: DecidedGroups, target: Path, shown: Callable[[str], str] = str
) -> None:
    """Write the changes of the devices of one file: `device_id`, `option`, `old`, `new`.

    Args:
        database: The database.
        decided: The groups of the file, with the outcomes of two plans.
        target: The file to write; whole or not at all.
        shown: Returns a value as reports show it.
    """
    rows = [
        (group.number, change.path, shown(change.old), shown(change.new))
        for group, before, after in zip(decided.groups, *decided.outcomes, strict=True)
        for change in _changes(before, after)
    ]
    columns = [[row[place] for row in rows] for place in range(4)]
    number, devices = group_number(decided.key, decided.salt), keyed_devices(decided.part, decided.key)
    with whole_file(target) as beside:
        database.rows(
            f"COPY (SELECT device AS device_id, option, old, new FROM (SELECT device, {number} AS number "
            f"FROM ({devices})) JOIN (SELECT unnest(?::UBIGINT[]) AS number, unnest(?::VARCHAR[]) AS option, "
            "unnest(?::VARCHAR[]) AS old, unnest(?::VARCHAR[]) AS new) USING (number)) "
            f"TO {quoted_text(os.fspath(beside))} ({TABLE_FORMAT})",
            columns,
        )


def write_moved(database: Database, parts: Sequence[Path], target: Path) -> None:
    """Write the changes of the devices of all files, in the order of their values; whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    files = ", ".join(quoted_path(path) for path in parts)
    rows = f"FROM read_parquet([{files}], hive_partitioning = false) ORDER BY ALL"
    with whole_file(target) as beside:
        database.rows(f"COPY ({rows}) TO {quoted_text(os.fspath(beside))} ({TABLE_FORMAT})")


def compare_groups(decided: DecidedGroups) -> FleetDifference:
    """Count what differs between two plans on the devices of one file."""
    counts: dict[FleetChange, int] = {}
    examples: dict[FleetChange, str | None] = {}
    devices = changed = moved = 0
    known: dict[tuple[DeviceOutcome, DeviceOutcome], tuple[FleetChange, ...]] = {}
    for group, *pair in zip(decided.groups, *decided.outcomes, strict=True):
        before, after = pair
        if (before, after) not in known:
            known[before, after] = tuple(_changes(before, after))
        found = known[before, after]
        devices += group.devices
        changed += group.devices * any(each.path != "profile" for each in found)
        moved += group.devices * (before.profile != after.profile)
        for change in found:
            counts[change] = counts.get(change, 0) + group.devices
            examples[change] = _first(examples.get(change), group.example)
    return FleetDifference(devices=devices, changed=changed, moved=moved, changes=counts, examples=examples)


def merged_differences(differences: Iterable[FleetDifference]) -> FleetDifference:
    """Return the effect of a change on several files together; most devices first."""
    counts: dict[FleetChange, int] = {}
    examples: dict[FleetChange, str | None] = {}
    devices = changed = moved = 0
    for each in differences:
        devices += each.devices
        changed += each.changed
        moved += each.moved
        for change, count in each.changes.items():
            counts[change] = counts.get(change, 0) + count
            examples[change] = _first(examples.get(change), each.examples[change])
    ordered = sorted(counts, key=lambda each: (-counts[each], each.path, each.old, each.new))
    return FleetDifference(
        devices=devices,
        changed=changed,
        moved=moved,
        changes={each: counts[each] for each in ordered},
        examples=examples,
    )


def _first(left: str | None, right: str | None) -> str | None:
    return min((each for each in (left, right) if each is not None), default=None)


def _changes(old: DeviceOutcome, new: DeviceOutcome) -> list[FleetChange]:
    found = []
    if old.profile != new.profile:
        found.append(FleetChange("profile", old.profile or NOTHING, new.profile or NOTHING))
    if (old.cause, old.message) != (new.cause, new.message):
        found.append(FleetChange("problem", _problem(old), _problem(new)))
    if old.resolution is None or new.resolution is None or old.resolution == new.resolution:
        return found
    before, after = ({str(each.path): each.value for each in side.options} for side in (old, new))
    for path in dict.fromkeys([*before, *after]):
        values = before.get(path, NOTHING), after.get(path, NOTHING)
        if values[0] != values[1]:
            found.append(FleetChange(path, *values))
    return found


def _problem(outcome: DeviceOutcome) -> str:
    return NOTHING if outcome.cause is None else f"{outcome.cause}: {outcome.message}"
