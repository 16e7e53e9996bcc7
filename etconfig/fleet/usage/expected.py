"""The decision for each device of a file: a small table, whose outcomes stay in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etconfig.base.records import record
from etconfig.base.written_files import whole_file
from etconfig.fleet.deciding.grouping import group_number, keyed_devices
from etconfig.fleet.deciding.outcome import ResolvedOption, options_from_jsonable, options_to_jsonable
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.deciding.rollouts import Rollout, rollouts_of
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.sql_names import quoted_text
from etconfig.fleet.running.part_decision import DecidedGroups
from etconfig.fleet.running.result_tables import TABLE_FORMAT


@record(frozen=True, kw_only=True)
class ExpectedOutcome:
    """The decision for some devices.

    Attributes:
        profile: The name of the profile, or None.
        resolution: The fingerprint of the options; None if they cannot be resolved.
        options: The value of every option.
        sides: The truth of each rollout on the devices; None where it decides nothing.
    """

    profile: str | None
    resolution: str | None
    options: tuple[ResolvedOption, ...]
    sides: tuple[bool | None, ...] = ()

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "profile": self.profile,
            "resolution": self.resolution,
            "options": options_to_jsonable(self.options),
            "sides": list(self.sides),
        }

    @classmethod
    def from_jsonable(cls, data: Mapping[str, Any]) -> ExpectedOutcome:
        """Return the outcome that `to_jsonable` described."""
        options = options_from_jsonable(data["options"])
        return cls(**{**data, "options": options, "sides": tuple(data["sides"])})


def expected_outcomes(decided: DecidedGroups, plan: FleetPlan) -> list[ExpectedOutcome]:
    """Return the outcome of each group, with the sides of its rollouts."""
    rollouts = rollouts_of(plan)
    return [
        ExpectedOutcome(
            profile=outcome.profile,
            resolution=outcome.resolution,
            options=outcome.options,
            sides=sides_of(rollouts, plan, outcome.profile, group.facts),
        )
        for group, outcome in zip(decided.groups, decided.outcomes[0], strict=True)
    ]


def sides_of(
    rollouts: Sequence[Rollout], plan: FleetPlan, profile: str | None, facts: Mapping[str, object]
) -> tuple[bool | None, ...]:
    """Return the side of a device in each rollout."""
    return tuple(each.side(plan, profile, facts) for each in rollouts)


def write_expected(
    database: Database, decided: DecidedGroups, plan: FleetPlan, target: Path
) -> list[ExpectedOutcome]:
    """Write a row for each device of a file: its name, and the place of its outcome in the returned list."""
    places: dict[tuple[object, ...], int] = {}
    distinct: list[ExpectedOutcome] = []
    numbers: list[list[int]] = [[], []]
    for group, outcome in zip(decided.groups, expected_outcomes(decided, plan), strict=True):
        key = (outcome.profile, outcome.resolution, outcome.sides)
        if key not in places:
            places[key] = len(distinct)
            distinct.append(outcome)
        numbers[0].append(group.number)
        numbers[1].append(places[key])
    number, devices = group_number(decided.key, decided.salt), keyed_devices(decided.part, decided.key)
    with whole_file(target) as beside:
        database.rows(
            f"COPY (SELECT device, outcome FROM (SELECT device, {number} AS number FROM ({devices})) "
            "JOIN (SELECT unnest(?::UBIGINT[]) AS number, unnest(?::INTEGER[]) AS outcome) USING (number)) "
            f"TO {quoted_text(os.fspath(beside))} ({TABLE_FORMAT})",
            numbers,
        )
    return distinct
