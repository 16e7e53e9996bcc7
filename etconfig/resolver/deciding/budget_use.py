"""`BudgetUse`: what method instances take together of a budget, and the problems of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from etconfig.base.budgeted_resources import RESOURCES
from etconfig.base.number_text import format_bytes
from etconfig.base.plain_data import jsonable
from etconfig.base.provenance import Origin
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, Span
from etconfig.errors import BudgetExceededError
from etconfig.expression import Expression, Fault, Unknown
from etconfig.profile.budget import Budget, BudgetLimit
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View
from etconfig.resolver.deciding.arguments import Arguments, BackendArguments, instance_label
from etconfig.resolver.deciding.budget_gate import consumers_of, taken_by
from etconfig.resolver.deciding.budget_groups import BudgetGroups, counted_instances
from etconfig.resolver.deciding.instance_resolver import MethodInstance
from etconfig.schema.coerce import show_value
from etconfig.schema.consumption import Consumes

_MAX_SHOWN = 20
"""The most contributors that a message lists."""


@record(frozen=True, kw_only=True)
class Contribution:
    """The part of a resource that one option of one method instance takes.

    Attributes:
        label: The method instance, as option paths spell it.
        option: `BACKEND.OPTION`.
        value: The option's value.
        amount: The number of threads or bytes; None if it is unknown.
        because: The fact that gives the amount of this value, or is unknown; None if the value is the amount.
        origin: The origin of the value.
        place: The place where it is set, or None.
        pool: What it sizes if others share that, as backend, option and value; None if nothing else does.
    """

    label: str
    option: str
    value: object
    amount: int | None
    because: str | None
    origin: Origin
    place: Span | None
    pool: tuple[object, ...] | None

    def text(self, resource: str) -> str:
        """Return it in words, for notes."""
        amount = "an unknown number" if self.amount is None else amount_text(resource, self.amount)
        because = f" ({self.because})" if self.because else ""
        option = f"{self.label}: {self.option} = {show_value(self.value)}"
        return f"{option} takes {amount}{because}, from {self.origin}"


@record(frozen=True, kw_only=True)
class GroupUse:
    """The part of a resource that the instances of one group take.

    Attributes:
        resource: `threads` or `memory`.
        group: The name of the group; None for everything, or an instance that runs alone.
        limit: The budget on the device; None if it is unknown.
        budget: The budget, with its origin.
        members: The instances of the group, as option paths spell them.
        taken: The sum of what is known.
        contributions: What is summed. The backends of an instance run in turn, so of threads, the backend of
            an instance that takes the most counts. Shared pools count once.
        unknown: The contributions of which nobody knows how much they are.
    """

    resource: str
    group: str | None
    limit: int | None
    budget: BudgetLimit
    members: tuple[str, ...]
    taken: int
    contributions: tuple[Contribution, ...]
    unknown: tuple[Contribution, ...]

    @property
    def is_exceeded(self) -> bool:
        """True if the sum of what is known exceeds the budget."""
        return self.limit is not None and self.taken > self.limit

    @property
    def is_certain(self) -> bool:
        """True if the budget and every contribution are known."""
        return self.limit is not None and not self.unknown

    def __str__(self) -> str:
        who = "all together take" if self.group is None else f"group {self.group!r} takes"
        if self.group is None and len(self.members) == 1:
            who = f"{self.members[0]} takes"
        limit = "unknown" if self.limit is None else amount_text(self.resource, self.limit)
        return f"{who} {amount_text(self.resource, self.taken)}, and the budget is {limit}"

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        rows = [
            {"instance": e.label, "option": e.option, "value": jsonable(e.value), "amount": e.amount}
            for e in (*self.contributions, *self.unknown)
        ]
        found = {"resource": self.resource, "group": self.group, "limit": self.limit, "taken": self.taken}
        return {**found, "origin": str(self.budget.origin), "contributions": rows}


@record(frozen=True)
class BudgetUse(HasView):
    """The part of a budget that a configuration takes on a device.

    Attributes:
        budget: The budget.
        uses: What each group takes of each resource that is limited.
    """

    budget: Budget
    uses: tuple[GroupUse, ...]
    _resolved: Sequence[Iterable[Arguments]] = field(compare=False, repr=False)
    _facts: Mapping[str, object] = field(compare=False, repr=False)

    @classmethod
    def of(
        cls, budget: Budget, resolved: Sequence[Iterable[Arguments]], facts: Mapping[str, object]
    ) -> BudgetUse:
        """Return what resolved arguments, of one or several programs, take of a budget on a device."""
        return cls(budget, tuple(budget_uses(budget, resolved, facts)), resolved, facts)

    def check(self, *others: Iterable[Arguments]) -> None:
        """Refuse configurations that together exceed the budget, before they are loaded.

        Args:
            others: The resolutions of other programs that are loaded in this process, or shall be.

        Raises:
            BudgetExceededError: they exceed it, or it is not known what they take; with the contributors.
        """
        whole = BudgetUse.of(self.budget, (*self._resolved, *others), self._facts) if others else self
        for each in whole.uses:
            if each.is_exceeded or not each.is_certain:
                holders = [(f"{c.label}: {c.option}", c.amount) for c in (*each.contributions, *each.unknown)]
                raise BudgetExceededError(
                    resource=each.resource, limit=each.limit, taken=each.taken, holders=tuple(holders)
                )

    def to_jsonable(self) -> list[dict[str, Any]]:
        """Return the use as plain data."""
        return [each.to_jsonable() for each in self.uses]

    @property
    def table(self) -> Table:
        """The groups, for people."""
        rows = []
        for each in self.uses:
            limit = "unknown" if each.limit is None else amount_text(each.resource, each.limit)
            taken = amount_text(each.resource, each.taken) + (" or more" if each.unknown else "")
            taken += " in options" if each.resource == "memory" else ""  # programs are estimated
            members = ", ".join(each.members[:_MAX_SHOWN])
            rows.append((each.resource, each.group or "", members, taken, limit, str(each.budget.origin)))
        return Table(headers=("BUDGET", "GROUP", "INSTANCES", "TAKEN", "LIMIT", "FROM"), rows=rows)

    def _view(self) -> View:
        return View(title="BudgetUse", tables=(self.table,))

    def __repr__(self) -> str:
        return f"<BudgetUse: {'; '.join(map(str, self.uses[:3]))}>"


def amount_text(resource: str, amount: int) -> str:
    """Return a number with its unit: `4 threads`, `1.5 MiB`."""
    return format_bytes(amount) if resource == "memory" else f"{amount} thread{'' if amount == 1 else 's'}"


def budget_problems(
    budget: Budget, arguments: Iterable[Arguments], facts: Mapping[str, object]
) -> Iterator[Diagnostic]:
    """Yield an error for each group that exceeds a budget for certain, and a note if something is unknown.

    Of threads, an excess is a warning if no instance takes more than one: nothing could take less.
    """
    values = [_value_on(limit, facts) for limit in budget.limits.values()]
    failed = [value for value in values if isinstance(value, Diagnostic)]
    yield from failed
    for use in () if failed else budget_uses(budget, (arguments,), facts):
        if use.is_exceeded:
            yield _excess(use)
        elif not use.is_certain and (use.contributions or use.unknown):
            yield _doubt(use)


def budget_uses(
    budget: Budget, resolved: Iterable[Iterable[Arguments]], facts: Mapping[str, object]
) -> Iterator[GroupUse]:
    """Yield what each group takes of each resource that is limited.

    Args:
        budget: The budget.
        resolved: The arguments of one or several programs; several may have a method of one name.
        facts: The device.
    """
    found: dict[MethodInstance, list[Arguments]] = {}
    for arguments in resolved:
        by_key = {(each.method, each.instance): each for each in arguments}
        for key in counted_instances(by_key):
            found.setdefault(key, []).append(by_key[key])
    groups = BudgetGroups(budget, tuple(found))
    for resource in RESOURCES:
        limit = budget.limits.get(resource)
        if limit is None:
            continue
        value = _value_on(limit, facts)
        parts = {key: [_contributions(resource, each, facts) for each in found[key]] for key in found}
        for name, members in groups.groups:
            counted, unknown = _counted(resource, (each for key in members for each in parts[key]))
            yield GroupUse(
                resource=resource,
                group=name,
                limit=value if isinstance(value, int) else None,
                budget=limit,
                members=tuple(instance_label(*key) for key in members),
                taken=sum(each.amount or 0 for each in counted),
                contributions=tuple(counted),
                unknown=tuple(unknown),
            )


def _value_on(limit: BudgetLimit, facts: Mapping[str, object]) -> int | Diagnostic | None:
    """Return a limit on a device; None if it is unknown, and a diagnostic if it cannot be one."""
    if not isinstance(limit.value, Expression):
        return limit.value
    value = limit.value.evaluate(facts)
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Fault):
        return limit.value.failure(value)
    if isinstance(value, int) and value >= 1:
        return value
    message = f"the budget of {limit.resource} is {value} on this device, and must be at least 1"
    help = f"write max({limit.value}, 1)"
    return Diagnostic(code="invalid-value", message=message, spans=(limit.find_span(),), help=help)


def _contributions(
    resource: str, arguments: Arguments, facts: Mapping[str, object]
) -> Mapping[str, Sequence[Contribution]]:
    """Return what the options of each backend of a method instance take."""
    return {
        backend: [
            _contribution(arguments.label, resolved, each, facts)
            for each in consumers_of(type(resolved.options))
            if each[1].resource == resource
        ]
        for backend, resolved in arguments.backends.items()
    }


def _contribution(
    label: str,
    resolved: BackendArguments,
    consumer: tuple[str, Consumes, bool],
    facts: Mapping[str, object],
) -> Contribution:
    name, consumes, is_of_process = consumer
    backend, value = resolved.spec.id, getattr(resolved.options, name)
    amount, because = taken_by(consumes, resolved.options, value, facts)
    pool: tuple[object, ...] | None = (backend, name) if is_of_process else None
    if pool is None and consumes.is_shared(resolved.options):
        pool = (backend, name, repr(value))
    return Contribution(
        label=label,
        option=f"{backend}.{name}",
        value=value,
        amount=amount,
        because=because,
        origin=resolved.origin(name),
        place=resolved.place_of(name),
        pool=pool,
    )


def _counted(
    resource: str, members: Iterable[Mapping[str, Sequence[Contribution]]]
) -> tuple[list[Contribution], list[Contribution]]:
    """Return the contributions that a group sums, and the unknown contributions."""
    counted: list[Contribution] = []
    unknown: list[Contribution] = []
    pools: set[tuple[object, ...]] = set()
    for backends in members:
        found = [*backends.values()]
        unknown += [each for part in found for each in part if each.amount is None]
        chosen = [max(found, key=_rank, default=[])] if resource == "threads" else found
        for each in (each for part in chosen for each in part if each.amount):
            if each.pool not in pools:
                counted.append(each)
            if each.pool is not None:
                pools.add(each.pool)
    return counted, unknown


def _rank(contributions: Sequence[Contribution]) -> tuple[int, bool]:
    """Return the rank of a backend in its instance: the most threads, and of two equal ones its own."""
    return sum(each.amount or 0 for each in contributions), all(each.pool is None for each in contributions)


def _excess(use: GroupUse) -> Diagnostic:
    has_least = use.resource == "threads" and all(each.amount == 1 for each in use.contributions)
    places = (each.place for each in use.contributions)
    return Diagnostic(
        code="budget-exceeded",
        message=str(use),
        spans=tuple(dict.fromkeys((use.budget.find_span(), *filter(None, places))))[:_MAX_SHOWN],
        notes=(f"the budget is from {use.budget.origin}", *_texts(use.resource, use.contributions)),
        help="run fewer instances together, as [groups] says"
        if has_least
        else f"take less, or divide the budget: {{ expr = 'share(\"{use.resource}\")' }}; "
        "[groups] says what runs together",
        severity=Severity.WARNING if has_least else Severity.ERROR,
    )


def _doubt(use: GroupUse) -> Diagnostic:
    message = f"{use}, but not everything is known"
    if use.limit is None and isinstance(use.budget.value, Expression):
        missing = ", ".join(sorted(use.budget.value.facts))
        message = f"the budget of {use.resource} is unknown on this device, since it needs {missing}"
    return Diagnostic(
        code="budget-unknown",
        message=message,
        spans=(use.budget.find_span(),),
        notes=tuple(_texts(use.resource, use.unknown)),
        help="set the options that are unknown" if use.unknown else "set it by hand: --fact NAME=VALUE",
        severity=Severity.NOTE,
    )


def _texts(resource: str, contributions: Sequence[Contribution]) -> Iterator[str]:
    for each in contributions[:_MAX_SHOWN]:
        yield each.text(resource)
    if len(contributions) > _MAX_SHOWN:
        yield f"and {len(contributions) - _MAX_SHOWN:,} more"
