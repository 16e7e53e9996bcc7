"""Single devices of an inventory, as fact sheets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.inventory.columns import DEVICE_FACT
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.inventory.sql_names import quoted_name
from etconfig.fleet.running.part_decision import decide_part
from etconfig.fleet.running.part_result import OutcomeCount


def find_in_fleet(
    database: Database, parts: Sequence[InventoryPart], name: str, registry: FactRegistry
) -> list[FactSheet]:
    """Return the facts of each row with the name of a device, in the order of the files and rows.

    Raises:
        FactError: a value is wrong.
    """
    return [sheet for part in parts for _, sheet in device_sheets(database, part, [name], registry)]


def device_sheets(
    database: Database,
    part: InventoryPart,
    names: Sequence[str],
    registry: FactRegistry,
    *,
    with_ids: bool = True,
) -> Iterator[tuple[str, FactSheet]]:
    """Yield the facts of devices of one file, by name; without `with_ids`, the fact `device.id` is unknown.

    Raises:
        FactError: a value is wrong.
    """
    part.source.attach(database)
    facts = [fact for fact in part.facts if with_ids or fact != DEVICE_FACT]
    columns = "".join(f", {part.facts[fact].sql} AS {quoted_name(fact)}" for fact in facts)
    rows = database.rows(
        f"SELECT {part.device} AS device{columns} FROM {part.source.relation} "
        f"WHERE list_contains(?::VARCHAR[], {part.device}) ORDER BY device, {part.row}",
        [list(names)],
    )
    for device, *values in rows:
        known = {fact: value for fact, value in zip(facts, values, strict=True) if value is not None}
        yield device, FactSheet.from_values(known, part.source.label, registry)


def sample_devices(
    database: Database, parts: Sequence[InventoryPart], plan: FleetPlan, *, by_group: bool, with_ids: bool
) -> Iterator[tuple[OutcomeCount, FactSheet]]:
    """Yield a few devices that stand for all: one for each way of deciding, or one for each result.

    Devices with a wrong value stand for nothing and are left out.

    Args:
        database: The database.
        parts: The files.
        plan: Decides about the devices.
        by_group: One device for each combination of all that decides.
        with_ids: Keep the fact `device.id`.
    """
    seen: set[object] = set()
    for part in parts:
        decided = decide_part(database, part, [plan])
        wanted: dict[str, OutcomeCount] = {}
        for each in decided.result().counts:
            outcome = each.outcome
            key: object = (outcome.profile, outcome.resolution, outcome.cause)
            if by_group:
                key = (outcome.signature, outcome.matched, key)
            is_usable = each.example is not None and (outcome.profile is not None or outcome.matched)
            if key not in seen and is_usable and each.example is not None:
                seen.add(key)
                wanted[each.example] = each
        registry = plan.installation.fact_registry
        for name, sheet in device_sheets(database, part, list(wanted), registry, with_ids=with_ids):
            yield wanted[name], sheet
