"""Create options from values. All problems are collected and returned; none is raised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import MAX_NAMES, Respelling, guessed, nearest, shown_names_near
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import OptionError
from etconfig.schema.coerce import Mismatch, coerce, show_value
from etconfig.schema.declaration import MISSING, Applies, OptionInfo
from etconfig.schema.problem import OptionProblem, ProblemKind
from etconfig.schema.spec import BackendSpec

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions

OptionsSchema: TypeAlias = "BackendSpec | type[BackendOptions]"
"""The owner of options: a backend, which messages name by its id, or an options class."""


@record(frozen=True, kw_only=True)
class ValidatedOptions:
    """The result of checking a backend's options.

    Attributes:
        options: The typed options, or None if a problem is an error.
        problems: All problems, including warnings.
    """

    options: BackendOptions | None
    problems: tuple[OptionProblem, ...] = ()


def find_option(schema: OptionsSchema, name: str) -> tuple[OptionInfo | None, OptionProblem | None]:
    """Find an option by its name or a former name; also return the problem with the name, if any.

    An unknown name gives (None, error), a former name or a deprecated option gives (info, warning).
    """
    infos = (schema.options if isinstance(schema, BackendSpec) else schema).option_infos()
    info = infos.get(name)
    if info is not None and info.deprecated is None:  # nor can it be a former name of another option
        return info, None
    owner, options_class = _owner_and_class(schema)
    current = options_class.former_names().get(name)
    if current is not None:
        message = f"{owner}.{name} was renamed to {current}"
        help_text = f"write {current} in place of {name}"
        respelling = Respelling(name, current, is_safe=True)
        return infos[current], _problem(ProblemKind.DEPRECATED, name, message, help_text, respelling)
    if info is None:
        return None, _unknown(owner, name, options_class)
    message = f"{owner}.{name} is deprecated"
    return info, _problem(ProblemKind.DEPRECATED, name, message, info.deprecated)


def check_value(schema: OptionsSchema, info: OptionInfo, raw: object) -> object | OptionProblem:
    """Convert `raw` to a value of option `info` within its bounds, or return the problem with it.

    Args:
        schema: The owner of the option.
        info: The option.
        raw: A value from TOML, JSON or Python; see `coerce`.
    """
    value = coerce(info.type, raw)
    if not isinstance(value, Mismatch):
        return value
    further = tuple(_value_problem(schema, info, raw, each) for each in value.further)
    return replace(_value_problem(schema, info, raw, value), further=further)


def _value_problem(schema: OptionsSchema, info: OptionInfo, raw: object, value: Mismatch) -> OptionProblem:
    problem = OptionProblem(
        kind=ProblemKind.INVALID,
        message=f"{_owner_and_class(schema)[0]}.{info.name}{value.place}: {value.message}",
        option=info.name,
        help=value.help,
        respelling=value.respelling,
        path=value.path,
        is_key=value.is_key,
    )
    if value.is_explained:
        return problem
    from etconfig.mistakes.option_values import help_with_value  # most values are right

    better = help_with_value(value, info.type, raw, partial(_refusal, schema, info))
    return replace(
        problem,
        help=better.help if value.respelling is None else value.help,
        respelling=value.respelling or better.rewriting,
    )


def _refusal(schema: OptionsSchema, info: OptionInfo, value: object) -> str | None:
    """Return why the backend's own checks refuse a value by itself, whatever the other options are."""
    for problem in build_options(schema, {info.name: value}).problems:
        if problem.option == info.name or problem.related == (info.name,):
            return problem.message
    return None


def validate_options(schema: OptionsSchema, values: Mapping[str, object]) -> ValidatedOptions:
    """Check raw values and create options from them; options that are not set take their defaults."""
    typed, problems = _check_values(schema, values)
    if any(problem.is_error for problem in problems):
        return ValidatedOptions(options=None, problems=(*problems, *_missing(schema, typed, problems)))
    built = build_options(schema, typed)
    return ValidatedOptions(options=built.options, problems=(*problems, *built.problems))


def build_options(schema: OptionsSchema, values: Mapping[str, object]) -> ValidatedOptions:
    """Create options from values that `check_value` returned, by the options' current names.

    This reports missing options and whatever the backend's own validators refuse.
    """
    owner, options_class = _owner_and_class(schema)
    assembled = assemble_options(options_class, values)
    if assembled is not None:
        return ValidatedOptions(options=assembled)
    from pydantic import ValidationError

    try:
        return ValidatedOptions(options=options_class(**values))
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [
            problem
            for one in details
            if one["type"] != "missing"
            for problem in _from_pydantic(owner, options_class, one)
        ]
        return ValidatedOptions(options=None, problems=(*_missing(schema, values), *problems))
    except Exception as error:
        from etconfig.base.code_symbol import correct_code  # it imports inspect; most checks are right

        problem = OptionProblem(
            kind=ProblemKind.FAILING_CHECK,
            message=f"{owner}: the backend's check of its options failed: {error_text(error)}",
            help=correct_code(
                options_class, options_class.__name__, "raise ValueError, with what the user should do"
            ),
        )
        return ValidatedOptions(options=None, problems=(problem,))


def assemble_options(
    options_class: type[BackendOptions], values: Mapping[str, object]
) -> BackendOptions | None:
    """Do the same as `options_class(**values)` for values that are valid one by one, in half the time.

    Args:
        options_class: The class.
        values: The results of `check_value`, by option.

    Returns:
        The options, or None if only pydantic can create them or they must be refused.
    """
    assembly = options_class._assembly
    return None if assembly is None else assembly.make(options_class, values)


def are_shareable(options_class: type[BackendOptions]) -> bool:
    """True if equal values always give equal options, whose values nobody can change."""
    assembly = options_class._assembly
    return assembly is not None and not assembly.checks and not assembly.changeable


def has_own_checks(options_class: type[BackendOptions]) -> bool:
    """True if a class may refuse values that are right one by one."""
    assembly = options_class._assembly
    return assembly is None or bool(assembly.checks)


def change_options(
    schema: OptionsSchema, current: BackendOptions, changes: Mapping[str, object]
) -> BackendOptions:
    """Return new options for a loaded method: `current` with changes to execute-time options.

    Raises:
        OptionError: a name is unknown, an option applies at load, or a value is invalid. The error contains
            every problem; `current` does not change.
    """
    typed, problems = _check_values(schema, changes)
    problems += _not_updatable(schema, changes)
    if not any(problem.is_error for problem in problems):
        kept = {name: getattr(current, name) for name in current.option_infos()}
        built = build_options(schema, {**kept, **typed})
        if built.options is not None:
            return built.options
        problems += built.problems
    raise OptionError(diagnostics=tuple(problem.to_diagnostic() for problem in problems))


def _owner_and_class(schema: OptionsSchema) -> tuple[str, type[BackendOptions]]:
    if isinstance(schema, BackendSpec):
        return schema.id, schema.options
    return schema.__name__, schema


def _problem(
    kind: ProblemKind, option: str, message: str, help_text: str | None, respelling: Respelling | None = None
) -> OptionProblem:
    return OptionProblem(kind=kind, option=option, message=message, help=help_text, respelling=respelling)


def _unknown(owner: str, name: str, options_class: type[BackendOptions]) -> OptionProblem:
    infos = options_class.option_infos()
    message = f"{owner} has no option {name!r}"
    on_wire = {info.wire.key: each for each, info in infos.items() if info.wire.key is not None}
    if name in on_wire:
        message += ", which is its key at run time"
        help_text = f"write {on_wire[name]}"
        return _problem(ProblemKind.UNKNOWN, name, message, help_text, Respelling(name, on_wire[name], True))
    guess = nearest(name, infos)
    if guess is not None:
        help_text = f"did you mean {guess!r}?"
        return _problem(ProblemKind.UNKNOWN, name, message, help_text, guessed(name, guess, infos))
    help_text = f"it has {shown_names_near(name, infos)}" if infos else options_class.no_options_help()
    if owner != options_class.__name__ and len(infos) > MAX_NAMES:
        help_text += f"; `etconfig backends {owner}` lists them"
    return _problem(ProblemKind.UNKNOWN, name, message, help_text)


def _check_values(
    schema: OptionsSchema, values: Mapping[str, object]
) -> tuple[dict[str, object], list[OptionProblem]]:
    typed: dict[str, object] = {}
    problems: list[OptionProblem] = []
    given_names: dict[str, str] = {}
    for name, raw in values.items():
        info, naming_problem = find_option(schema, name)
        if naming_problem is not None:
            problems.append(naming_problem)
        if info is None:
            continue
        other = given_names.setdefault(info.name, name)
        value = check_value(schema, info, raw) if other == name else set_twice(schema, info, other, name)
        if isinstance(value, OptionProblem):
            problems += value.each
        else:
            typed[info.name] = value
    return typed, problems


def set_twice(schema: OptionsSchema, info: OptionInfo, first: str, second: str) -> OptionProblem:
    """Return the problem of a table that sets an option by two of its names."""
    former = first if second == info.name else second
    return OptionProblem(
        kind=ProblemKind.CONFLICT,
        option=info.name,
        message=f"{_owner_and_class(schema)[0]}.{info.name} is set twice, as {first} and as {second}",
        help=f"remove {former}",
    )


def _missing(
    schema: OptionsSchema, typed: Mapping[str, object], problems: Iterable[OptionProblem] = ()
) -> Iterator[OptionProblem]:
    owner, options_class = _owner_and_class(schema)
    mentioned = {*typed, *(problem.option for problem in problems)}
    for name, info in options_class.option_infos().items():
        if info.default is not MISSING or name in mentioned:
            continue
        message, help_text = f"{owner}.{name} is required and not set", f"set it to {info.expected}"
        if info.from_fact is not None:
            message = f"{owner}.{name} is not set, and the fact {info.from_fact} is not known"
            help_text += f", or give the fact: --fact {info.from_fact}=VALUE"
        yield _problem(ProblemKind.MISSING, name, message, help_text)


def _not_updatable(schema: OptionsSchema, changes: Mapping[str, object]) -> Iterator[OptionProblem]:
    owner = _owner_and_class(schema)[0]
    for name in changes:
        info, _ = find_option(schema, name)
        if info is not None and info.applies is Applies.LOAD:
            message = f"{owner}.{info.name} applies at load and cannot change on a loaded method"
            yield _problem(
                ProblemKind.NOT_UPDATABLE, info.name, message, "load the method again to change it"
            )


def _from_pydantic(owner: str, options_class: type[BackendOptions], detail: Any) -> Iterator[OptionProblem]:
    """Yield what a validator of the backend reported; types and bounds were checked before.

    A ValueError with several texts reports one problem with each.
    """
    cause = detail.get("ctx", {}).get("error")
    text = detail["msg"] if cause is None else str(cause)
    if detail["loc"]:
        option = str(detail["loc"][0])
        message = f"{owner}.{option}: {text}, given {show_value(detail['input'])}"
        yield _problem(ProblemKind.INVALID, option, message, None)
        return
    texts = getattr(cause, "args", ())
    is_list = len(texts) > 1 and all(isinstance(each, str) for each in texts)
    for each in texts if is_list else (text,):
        words = set(re.findall(r"\w+", each))
        related = tuple(name for name in options_class.option_infos() if name in words)
        yield OptionProblem(kind=ProblemKind.CONFLICT, message=f"{owner}: {each}", related=related)
