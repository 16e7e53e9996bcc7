"""`AdviceReader`: the advice of backends, parsed and checked, for the resolver and others to evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import PluginCallError, ProfileError
from etconfig.expression import Expression, ExpressionParser, ExpressionType, Fault, Unknown
from etconfig.profile.bundled_conditions import bundled_parser
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.expression_types import fits_type
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import Advice, BackendSpec
from etconfig.schema.validate import check_value, find_option

if TYPE_CHECKING:
    from etconfig.facts.registry import FactRegistry

_MAX_KNOWN = 256


@record(frozen=True, kw_only=True)
class CheckedAdvice:
    """One entry of a backend's advice: its texts are parsed, name known facts and fit the option.

    Attributes:
        info: The option.
        value: The expression that gives the recommended value.
        condition: The condition under which it is recommended, or None.
        reason: Why, in a sentence; empty if the vendor gives no reason.
        origin: The origin of values that it gives, with the condition and the expression.
        literal: The value, if it is the same on every device and the option accepts it; else None.
    """

    info: OptionInfo
    value: Expression
    condition: Expression | None
    reason: str
    origin: Origin
    literal: Sourced[object] | None = None

    @property
    def facts(self) -> frozenset[str]:
        """The facts that the entry reads."""
        return self.value.facts | (self.condition.facts if self.condition is not None else frozenset())


AdviceEntries: TypeAlias = "tuple[CheckedAdvice, ...]"
"""The advice of a backend in the order of its declaration: of one option, the first that applies decides."""


class AdviceReader:
    """Parses the advice of backends and checks its names and types, each backend's once.

    Attributes:
        registry: The facts that expressions may name.
    """

    def __init__(self, registry: FactRegistry) -> None:
        self.registry = registry
        self._known: dict[object, tuple[AdviceEntries, tuple[Diagnostic, ...]]] = {}

    def read(self, spec: BackendSpec) -> tuple[AdviceEntries, tuple[Diagnostic, ...]]:
        """Return the entries that are right, and the problems of the others."""
        key = (spec.id, spec.options, tuple(spec.advice))
        if key in self._known:
            return self._known[key]
        entries: list[CheckedAdvice] = []
        problems: list[Diagnostic] = []
        for entry in spec.advice:
            found = self._checked(spec, entry)
            if isinstance(found, CheckedAdvice):
                entries.append(found)
            else:
                problems += found
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        result = self._known[key] = tuple(entries), tuple(problems)
        return result

    def entries(self, spec: BackendSpec) -> AdviceEntries:
        """Return the checked entries of a backend.

        Raises:
            PluginCallError: an entry is wrong. Plugins with such entries are refused when they are loaded.
        """
        if not spec.advice:
            return ()
        entries, problems = self.read(spec)
        if problems:
            raise PluginCallError(
                group="etconfig.backends",
                name=spec.id,
                call="advice",
                cause=str(problems[0]),
                help=problems[0].help or "correct the entry",
            )
        return entries

    def _checked(self, spec: BackendSpec, entry: Advice) -> CheckedAdvice | Sequence[Diagnostic]:
        info, problem = find_option(spec, entry.option)
        if info is None or info.name != entry.option:
            assert problem is not None
            return [problem.to_diagnostic(_span(spec, entry, entry.option))]
        problems: list[Diagnostic] = []
        condition = value = None
        try:
            if entry.when is not None:
                condition = self._parsed(spec, entry, entry.when, ExpressionType.BOOL)
        except ProfileError as error:
            problems += error.diagnostics
        try:
            value = self._parsed(spec, entry, entry.expr)
        except ProfileError as error:
            problems += error.diagnostics
        if value is not None and value.shares:
            message = "a recommendation takes no share of a budget"
            problems.append(Diagnostic(code="expression-type", message=message, spans=(value.span,)))
        elif value is not None and not fits_type(info.type, value.type):
            from etconfig.mistakes.assignments import expression_problem

            problems.append(replace(expression_problem(spec, info, value), fix=None))
        if problems or value is None:
            return problems
        # in the words that origins in profiles use
        detail = f"expr {entry.expr}" if entry.when is None else f"when {entry.when}; expr {entry.expr}"
        origin = Origin(OriginKind.RECOMMENDATION, spec.id, detail=detail)
        return CheckedAdvice(
            info=info,
            value=value,
            condition=condition,
            reason=entry.reason,
            origin=origin,
            literal=None if value.facts else _literal(spec, info, value, origin),
        )

    def _parsed(
        self, spec: BackendSpec, entry: Advice, text: str, expect: ExpressionType | None = None
    ) -> Expression:
        return self._parser.parse(text, lambda: _span(spec, entry, text), expect)

    @cached_property
    def _parser(self) -> ExpressionParser:
        return bundled_parser(self.registry)


def _span(spec: BackendSpec, entry: Advice, text: str) -> Span:
    """Return the place of a text of an entry: the text itself, since code has no positions here."""
    line = text.partition("\n")[0]
    return Span(file=f"advice on {spec.id}.{entry.option}", length=max(1, len(line)), text=line)


def advised(
    spec: BackendSpec, info: OptionInfo, entries: Sequence[CheckedAdvice], device: DeviceView
) -> Sourced[object] | None:
    """Return the recommended value of an option on a device, or None if no entry applies.

    The first entry applies whose condition holds and whose value is known. If its value cannot be computed,
    or the option does not accept it, the value is a diagnostic.

    Args:
        spec: The backend.
        info: The option.
        entries: The entries of the option.
        device: The device.
    """
    for entry in entries:
        if entry.condition is not None and not device.meets(entry.condition):
            continue
        if entry.literal is not None:
            return entry.literal
        result = entry.value.evaluate(device.values)
        if isinstance(result, Unknown):
            continue
        return Sourced(_accepted(spec, info, entry, result, device), entry.origin)
    return None


def _literal(
    spec: BackendSpec, info: OptionInfo, expression: Expression, origin: Origin
) -> Sourced[object] | None:
    """Return the value of an expression without facts, if the option accepts it."""
    result = expression.evaluate({})
    value = None if isinstance(result, (Unknown, Fault)) else check_value(spec, info, result)
    return None if value is None or isinstance(value, OptionProblem) else Sourced(value, origin)


def _accepted(
    spec: BackendSpec, info: OptionInfo, entry: CheckedAdvice, result: object, device: DeviceView
) -> object:
    """Return a computed value as one of the option, or a diagnostic."""
    if isinstance(result, Fault):
        return _blamed(spec, info, entry.value.failure(result))
    value = check_value(spec, info, result)
    if not isinstance(value, OptionProblem):
        return value
    from etconfig.mistakes.assignments import computed_value_problem  # most values are right

    return _blamed(spec, info, computed_value_problem(value, entry.value.span, entry.value, device.values))


def _blamed(spec: BackendSpec, info: OptionInfo, problem: Diagnostic) -> Diagnostic:
    """Return the problem of a recommendation, with what a user can do about it."""
    note = f"the plugin of {spec.id} recommends it"
    help = f"set {spec.id}.{info.name}, and report it to the plugin's author"
    return replace(problem, notes=(*problem.notes, note), help=help, fix=None)
