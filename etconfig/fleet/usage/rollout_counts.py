"""The devices of each rollout, and those that a higher bound moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from etconfig.base.records import record
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.rollouts import rollouts_of
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.running.part_decision import decide_part


@record(frozen=True, kw_only=True)
class RolloutCount:
    """The devices of a rollout.

    Attributes:
        condition: The comparison with `bucket`.
        bound: The share of devices that it aims at.
        devices: The number of devices on which it decides.
        reached: The number of those on which it is true.
        moved: The number of devices that another bound moves, in or out.
    """

    condition: str
    bound: float
    devices: int = 0
    reached: int = 0
    moved: int = 0

    def to_jsonable(self) -> dict[str, Any]:
        """Return the count as plain data."""
        names = ("condition", "bound", "devices", "reached", "moved")
        return {name: getattr(self, name) for name in names}


def count_rollouts(
    database: Database,
    parts: Sequence[InventoryPart],
    plan: FleetPlan,
    share: float,
    on_part: Callable[[InventoryPart, int, int], None],
) -> list[RolloutCount]:
    """Count the devices of each rollout, and those that a bound for another share of devices moves."""
    rollouts = rollouts_of(plan)
    raised = [each.raised(share) for each in rollouts]
    for each in raised:
        plan.divide_by(each.condition)
    found = [RolloutCount(condition=str(each), bound=each.share) for each in rollouts]
    for number, part in enumerate(parts, 1):
        on_part(part, number, len(parts))
        decided = decide_part(database, part, [plan])
        for group, outcome in zip(decided.groups, decided.outcomes[0], strict=True):
            for place, (now, then) in enumerate(zip(rollouts, raised, strict=True)):
                side = now.side(plan, outcome.profile, group.facts)
                if side is not None:
                    moves = then.condition.evaluate(group.facts) is not side
                    count = found[place]
                    found[place] = replace(
                        count,
                        devices=count.devices + group.devices,
                        reached=count.reached + group.devices * side,
                        moved=count.moved + group.devices * moves,
                    )
    return found
