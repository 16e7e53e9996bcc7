"""Groups of devices that cannot differ in any decision: found by SQL, decided by Python, one device each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from etconfig.base.records import record
from etconfig.errors import InternalError
from etconfig.expression.checked import (
    Checked,
    CheckedConditional,
    Constant,
    Logic,
    Operation,
    fact_names,
)
from etconfig.expression.compiler import compile_tree
from etconfig.facts.registry import FactType, FactValue
from etconfig.fleet.deciding.condition_sql import condition_sql
from etconfig.fleet.deciding.folding import folded
from etconfig.fleet.deciding.outcome import DeviceOutcome
from etconfig.fleet.deciding.plan import DecidingCondition, FleetPlan
from etconfig.fleet.inventory.columns import DEVICE_FACT, PROBLEM_COLUMN, FactColumn
from etconfig.fleet.inventory.database import Database
from etconfig.fleet.inventory.inventory import InventoryPart
from etconfig.fleet.inventory.sql_names import quoted_name, quoted_text

_MAX_DISTINCT = 1000
"""The most values of a fact by which devices are grouped, if only conditions read it."""

_SAMPLE_ROWS = 50_000
_MAX_SAMPLE_GROUPS = 10_000
"""The most groups of that sample; of more, every clause counts by its truth."""

_CLAUSES = 30
"""The clauses whose truth fits into one integer, with two bits for each."""

INVALID = "invalid-fact-value"
"""The cause of devices with a wrong value in a fact that decides."""

UNNAMED = "unnamed-device"
"""The cause of rows without the name of a device."""

BROKEN = "broken-line"
"""The cause of lines and sheets that are not a JSON object."""


@record(frozen=True)
class Clause:
    """A part of conditions that counts by its truth, with unknown as the third value.

    Attributes:
        tree: The part, a condition itself.
        sql: The same in SQL.
    """

    tree: Checked
    sql: str

    def truth(self, facts: Mapping[str, object]) -> int:
        """Return 0 for false, 1 for true, 2 for unknown or without a value."""
        try:
            return 1 if compile_tree(self.tree)(facts) else 0
        except (KeyError, ArithmeticError):
            return 2


@record(frozen=True, kw_only=True)
class GroupKey:
    """The values and truths in which devices of one group agree.

    Attributes:
        values: The facts whose values count.
        clauses: The parts of conditions whose truth counts.
        others: The further facts that these read.
    """

    values: tuple[str, ...]
    clauses: tuple[Clause, ...]
    others: tuple[str, ...]

    @property
    def masks(self) -> Iterator[str]:
        """The SQL of integers with the truth of the clauses, two bits for each."""
        for start in range(0, len(self.clauses), _CLAUSES):
            bits = (
                f"CASE {clause.sql} WHEN TRUE THEN {1 << 2 * place} WHEN FALSE THEN 0 "
                f"ELSE {2 << 2 * place} END"
                for place, clause in enumerate(self.clauses[start : start + _CLAUSES])
            )
            yield f"CAST({' + '.join(bits)} AS BIGINT)"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that devices are grouped by."""
        masks = len(range(0, len(self.clauses), _CLAUSES))
        return ("problem", *(f"v{i}" for i in range(len(self.values))), *(f"m{i}" for i in range(masks)))


@record(frozen=True, kw_only=True)
class DeviceGroup:
    """Devices that cannot differ in any decision.

    Attributes:
        number: The hash of what they agree in; unique in one file.
        devices: The number of devices.
        example: The name of the first one.
        facts: The facts of one of them that decide.
        problem: What is wrong with a value of each of them, or None.
        truths: The truth of the clauses of the key, by SQL, two bits for each.
    """

    number: int
    devices: int
    example: str | None
    facts: Mapping[str, FactValue]
    problem: str | None
    truths: int


def find_key(
    database: Database,
    part: InventoryPart,
    conditions: Sequence[DecidingCondition],
    needed: frozenset[str],
) -> GroupKey:
    """Return the key of a file: discrete facts count by value, conditions on others by their truth.

    Args:
        database: The database.
        part: The file.
        conditions: The conditions that decide.
        needed: The facts whose values count in any case.
    """
    folded_trees = [folded(each.expression.tree, each.by_hand, part.facts) for each in conditions]
    trees = [tree for tree in folded_trees if not isinstance(tree, Constant)]
    discrete = _discrete_facts(database, part, trees)
    key = _key(part, trees, needed, discrete)
    if discrete and _sampled_groups(database, part, key) > _MAX_SAMPLE_GROUPS:
        key = _key(part, trees, needed, frozenset())
    return key


def _key(
    part: InventoryPart, trees: Sequence[Checked], needed: frozenset[str], discrete: frozenset[str]
) -> GroupKey:
    values = set(needed)
    kinds = {name: column.info for name, column in part.facts.items()}
    clauses: dict[str, Clause] = {}
    for clause in {each for tree in trees for each in _clauses(tree)}:
        names = set(fact_names(clause))
        text = None if names <= discrete else condition_sql(clause, kinds, quoted_name)
        if text is None:
            values |= names
        else:
            clauses[text] = Clause(clause, text)
    # a clause on nothing but facts that count by value follows from them
    rest = {
        text: clause for text, clause in clauses.items() if not values.issuperset(fact_names(clause.tree))
    }
    others = {name for clause in rest.values() for name in fact_names(clause.tree)} - values
    return GroupKey(
        values=tuple(sorted(values)),
        clauses=tuple(rest[text] for text in sorted(rest)),
        others=tuple(sorted(others)),
    )


def _clauses(tree: Checked) -> Iterator[Checked]:
    """Yield the parts of a condition from whose truth its own follows; they share less than whole ones do."""
    if isinstance(tree, Logic) or (isinstance(tree, Operation) and tree.function == "!"):
        for operand in tree.operands:
            yield from _clauses(operand)
    elif isinstance(tree, CheckedConditional):
        for each in tree:
            yield from _clauses(each)
    elif not isinstance(tree, Constant):
        yield tree


def _discrete_facts(database: Database, part: InventoryPart, trees: Sequence[Checked]) -> frozenset[str]:
    """Return the facts of conditions with few values; floats and lists have many, or may have elsewhere."""
    names = sorted({name for tree in trees for name in fact_names(tree)})
    columns = [part.facts[name] for name in names]
    scalars = [c for c in columns if c.info.type not in (FactType.FLOAT, FactType.STRING_LIST)]
    if not scalars:
        return frozenset()
    counts = ", ".join(f"approx_count_distinct({column.sql})" for column in scalars)
    row = database.rows(f"SELECT {counts} FROM (SELECT * FROM {part.source.relation} LIMIT {_SAMPLE_ROWS})")[
        0
    ]
    return frozenset(c.fact for c, count in zip(scalars, row, strict=True) if count <= _MAX_DISTINCT)


def _sampled_groups(database: Database, part: InventoryPart, key: GroupKey) -> int:
    devices = keyed_devices(part, key, _SAMPLE_ROWS)
    sql = f"SELECT count(*) FROM (SELECT 1 FROM ({devices}) GROUP BY {_names(key)})"
    return int(database.rows(sql)[0][0])


def keyed_devices(part: InventoryPart, key: GroupKey, limit: int | None = None) -> str:
    """Return the SQL of every device with what it agrees in with others of its group."""
    columns = [part.facts[name] for name in (*key.values, *key.others)]
    facts = "".join(f", {column.sql} AS {quoted_name(column.fact)}" for column in columns)
    problem = _problem(part, columns)
    rows = f"SELECT {part.device} AS device, {problem} AS problem{facts} FROM {part.source.relation}"
    if limit is not None:
        rows += f" LIMIT {limit}"
    values = "".join(f", {quoted_name(name)} AS v{number}" for number, name in enumerate(key.values))
    masks = "".join(f", {mask} AS m{number}" for number, mask in enumerate(key.masks))
    others = "".join(f", {quoted_name(name)} AS o{number}" for number, name in enumerate(key.others))
    return f"SELECT device, problem{values}{masks}{others} FROM ({rows})"


def _names(key: GroupKey) -> str:
    return ", ".join(key.columns)


def group_number(key: GroupKey, salt: int) -> str:
    """Return the SQL of the number of a device's group."""
    return f"hash({salt}, {_names(key)})"


def _problem(part: InventoryPart, columns: Sequence[FactColumn]) -> str:
    """Return the SQL of the first problem of a device, NULL if there is none."""
    cases = [
        f"WHEN {part.is_broken} THEN {quoted_text(BROKEN)}",
        f"WHEN {part.device} IS NULL THEN {quoted_text(UNNAMED)}",
    ]
    if part.has_problems:
        decides = ", ".join(["''", *(quoted_text(column.fact) for column in columns)])
        found = (
            f"list_filter({quoted_name(PROBLEM_COLUMN)}, lambda each: coalesce(each.fact, '') IN ({decides}))"
        )
        texts = "concat_ws(': ', first.fact, first.problem)"
        first = f"list_transform({found}[:1], lambda first: {texts})[1]"
        cases.append(f"WHEN {first} IS NOT NULL THEN {first}")
    for column in columns:
        for check, expected in column.checks():
            unit = f", in {column.info.unit}" if column.info.unit else ""
            cases.append(f"WHEN {check} THEN {quoted_text(f'{column.fact}: expected {expected}{unit}')}")
    return f"CASE {' '.join(cases)} END"


def find_groups(database: Database, part: InventoryPart, key: GroupKey) -> tuple[list[DeviceGroup], int]:
    """Return the groups of a file, and the salt with which their numbers are unique."""
    others = ", ".join(f"o{number} := o{number}" for number in range(len(key.others)))
    representative = f", any_value(struct_pack({others}))" if others else ", NULL"
    for salt in range(8):
        rows = database.rows(
            f"SELECT {group_number(key, salt)}, count(*), min(device), {_names(key)}{representative} "
            f"FROM ({keyed_devices(part, key)}) GROUP BY {_names(key)}"
        )
        if len({row[0] for row in rows}) == len(rows):
            return [_group(key, row) for row in rows], salt
    raise InternalError(detail="the numbers of groups of devices are not unique")


def _group(key: GroupKey, row: Sequence[Any]) -> DeviceGroup:
    number, devices, example, problem, *rest = row
    count = len(key.values)
    known = dict(zip(key.values, rest[:count], strict=True))
    masks, (others,) = rest[count:-1], rest[-1:]
    if others is not None:
        known |= {name: others[f"o{number}"] for number, name in enumerate(key.others)}
    facts = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in sorted(known.items())
        if value is not None
    }
    truths = sum(mask << (2 * _CLAUSES * place) for place, mask in enumerate(masks))
    return DeviceGroup(
        number=number, devices=devices, example=example, facts=facts, problem=problem, truths=truths
    )


def decide(plan: FleetPlan, part: InventoryPart, key: GroupKey, group: DeviceGroup) -> DeviceOutcome:
    """Decide about a group, after checking that Python sees the conditions of its device as SQL does.

    Raises:
        InternalError: it does not.
    """
    if group.problem is not None:
        messages = {BROKEN: part.broken_problem, UNNAMED: "the device has no name"}
        if group.problem in messages:
            return DeviceOutcome(cause=group.problem, message=messages[group.problem])
        return DeviceOutcome(cause=INVALID, message=group.problem)
    for name in key.values:
        if name in group.facts:
            try:
                part.facts[name].info.check(group.facts[name])
            except ValueError as error:
                return DeviceOutcome(cause=INVALID, message=f"{name}: {error}")
    for place, clause in enumerate(key.clauses):
        if clause.truth(group.facts) != group.truths >> 2 * place & 3:
            facts = {name: value for name, value in group.facts.items() if name != DEVICE_FACT}
            raise InternalError(detail=f"SQL and Python disagree on {clause.sql} for {facts}")
    return plan.outcome(group.facts)
