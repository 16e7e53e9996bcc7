"""Checks of a configuration against programs: names that a program does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, Span, guessed_fix, nearest
from etconfig.profile.bounds import MAX_PROBLEMS, too_many_problems
from etconfig.profile.layer import Assignment, Layer
from etconfig.profile.names import is_glob, name_matcher

ProgramMethods: TypeAlias = "Mapping[str, Sequence[str]]"
"""The methods of a program, and the backends that each delegates to."""

METHOD = "method"
"""What a program consists of, in messages."""
MODEL = "model"
"""What an application hands to an engine itself, in messages."""

_SUBJECT = "the program"
_NONE = "none of the programs"


@record(frozen=True, kw_only=True)
class KnownPrograms:
    """The programs that a configuration is compared with.

    Attributes:
        methods: The methods of each program, by the name that messages use. The name of the only one is
            not used.
        used: The name of the program that the configuration is for now; what it has is fine, whatever the
            others lack. None if all of them count.
        unread: The names of programs that could not be read, so that they may have what others lack.
        is_complete: False if the configuration may serve other programs, too, that nobody named. Then
            it is not a mistake that no program has a name, unless it is nearly a model's.
        noun: What they consist of, in messages: see `noun_of`.
    """

    methods: Mapping[str, ProgramMethods]
    used: str | None = None
    unread: tuple[str, ...] = ()
    is_complete: bool = True
    noun: str = METHOD

    @property
    def all_methods(self) -> Sequence[str]:
        """The names of all methods, each once."""
        return list(dict.fromkeys(name for methods in self.methods.values() for name in methods))


def noun_of(are_models: Iterable[bool]) -> str:
    """Return what targets are in messages: `method`, `model`, or `model or method`.

    Args:
        are_models: For each of them, True if it is a model.
    """
    found = {*are_models}
    return f"{MODEL} or {METHOD}" if len(found) > 1 else MODEL if True in found else METHOD


def verify_against_programs(
    layers: Iterable[Layer], programs: KnownPrograms, installed: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a problem for each method or backend in the layers that programs do not have.

    It is an error if no program has it, at each place. It is a note if another program has it, once for each
    name in a layer.

    Args:
        layers: The layers to check.
        programs: The programs.
        installed: The backends whose schemas are known; options of others are reported already.
    """
    for layer in layers:
        notes: dict[str, list[Diagnostic]] = {}
        found = _problems(layer, programs, installed)
        for problem in islice(found, MAX_PROBLEMS):
            if problem.is_error:
                yield problem
            else:
                notes.setdefault(problem.message, []).append(problem)
        yield from map(_joined, notes.values())
        yield from map(too_many_problems, islice(found, 1))


def verify_assignment(
    assignment: Assignment, backends_of: ProgramMethods, installed: Collection[str], noun: str = METHOD
) -> Iterator[Diagnostic]:
    """Yield a problem if the program lacks an assignment's method, or delegates nothing to its backend."""
    known = KnownPrograms(methods={_SUBJECT: backends_of}, noun=noun)
    found = _assignment_problem(assignment, known, installed)
    if found is not None:
        yield found


def _problems(layer: Layer, programs: KnownPrograms, installed: Collection[str]) -> Iterator[Diagnostic]:
    is_lacking: dict[tuple[str | None, str, bool], bool] = {}  # most assignments repeat a few names
    for declared in layer.instances:
        lacking = [name for name, methods in programs.methods.items() if declared.method not in methods]
        if _concerns(lacking, programs):
            problem = unknown_method(declared.method, programs, lacking, declared.span)
            yield _judged(problem, programs, lacking)
    for assignment in layer.assignments:
        path = assignment.path
        is_instance = path.instance is not None
        if path.backend not in installed:
            continue
        key = (path.method, path.backend, is_instance)
        if is_lacking.get(key) is False:
            continue
        known = programs
        if is_instance:  # without the programs that lack its method: its declaration was reported
            having = {name: found for name, found in programs.methods.items() if path.method in found}
            known = replace(programs, methods=having)
        found = _assignment_problem(assignment, known, installed) if known.methods else None
        is_lacking[key] = found is not None
        if found is not None:
            yield found


def _assignment_problem(
    assignment: Assignment, programs: KnownPrograms, installed: Collection[str]
) -> Diagnostic | None:
    path = assignment.path
    without_method, idle = [], []
    for name, backends_of in programs.methods.items():
        methods = _meant(path.method, backends_of)
        if path.method is not None and not methods:
            without_method.append(name)
        elif path.backend in installed and not any(path.backend in backends_of[m] for m in methods):
            idle.append(name)
    lacking = [*without_method, *idle]
    if not _concerns(lacking, programs):
        return None
    if path.method is not None and (not idle or programs.used in without_method):
        span = assignment.scope_span or assignment.key_span
        problem = unknown_method(path.method, programs, lacking, span)
    else:
        problem = _not_delegated(assignment, programs, lacking)
    return _judged(problem, programs, lacking)


def _concerns(lacking: Sequence[str], programs: KnownPrograms) -> bool:
    """Return True if it matters that the programs named `lacking` lack a name."""
    return bool(lacking) if programs.used is None else programs.used in lacking


def unknown_method(method: str, programs: KnownPrograms, lacking: Sequence[str], span: Span) -> Diagnostic:
    """Return the problem of a name that no method of the programs named `lacking` has."""
    known = programs.all_methods
    if programs.noun != METHOD:
        return unknown_model(method, known, span, programs.noun)
    guess = nearest(method, known)
    subject, verb, it = _subject(programs, lacking, "has", "have")
    no = "a" if subject == _NONE else "no"
    return Diagnostic(
        code="unknown-method",
        message=f"{subject} {verb} {no} method {method!r}",
        spans=(span,),
        help=f"did you mean {guess!r}?" if guess else f"{it} {', '.join(known)}",
        fix=guessed_fix(method, guess, known, span),
    )


def unknown_model(name: str, known: Sequence[str], span: Span | None = None, noun: str = MODEL) -> Diagnostic:
    """Return the problem of a name that no model has.

    Args:
        name: The name.
        known: The names of the models.
        span: The place where it is written, if there is one.
        noun: What `known` names.
    """
    guess = nearest(name, known)
    plural = " or ".join(f"{word}s" for word in noun.split(" or "))
    return Diagnostic(
        code="unknown-model",
        message=f"there is no {noun} {name!r}",
        spans=() if span is None else (span,),
        help=f"did you mean {guess!r}?" if guess else f"the {plural} are {', '.join(known)}",
        fix=guessed_fix(name, guess, known, span),
    )


def _not_delegated(assignment: Assignment, programs: KnownPrograms, lacking: Sequence[str]) -> Diagnostic:
    path = assignment.path
    of_methods = (
        backends_of[method]
        for backends_of in programs.methods.values()
        for method in _meant(path.method, backends_of)
    )
    delegated = sorted({backend for backends in of_methods for backend in backends})
    if programs.noun != METHOD:
        return _not_used(assignment, delegated, programs.noun)
    subject, verb, it = _subject(programs, lacking, "delegates", "delegate")
    nothing = "anything" if subject == _NONE else "nothing"
    message = f"{subject} {verb} {nothing} to {path.backend!r}"
    if path.method:
        where = "" if subject == _SUBJECT else " in any program" if subject == _NONE else f" in {subject}"
        message = f"method {path.method!r} delegates nothing to {path.backend!r}{where}"
    return Diagnostic(
        code="not-delegated",
        message=message,
        spans=(assignment.backend_span,),
        help=f"{it} to {', '.join(delegated) or 'no backend'}",
    )


def _not_used(assignment: Assignment, used: Sequence[str], noun: str) -> Diagnostic:
    """Return the problem of options for a backend that a model does not use, or none of them."""
    path = assignment.path
    which, they = (f"{noun} {path.method!r} does not use", "it uses")
    if path.method is None:
        which, they = f"no {noun} uses", "they use"
    return Diagnostic(
        code="not-delegated",
        message=f"{which} {path.backend!r}",
        spans=(assignment.backend_span,),
        help=f"{they} {', '.join(used) or 'no backend'}",
    )


def _subject(
    programs: KnownPrograms, lacking: Sequence[str], singular: str, plural: str
) -> tuple[str, str, str]:
    """Return the programs that lack something, a verb for them, and the beginning of what programs have."""
    if len(programs.methods) == 1:
        return _SUBJECT, singular, f"it {singular}"
    if len(lacking) == len(programs.methods):
        return _NONE, singular, f"they {plural}"
    named = lacking if programs.used is None else [programs.used]
    return _listed(named), _verb(named, singular, plural), f"they {plural}"


def _judged(problem: Diagnostic, programs: KnownPrograms, lacking: Sequence[str]) -> Diagnostic:
    """Make a problem a note if another program has what is lacking, or may have it."""
    having = [name for name in programs.methods if name not in lacking]
    if having:
        note = f"{_listed(having)} {_verb(having, 'uses', 'use')} these settings"
        return replace(problem, severity=Severity.NOTE, notes=(note,), help=None, fix=None)
    if programs.unread:
        note = f"these settings may be for {_listed(programs.unread)}, which cannot be read here"
        return replace(problem, severity=Severity.NOTE, notes=(note,))
    is_mistyped_model = programs.noun != METHOD and problem.fix is not None
    if not programs.is_complete and not is_mistyped_model:
        users = "programs" if programs.noun == METHOD else "programs or models"
        note = f"if other {users} use these settings, name all in the project file: programs = [...]"
        return replace(problem, severity=Severity.NOTE, notes=(note,))
    return problem


def _joined(notes: Sequence[Diagnostic]) -> Diagnostic:
    """Return the first of equal notes, with the number of further places."""
    first = notes[0]
    places = len({note.spans for note in notes}) - 1
    if not places:
        return first
    more = f"the same in {places:,} more {'place' if places == 1 else 'places'} of this file"
    return replace(first, notes=(*first.notes, more))


def _meant(pattern: str | None, methods: Collection[str]) -> Sequence[str]:
    """Return the methods that a pattern means; there may be thousands, and nearly all patterns are names."""
    if pattern is not None and not is_glob(pattern):
        return [pattern] if pattern in methods else []
    return list(methods) if pattern is None else list(filter(name_matcher(pattern), methods))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _verb(subjects: Sequence[str], singular: str, plural: str) -> str:
    return singular if len(subjects) == 1 else plural
