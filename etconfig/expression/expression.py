"""`Expression`: a parsed and checked expression, to be evaluated on the facts of a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import ProfileError
from etconfig.expression.checked import Checked, Logic, fact_names, shares_in
from etconfig.expression.compiler import Evaluator, compile_tree
from etconfig.expression.types import ExpressionType
from etconfig.facts.registry import HIDDEN_FACTS, HIDDEN_VALUE, FactRegistry

if TYPE_CHECKING:
    from etconfig.expression.expression_source import ExpressionSource

_FOREIGN_WORD = re.compile(r"\b(?:true|false|none|null|nil|undefined|not|i?if)\b", re.IGNORECASE)
"""Words of other languages that are names in this one."""

_SHOWN_CHARACTERS = 80
MAX_EXPLAINED = 200
"""The most wrong expressions of one file that are explained; others have their first problem, and no fix."""

_MAX_KNOWN = 1024
"""The most expressions that a parser remembers."""


@record(frozen=True)
class Unknown:
    """The result of an expression that needs facts which are not known on this device.

    Attributes:
        missing: The names of these facts, sorted.
    """

    missing: tuple[str, ...]

    def __bool__(self) -> NoReturn:
        raise TypeError("an unknown result is neither true nor false; test `result is True`")


@record(frozen=True)
class Fault:
    """The result of an expression that cannot be computed: it divides by zero or exceeds 64 bits.

    Attributes:
        reason: The failure, such as `7 / 0 divides by zero`.
    """

    reason: str

    def __bool__(self) -> NoReturn:
        raise TypeError("a failed computation is neither true nor false; test `result is True`")


EvaluationResult: TypeAlias = (
    "bool | int | float | str | list[bool] | list[int] | list[float] | list[str] | Unknown | Fault"
)
"""The result of an evaluation: a value of the expression's type, or why there is none."""


@record(frozen=True)
class ClauseResult:
    """The result of one clause of a condition. Clauses are the operands of the outermost `&&`.

    Attributes:
        text: The clause, as written.
        result: True, False, `Unknown` or `Fault`; the value if the expression is not a condition.
        facts: The facts that the clause reads, by name; None for unknown ones.
        hidden: The names of facts whose values identify the device, and so are not explained.
    """

    text: str
    result: EvaluationResult
    facts: Mapping[str, object]
    hidden: frozenset[str] = field(default=HIDDEN_FACTS, compare=False, repr=False)

    @property
    def verdict(self) -> str:
        """The result in a sentence, which is the same on all devices that have it."""
        if isinstance(self.result, Unknown):
            return f"{self.text} is unknown: {_not_known(self.result)}"
        if isinstance(self.result, Fault):
            return f"{self.text} has no value: {self.result.reason}"
        if isinstance(self.result, bool):
            return f"{self.text} {'holds' if self.result else 'does not hold'}"
        return f"{self.text} is {_shown(self.result)}"

    @property
    def explanation(self) -> str:
        """The result and its reason, in a sentence."""
        if not self.facts or isinstance(self.result, (Unknown, Fault)):
            return self.verdict
        facts = " and ".join(f"{name} is {self._shown(name, value)}" for name, value in self.facts.items())
        return f"{self.verdict}: {facts}"

    def _shown(self, name: str, value: object) -> str:
        return HIDDEN_VALUE if name in self.hidden and value is not None else _shown(value)


CheckedCondition: TypeAlias = "tuple[Checked, tuple[str, ...]]"
"""The checked tree of a condition, and the texts of its clauses."""

CheckedValue: TypeAlias = "tuple[ExpressionType, Checked]"
"""The type and the checked tree of an expression that is not a condition."""


@record(frozen=True)
class Expression:
    """A checked expression. Two are equal if their texts are, wherever they are written.

    Attributes:
        source: The text.
        find_span: Finds its place.
        type: The type of its value.
        tree: Its checked tree.
        clause_texts: The operands of the outermost `&&`, or the whole text if there is none.
        hidden: The names of facts in it whose values identify the device, and so are not explained.
    """

    source: str
    find_span: Callable[[], Span] = field(compare=False, repr=False)
    type: ExpressionType = field(compare=False)
    tree: Checked = field(compare=False, repr=False)
    clause_texts: tuple[str, ...] = field(compare=False, repr=False)
    hidden: frozenset[str] = field(default=HIDDEN_FACTS, compare=False, repr=False)

    def __str__(self) -> str:
        return self.source

    def __reduce__(self) -> tuple[object, ...]:
        # closures do not pickle; the tree does, and is compiled again on demand
        return _restored, (self.source, self.span, self.type, self.tree, self.clause_texts, self.hidden)

    @cached_property
    def span(self) -> Span:
        """Its place in the document."""
        return self.find_span()

    def found_at(self, find_span: Callable[[], Span]) -> Expression:
        """Return the same expression at another place."""
        return Expression(self.source, find_span, self.type, self.tree, self.clause_texts, self.hidden)

    @cached_property
    def facts(self) -> frozenset[str]:
        """The names of all facts that it mentions."""
        return frozenset(fact_names(self.tree))

    @cached_property
    def shares(self) -> frozenset[str]:
        """The resources of which it takes a share, so that each instance has a value of its own."""
        return shares_in(self.tree) if "share" in self.source else frozenset()

    @cached_property
    def _evaluator(self) -> Evaluator:
        return compile_tree(self.tree)

    def evaluate(self, facts: Mapping[str, object]) -> EvaluationResult:
        """Evaluate the expression on a device with these facts.

        Args:
            facts: The values of the known facts, each of its registered type; others are unknown.

        Returns:
            A value of the expression's type, `Unknown` when facts are missing that decide it, or `Fault`
            when it cannot be computed. A missing fact takes precedence over a fault.
        """
        return _run(self._evaluator, facts)

    def holds(self, facts: Mapping[str, object]) -> bool:
        """Return True if the expression is a condition that is true, neither unknown nor a fault."""
        try:
            return self._evaluator(facts) is True
        except (KeyError, ArithmeticError):
            return False

    def explain(self, facts: Mapping[str, object]) -> tuple[ClauseResult, ...]:
        """Return the result of each clause on a device with these facts, in the order of the text."""
        trees = (
            self.tree.operands
            if len(self.clause_texts) > 1 and isinstance(self.tree, Logic)
            else (self.tree,)
        )
        return tuple(
            ClauseResult(
                text,
                _run(compile_tree(tree), facts),
                {name: facts.get(name) for name in fact_names(tree)},
                self.hidden,
            )
            for text, tree in zip(self.clause_texts, trees, strict=True)
        )

    def failure(self, result: Unknown | Fault) -> Diagnostic:
        """Return the diagnostic for a value that was needed, but is unknown or a fault."""
        shown = repr(self.source) if len(self.source) <= _SHOWN_CHARACTERS else "the expression"
        if isinstance(result, Fault):
            message = f"{shown} has no value: {result.reason}"
            return Diagnostic(code="evaluation-failed", message=message, spans=(self.span,))
        return Diagnostic(
            code="unknown-fact-value",
            message=f"{shown} has no value: {_not_known(result)}",
            spans=(self.span,),
            help=f"guard it, as in has({result.missing[0]}) ? ... : ..., or set the fact by hand",
        )


def parse_expression(
    text: str, registry: FactRegistry, *, span: Span | None = None, expect: ExpressionType | None = None
) -> Expression:
    """Parse and check an expression.

    Args:
        text: The expression.
        registry: The facts that it may name.
        span: The place of the TOML string that contains it; diagnostics point inside. None if the text
            stands for itself.
        expect: The type that its value must have; any if None.

    Raises:
        ProfileError: with the one problem of its grammar, or all problems of its names and types.
    """
    from etconfig.expression.expression_source import ExpressionSource

    source = ExpressionSource(text, span or Span(file="expression", length=max(1, len(text)), text=text))
    try:
        return _parsed(source, registry, expect)
    except ProfileError as error:
        from etconfig.mistakes.expression.diagnosis import diagnose, with_valid_fixes

        def check(respelled: ExpressionSource) -> tuple[Diagnostic, ...]:
            try:
                _parsed(respelled, registry, expect)
            except ProfileError as problems:
                return problems.diagnostics
            return ()

        found = error.diagnostics
        if isinstance(error, _GrammarError) or _FOREIGN_WORD.search(text):
            found = diagnose(source, found, check)
        raise ProfileError(diagnostics=with_valid_fixes(source, found, check)) from error


class _GrammarError(ProfileError):
    """The text breaks the grammar."""


def _parsed(
    source: ExpressionSource,
    registry: FactRegistry,
    expect: ExpressionType | None,
    *,
    is_explained: bool = True,
) -> Expression:
    # most commands meet only conditions that were checked ahead of time
    from etconfig.expression.checker import Checker
    from etconfig.expression.parser import parse
    from etconfig.expression.syntax import Logical

    try:
        node = parse(source)
    except ProfileError as error:
        raise _GrammarError(diagnostics=error.diagnostics) from error
    is_condition = expect is ExpressionType.BOOL
    checker = Checker(source, registry, is_explained=is_explained, is_condition=is_condition)
    owner = "a condition" if is_condition else "this place"
    typed = checker.check(node) if expect is None else checker.check_as(node, expect, owner)
    if typed is None or checker.problems:
        raise ProfileError(diagnostics=tuple(checker.problems))
    clauses = node.operands if isinstance(node, Logical) and node.operator == "&&" else (node,)
    texts = tuple(source.text[clause.start : clause.end] for clause in clauses)
    span = source.span
    named = ((name, registry.get(name)) for name in fact_names(typed.tree))
    hidden = frozenset(name for name, info in named if info is not None and info.is_identifying)
    return Expression(source.text, lambda: span, typed.type, typed.tree, texts, hidden)


def _parse_quickly(text: str, registry: FactRegistry, expect: ExpressionType | None) -> Expression:
    """Do the same as `parse_expression`, without a diagnosis of what is wrong."""
    from etconfig.expression.expression_source import ExpressionSource

    source = ExpressionSource(text, Span(file="expression"))
    return _parsed(source, registry, expect, is_explained=False)


def _restored(
    source: str,
    span: Span,
    type_: ExpressionType,
    tree: Checked,
    clause_texts: tuple[str, ...],
    hidden: frozenset[str],
) -> Expression:
    return Expression(source, lambda: span, type_, tree, clause_texts, hidden)


class ExpressionParser:
    """Parses the expressions of many documents, each text once.

    Attributes:
        registry: The facts that expressions may name.
        checked: Conditions that were checked ahead of time, by their texts.
        checked_values: Other expressions that were checked ahead of time, by their texts.
    """

    def __init__(
        self,
        registry: FactRegistry,
        checked: Mapping[str, CheckedCondition] | None = None,
        checked_values: Mapping[str, CheckedValue] | None = None,
    ) -> None:
        self.registry = registry
        self.checked = checked or {}
        self.checked_values = checked_values or {}
        self._explained: dict[str, dict[tuple[int, int], tuple[str, tuple[Diagnostic, ...]]]] = {}
        self._failed: dict[tuple[str, ExpressionType | None], ProfileError] = {}
        self._known = lru_cache(_MAX_KNOWN)(partial(_parse_quickly, registry=registry))

    def __reduce__(self) -> tuple[object, ...]:
        return ExpressionParser, (self.registry, self.checked, self.checked_values)

    def parse(
        self, text: str, find_span: Callable[[], Span], expect: ExpressionType | None = None
    ) -> Expression:
        """Parse an expression as `parse_expression` does.

        Args:
            text: The expression.
            find_span: Finds the place of the TOML string that contains it; called on demand.
            expect: The type that its value must have; any if None.

        Raises:
            ProfileError: as from `parse_expression`.
        """
        if expect is ExpressionType.BOOL and text in self.checked:
            return Expression(text, find_span, expect, *self.checked[text])
        if expect is None and text in self.checked_values:
            return Expression(text, find_span, *self.checked_values[text], (text,))
        failure = self._failed.get((text, expect))
        if failure is None:
            try:
                return self._known(text, expect=expect).found_at(find_span)
            except ProfileError as error:
                failure = error
        span = find_span()
        if span.file not in self._explained:
            self._failed = {}
        self._failed[text, expect] = failure.with_traceback(None)
        return self._explain(text, span, expect, failure)

    def _explain(
        self, text: str, span: Span, expect: ExpressionType | None, error: ProfileError
    ) -> Expression:
        """Parse once more, so that the problems point into the document.

        The first `MAX_EXPLAINED` wrong expressions of a file are explained; the problems of others point to
        the whole text. All are remembered: a file with mistakes is read twice, with the same problems.

        Raises:
            ProfileError: always.
        """
        known = self._explained.setdefault(span.file, {})
        if len(self._explained) > 1:
            self._explained = {span.file: known}
        place = (span.line, span.column)
        if place not in known and len(known) >= MAX_EXPLAINED:
            problems = (replace(each, spans=(span,), fix=None) for each in error.diagnostics)
            known[place] = (text, tuple(problems))
        if place not in known or known[place][0] != text:
            try:
                return parse_expression(text, self.registry, span=span, expect=expect)
            except ProfileError as error:
                known[place] = (text, error.diagnostics)
        raise ProfileError(diagnostics=known[place][1])


def _run(evaluator: Evaluator, facts: Mapping[str, object]) -> EvaluationResult:
    try:
        value: Any = evaluator(facts)
    except KeyError as missing:
        return Unknown(tuple(sorted(set(missing.args))))
    except ArithmeticError as error:
        return Fault(str(error))
    return list(value) if isinstance(value, tuple) else value


def _not_known(result: Unknown) -> str:
    verb = "is" if len(result.missing) == 1 else "are"
    return f"{' and '.join(result.missing)} {verb} not known on this device"


def _shown(value: object) -> str:
    """Return a fact's value as it would be written in an expression."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
