"""Resolution of the devices of one file."""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.base.records import record
from etconfig.errors import PluginCallError
from etconfig.fleet.deciding.grouping import (
    DeviceGroup,
    GroupKey,
    decide,
    find_groups,
    find_key,
    keyed_devices,
)
from etconfig.fleet.deciding.outcome import DeviceOutcome
from etconfig.fleet.deciding.plan import EVERY_FACT, FleetPlan
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.running.part_result import OutcomeCount, PartResult, merged_results

GROUP_BYTES = 4096
"""The memory that a group takes in Python, measured. All groups of a file are there together."""

MAX_ADVISED_GROUPS = 100_000
"""The most groups into which the facts that a vendor's function reads may divide one file."""


@record(frozen=True, kw_only=True)
class DecidedGroups:
    """The groups of one file, with what each plan decides about them.

    Attributes:
        part: The file.
        key: What devices of a group agree in.
        salt: Makes the numbers of the groups unique.
        groups: The groups.
        outcomes: For each plan, the outcome of each group.
    """

    part: InventoryPart
    key: GroupKey
    salt: int
    groups: Sequence[DeviceGroup]
    outcomes: Sequence[Sequence[DeviceOutcome]]

    def result(self) -> PartResult:
        """Return the outcomes of the first plan, counted."""
        counts = (
            OutcomeCount(outcome=outcome, devices=group.devices, example=group.example)
            for group, outcome in zip(self.groups, self.outcomes[0], strict=True)
        )
        merged = merged_results([PartResult(counts=tuple(counts), groups=len(self.groups))])
        return PartResult(counts=merged.counts, groups=len(self.groups))


def decide_part(database: Database, part: InventoryPart, plans: Sequence[FleetPlan]) -> DecidedGroups:
    """Group the devices of a file by all that decides for any of the plans, and decide about each group.

    Which facts a vendor's function reads is known after a call only, and how much memory options need after
    their resolution. If that decides, and did not count yet, the devices are grouped again.

    Raises:
        InternalError: SQL and Python disagree on a condition.
        OSError: a computed value divides the devices into too many groups.
        PluginCallError: a vendor's function reads facts by which nearly every device is a group of its own.
    """
    part.source.attach(database)
    known = frozenset(part.facts)
    while True:
        conditions = [condition for plan in plans for condition in plan.conditions]
        needed = frozenset().union(*(plan.needed_facts(known) for plan in plans))
        for plan in plans:
            _check_readers(database, part, plan)
        key = find_key(database, part, conditions, needed)
        _check_count(database, part, key)
        groups, salt = find_groups(database, part, key)
        outcomes = [[decide(plan, part, key, group) for group in groups] for plan in plans]
        is_all = conditions == [condition for plan in plans for condition in plan.conditions]
        if is_all and all(plan.needed_facts(known) <= set(key.values) for plan in plans):
            return DecidedGroups(part=part, key=key, salt=salt, groups=groups, outcomes=outcomes)


def _check_count(database: Database, part: InventoryPart, key: GroupKey) -> None:
    """Refuse a file with so many groups that they would take more than the memory that was given.

    Raises:
        OSError: there are too many.
    """
    limit = database.memory_bytes // GROUP_BYTES
    if part.rows <= limit:
        return
    groups = f"SELECT 1 FROM ({keyed_devices(part, key)}) GROUP BY {', '.join(key.columns)} LIMIT {limit + 1}"
    ((count,),) = database.rows(f"SELECT count(*) FROM ({groups})")
    if count > limit:
        distinct = ", ".join(f"approx_count_distinct({part.facts[name].sql})" for name in key.values)
        counts = dict(
            zip(key.values, database.rows(f"SELECT {distinct} FROM {part.source.relation}")[0], strict=True)
        )
        worst = max(counts, key=lambda name: counts[name])
        which = f"the {part.rows:,} devices of {part.source.label} are more than {limit:,} groups"
        why = f"a value is computed from {worst}, which has about {counts[worst]:,} values"
        help = f"compute it from conditions on {worst}, write several files, or give more --memory"
        raise OSError(f"{which}, each to be resolved on its own: {why}; {help}")


def _check_readers(database: Database, part: InventoryPart, plan: FleetPlan) -> None:
    """Refuse functions of vendors that read facts by which nearly every device would be a group of its own.

    Raises:
        PluginCallError: there is such a function.
    """
    if part.rows <= MAX_ADVISED_GROUPS:
        return
    for backend, names in plan.readers.items():
        facts = sorted(part.facts) if EVERY_FACT in names else sorted(names & part.facts.keys())
        if not facts:
            continue
        columns = ", ".join(part.facts[name].sql for name in facts)
        distinct = f"SELECT DISTINCT {columns} FROM {part.source.relation} LIMIT {MAX_ADVISED_GROUPS + 1}"
        ((groups,),) = database.rows(f"SELECT count(*) FROM ({distinct})")
        if groups > MAX_ADVISED_GROUPS:
            read = "every fact" if EVERY_FACT in names else ", ".join(facts)
            raise PluginCallError(
                group="etconfig.backends",
                name=backend,
                call="recommend",
                cause=f"it reads {read}, which divides the {part.rows:,} devices of {part.source.label} into "
                f"more than {MAX_ADVISED_GROUPS:,} groups, each to be resolved on its own",
                help="read only the facts that decide, each with facts.get(), and none that differs on every "
                "device; without a change of the plugin, leave such columns out with --ignore",
            )
