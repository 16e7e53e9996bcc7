"""Matching of assignments to the options of schemas, and their problems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from etconfig.base.packages import how_to_declare
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, did_you_mean, guessed_fix, nearest_backend
from etconfig.expression import Expression
from etconfig.profile.bounds import MAX_PROBLEMS, too_many_problems
from etconfig.profile.layer import UNSET, Assignment, Layer, TextValue
from etconfig.profile.names import NAME_RULES, is_name_of
from etconfig.resolver.deciding.expression_types import fits_type
from etconfig.resolver.deciding.option_candidates import Candidate
from etconfig.resolver.deciding.program_check import METHOD, verify_assignment
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import check_value, find_option, set_twice
from etconfig.schema.value_text import read_text

if TYPE_CHECKING:
    from etconfig.resolver.proving.expression_fit import ExpressionVerifier

Fit: TypeAlias = "tuple[str, str, type, object]"
"""A backend id, an option of it, and a value that it accepts, with its type: 1, 1.0 and true are equal."""

_TableKey: TypeAlias = "tuple[str, str | None, str | None, str, int]"

_SCALARS = frozenset((bool, int, float, str))
_MAX_FITS = 4096
_MAX_FIT_LENGTH = 80

CALL_SOURCE = "resolve(overrides)"
"""The source of overrides that a Python call passes, for origins and diagnostics."""

_GIVEN_BY_HAND = (OriginKind.ENVIRONMENT, OriginKind.OVERRIDE)
"""Layers for this run alone, where a name without a match is a mistake. A variable may serve several
programs, so a backend that one of them does not use is only worth a warning."""


@record(frozen=True, kw_only=True)
class Names:
    """The names that assignments may use.

    Attributes:
        specs: The available schemas, by backend id.
        known_backends: Every backend id that is installed or that the program delegates to.
        backends_of: The program's methods, and the backends that each delegates to; None if there is no
            program, so that any name is allowed.
        instances: The declared instances, and the method of each.
        expressions: Returns what finds values of expressions that options refuse; None leaves that to
            resolving on a device.
        noun: What `backends_of` names: methods of a program, or models.
        undeclared: The ids of delegates that no plugin declares: right as they are, but without options.
    """

    specs: Mapping[str, BackendSpec]
    known_backends: Collection[str]
    backends_of: Mapping[str, Sequence[str]] | None
    instances: Mapping[str, str]
    expressions: Callable[[], ExpressionVerifier] | None = None
    noun: str = METHOD
    undeclared: Collection[str] = ()


class MatchedAssignment(NamedTuple):
    """An assignment that found its option.

    Attributes:
        assignment: The assignment.
        info: The option.
        value: The assigned value, converted to the option's type.
        is_bundled: True if it is in a profile that comes with etconfig.
    """

    assignment: Assignment
    info: OptionInfo
    value: object
    is_bundled: bool

    @property
    def candidate(self) -> Candidate:
        """The assignment as the option sees it."""
        return Candidate(
            value=self.value,
            place=self.assignment.place,
            condition=self.assignment.condition,
            is_bundled=self.is_bundled,
        )


@dataclass(kw_only=True)
class Matcher:
    """Matches the assignments of all layers, and collects their problems."""

    names: Names
    _found: list[Diagnostic] = field(default_factory=list)
    _tables: dict[int, Mapping[_TableKey, Assignment]] = field(default_factory=dict)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems, each once: a mistyped table is one mistake, not one for each of its options."""
        return tuple(dict.fromkeys(self._found))

    def match(self, layers: Iterable[Layer]) -> Iterator[MatchedAssignment]:
        """Yield every assignment of the layers that found its option, in merge order."""
        for layer in layers:
            for assignment in layer.assignments:
                matched = self.match_one(layer, assignment)
                if matched is not None:
                    yield matched

    def match_one(self, layer: Layer, assignment: Assignment) -> MatchedAssignment | None:
        """Match one assignment of a layer; return None if it found no option or has problems."""
        if len(self._found) > MAX_PROBLEMS:
            if self._found[-1].code != "document-too-large":
                self._found.append(too_many_problems(self._found[-1]))
            return None
        path = assignment.path
        if layer.kind in _GIVEN_BY_HAND:
            self._found += _unmatched_scope(layer, assignment, self.names)
        spec = self.names.specs.get(path.backend)
        if spec is None:
            self._found += _unmatched_backend(layer, assignment, self.names)
            return None
        info, problem = find_option(spec, path.option)
        twice: Sequence[Diagnostic] = ()
        if info is not None and info.name != path.option:
            twice = tuple(self._same_option(layer, assignment, spec, info))
        if problem is not None:
            found = problem.to_diagnostic(assignment.key_span)
            # with the current name beside it, the old name is to be removed, not rewritten
            self._found.append(replace(found, fix=None) if twice else found)
        if info is None:
            return None
        self._found += twice
        value = _typed(spec, info, assignment)
        if isinstance(value, OptionProblem):
            from etconfig.mistakes.assignments import value_problem  # most values are right

            self._found += [value_problem(each, info, assignment) for each in value.each]
            return None
        if isinstance(value, Diagnostic):
            self._found.append(value)
            return None
        if isinstance(value, Expression) and self.names.expressions is not None and not value.shares:
            self._found += self.names.expressions().problems(spec, info, value, assignment.condition)
        if info.names_methods and self.names.backends_of is not None and self.names.noun == METHOD:
            self._found += _unknown_methods(spec, info, assignment, value, self.names.backends_of)
        return MatchedAssignment(assignment, info, value, layer.is_bundled)

    def _same_option(
        self, layer: Layer, assignment: Assignment, spec: BackendSpec, info: OptionInfo
    ) -> Iterator[Diagnostic]:
        """Yield a problem if the table with a former name of an option also has another name of it.

        Of texts in `--set` and `ETCONFIG_SET` the last one wins, as of two with the same name.
        """
        written = assignment.path.option
        for name in (info.name, *info.renamed_from):
            if name == written or isinstance(assignment.value, TextValue):
                return  # of two former names, the second one reports
            other = self._tables_of(layer).get(_table_key(assignment, name))
            if other is not None:
                problem = set_twice(spec, info, name, written)
                yield problem.to_diagnostic(assignment.key_span, other.key_span)

    def _tables_of(self, layer: Layer) -> Mapping[_TableKey, Assignment]:
        """Return the assignments of a layer by their tables and the names of their options."""
        if id(layer) not in self._tables:
            self._tables[id(layer)] = {_table_key(each, each.path.option): each for each in layer.assignments}
        return self._tables[id(layer)]


def _table_key(assignment: Assignment, option: str) -> _TableKey:
    """Return what assignments of one table have in common; each `[[when]]` has a condition of its own."""
    path = assignment.path
    return path.backend, path.method, path.instance, option, id(assignment.condition)


def verify_layers(
    layers: Iterable[Layer],
    specs: Mapping[str, BackendSpec],
    known_backends: Collection[str],
    known_fits: set[Fit],
    expressions: Callable[[], ExpressionVerifier] | None = None,
) -> tuple[Diagnostic, ...]:
    """Return the problems of the assignments in files, for whatever method they are meant.

    Args:
        layers: The layers of the files.
        specs: The schemas of backends, by id.
        known_backends: The ids that are not mistakes.
        known_fits: Values that were accepted before, with the same schemas. They are not checked again, and
            new ones are added.
        expressions: Returns what finds values of expressions that options refuse.
    """
    names = Names(
        specs=specs,
        known_backends=known_backends,
        backends_of=None,
        instances={},
        expressions=expressions,
    )
    matcher = Matcher(names=names)
    for layer in layers:
        for assignment in layer.assignments:
            path, value = assignment.path, assignment.value
            fit = (path.backend, path.option, type(value), value) if type(value) in _SCALARS else None
            if fit in known_fits:
                continue
            matched = matcher.match_one(layer, assignment)
            if matched is not None and fit is not None and not matcher.diagnostics:
                _remember(fit, known_fits)
    return matcher.diagnostics


def _remember(fit: Fit, known_fits: set[Fit]) -> None:
    """Add a fit if there is room: there may be very many files with long strings."""
    if len(known_fits) < _MAX_FITS and len(str(fit[-1])) <= _MAX_FIT_LENGTH:
        known_fits.add(fit)


def _typed(
    spec: BackendSpec, info: OptionInfo, assignment: Assignment
) -> object | OptionProblem | Diagnostic:
    raw: Any = assignment.value
    if raw is UNSET:
        return raw
    if isinstance(raw, Expression):
        if fits_type(info.type, raw.type):
            return raw
        from etconfig.mistakes.assignments import expression_problem

        return expression_problem(spec, info, raw)
    text = raw if isinstance(raw, TextValue) else None
    return check_value(spec, info, raw if text is None else read_text(info.type, text.text))


def _unknown_methods(
    spec: BackendSpec, info: OptionInfo, assignment: Assignment, value: object, methods: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a problem for each name in an array of methods that the program does not have.

    It is a warning if it resembles one of them, and else a note: the configuration may serve other programs.
    """
    for index, name in enumerate(value if isinstance(value, (list, tuple)) else ()):
        if name in methods:
            continue
        guess = did_you_mean(name, methods)
        yield Diagnostic(
            code="unknown-method",
            message=f"{spec.id}.{info.name}[{index}]: the program has no method {name!r}",
            spans=(assignment.place.find_inside((index,), is_key=False),),
            help=guess or f"it has {', '.join(methods)}",
            severity=Severity.NOTE if guess is None else Severity.WARNING,
        )


def _unmatched_backend(layer: Layer, assignment: Assignment, names: Names) -> Iterator[Diagnostic]:
    backend = assignment.path.backend
    if backend in names.known_backends or layer.is_bundled:
        return  # nothing here delegates to it: `_unmatched_scope` reports that where it matters
    is_undeclared = backend in names.undeclared
    guess = None if is_undeclared else nearest_backend(backend, names.known_backends)
    is_error = guess is not None or is_undeclared or layer.kind in _GIVEN_BY_HAND
    known = ", ".join(sorted(names.known_backends)) or "none"
    advice = f"{how_to_declare(backend)}, or remove these options"
    if guess is not None:
        advice = f"did you mean {guess!r}?"
    elif backend in (names.backends_of or ()):
        advice = name_backend_help(backend, names.noun)
    yield Diagnostic(
        code="unknown-backend" if is_error else "backend-not-installed",
        message=f"no installed plugin declares the backend {backend!r}",
        spans=(assignment.backend_span,),
        notes=(f"installed: {known}",),
        help=advice,
        severity=Severity.ERROR if is_error else Severity.WARNING,
        fix=guessed_fix(backend, guess, names.known_backends, assignment.backend_span),
    )


def name_backend_help(name: str, noun: str) -> str:
    """Return the help for the name of a method or model where a backend was expected."""
    return f"{name!r} is a {noun}: name the backend, too, as in {name}:BACKEND.OPTION"


def _unmatched_scope(layer: Layer, assignment: Assignment, names: Names) -> Iterator[Diagnostic]:
    path, span = assignment.path, assignment.scope_span
    if names.backends_of is not None:
        for problem in verify_assignment(assignment, names.backends_of, names.known_backends, names.noun):
            is_unused = problem.code == "not-delegated" and layer.kind is OriginKind.ENVIRONMENT
            yield replace(problem, severity=Severity.WARNING) if is_unused else problem
    if path.method is None or path.instance is None or span is None:
        return
    if path.instance not in names.instances:
        yield Diagnostic(
            code="unknown-instance",
            message=f"no profile declares an instance {path.instance!r} of {path.method!r}",
            spans=(span,),
            help=did_you_mean(path.instance, names.instances)
            or declare_instance_help(path.instance, path.method, in_call=layer.name == CALL_SOURCE),
        )
    elif names.instances[path.instance] != path.method:
        method = names.instances[path.instance]
        yield Diagnostic(
            code="unknown-instance",
            message=f"{path.instance!r} is an instance of {method!r}, not of {path.method!r}",
            spans=(span,),
            help=f"write {method}@{path.instance}",
        )


def declare_instance_help(instance: str, method: str, *, in_call: bool = False) -> str:
    """Return the help for an instance that is not declared; `in_call` if a Python call named it."""
    if not is_name_of("instance", instance):
        return f"{NAME_RULES['instance']}; {method}:BACKEND.OPTION is for all of {method}"
    in_profile = f'declare it in a profile: [instances.{instance}] with method = "{method}"'
    return f'{in_profile}, or pass instances={{"{method}": ["{instance}"]}}' if in_call else in_profile
