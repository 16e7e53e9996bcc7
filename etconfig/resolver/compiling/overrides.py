"""Layers from text: `ETCONFIG_SET`, `--set`, and the overrides of the API."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from etconfig.base.option_path import OptionPath, parse_assignment, parse_option_path
from etconfig.base.provenance import Origin, OriginKind
from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import OptionError
from etconfig.profile.layer import Assignment, AssignmentPlace, Layer, RawValue, TextValue
from etconfig.profile.names import is_glob
from etconfig.resolver.compiling.matching import CALL_SOURCE
from etconfig.resolver.compiling.override_forms import FindBackend, Overrides, override_parts, typed_values

if TYPE_CHECKING:
    from etconfig.schema.options import BackendOptions

KnownOptions: TypeAlias = "Callable[[], Mapping[str, Collection[str]]]"
"""Returns the names of the options of every known backend; called only for help."""

SET_VARIABLE = "ETCONFIG_SET"
"""Assignments `PATH=VALUE`, separated by `;` or a line break."""


def _no_such_backend(options: type[BackendOptions]) -> str:
    """Refuse an options object without its backend, for callers that know no backends."""
    raise OptionError(diagnostics=(options_problem(options, ()),))


def options_problem(options: type[BackendOptions], backends: Sequence[str]) -> Diagnostic:
    """Return the problem with an options object that stands alone, and that not exactly one backend has."""
    name = options.__name__
    found = (
        f"{len(backends)} backends have: {', '.join(backends)}" if backends else "no installed backend has"
    )
    example = backends[0] if backends else "BACKEND"
    return Diagnostic(
        code="unknown-backend",
        message=f"overrides: {name} is the options class that {found}",
        help=f'name the backend: overrides={{"{example}": {name}(...)}}',
    )


def _no_options() -> Mapping[str, Collection[str]]:
    return {}


def layer_from_environment(text: str, known_options: KnownOptions = _no_options) -> Layer:
    """Return the layer of `ETCONFIG_SET`.

    Args:
        text: The value of the variable.
        known_options: Returns the options of every known backend, for help.

    Raises:
        OptionError: an assignment does not follow the grammar; all such are reported.
    """
    kind = OriginKind.ENVIRONMENT
    items = [_text_item(kind, SET_VARIABLE, span, known_options) for span in _split(text)]
    return _layer(kind, SET_VARIABLE, items)


def layer_from_overrides(
    overrides: Overrides,
    name: str = CALL_SOURCE,
    *,
    backends: Collection[str] = (),
    find_backend: FindBackend = _no_such_backend,
    known_options: KnownOptions = _no_options,
) -> Layer:
    """Return the layer of overrides. Mappings have typed values; texts are read by the option's type.

    Args:
        overrides: The overrides, in one of the forms of `Overrides`; of two for one path, the later one wins.
        name: Their source, for origins and diagnostics: `--set` on the command line.
        backends: The ids of the known backends: a nested table under one of them is for it, not for a method.
        find_backend: Returns the backend of an options object that stands alone.
        known_options: Returns the options of every known backend, for help.

    Raises:
        OptionError: an override does not follow the grammar; all such are reported.
        TypeError: the overrides have none of the forms.
    """
    items: list[Assignment | Diagnostic] = []
    for part in override_parts(overrides, find_backend):
        if isinstance(part, str):
            span = Span(file=name, length=max(1, len(part)), text=part)
            items.append(_text_item(OriginKind.OVERRIDE, name, span, known_options))
        else:
            items += (_typed_item(name, *each, known_options) for each in typed_values(part, backends))
    return _layer(OriginKind.OVERRIDE, name, items)


def _split(text: str) -> Iterator[Span]:
    """Yield the place of each assignment; a `;` inside quotes does not separate."""
    for number, line in enumerate(text.splitlines(), 1):
        for start, end in _pieces(line):
            piece = line[start:end]
            column = start + len(piece) - len(piece.lstrip()) + 1
            length = len(piece.strip())
            if length:
                yield Span(file=SET_VARIABLE, line=number, column=column, length=length, text=line)


def _pieces(line: str) -> Iterator[tuple[int, int]]:
    start, quote = 0, ""
    for index, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == ";":
            yield start, index
            start = index + 1
    yield start, len(line)


def _text_item(
    kind: OriginKind, name: str, span: Span, known_options: KnownOptions
) -> Assignment | Diagnostic:
    """Return the assignment in the text that a span underlines, or its problem."""
    text = (span.text or "")[span.column - 1 :][: span.length]
    try:
        path, value = parse_assignment(text)
    except ValueError as error:
        return path_problem(error, text, known_options, span, with_value=True)
    value_span = replace(span, column=span.column + len(text) - len(value), length=max(1, len(value)))
    path_span = replace(span, length=len(text[: text.index("=")].rstrip()))
    return _assignment(kind, name, path, TextValue(value), value_span, path_span)


def _typed_item(name: str, text: str, value: object, known_options: KnownOptions) -> Assignment | Diagnostic:
    """Return the assignment of a typed value to a path, or its problem."""
    span = Span(file=name, length=max(1, len(text)), text=text)
    try:
        path = parse_option_path(text)
    except ValueError as error:
        return path_problem(error, text, known_options, span)
    return _assignment(OriginKind.OVERRIDE, name, path, cast("RawValue", value), span, span)


def _assignment(
    kind: OriginKind, name: str, path: OptionPath, value: RawValue | TextValue, span: Span, path_span: Span
) -> Assignment:
    # ETCONFIG_SET has several assignments in one text, told apart by their columns; each `--set` is a text
    column = path_span.column if kind is OriginKind.ENVIRONMENT else None
    origin = Origin(kind, name, None if column is None else span.line, column, detail=str(path))
    end = path_span.column + path_span.length
    option_column = end - len(path.option)
    backend_column = option_column - 1 - len(path.backend)
    scope_length = backend_column - 1 - path_span.column
    place = AssignmentPlace(
        origin=origin,
        span=span,
        key_span=replace(path_span, column=option_column, length=len(path.option)),
        backend_span=replace(path_span, column=backend_column, length=len(path.backend)),
        scope_span=replace(path_span, length=scope_length) if scope_length > 0 else None,
    )
    return Assignment(path, value, place)


def _layer(kind: OriginKind, name: str, items: Iterable[Assignment | Diagnostic]) -> Layer:
    items = list(items)
    problems = tuple(item for item in items if isinstance(item, Diagnostic))
    if problems:
        raise OptionError(diagnostics=problems)
    assignments = [item for item in items if isinstance(item, Assignment)]
    assignments.sort(key=lambda assignment: _specificity(assignment.path))
    return Layer(kind=kind, name=name, assignments=tuple(assignments))


def _specificity(path: OptionPath) -> int:
    """Return the place in the merge order inside a layer: all methods, a pattern, a method, an instance."""
    if path.method is None:
        return 0
    return 3 if path.instance is not None else 1 if is_glob(path.method) else 2


def path_problem(
    error: ValueError, text: str, known_options: KnownOptions, *spans: Span, with_value: bool = False
) -> Diagnostic:
    """Return the problem of a text that is not an option path, with the path that was probably meant.

    Args:
        error: The reason.
        text: The text.
        known_options: Returns the options of every known backend.
        spans: The place of the text.
        with_value: True if the text should be an assignment `PATH=VALUE`.
    """
    from etconfig.mistakes.assignments import path_help

    help_text = path_help(text, known_options(), with_value=with_value)
    return Diagnostic(code="invalid-option-path", message=str(error), spans=spans, help=help_text)
