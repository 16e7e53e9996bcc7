"""`DocumentSettings`: the settings that profiles and project files have in common, read from TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from etconfig.base.option_path import OptionPath
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Rewriting, Span
from etconfig.errors import ProfileError
from etconfig.expression import Expression, ExpressionParser, ExpressionType
from etconfig.facts.problems import invalid_value, unknown_fact
from etconfig.facts.registry import FactRegistry
from etconfig.profile.layer import (
    UNSET,
    Assignment,
    AssignmentPlace,
    InstanceDeclaration,
    Layer,
    RawValue,
    Unset,
)
from etconfig.profile.names import NAME_RULES, is_glob, is_name_of
from etconfig.profile.table import TomlTable

if TYPE_CHECKING:
    from etconfig.profile.budget import Budget

SETTINGS_KEYS = ("facts", "options", "methods", "instances", "when", "budget", "groups")
"""The keys at the root of a document that `read_settings` reads."""

_SCALARS = frozenset((bool, int, float, str))
_MAX_COUNTED_GLOBS = 8
"""The most globs of a document that are looked for in its text; for more, one pass over it is faster."""
_WHEN_KEYS = ("if", "options", "methods", "instances")


@record(frozen=True, kw_only=True)
class DocumentSettings:
    """The settings of one document.

    Attributes:
        assignments: In merge order: `options`, `methods` (globs first, by line), `instances`, then each
            `[[when]]` in document order, with the same order inside. Where `path.instance` is set,
            `path.method` is None until `to_layer` fills it in where only an inherited profile declares the
            instance.
        instances: The named instances that the document declares.
        facts: Its hand-set facts, by name.
        inherited: The instances that it mentions but does not declare, each with a function that finds the
            place of the first mention.
        budget: What all instances may take together, or None.
    """

    assignments: tuple[Assignment, ...] = ()
    instances: tuple[InstanceDeclaration, ...] = ()
    facts: Mapping[str, Sourced[object]] = field(default_factory=dict)
    inherited: Mapping[str, Callable[[], Span]] = field(default_factory=dict)
    budget: Budget | None = None

    def to_layer(self, kind: OriginKind, name: str, methods: Mapping[str, str]) -> Layer:
        """Return the settings as a layer; `methods` gives the method of every instance in `inherited`."""
        assignments = self.assignments
        if self.inherited:
            assignments = tuple(_with_method(a, methods) for a in assignments)
        return Layer(
            kind=kind,
            name=name,
            assignments=assignments,
            instances=self.instances,
            facts=self.facts,
            budget=self.budget,
        )


def _with_method(assignment: Assignment, methods: Mapping[str, str]) -> Assignment:
    """Fill in the method of an inherited instance; other assignments stay as they are."""
    path = assignment.path
    if path.instance is None or path.method is not None:
        return assignment
    path = OptionPath(path.backend, path.option, methods[path.instance], path.instance)
    return Assignment(path, assignment.value, assignment.place, assignment.condition)


def read_settings(root: TomlTable, expressions: ExpressionParser, kind: OriginKind) -> DocumentSettings:
    """Read the tables `SETTINGS_KEYS` below `root`; problems go to `root.problems`."""
    reader = _Reader(root, expressions, kind)
    reader.overlay(root, None)
    for when in root.array_of_tables("when"):
        reader.when(when)
    budget = None
    if "budget" in root.data or "groups" in root.data:
        from etconfig.profile.budget import read_budget  # few documents have one

        budget = read_budget(root, expressions, kind)
    return DocumentSettings(
        assignments=tuple(reader.assignments),
        instances=tuple(reader.declared.values()),
        facts=read_facts(root, expressions.registry, kind),
        inherited=reader.inherited,
        budget=budget,
    )


def read_expression(
    table: TomlTable,
    key: str,
    expressions: ExpressionParser,
    expect: ExpressionType | None = None,
    help: str | None = None,
) -> Expression | None:
    """Read the expression in the string at `key`; return None and report problems if it is wrong.

    Args:
        table: The table.
        key: The key.
        expressions: The parser.
        expect: The type that the value must have; any if None.
        help: The help if the value at `key` is not a string.
    """
    text = table.string(key, help)
    if text is None:
        return None
    try:
        return expressions.parse(text, partial(table.value_span, key), expect)
    except ProfileError as error:
        table.add(*error.diagnostics)
        return None


class _PlaceInDocument:
    """The place of one option of a table `options.BACKEND`, found on first use.

    Finding any place takes a pass over the whole document, and places in most documents are never needed.
    """

    def __init__(
        self, table: TomlTable, option: str, kind: OriginKind, condition: Expression | None, value: object
    ) -> None:
        self._table = table
        self._option = option
        self._kind = kind
        self._condition = condition
        self._value = value

    @property
    def offset(self) -> int:
        """The first character of the option's name: its place among the lines of the document."""
        path = (*self._table.path, self._option)
        return self._table.document.positions[path].key_start

    def find(self) -> AssignmentPlace:
        found: AssignmentPlace | None = self.__dict__.get("_found")
        # if two threads find it at the same time, both get the same object
        return self.__dict__.setdefault("_found", self._find()) if found is None else found

    def find_inside(self, path: tuple[str | int, ...], *, is_key: bool = False) -> Span:
        if is_key:
            return self._table.document.key_span((*self._table.path, self._option, *path))
        return self._table.value_span(self._option, *path)

    def _find(self) -> AssignmentPlace:
        path, document = self._table.path, self._table.document
        key_span = self._table.key_span(self._option)
        has_scope = path[-4:-3] in (("methods",), ("instances",))  # then NAME, "options" and BACKEND follow
        return AssignmentPlace(
            origin=Origin(self._kind, key_span.file, key_span.line, key_span.column, self._detail()),
            span=self._table.value_span(self._option),
            key_span=key_span,
            backend_span=self._table.own_span(),
            scope_span=document.key_span(path[:-2]) if has_scope else None,
        )

    def _detail(self) -> str | None:
        """The condition of the assignment and the expression of its value, in words."""
        reasons = [] if self._condition is None else [f"when {self._condition}"]
        if isinstance(self._value, Expression):
            reasons.append(f"expr {self._value}")
        return "; ".join(reasons) or None

    def __reduce__(self) -> tuple[object, ...]:
        return AssignmentPlace.find, (self.find(),)  # so that the document is not pickled


class _Reader:
    """Reads the assignments and declarations of one document."""

    def __init__(self, root: TomlTable, expressions: ExpressionParser, kind: OriginKind) -> None:
        self.root = root
        self.expressions = expressions
        self.kind = kind
        self.assignments: list[Assignment] = []
        self._counted_globs = 0
        self.declared: dict[str, InstanceDeclaration] = {}
        self.inherited: dict[str, Callable[[], Span]] = {}

    def when(self, table: TomlTable) -> None:
        """Read one `[[when]]`."""
        if "if" not in table.check_keys(_WHEN_KEYS, "when"):
            table.require("if", """write the condition, as in if = 'power.source == "battery"'""")
        help = """write the condition in quotes, as in if = 'power.source == "battery"'"""
        condition = read_expression(table, "if", self.expressions, ExpressionType.BOOL, help)
        if condition is not None and len(table.data) == 1 and table.own_span().line < self._last_own_line:
            message = f"{table.header} has a condition, but no settings"
            help = "write [when.options.BACKEND] below it; the options in [options.BACKEND] have no condition"
            table.report("missing-key", message, table.own_span(), help)
        self.overlay(table, condition)

    @cached_property
    def _last_own_line(self) -> int:
        """The last line with settings of the document itself, which no `[[when]]` contains; 0 if none."""
        document = self.root.document
        starts = [at.key_start for path, at in document.positions.items() if path[0] in _WHEN_KEYS]
        return document.source.line_and_column(max(starts))[0] if starts else 0

    def overlay(self, table: TomlTable, condition: Expression | None) -> None:
        """Read `options`, `methods` and `instances` of `table`, in merge order."""
        self.options(table, condition)
        if methods := table.table("methods"):
            entries = methods.tables("write [methods.METHOD.options.BACKEND]")
            _check_names(methods, "method")
            self.methods(sorted(entries, key=lambda item: not is_glob(item[0])), condition)
        if instances := table.table("instances"):
            _check_names(instances, "instance")
            for name, entry in instances.tables("write [instances.NAME]"):
                if table is self.root:
                    self.declare(name, entry)
                entry.check_keys(("method", "options") if table is self.root else ("options",), "instance")
                declaration = self.declared.get(name)
                method = None if declaration is None else declaration.method
                if method is None:
                    self.inherited.setdefault(name, partial(instances.key_span, name))
                self.options(entry, condition, method=method, instance=name)

    def methods(self, entries: Sequence[tuple[str, TomlTable]], condition: Expression | None) -> None:
        """Read the options of methods, the globs first; of two globs, the glob on the later line wins."""
        start = len(self.assignments)
        for name, entry in entries:
            entry.check_keys(("options",), "method")
            self.options(entry, condition, method=name)
        if len(entries) == 1:
            return
        globs = [name for name, _ in entries if is_glob(name)]
        if len(globs) > 1 and not self._is_in_line_order(globs):
            # by the text of the option's name, since a table may be continued below another one
            self.assignments[start:] = sorted(self.assignments[start:], key=_order_of_methods)

    def _is_in_line_order(self, globs: Sequence[str]) -> bool:
        """True if each glob is certainly written once, so that TOML's order is the order of the lines."""
        text = self.root.document.source.text
        self._counted_globs += len(globs)
        is_worth_counting = self._counted_globs <= _MAX_COUNTED_GLOBS and "\\" not in text
        return is_worth_counting and all(text.count(glob) == 1 for glob in globs)

    def declare(self, name: str, entry: TomlTable) -> None:
        """Record an instance with its method; without a method it refers to an inherited declaration."""
        method = entry.string("method")
        if method is None:
            return
        if not is_name_of("method", method) or is_glob(method):
            message = f"instance {name!r} needs the name of one method, and {method!r} is not one"
            entry.report("invalid-name", message, entry.value_span("method"), NAME_RULES["method"])
        self.declared[name] = InstanceDeclaration(name, method, partial(entry.value_span, "method"))

    def options(
        self,
        entry: TomlTable,
        condition: Expression | None,
        *,
        method: str | None = None,
        instance: str | None = None,
    ) -> None:
        """Read the table `options` of `entry`, which is for methods, an instance, or all of them."""
        options = entry.table("options")
        if options is None:
            return
        _check_names(options, "backend")
        for backend, table in options.tables("write [{table}.BACKEND] above the options of a backend"):
            _check_names(table, "option")
            for option, raw in table.data.items():
                value = raw if type(raw) in _SCALARS else self.value(table, option, raw)
                if value is not None:
                    path = OptionPath(backend, option, method, instance)
                    place = _PlaceInDocument(table, option, self.kind, condition, value)
                    self.assignments.append(Assignment(path, value, place, condition))

    def value(self, table: TomlTable, option: str, raw: object) -> RawValue | Expression | Unset | None:
        """Return the value of the option; None if it is wrong, which is reported."""
        if isinstance(raw, dict) and ("expr" in raw or "unset" in raw):
            return self.special_value(TomlTable(table.document, (*table.path, option), raw, table.problems))
        if option == "when" and _has_condition(raw):
            TomlTable(table.document, table.path, {option: raw}, table.problems).check_keys((), "backend")
            return None
        if _is_raw_value(raw):
            return cast(RawValue, raw)
        message = f"{option!r} is a date or time, which no option accepts"
        table.report("wrong-type", message, table.value_span(option), "write it as a string")
        return None

    def special_value(self, table: TomlTable) -> Expression | Unset | None:
        """Read `{ expr = "..." }` or `{ unset = true }`."""
        meaning = "expr" if "expr" in table.data else "unset"
        if len(table.data) > 1:
            table.check_keys((meaning,), "value")
        if meaning == "expr":
            help = f"write the value itself: {table.path[-1]} = ..., or an expression in quotes"
            return read_expression(table, "expr", self.expressions, help=help)
        if table.data["unset"] is not True:
            self.wrong_unset(table)
        return UNSET

    def wrong_unset(self, table: TomlTable) -> None:
        """Report `{ unset = ... }` with something else than true."""
        message, span = f"{table.name + '.unset'!r} must be true", table.value_span("unset")
        value = table.data["unset"]
        is_meant = value == 1 or (isinstance(value, str) and value.casefold() in ("true", "yes"))
        help = "write true" if is_meant else "remove the key to set nothing"
        fix = Rewriting((span.underlined or "").strip("\"'"), "true").at(span) if is_meant else None
        table.report("wrong-type", message, span, help, fix)


def _order_of_methods(assignment: Assignment) -> tuple[bool, int]:
    """Return the place of an assignment to methods in the merge order: globs by line, then exact names."""
    assert assignment.path.method is not None
    assert isinstance(assignment.place, _PlaceInDocument)
    is_exact = not is_glob(assignment.path.method)
    return is_exact, 0 if is_exact else assignment.place.offset


def _check_names(table: TomlTable, role: str) -> None:
    """Report keys that are not allowed as names for a `role`: method, instance, backend or option."""
    for key in table.data:
        if key.isascii() and key.isidentifier():  # nearly all; `is_name_of` would say the same
            continue
        if not is_name_of(role, key):
            message = f"{key!r} cannot be the name of {'an' if role[0] in 'io' else 'a'} {role}"
            table.report("invalid-name", message, table.key_span(key), NAME_RULES[role])


def _has_condition(value: object) -> bool:
    """Return True for a table `when` that is written below a backend."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and {"if", "options"} & item.keys() for item in items)


def _is_raw_value(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_raw_value, value))
    if isinstance(value, dict):
        return all(map(_is_raw_value, value.values()))
    return type(value) in _SCALARS


MAX_GUESSED = 100
"""The most unknown facts of a table for which is looked what they mean."""


def _dotted(name: str, value: object) -> str:
    """Return the dotted name that the first keys of nested tables make."""
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        name = f"{name}.{key}"
    return name


def read_facts(root: TomlTable, registry: FactRegistry, kind: OriginKind) -> Mapping[str, Sourced[object]]:
    """Read the checked values of the table `facts` below `root`; problems go to `root.problems`."""
    table = root.table("facts")
    if table is None:
        return {}
    values: dict[str, object] = {}
    unknown = 0
    for name, value in table.data.items():
        if isinstance(value, dict):
            message = f"[{table.name}] contains the table {name!r}, but a fact is one value"
            meant = _dotted(name, value)
            table.report(
                "wrong-type", message, table.key_span(name), f'quote its whole name: "{meant}" = ...'
            )
            continue
        info = registry.get(name)
        if info is None:
            is_one_of_many = unknown >= MAX_GUESSED
            unknown += 1
            problem = unknown_fact(name, registry, table.key_span(name), is_one_of_many=is_one_of_many)
            table.add(problem)
            continue
        try:
            values[name] = info.check(value)
        except ValueError as error:
            table.add(invalid_value(name, info, value, error, table.value_span(name)))
    return _HandSetFacts(values, table, kind)


class _HandSetFacts(Mapping[str, Sourced[object]]):
    """The facts of one table. Their positions are found on demand."""

    def __init__(self, values: Mapping[str, object], table: TomlTable, kind: OriginKind) -> None:
        self._values = values
        self._table = table
        self._kind = kind

    def __getitem__(self, name: str) -> Sourced[object]:
        value, span = self._values[name], self._table.key_span(name)
        return Sourced(value, Origin(self._kind, span.file, span.line, span.column))

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
