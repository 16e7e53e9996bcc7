"""Layers from text: `ETCONFIG_SET`, `--set`, and the overrides of the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import OptionError
from etconfig.option_path import OptionPath, parse_assignment, parse_option_path
from etconfig.profile import Assignment, AssignmentPlace, Layer, RawValue, TextValue
from etconfig.profile.names import is_glob
from etconfig.provenance import Origin, OriginKind

SET_VARIABLE = "ETCONFIG_SET"
"""Assignments `PATH=VALUE`, separated by `;` or a line break."""

Overrides: TypeAlias = "Sequence[str] | Mapping[str, RawValue]"
"""`["forward:XnnpackBackend.num_threads=2"]`, or `{"XnnpackBackend.num_threads": 2}`."""


def layer_from_environment(text: str) -> Layer:
    """Return the layer of `ETCONFIG_SET`.

    Raises:
        OptionError: an assignment does not follow the grammar; all such are reported.
    """
    return _text_layer(OriginKind.ENVIRONMENT, SET_VARIABLE, _split(text))


def layer_from_overrides(overrides: Overrides, name: str = "resolve(overrides)") -> Layer:
    """Return the layer of overrides. A mapping has typed values; texts are read by the option's type.

    Args:
        overrides: The overrides.
        name: Their source, for origins and diagnostics: `--set` on the command line.

    Raises:
        OptionError: an override does not follow the grammar; all such are reported.
    """
    if isinstance(overrides, Mapping):
        return _typed_layer(overrides, name)
    texts = [overrides] if isinstance(overrides, str) else overrides
    spans = (Span(file=name, length=max(1, len(text)), text=text) for text in texts)
    return _text_layer(OriginKind.OVERRIDE, name, spans)


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


def _text_layer(kind: OriginKind, name: str, spans: Iterable[Span]) -> Layer:
    items: list[Assignment | Diagnostic] = []
    for span in spans:
        text = (span.text or "")[span.column - 1 :][: span.length]
        try:
            path, value = parse_assignment(text)
        except ValueError as error:
            items.append(_grammar_problem(error, span))
            continue
        value_span = replace(span, column=span.column + len(text) - len(value), length=max(1, len(value)))
        path_span = replace(span, length=len(text[: text.index("=")].rstrip()))
        items.append(_assignment(kind, name, path, TextValue(value), value_span, path_span))
    return _layer(kind, name, items)


def _typed_layer(overrides: Mapping[str, RawValue], name: str) -> Layer:
    items: list[Assignment | Diagnostic] = []
    for text, value in overrides.items():
        span = Span(file=name, length=max(1, len(text)), text=text)
        try:
            path = parse_option_path(text)
        except ValueError as error:
            items.append(_grammar_problem(error, span))
            continue
        items.append(_assignment(OriginKind.OVERRIDE, name, path, value, span, span))
    return _layer(OriginKind.OVERRIDE, name, items)


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


def _grammar_problem(error: ValueError, span: Span) -> Diagnostic:
    return Diagnostic(
        code="invalid-option-path",
        message=str(error),
        spans=(span,),
        help="`etconfig backends` lists the backends, `etconfig schema BACKEND` their options",
    )
