"""`Settings`: what profiles and project files have in common, read from TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import cast

from etconfig.diagnostics import Span
from etconfig.errors import ProfileError
from etconfig.facts.registry import FactRegistry
from etconfig.option_path import OptionPath
from etconfig.profile.expression import Expression, ExpressionType, parse_expression
from etconfig.profile.hand_set_facts import read_facts
from etconfig.profile.layer import UNSET, Assignment, InstanceDeclaration, Layer, RawValue, Unset
from etconfig.profile.names import NAME_RULES, is_glob, is_name_of
from etconfig.profile.table import Table
from etconfig.provenance import Origin, OriginKind, Sourced
from etconfig.records import record

SETTINGS_KEYS = ("facts", "options", "methods", "instances", "when")
"""The keys at the root of a document that `read_settings` reads."""

_WHEN_KEYS = ("if", "options", "methods", "instances")


@record(frozen=True, kw_only=True)
class Settings:
    """The settings of one document.

    Attributes:
        assignments: In merge order: `options`, `methods` (globs first), `instances`, then each `[[when]]`
            in document order, with the same order inside. Where `path.instance` is set, `path.method` is
            None until `to_layer` fills it in, since an inherited profile may declare the instance.
        instances: The named instances that the document declares.
        facts: Its hand-set facts, by name.
        instance_spans: Every instance that it mentions, and where it does so first.
    """

    assignments: tuple[Assignment, ...] = ()
    instances: tuple[InstanceDeclaration, ...] = ()
    facts: Mapping[str, Sourced[object]] = field(default_factory=dict)
    instance_spans: Mapping[str, Span] = field(default_factory=dict)

    def to_layer(self, kind: OriginKind, name: str, methods: Mapping[str, str]) -> Layer:
        """The settings as a layer; `methods` gives the method of every instance in `instance_spans`."""
        assignments = (
            replace(a, path=replace(a.path, method=methods[a.path.instance])) if a.path.instance else a
            for a in self.assignments
        )
        return Layer(
            kind=kind,
            name=name,
            assignments=tuple(assignments),
            instances=self.instances,
            facts=self.facts,
        )


def read_settings(root: Table, registry: FactRegistry, kind: OriginKind) -> Settings:
    """Read the tables `SETTINGS_KEYS` below `root`; problems go to `root.problems`."""
    reader = _Reader(root, registry, kind)
    assignments = list(reader.overlay(root, None))
    for when in root.array_of_tables("when"):
        assignments += reader.when(when)
    return Settings(
        assignments=tuple(assignments),
        instances=tuple(reader.declarations),
        facts=dict(read_facts(root, registry, kind)),
        instance_spans=reader.instance_spans,
    )


def read_expression(
    table: Table, key: str, registry: FactRegistry, expect: ExpressionType | None = None
) -> Expression | None:
    """The expression in the string at `key`; None, with problems, if it is wrong."""
    text = table.string(key)
    if text is None:
        return None
    try:
        return parse_expression(text, registry, span=table.value_span(key), expect=expect)
    except ProfileError as error:
        table.problems.extend(error.diagnostics)
        return None


@record(frozen=True)
class _Scope:
    """What all assignments of one table share."""

    condition: Expression | None
    method: str | None = None
    instance: str | None = None
    span: Span | None = None


class _Reader:
    """Reads the assignments and declarations of one document."""

    def __init__(self, root: Table, registry: FactRegistry, kind: OriginKind) -> None:
        self.root = root
        self.registry = registry
        self.kind = kind
        self.declarations: list[InstanceDeclaration] = []
        self.instance_spans: dict[str, Span] = {}

    def when(self, table: Table) -> Iterator[Assignment]:
        """The assignments of one `[[when]]`."""
        table.check_keys(_WHEN_KEYS)
        table.require("if", """write the condition, as in if = 'power.source == "battery"'""")
        condition = read_expression(table, "if", self.registry, ExpressionType.BOOL)
        return self.overlay(table, condition)

    def overlay(self, table: Table, condition: Expression | None) -> Iterator[Assignment]:
        """The assignments in `options`, `methods` and `instances` of `table`, in merge order."""
        scope = _Scope(condition)
        if options := table.table("options"):
            yield from self.options(options, scope)
        if methods := table.table("methods"):
            entries = methods.tables("write [methods.METHOD.options.BACKEND]")
            for name, entry in sorted(entries, key=lambda item: not is_glob(item[0])):
                _check_name(methods, name, "method")
                _check_entry_keys(entry, ("options",))
                yield from self.entry_options(entry, replace(scope, method=name, span=methods.key_span(name)))
        if instances := table.table("instances"):
            for name, entry in instances.tables("write [instances.NAME]"):
                self.instance_spans.setdefault(name, instances.key_span(name))
                _check_name(instances, name, "instance")
                if table is self.root:
                    self.declare(name, entry)
                _check_entry_keys(entry, ("method", "options") if table is self.root else ("options",))
                yield from self.entry_options(
                    entry, replace(scope, instance=name, span=instances.key_span(name))
                )

    def declare(self, name: str, entry: Table) -> None:
        """Note an instance with its method; one without only refers to an inherited declaration."""
        method = entry.string("method")
        if method is None:
            return
        span = entry.value_span("method")
        if not is_name_of("method", method) or is_glob(method):
            message = f"instance {name!r} needs the name of one method, but {method!r} is none"
            entry.report("invalid-name", message, span, NAME_RULES["method"])
        declaration = InstanceDeclaration(name=name, method=method, origin=self.origin(span), span=span)
        self.declarations.append(declaration)

    def entry_options(self, entry: Table, scope: _Scope) -> Iterator[Assignment]:
        """The options of one method or instance."""
        if options := entry.table("options"):
            yield from self.options(options, scope)

    def options(self, options: Table, scope: _Scope) -> Iterator[Assignment]:
        """The options of every backend in a table `options`."""
        for backend, table in options.tables(
            f"write [{options.name}.BACKEND] above the options of a backend"
        ):
            _check_name(options, backend, "backend")
            backend_span = options.key_span(backend)
            for option in table.data:
                _check_name(table, option, "option")
                value = self.value(table, option)
                if value is not None:
                    path = OptionPath(backend, option, scope.method, scope.instance)
                    yield self.assignment(table, path, value, scope, backend_span)

    def assignment(
        self,
        table: Table,
        path: OptionPath,
        value: RawValue | Expression | Unset,
        scope: _Scope,
        backend_span: Span,
    ) -> Assignment:
        """One option; the origin says why it holds and how it is computed."""
        reasons = [] if scope.condition is None else [f"when {scope.condition}"]
        if isinstance(value, Expression):
            reasons.append(f"expr {value}")
        key_span = table.key_span(path.option)
        return Assignment(
            path=path,
            value=value,
            origin=self.origin(key_span, "; ".join(reasons) or None),
            span=table.value_span(path.option),
            key_span=key_span,
            backend_span=backend_span,
            scope_span=scope.span,
            condition=scope.condition,
        )

    def value(self, table: Table, option: str) -> RawValue | Expression | Unset | None:
        """What the option is set to; None, with problems, if that is wrong."""
        raw = table.data[option]
        if isinstance(raw, dict) and ("expr" in raw or "unset" in raw):
            return self.special_value(replace(table, path=(*table.path, option), data=raw))
        if _is_raw_value(raw):
            return cast(RawValue, raw)
        message = f"{option!r} holds a date or time, which no option takes"
        table.report("wrong-type", message, table.value_span(option), "write it as a string")
        return None

    def special_value(self, table: Table) -> Expression | Unset | None:
        """The meaning of `{ expr = "..." }` or `{ unset = true }`."""
        meaning = "expr" if "expr" in table.data else "unset"
        table.check_keys(
            (meaning,), dict.fromkeys(table.data, f"a table with {meaning!r} holds nothing else")
        )
        if meaning == "expr":
            return read_expression(table, "expr", self.registry)
        if table.data["unset"] is not True:
            message = f"{table.name + '.unset'!r} must be true"
            table.report("wrong-type", message, table.value_span("unset"), "remove the key to set nothing")
        return UNSET

    def origin(self, span: Span, detail: str | None = None) -> Origin:
        return Origin(self.kind, span.file, span.line, span.column, detail)


def _check_entry_keys(entry: Table, known: tuple[str, ...]) -> None:
    """Report unknown keys of a method or an instance, and what was probably meant."""
    hints = {
        key: f"write [{entry.name}.options.{key}]"
        for key, value in entry.data.items()
        if isinstance(value, dict)
    }
    hints["method"] = "only [instances.NAME] names a method, outside [[when]]"
    entry.check_keys(known, hints)


def _check_name(table: Table, key: str, role: str) -> None:
    """Report a key that cannot be the name of a method, instance, backend or option, as `role` says."""
    if not is_name_of(role, key):
        message = f"{key!r} cannot be the name of {'an' if role[0] in 'io' else 'a'} {role}"
        table.report("invalid-name", message, table.key_span(key), NAME_RULES[role])


def _is_raw_value(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_raw_value, value))
    if isinstance(value, dict):
        return all(map(_is_raw_value, value.values()))
    return isinstance(value, (bool, int, float, str))
