"""Problems of values and option paths, with the way out; imported only for texts that are wrong.

Values get the way out that only a document has: an expression, or no value at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from etconfig.base.option_path import parse_option_path
from etconfig.base.provenance import OriginKind
from etconfig.diagnostics import Diagnostic, Fix, Rewriting, Span, nearest, nearest_backend
from etconfig.expression import Expression, ExpressionType
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import shown_value
from etconfig.mistakes.option_values import toml_text
from etconfig.profile.layer import Assignment, TextValue
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.declaration import MISSING, OptionInfo
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec

_PLAIN_DEFAULT_WORDS = ("", "default", "unset")
"""The words that mean the default even where a number stands for a choice of the engine."""
_DEFAULT_WORDS = (*_PLAIN_DEFAULT_WORDS, "auto", "all", "none", "null", "nil")
_EXPRESSION_WORDS = frozenset(("exp", "expr", "expression", "eval", "formula", "computed"))
_NAME = re.compile(r"(?<![\w.])([a-z]\w*)\.[a-z0-9]\w*", re.ASCII)
_KEY = re.compile(r"\{\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*=")
_TABLES = (OptionKind.TABLE, OptionKind.RECORD)
_GIVEN_BY_HAND = (OriginKind.ENVIRONMENT, OriginKind.OVERRIDE)
_EXPRESSION_IN_PROFILE = "write expressions in a profile, as { expr = ... }"
_BOUND_HELP = "keep it in range with min and max, choose with a condition, or correct the fact"
_NO_ROUNDING = "there is no rounding of floats; compare, as in cpu.quota_cores < 2.0 ? 1 : 2"
_NO_FLOATS = "there are no floats of ints; compare, as in cpu.available_cores > 4 ? 1.0 : 0.5"
_PATH_HELP = "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options"
_EXAMPLES = {OptionKind.INTEGER: (2, 1), OptionKind.FLOAT: (1.0, 0.5)}
_SEPARATOR = re.compile(r"[\s./:\[\]]+")
_WORDS_FOR_TABLES = ("options", "methods", "instances")
_MAX_LENGTH = 200
_LISTED = 8


def value_problem(problem: OptionProblem, info: OptionInfo, assignment: Assignment) -> Diagnostic:
    """Return the diagnostic of a value that does not fit its option, at the place of what is wrong."""
    span = assignment.place.find_inside(problem.path, is_key=problem.is_key)
    found = problem.to_diagnostic(span)
    if problem.path:
        return found
    raw = assignment.value
    if isinstance(raw, TextValue):
        return _value_of_a_caller(found, info, raw.text)
    if assignment.place.find().origin.kind in _GIVEN_BY_HAND:
        return _value_of_a_caller(found, info, raw)
    if isinstance(raw, dict) and info.type.kind not in _TABLES:
        return _special_table(found, raw, span)
    if found.fix is None and _means_default(raw, info):
        return _without_value(found, info, raw)
    if isinstance(raw, str) and found.fix is None and names_a_fact(raw) and "{" not in raw:
        help = f"write {{ expr = {span.underlined or '...'} }}"
        return replace(found, help=help, fix=Rewriting(raw, "{ expr = {} }").at(found.spans[0]))
    return found


def _value_of_a_caller(found: Diagnostic, info: OptionInfo, raw: object) -> Diagnostic:
    """Advise for overrides, which have neither expressions nor `unset`."""
    if isinstance(raw, dict) and info.type.kind not in _TABLES:
        key = next(iter(raw), None) if len(raw) == 1 else None
        if key == "expr":
            return replace(found, help=_EXPRESSION_IN_PROFILE)
        if key == "unset" and _has_default(info):
            return replace(found, help=_leave_it_out(info, None))
        return replace(found, help="write the value itself")
    if (raw is None and _has_default(info)) or _means_default(raw, info):
        return replace(found, help=_leave_it_out(info, raw), fix=None)
    if isinstance(raw, str) and names_a_fact(raw):
        return replace(found, help=_EXPRESSION_IN_PROFILE, fix=None)
    return found


def _leave_it_out(info: OptionInfo, raw: object) -> str:
    own = _own_choice(info, raw)
    return f"leave it out for the value of the profile, else the default{_default_source(info)}{own}"


def _own_choice(info: OptionInfo, raw: object) -> str:
    """Return where to look for -1, by which an engine often chooses, and which is not the default."""
    if not isinstance(raw, str) or raw.strip().casefold() in _PLAIN_DEFAULT_WORDS:
        return ""
    if info.type.kind is not OptionKind.INTEGER or isinstance(coerce(info.type, -1), Mismatch):
        return ""
    return f", or write -1 if the description of {info.name} says that it means {raw.strip()}"


def _has_default(info: OptionInfo) -> bool:
    return info.from_fact is not None or info.default is not MISSING


def _means_default(raw: object, info: OptionInfo) -> bool:
    """True for words and numbers that stand for "whatever fits" elsewhere, if the option has a default."""
    if not _has_default(info) or info.type.kind is OptionKind.CHOICE:
        return False
    if isinstance(raw, str):
        return raw.strip().casefold() in _DEFAULT_WORDS
    return type(raw) is int and raw in (0, -1) and info.from_fact is not None


def _default_source(info: OptionInfo) -> str:
    return "" if info.from_fact is None else f", which follows {info.from_fact}"


def _without_value(found: Diagnostic, info: OptionInfo, raw: object) -> Diagnostic:
    fix, own, written = None, _own_choice(info, raw), found.spans[0].underlined or ""
    word = written.strip("\"'").strip().casefold()
    if written and not own and (word in _PLAIN_DEFAULT_WORDS or info.from_fact is not None):
        fix = Rewriting(written.strip("\"'"), "{ unset = true }").at(found.spans[0])
    return replace(
        found, help=f"write {{ unset = true }} for the default{_default_source(info)}{own}", fix=fix
    )


def computed_value_problem(
    problem: OptionProblem, span: Span, expression: Expression, facts: Mapping[str, object]
) -> Diagnostic:
    """Return the diagnostic of an expression whose value an option does not accept on a device.

    Args:
        problem: The problem of the value.
        span: The place of the expression.
        expression: The expression.
        facts: The known facts of the device.
    """
    notes = tuple(f"{name} is {shown_value(facts[name])}" for name in sorted(expression.facts & facts.keys()))
    found = problem.to_diagnostic(span)
    return replace(found, notes=(*found.notes, *notes), help=_BOUND_HELP if notes else found.help, fix=None)


def default_problem(problem: OptionProblem, fact: str, facts: Mapping[str, object]) -> Diagnostic:
    """Return the diagnostic of a default that follows a fact whose value the option does not accept."""
    found = problem.to_diagnostic()
    note = f"the default follows {fact}, which is {shown_value(facts[fact])}"
    return replace(found, notes=(*found.notes, note), help="set the option, or correct the fact", fix=None)


def names_a_fact(text: str) -> bool:
    """True if a text mentions a fact, so that it was probably meant as an expression."""
    namespaces = {name.partition(".")[0] for name in BUILTIN_FACTS.names}
    return any(match.group(1) in namespaces for match in _NAME.finditer(text))


def _special_table(found: Diagnostic, raw: Mapping[str, object], span: Span) -> Diagnostic:
    """Correct the key of a table that should be `{ expr = ... }` or `{ unset = true }`."""
    if len(raw) != 1:
        return replace(found, help="write the value itself, { expr = ... } or { unset = true }")
    (key,) = raw
    meant = "expr" if key.casefold() in _EXPRESSION_WORDS else nearest(key, ("expr", "unset"))
    if meant is None:
        return replace(found, help="write the value itself, { expr = ... } or { unset = true }")
    match = _KEY.match(span.underlined or "")
    fix = None
    if match is not None and match.group(1).strip("\"'") == key:
        place = replace(span, column=span.column + match.start(1), length=len(match.group(1)))
        fix = Fix(span=place, replacement=meant)
        found = replace(found, spans=(place,))
    return replace(found, help=f"write {{ {meant} = ... }}", fix=fix)


def expression_problem(spec: BackendSpec, info: OptionInfo, expression: Expression) -> Diagnostic:
    """Return the diagnostic of an expression whose type an option does not have."""
    given = f"an expression of type {expression.type}"
    return Diagnostic(
        code="invalid-value",
        message=f"{spec.id}.{info.name}: expected {info.expected}, given {given}",
        spans=(expression.span,),
        help=_advice(info.type, expression.type),
    )


def _advice(wanted: OptionType, given: ExpressionType) -> str | None:
    if wanted.kind is OptionKind.INTEGER and given is ExpressionType.FLOAT:
        return _NO_ROUNDING
    if wanted.kind is OptionKind.FLOAT and given is ExpressionType.INT:
        return _NO_FLOATS
    if wanted.kind is OptionKind.ARRAY and not given.is_list:
        return "write an array: [...]"
    if wanted.kind is OptionKind.BOOLEAN:
        return 'write a condition, as in os.name == "linux"'
    values: Sequence[object] = _EXAMPLES.get(wanted.kind, wanted.choices[:2])
    if len(values) < 2:
        return None
    first, second = map(toml_text, values)
    return f"choose with a condition: cpu.available_cores > 4 ? {first} : {second}"


def path_help(text: str, options: Mapping[str, Collection[str]], *, with_value: bool) -> str:
    """Return an instruction with the path, or the assignment, that was probably meant.

    Args:
        text: The text that is wrong.
        options: The names of the options of every known backend.
        with_value: True if the text should be an assignment `PATH=VALUE`.
    """
    path, _, value = text.partition("=") if with_value else (text, "", "")
    words = [word for word in _SEPARATOR.split(path) if word and word not in _WORDS_FOR_TABLES]
    if len(text) > _MAX_LENGTH or not text.isprintable() or not words:
        return _PATH_HELP
    *scope, option = words
    if option in options:
        return f"write {option}.OPTION; `etconfig schema {option}` lists its options"
    backend = scope[-1] if scope and scope[-1] in options else scope and nearest_backend(scope[-1], options)
    owners = {backend: options[backend]} if backend else options
    if backend:
        scope.pop()
    every = sorted({name for names in owners.values() for name in names})
    meant = option if option in every else nearest(option, every)
    prefix = f"{scope[0]}:" if scope else ""
    ending = f"={value.strip() or 'VALUE'}" if with_value else ""
    paths = [f"{prefix}{name}.{meant}" for name, names in sorted(owners.items()) if meant in names]
    if len(scope) > 1 or not paths or not _is_path(paths[0]):
        return _PATH_HELP
    return f"write {' or '.join(f'{each}{ending}' for each in paths[:_LISTED])}"


def _is_path(path: str) -> bool:
    try:
        parse_option_path(path)
    except ValueError:
        return False
    return True
