"""Checks of a configuration against a program: names that the program does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from etconfig.diagnostics import Diagnostic, Respelling, Span, nearest
from etconfig.profile import Assignment, Layer


def verify_against_program(
    layers: Iterable[Layer], backends_of: Mapping[str, Sequence[str]], installed: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a problem for each method or backend in the layers that the program does not have.

    Args:
        layers: The layers to check.
        backends_of: The program's methods, and the backends that each delegates to.
        installed: The backends whose schemas are known; options of others are reported already.
    """
    for layer in layers:
        for declared in layer.instances:
            if declared.method not in backends_of:
                yield _unknown_method(declared.method, backends_of, declared.span)
        for assignment in layer.assignments:
            path = assignment.path
            if path.instance is not None and path.method not in backends_of:
                continue  # its declaration was reported
            if path.backend in installed:
                yield from verify_assignment(assignment, backends_of, installed)


def verify_assignment(
    assignment: Assignment, backends_of: Mapping[str, Sequence[str]], installed: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a problem if the program lacks an assignment's method, or delegates nothing to its backend."""
    path = assignment.path
    methods = [m for m in backends_of if path.method is None or fnmatchcase(m, path.method)]
    if path.method is not None and not methods:
        yield _unknown_method(path.method, backends_of, assignment.scope_span or assignment.key_span)
        return
    if path.backend not in installed or any(path.backend in backends_of[method] for method in methods):
        return
    delegated = sorted({backend for method in methods for backend in backends_of[method]})
    where = f"method {path.method!r}" if path.method else "the program"
    yield Diagnostic(
        code="not-delegated",
        message=f"{where} delegates nothing to {path.backend!r}",
        spans=(assignment.backend_span,),
        help=f"it delegates to {', '.join(delegated) or 'no backend'}",
    )


def _unknown_method(method: str, known: Iterable[str], span: Span) -> Diagnostic:
    guess = nearest(method, known)
    return Diagnostic(
        code="unknown-method",
        message=f"the program has no method {method!r}",
        spans=(span,),
        help=f"did you mean {guess!r}?" if guess else f"it has {', '.join(known)}",
        fix=Respelling(method, guess).at(span) if guess else None,
    )
