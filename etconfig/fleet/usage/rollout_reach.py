"""The reach of each rollout, and the devices that another bound moves."""

from __future__ import annotations

from collections import Counter

from etconfig.fleet.deciding.rollouts import rollouts_of
from etconfig.fleet.running.runs import FleetRuns, PlannedRun


def reach_of_rollouts(runs: FleetRuns, planned: PlannedRun, share: float) -> dict[str, Counter[str]]:
    """Count the devices of each rollout: `decides`, `reached`, and `moved` if it aims at another share.

    Raises:
        FactError, OSError: as for `FleetRuns.decided`.
    """
    plan, rollouts = planned.plan, rollouts_of(planned.plan)
    aims = [each.aimed(share) for each in rollouts]
    for aim in aims:
        plan.divide_by(aim)
    found: dict[str, Counter[str]] = {str(each): Counter(decides=0, reached=0, moved=0) for each in rollouts}
    for decided in runs.decided(planned):
        for group, outcome in zip(decided.groups, decided.outcomes[0], strict=True):
            for rollout, aim in zip(rollouts, aims, strict=True):
                side = rollout.side(plan, outcome.profile, group.facts)
                if side is not None:
                    moves = aim.evaluate(group.facts) is not side
                    counts = {"decides": True, "reached": side, "moved": moves}
                    found[str(rollout)].update({key: group.devices * n for key, n in counts.items()})
    return found
