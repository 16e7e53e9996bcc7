"""Validation of configuration files: every problem of a file in one run."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.app.configuring.engine_models import model_file_problem
from etconfig.app.configuring.profile_choice import choose_project_profile
from etconfig.app.configuring.project_programs import backends_by_method, user_layers
from etconfig.app.configuring.targets import (
    Delegating,
    check_facts,
    find_installation,
    model_names_of,
    plugin_warning,
    specs_of_program,
    targets_of_program,
    undeclared_warning,
    with_program_values,
    without_undeclared,
)
from etconfig.app.configuring.tuned_models import models_of
from etconfig.app.installation.engine_version import stale_engine
from etconfig.app.installation.installation import Installation
from etconfig.app.installation.misspelled_names import misspelled_backends
from etconfig.app.validating.validated_programs import (
    ProjectPrograms,
    engine_problems,
    load_project_programs,
    programs_by_name,
    unchecked_program,
)
from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.provenance import OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.diagnostics.allow_comments import Allowances
from etconfig.errors import BackendUnavailableError, ConfigError, PluginError, ProfileError
from etconfig.facts.overrides import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet
from etconfig.plugin import BACKENDS, EXECUTORS
from etconfig.profile.document import load_document
from etconfig.profile.inheritance import ProfileReader, misplaced_profile
from etconfig.profile.layer import Layer
from etconfig.profile.layers import layers_of, salvage_layers
from etconfig.profile.names import PROJECT_FILES
from etconfig.profile.profile import Profile
from etconfig.profile.project import ProjectFile, parse_project, salvage_layer
from etconfig.resolver.compiling.matching import verify_layers
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.device_problems import verify_on_device
from etconfig.resolver.deciding.program_check import KnownPrograms, noun_of, verify_against_programs
from etconfig.schema.spec import BackendSpec

if TYPE_CHECKING:
    from etconfig.app.validating.selectability import Contestant
    from etconfig.profile.condition_checks import ConditionChecker
    from etconfig.profile.library import ProfileFile
    from etconfig.resolver.compiling.matching import Fit
    from etconfig.resolver.proving.combinations import CombinationVerifier
    from etconfig.resolver.proving.expression_fit import ExpressionVerifier


_NEEDS_DEVICE = frozenset(
    {"memory-exceeded", "no-model-variant", "undecided-condition", "unknown-fact-value"}
)
_NEEDS_PROGRAM = frozenset(
    {"not-delegated", "option-conflict", "process-scope-conflict", "program-conflict", "unknown-method"}
)
"""The codes that are looked for only on a given device, and only with a program."""


@record(frozen=True, kw_only=True)
class Validator:
    """Checks configuration files; schemas and bases that they share are read once.

    Attributes:
        installation: The schemas, facts and profiles that files may refer to.
        programs: The programs that files are for, by the names that messages use; by default those of the
            project file. Names are checked against all of them, and the arguments of each must resolve.
        device: If given, arguments must resolve on it, also without a program. If a check needs a
            device and none is given, it uses this one.
        fact_overrides: Facts set by hand, by name; they win over the facts of files.
        of_directories: The files that were found in a directory: a profile that `auto` may select must lie
            there where its name says.
        only_matching: True to resolve a profile only if its `match` holds on the device.
        unmatched: The profiles that were not resolved for this reason; filled by `problems`.
        allowances: What comments allow.
    """

    installation: Installation
    programs: Mapping[str, Delegating] | None = None
    device: FactSheet | None = None
    fact_overrides: FactOverrides | None = None
    of_directories: Collection[Path] = ()
    only_matching: bool = False
    unmatched: set[Path] = field(default_factory=set, repr=False, compare=False)
    allowances: Allowances = field(default_factory=Allowances, repr=False, compare=False)
    _known: dict[str, BackendSpec | Diagnostic] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _contestants: dict[str, Contestant] = field(default_factory=dict, init=False, repr=False, compare=False)
    _known_fits: set[Fit] = field(default_factory=set, init=False, repr=False, compare=False)

    def problems(self, path: Path) -> tuple[Diagnostic, ...]:
        """Return all problems of a profile or a project file, each once, in the order of the lines.

        A file named `etconfig.toml` or `pyproject.toml` is a project file, any other one a profile.

        Raises:
            BackendUnavailableError: the program delegates to a backend that is not installed.
            PluginError: a plugin that the program needs is broken.
        """
        is_project = path.name in PROJECT_FILES
        for check in ("_conditions", "_expressions", "_combinations"):
            if check in vars(self):  # made on first use, with all steps left
                getattr(self, check).steps.renew()
        validator = self._for_project(path) if is_project else self
        name = str(path)
        self.allowances.paths[name] = path
        every = (*_each_once(validator._problems(path, is_project)), *self.allowances.problems(name))
        found = tuple(validator.installation.leveled(every, self.allowances))
        if found and not is_project:
            found += self._rule_problems
        return found if len(found) < 2 else tuple(sorted(found, key=_place))

    def unused_allowances(self, paths: Iterable[Path]) -> tuple[Diagnostic, ...]:
        """Return a warning for each comment in checked files that allows nothing, once all are checked."""
        unchecked = {*_NEEDS_DEVICE} if self.device is None else set()
        unchecked |= set() if self._readable_programs else _NEEDS_PROGRAM
        found = [each for path in paths for each in self.allowances.unused(str(path), unchecked)]
        return tuple(self.installation.leveled(found, self.allowances))

    def selection_problems(self) -> tuple[Diagnostic, ...]:
        """Return a problem for each profile checked so far that `auto` can never select beside others.

        These are the profiles on the profile path; for a profile that is not there, those checked so far
        that lie in the same directory of profiles.
        """
        if not self._contestants:
            return ()
        from etconfig.app.validating.selectability import unselectable_profiles

        found = unselectable_profiles(tuple(self._contestants.values()), self._profiles)
        return tuple(self.installation.leveled(found, self.allowances))

    def _for_project(self, path: Path) -> Validator:
        """Return the validator of a project file: it is checked with the plugins that it names itself."""
        try:
            return replace(self, installation=self.installation.with_project(path))
        except ConfigError:  # it is reported with the other problems of the file
            return replace(self, installation=self.installation.without_project())

    @cached_property
    def _rule_problems(self) -> tuple[Diagnostic, ...]:
        """The problems of rules that would have given findings other levels."""
        try:
            self.installation.rules  # noqa: B018  (read now)
        except ConfigError as error:
            return error.diagnostics
        return ()

    @cached_property
    def _facts(self) -> FactSheet:
        return self.installation.detect_facts() if self.device is None else self.device

    @cached_property
    def _by_hand(self) -> Mapping[str, Sourced[object]]:
        return source_facts(self.fact_overrides, self._facts.registry) if self.fact_overrides else {}

    @cached_property
    def _backend_ids(self) -> frozenset[str]:
        return frozenset(self.installation.backend_ids)

    @cached_property
    def _profiles(self) -> ProfileReader:
        return ProfileReader(self.installation.readable_profiles, is_for_one_run=True)

    @cached_property
    def _conditions(self) -> ConditionChecker:
        # Many files need none of these three, and their imports take a tenth of a short command's time.
        from etconfig.profile.condition_checks import ConditionChecker

        return ConditionChecker(self._profiles.expressions.registry)

    @cached_property
    def _expressions(self) -> ExpressionVerifier:
        from etconfig.resolver.proving.expression_fit import ExpressionVerifier

        return ExpressionVerifier(self._profiles.expressions.registry)

    @cached_property
    def _combinations(self) -> CombinationVerifier:
        from etconfig.resolver.proving.combinations import CombinationVerifier

        return CombinationVerifier(self._profiles.expressions.registry)

    @cached_property
    def _project_programs(self) -> ProjectPrograms:
        """The programs of the project file, unless others are given."""
        if self.programs is not None:
            return ProjectPrograms()
        return load_project_programs(self.installation)

    @property
    def _readable_programs(self) -> Mapping[str, Delegating]:
        return self._project_programs.loaded if self.programs is None else self.programs

    @cached_property
    def _known_programs(self) -> KnownPrograms:
        return KnownPrograms(
            methods={name: backends_by_method(p) for name, p in self._readable_programs.items()},
            unread=self._project_programs.unread,
            noun=noun_of(
                name in model_names_of(p) for p in self._readable_programs.values() for name in p.method_names
            ),
        )

    def _problems(self, path: Path, is_project: bool) -> Iterator[Diagnostic]:
        try:
            yield from self._project_problems(is_project)
            chain, project = self._read_project(path) if is_project else (self._read_profile(path), None)
            layers = layers_of(chain, project)
        except ConfigError as error:
            failed = {each.spans[0].file for each in error.diagnostics if each.code == "invalid-toml"}
            is_text = str(path) not in failed
            of_engine = None if is_text else model_file_problem(path)
            if of_engine is not None:
                yield of_engine
                return
            of_models = None if is_project or not is_text else self._problems_as_models(path)
            if of_models is not None:
                yield from of_models
                return
            yield from error.diagnostics
            yield from self._salvaged_problems(path, is_project) if is_text else ()
            return
        yield from self._condition_problems(layers[-1], None if project else chain[-1])
        evidence = chain[-1].evidence if project is None else None
        if evidence is not None:
            yield from evidence.date_problems(datetime.date.today())
            yield from stale_engine(chain[-1].name, evidence, self._facts, Severity.WARNING)
        if project is None and path in self.of_directories and chain[-1].match is not None:
            yield from misplaced_profile(chain[-1], path)
        specs, broken = self._specs(layers)
        yield from broken
        if self.device is not None:
            known = self._facts.with_overrides(self._by_hand)
            yield from misspelled_backends(known, self._backend_ids)
        is_resolved = project is not None or self._is_about_device(chain[-1])
        if not is_resolved:
            self.unmatched.add(path)
        programs = self._readable_programs
        if not programs and self.device is not None and is_resolved:
            targets = (Target(method=ANY_METHOD, backends=tuple(specs)),)
            yield from self._settings_problems(layers, specs, targets)
            return
        found = tuple(self._settings_problems(layers, specs))
        yield from found
        yield from self._name_problems(chain if project else chain[:-1], layers)
        for name, program in programs.items() if is_resolved else ():
            yield from self._program_problems(name, program, layers)
        if self.device is None and not any(problem.is_error for problem in found):
            is_base = project is None and chain[-1].match is None
            yield from self._combined_problems(layers, specs, is_base)

    def _is_about_device(self, profile: Profile) -> bool:
        """Return False if profiles count only where they match, and this one does not match the device."""
        if self.device is None or not self.only_matching or profile.match is None:
            return True
        facts = self.installation.known_facts(self.device, self._by_hand)
        return profile.match.evaluate(facts.values) is True

    def _project_problems(self, is_project: bool) -> Iterator[Diagnostic]:
        """Check where profiles are found; for a project file also what it has besides settings."""
        yield from self.installation.profile_path_problems
        yield from self._project_programs.problems
        if is_project:
            yield from self.installation.project_warnings
            yield from self._executor_problems()
            yield from self._kernel_problems()
            yield from self._model_problems()

    def _kernel_problems(self) -> Iterator[Diagnostic]:
        """Check that the distributions of `[kernels.prefer]` have these kernels, and that they are called."""
        with suppress(ProfileError):  # reported with the rest of the file
            if self.installation.kernel_preferences:
                from etconfig.app.programs.executors import ignored_kernel_choice

                yield from self.installation.kernel_problems.values()
                yield from ignored_kernel_choice(self.installation)

    def _model_problems(self) -> Iterator[Diagnostic]:
        """Check the models of the project file, apart from their programs."""
        try:
            if not self.installation.may_declare_models:
                return
            catalog = self.installation.models
        except ConfigError as error:
            yield from error.diagnostics
            return
        yield from engine_problems(catalog, self._backend_ids)
        yield from self._conditions.problems(catalog.conditions) if catalog.conditions else ()

    def _problems_as_models(self, path: Path) -> tuple[Diagnostic, ...] | None:
        """Return the problems of a file of models; None if it is not one.

        That is asked only of a file that is not a profile either.
        """
        from etconfig.models.reading import is_models_document, parse_models

        try:
            document = self._profiles.document(path)
            if not is_models_document(document):
                return None
            catalog = parse_models(document, self._profiles.expressions)
        except ConfigError as error:
            return error.diagnostics
        of_engines = engine_problems(catalog, self._backend_ids)
        return (*of_engines, *self._conditions.problems(catalog.conditions))

    def _executor_problems(self) -> Iterator[Diagnostic]:
        """Check the executor that the project file names; one of a plugin may be missing here only."""
        try:
            executor = self.installation.executor
            has_options = bool(self.installation.executor_tables)
        except ProfileError:
            return  # reported with the rest of the file
        if executor is None and not has_options:
            return
        from etconfig.app.programs.executors import NUMPY, check_executor_tables, missing_executor

        yield from check_executor_tables(self.installation)
        known = sorted({entry.name for entry in self.installation.index.entries(EXECUTORS)})
        if executor is not None and executor.target not in (NUMPY, *known):
            yield missing_executor(executor, known)

    def _read_profile(self, path: Path) -> tuple[Profile, ...]:
        file = self._profiles.library.find(path)
        try:
            chain = self._profiles.chain(file)
        finally:
            self._profiles.forget(file)  # unless it is a base: there may be thousands of files
        self._note_contestant(file, chain)
        return chain

    def _read_project(self, path: Path) -> tuple[tuple[Profile, ...], ProjectFile]:
        project = parse_project(load_document(path), self._profiles.expressions)
        facts = self._facts.with_overrides({**project.settings.facts, **self._by_hand})
        concerns = models_of(lambda: [*self._readable_programs.values()])
        return choose_project_profile(self.installation, project, facts, concerns=concerns).chain, project

    def _note_contestant(self, file: ProfileFile, chain: Sequence[Profile]) -> None:
        """Remember a profile that lies where its name says, and so may be found by that name."""
        if file.name is not None or file.path.as_posix().endswith(f"{chain[-1].name}.toml"):
            from etconfig.app.validating.selectability import Contestant

            found = Contestant.of(file, chain)
            if found is not None:
                self._contestants[file.real_path] = found

    def _salvaged_problems(self, path: Path, is_project: bool) -> Iterator[Diagnostic]:
        """Find what else is wrong with a file that is wrong somewhere, as far as it can be read."""
        try:
            if is_project:
                document, expressions = load_document(path), self._profiles.expressions
                layers: tuple[Layer, ...] = (salvage_layer(document, expressions, OriginKind.PROJECT),)
                profile = None
            else:
                chain, problems = self._profiles.salvage(self._profiles.library.find(path))
                layers, declarations = salvage_layers(chain)
                profile = chain[-1]
                yield from (*problems, *declarations)
            yield from self._condition_problems(layers[-1], profile)
            yield from self._settings_problems(layers, self._specs(layers)[0])
        except ConfigError:
            return  # it is not TOML, which was reported
        yield from verify_against_programs(layers, self._known_programs, self._backend_ids)

    def _condition_problems(self, layer: Layer, profile: Profile | None) -> Iterator[Diagnostic]:
        """Check the conditions of the file itself; its bases are files of their own."""
        conditions = [each.condition for each in layer.assignments if each.condition is not None]
        if profile is not None and profile.match is not None:
            conditions.append(profile.match)
        if conditions:
            yield from self._conditions.problems(conditions)
            yield from self._conditions.shadowed_assignments(layer.assignments)

    def _combined_problems(
        self, layers: Sequence[Layer], specs: Mapping[str, BackendSpec], is_base: bool
    ) -> Iterator[Diagnostic]:
        """Check devices that meet several conditions.

        A base is never selected by itself: a profile that extends it may set what it lacks. So its own
        problems are warnings.
        """
        for spec in specs.values():
            for methods in self._delegating_methods(spec.id):
                for problem in self._combinations.problems(spec, layers, methods):
                    yield replace(problem, severity=Severity.WARNING) if is_base else problem

    def _delegating_methods(self, backend: str) -> Iterable[Sequence[str] | None]:
        """Return the methods that delegate to a backend, for each program; None stands for any methods."""
        known = self._known_programs.methods.values()
        if not known:
            return (None,)
        found = (tuple(name for name, backends in p.items() if backend in backends) for p in known)
        return dict.fromkeys(found)

    def _specs(self, layers: Sequence[Layer]) -> tuple[dict[str, BackendSpec], list[Diagnostic]]:
        """Return the schemas of installed backends that the layers mention, and warnings for broken ones."""
        mentioned = {assignment.path.backend for layer in layers for assignment in layer.assignments}
        specs: dict[str, BackendSpec] = {}
        broken: list[Diagnostic] = []
        for backend in sorted(mentioned & self._backend_ids):
            if backend not in self._known:
                self._known[backend] = self._spec(backend)
            spec = self._known[backend]
            if isinstance(spec, Diagnostic):
                broken.append(spec)
            else:
                specs[backend] = spec
        return specs, broken

    def _spec(self, backend: str) -> BackendSpec | Diagnostic:
        try:
            return self.installation.plugins.backend_spec(backend)
        except PluginError as error:
            return plugin_warning(error)

    def _settings_problems(
        self,
        layers: Sequence[Layer],
        specs: Mapping[str, BackendSpec],
        targets: Sequence[Target] = (),
        program: Delegating | None = None,
    ) -> Iterator[Diagnostic]:
        """Check the layers against the schemas, that the targets' arguments resolve, and their memory."""
        # With a given device its own values count, not values that other devices might have.
        expressions = (lambda: self._expressions) if self.device is None else None
        for problem in verify_layers(layers, specs, self._backend_ids, self._known_fits, expressions):
            yield self._with_refusal(problem) if problem.code == "backend-not-installed" else problem
        if not targets:
            return
        by_hand = Layer(kind=OriginKind.OVERRIDE, name="fact_overrides", facts=self._by_hand)
        try:
            layers = (*layers, *self._surrounding(layers), by_hand)
            advice = self.installation.advice
            resolver = Resolver.compile(specs, layers, targets, self._backend_ids, advice)
            yield from resolver.warnings
            resolution = resolver.resolve(self._facts)
            if self.device is not None:
                yield from resolution.undecided
                yield from verify_on_device(resolution, self._facts.values)
                if program is not None:
                    from etconfig.app.programs.memory_needs import memory_problems  # reads programs

                    yield from memory_problems(program, resolution)
        except ConfigError as error:
            yield from error.diagnostics

    def _with_refusal(self, problem: Diagnostic) -> Diagnostic:
        """Return the problem of a missing plugin, with the reason if it is installed and may not be used."""
        backend = problem.spans[0].underlined or ""
        reason = self.installation.index.explain_refusal(BACKENDS, backend.strip("\"'"))
        return problem if reason is None else replace(problem, help=reason)

    def _surrounding(self, layers: Sequence[Layer]) -> tuple[Layer, ...]:
        """Return the facts that the project file sets for every profile; a project file brings its own."""
        facts = {} if layers[-1].kind is OriginKind.PROJECT else self.installation.project_facts
        return (Layer(kind=OriginKind.PROJECT, name="project file", facts=facts),) if facts else ()

    def _name_problems(self, chain: Sequence[Profile], layers: Sequence[Layer]) -> Iterator[Diagnostic]:
        """Check the names in the layers against all programs; packages' profiles may serve other programs.

        Args:
            chain: The profiles that the file extends or selects, which are the first layers.
            layers: All layers.
        """
        known = self._known_programs
        if known.methods:
            own = user_layers(self.installation, chain, layers)
            yield from verify_against_programs(own, known, self._backend_ids)

    def _program_problems(
        self, name: str, program: Delegating, layers: Sequence[Layer]
    ) -> Iterator[Diagnostic]:
        targets, undeclared = without_undeclared(self.installation, targets_of_program(program, {}))
        yield from map(undeclared_warning, undeclared)
        needed = sorted({backend for target in targets for backend in target.backends})
        try:
            specs = specs_of_program(self.installation, program, needed)
        except BackendUnavailableError as error:
            if self.programs is not None:
                raise
            yield unchecked_program(self._project_programs.references[name], error)
            return
        targets = with_program_values(targets, program, specs)
        yield from self._settings_problems(layers, specs, targets, program)


def validate_file(
    path: AnyPath,
    installation: Installation | None = None,
    program: Delegating | Iterable[Delegating] | None = None,
    facts: FactSheet | None = None,
    fact_overrides: FactOverrides | None = None,
) -> tuple[Diagnostic, ...]:
    """Return everything that is wrong with one profile or project file.

    Example:
        >>> for problem in etconfig.validate_file("camera.toml"):
        ...     print(problem)
        camera.toml:4:1: ReferenceCpuBackend has no option 'num_thread'

    Args:
        path: The file.
        installation: The plugins, whose schemas the options are checked with; by default the program's,
            else those found from the current directory.
        program: The program or programs that the file is for, or `Models` without one, to check names of
            methods and backends too; by default the project file's programs.
        facts: The device that the file is for, to evaluate its conditions too.
        fact_overrides: Facts set by hand, as for `configure`.

    Raises:
        BackendUnavailableError: the program delegates to a backend that is not installed.
        PluginError: a plugin that the program needs is broken.
        FactError: a fact set by hand is wrong.
        TypeError: an argument is of a wrong type.
    """
    path = as_path("path", path)
    programs = programs_by_name(program)
    installation = find_installation(installation, next(iter(programs.values()), None) if programs else None)
    installation, unreadable = readable_installation(installation)
    if facts is not None:
        check_facts(facts)
    if fact_overrides is not None:
        fact_overrides = source_facts(fact_overrides, installation.fact_registry)
    validator = Validator(
        installation=installation, programs=programs, device=facts, fact_overrides=fact_overrides
    )
    found = (*unreadable, *validator.problems(path), *validator.selection_problems())
    return _each_once((*found, *validator.unused_allowances((path,))))


def readable_installation(installation: Installation) -> tuple[Installation, tuple[Diagnostic, ...]]:
    """Return an installation whose plugins are known, and the problems of a project file that is left out.

    Without its choice of plugins, nothing could be checked.
    """
    try:
        installation.index  # noqa: B018  (read now)
    except ConfigError as error:
        return installation.without_project(), error.diagnostics
    return installation, ()


def _each_once(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Leave out problems that were found before at the same places, perhaps with other values."""
    found: dict[object, Diagnostic] = {}
    for problem in problems:
        found.setdefault(
            (problem.code, problem.message, problem.spans) if problem.spans else problem, problem
        )
    return tuple(found.values())


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    if not diagnostic.spans:
        return "", 0, 0
    span = diagnostic.spans[0]
    return span.file, span.line, span.column
