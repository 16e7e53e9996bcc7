"""`Budget`: what all instances may take together, how it is divided, and which instances run together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial

from etconfig.base.budgeted_resources import MAX_AMOUNT, RESOURCES
from etconfig.base.provenance import Origin, OriginKind
from etconfig.base.quantities import BYTE_SIZES, scaled_number
from etconfig.base.records import record
from etconfig.diagnostics import Span
from etconfig.errors import ProfileError
from etconfig.expression import Expression, ExpressionParser, ExpressionType
from etconfig.profile.table import TomlTable

MAX_WEIGHT = 1000
"""The largest weight of a `split`."""

_SPLIT_HELP = 'write split = "fair", or weights as split = { detector = 2, encoder = 1 }'


@record(frozen=True, kw_only=True)
class BudgetLimit:
    """The most that the instances of one group may take of one resource.

    Attributes:
        resource: `threads` or `memory`, in bytes.
        value: The number, or an expression that gives it.
        kind: The kind of document that has it.
        find_span: Finds its place.
    """

    resource: str
    value: int | Expression
    kind: OriginKind = field(compare=False)
    find_span: Callable[[], Span] = field(compare=False, repr=False)

    @property
    def origin(self) -> Origin:
        """The place where it is written, with the expression."""
        span = self.find_span()
        detail = f"expr {self.value}" if isinstance(self.value, Expression) else None
        return Origin(self.kind, span.file, span.line, span.column, detail)


@record(frozen=True)
class NamedMember:
    """A name of a method, a model or an instance in a budget.

    Attributes:
        name: `forward`, `forward@left`, or `left`.
        find_span: Finds its place.
    """

    name: str
    find_span: Callable[[], Span] = field(compare=False, repr=False)


@record(frozen=True, kw_only=True)
class Budget:
    """`[budget]` and `[groups]` of one document, or of several, merged key by key.

    Attributes:
        limits: The limits, by resource.
        weights: The parts of each name if the budget is divided; a name that is not here has one part. None
            if the document says nothing of it.
        groups: The names that run together, by the name of the group. Without groups, everything does.
        weighted: The names of `weights`, with their places.
    """

    limits: Mapping[str, BudgetLimit] = field(default_factory=dict)
    weights: Mapping[str, int] | None = None
    groups: Mapping[str, Sequence[NamedMember]] = field(default_factory=dict)
    weighted: Sequence[NamedMember] = field(default=(), compare=False, repr=False)

    def names(self) -> Sequence[NamedMember]:
        """Return every name of a method, a model or an instance that it mentions."""
        return (*(each for members in self.groups.values() for each in members), *self.weighted)


def merged_budgets(budgets: Iterable[Budget | None]) -> Budget | None:
    """Return the budget of several documents, the strongest last; None if none has one."""
    found = [each for each in budgets if each is not None]
    if len(found) < 2:
        return found[0] if found else None
    divided = next((each for each in reversed(found) if each.weights is not None), found[-1])
    return Budget(
        limits={key: limit for each in found for key, limit in each.limits.items()},
        weights=divided.weights,
        groups={key: group for each in found for key, group in each.groups.items()},
        weighted=divided.weighted,
    )


def read_budget(root: TomlTable, expressions: ExpressionParser, kind: OriginKind) -> Budget | None:
    """Read `[budget]` and `[groups]` below `root`; problems go to `root.problems`."""
    table, groups = root.table("budget"), root.table("groups")
    if table is None and groups is None:
        return None
    limits: dict[str, BudgetLimit] = {}
    weights: Mapping[str, int] | None = None
    weighted: list[NamedMember] = []
    if table is not None:
        table.check_keys((*RESOURCES, "split"), "budget")
        for resource in RESOURCES:
            value = _read_limit(table, resource, expressions)
            if value is not None:
                find_span = partial(table.value_span, resource)
                limits[resource] = BudgetLimit(resource=resource, value=value, kind=kind, find_span=find_span)
        weights = _read_weights(table)
        path = (*table.path, "split")
        weighted = [
            NamedMember(name, partial(table.document.key_span, (*path, name))) for name in weights or ()
        ]
    together = {} if groups is None else dict(_read_groups(groups))
    return Budget(limits=limits, weights=weights, groups=together, weighted=weighted)


def _read_limit(table: TomlTable, resource: str, expressions: ExpressionParser) -> int | Expression | None:
    """Return a limit; None if it is missing or wrong, which is reported."""
    raw = table.data.get(resource)
    if isinstance(raw, dict):
        return _read_computed(
            TomlTable(table.document, (*table.path, resource), raw, table.problems), expressions
        )
    if isinstance(raw, str) and resource == "memory":
        try:
            raw = int(scaled_number(raw, BYTE_SIZES))
        except ValueError as error:
            message = f"{'budget.memory'!r} is not a size: {raw!r:.60}"
            table.report("wrong-type", message, table.value_span(resource), str(error))
            return None
    if type(raw) is int and 1 <= raw <= MAX_AMOUNT:
        return raw
    if raw is not None:
        wanted = "bytes" if resource == "memory" else resource
        message = f"'budget.{resource}' must be a number of {wanted} from 1 to {MAX_AMOUNT}"
        help = f"write {resource} = 4, or {{ expr = 'cpu.available_cores' }}"
        if resource == "memory":
            help = """write memory = "512 MiB", or { expr = 'memory.available / 2' }"""
        table.report("wrong-type", message, table.value_span(resource), help)
    return None


def _read_computed(table: TomlTable, expressions: ExpressionParser) -> Expression | None:
    """Read `{ expr = "..." }`."""
    table.check_keys(("expr",), "value")
    if not table.data:
        table.require("expr", "write the limit itself, or { expr = '...' }")
    text = table.string("expr")
    if text is None:
        return None
    find_span = partial(table.value_span, "expr")
    try:
        found = expressions.parse(text, find_span)
    except ProfileError as error:
        table.add(*error.diagnostics)
        return None
    if found.shares or found.type is not ExpressionType.INT:
        problem = (
            "a budget is not a share of itself" if found.shares else f"it gives {found.type.with_article}"
        )
        message = f"'budget.{table.path[-1]}' needs an int, but {problem}"
        table.report("expression-type", message, find_span(), "write an expression that gives an int")
        return None
    from etconfig.expression.signatures import unit_of  # most budgets are checked ahead of time

    unit, is_size = unit_of(found.tree, expressions.registry), table.path[-1] == "memory"
    if unit is not None and (unit == "bytes") is not is_size:
        message = (
            f"'budget.{table.path[-1]}' is in {'bytes' if is_size else 'threads'}, but {text!r} in {unit}"
        )
        table.report("unit-mismatch", message, find_span(), "compute it from other facts")
    return found


def _read_weights(table: TomlTable) -> Mapping[str, int] | None:
    """Read `split`; no weights for `fair`, None if it is missing or wrong."""
    raw = table.data.get("split")
    if raw == "fair":
        return {}
    if not isinstance(raw, dict):
        if raw is not None:
            message = "'budget.split' must be \"fair\" or a table of weights"
            table.report("wrong-type", message, table.value_span("split"), _SPLIT_HELP)
        return None
    for name, weight in raw.items():
        if type(weight) is not int or not 1 <= weight <= MAX_WEIGHT:
            message = f"the weight of {name!r} must be an int from 1 to {MAX_WEIGHT}"
            table.report("wrong-type", message, table.value_span("split", name), _SPLIT_HELP)
    return {name: weight for name, weight in raw.items() if type(weight) is int}


def _read_groups(groups: TomlTable) -> Iterable[tuple[str, Sequence[NamedMember]]]:
    help = 'write together = ["detector", "encoder"]'
    for name, table in groups.tables("write [groups.NAME] with together = [...]"):
        if "together" not in table.check_keys(("together",), "group"):
            table.require("together", help)
        names = table.strings("together")
        if names == [] and table.data.get("together") == []:
            table.report("wrong-type", f"{table.header} has no members", table.value_span("together"), help)
        spans = [partial(table.value_span, "together", index) for index in range(len(names))]
        for twice, times in Counter(names).items():
            if times > 1:
                message = f"{table.header} names {twice!r} {times} times"
                span = spans[len(names) - 1 - names[::-1].index(twice)]()
                table.report("wrong-type", message, span, "name it once")
        yield name, [NamedMember(*each) for each in zip(names, spans, strict=True)]
