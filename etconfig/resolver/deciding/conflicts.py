"""Conflicts: options of the whole process on which method instances disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from etconfig.diagnostics import Diagnostic
from etconfig.resolver.deciding.arguments import ANY_METHOD, Arguments
from etconfig.schema.coerce import show_value
from etconfig.schema.declaration import Scope
from etconfig.schema.spec import BackendSpec


def process_options(specs: Iterable[BackendSpec]) -> tuple[tuple[str, str], ...]:
    """Return the options of the whole process, as backend id and option name."""
    return tuple(
        (spec.id, name)
        for spec in specs
        for name, info in spec.options.option_infos().items()
        if info.scope is Scope.PROCESS
    )


def process_conflicts(
    resolved: Iterable[Arguments], options: Iterable[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """Yield a problem for each method instance that disagrees with an earlier one on one of `options`.

    A default for any other method does not count: there may be no other method.
    """
    resolved = tuple(resolved)
    for backend, option in options:
        sharing = [a for a in resolved if backend in a and not _is_mere_default(a, backend, option)]
        for other in sharing[1:]:
            values = [getattr(arguments[backend], option) for arguments in (sharing[0], other)]
            if values[0] != values[1]:
                yield _conflict(backend, option, zip((sharing[0], other), values, strict=True))


def _is_mere_default(arguments: Arguments, backend: str, option: str) -> bool:
    return arguments.method == ANY_METHOD and arguments.backends[backend].is_default(option)


def _conflict(backend: str, option: str, sides: Iterable[tuple[Arguments, object]]) -> Diagnostic:
    sides = tuple(sides)
    notes = (f"{a.label}: {show_value(value)}, from {a.origin(backend, option)}" for a, value in sides)
    places = [arguments.backends[backend].place_of(option) for arguments, _ in sides]
    who = " and ".join(
        a.label if place is None else f"{a.label} ({place.place})"
        for (a, _), place in zip(sides, places, strict=True)
    )
    return Diagnostic(
        code="process-scope-conflict",
        message=f"{backend}.{option} applies to the whole process, but {who} disagree on it",
        spans=tuple(dict.fromkeys(place for place in places if place is not None)),
        notes=tuple(notes),
        help=f"set {backend}.{option} to one value for all methods",
    )
