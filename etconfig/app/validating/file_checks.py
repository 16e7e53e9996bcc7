"""The checks of `validate`: one list, in the order of the table in docs/tools.md, with what each needs."""

from __future__ import annotations

import datetime
import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.app.configuring.project_programs import user_layers
from etconfig.app.configuring.targets import (
    Delegating,
    plugin_warning,
    specs_of_program,
    targets_of_program,
    undeclared_warning,
    with_program_values,
    without_undeclared,
)
from etconfig.app.installation.engine_version import stale_engine
from etconfig.app.installation.installation import Installation
from etconfig.app.installation.misspelled_names import misspelled_backends
from etconfig.app.validating.validated_programs import (
    FoundPrograms,
    engine_problems,
    load_project_programs,
    unchecked_program,
)
from etconfig.base.provenance import OriginKind, Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import BackendUnavailableError, ConfigError, PluginError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet, load_fact_sheet
from etconfig.plugin import BACKENDS, EXECUTORS
from etconfig.profile.inheritance import ProfileReader, misplaced_profile
from etconfig.profile.layer import Layer
from etconfig.profile.profile import Profile, Reference
from etconfig.profile.project import ProjectFile
from etconfig.resolver.compiling.matching import verify_layers
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.device_problems import verify_on_device
from etconfig.resolver.deciding.program_check import verify_against_programs
from etconfig.schema.spec import BackendSpec

if TYPE_CHECKING:
    from etconfig.models.catalog import ModelCatalog
    from etconfig.profile.condition_checks import ConditionChecker
    from etconfig.resolver.compiling.matching import Fit
    from etconfig.resolver.proving.combinations import CombinationVerifier
    from etconfig.resolver.proving.expression_fit import ExpressionVerifier


@record(frozen=True, kw_only=True)
class Grounds:
    """The things that files are checked with; schemas and bases that they share are read once.

    Attributes:
        installation: The schemas, facts and profiles that files may refer to.
        programs: The programs that files are for, by the names that messages use; by default the
            project file's. Names are checked against all of them, and the arguments of each must resolve.
        device: If given, arguments must resolve on it, also without a program. If a check needs a
            device and none is given, it uses this one.
        fact_overrides: Facts set by hand, by name; they win over the facts of files.
        of_directories: The files that were found in a directory: a profile that `auto` may select must lie
            there where its name says.
        only_matching: True to resolve a profile only if its `match` holds on the device.
        unmatched: The profiles that were not resolved for this reason; filled by the checks.
        known_fits: Values that options accepted before.
    """

    installation: Installation
    programs: Mapping[str, Delegating] | None = None
    device: FactSheet | None = None
    fact_overrides: FactOverrides | None = None
    of_directories: Collection[Path] = ()
    only_matching: bool = False
    unmatched: set[Path] = field(default_factory=set, repr=False, compare=False)
    known_fits: set[Fit] = field(default_factory=set, init=False, repr=False, compare=False)
    _specs: dict[str, BackendSpec | Diagnostic] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def facts(self) -> FactSheet:
        """The facts of the device."""
        return self.installation.detect_facts() if self.device is None else self.device

    @cached_property
    def by_hand(self) -> Mapping[str, Sourced[object]]:
        """The facts set by hand. Raises FactError: one is wrong."""
        return source_facts(self.fact_overrides, self.facts.registry) if self.fact_overrides else {}

    @cached_property
    def backend_ids(self) -> frozenset[str]:
        """The ids of installed backends."""
        return frozenset(self.installation.backend_ids)

    @cached_property
    def profiles(self) -> ProfileReader:
        """The reader of profiles."""
        return ProfileReader(self.installation.readable_profiles, is_for_one_run=True)

    # Many files need none of these three, and their imports take a tenth of a short command's time.
    @cached_property
    def conditions(self) -> ConditionChecker:
        """Checks conditions."""
        from etconfig.profile.condition_checks import ConditionChecker

        return ConditionChecker(self.profiles.expressions.registry)

    @cached_property
    def expressions(self) -> ExpressionVerifier:
        """Verifies expressions as values."""
        from etconfig.resolver.proving.expression_fit import ExpressionVerifier

        return ExpressionVerifier(self.profiles.expressions.registry)

    @cached_property
    def combinations(self) -> CombinationVerifier:
        """Verifies options where a device meets several conditions."""
        from etconfig.resolver.proving.combinations import CombinationVerifier

        return CombinationVerifier(self.profiles.expressions.registry)

    @cached_property
    def found_programs(self) -> FoundPrograms:
        """The programs that files are for."""
        given = self.programs
        return load_project_programs(self.installation) if given is None else FoundPrograms(loaded=given)

    def specs(self, layers: Sequence[Layer]) -> tuple[dict[str, BackendSpec], list[Diagnostic]]:
        """Return the schemas of installed backends that the layers mention, and warnings for broken ones."""
        mentioned = {assignment.path.backend for layer in layers for assignment in layer.assignments}
        for backend in (mentioned & self.backend_ids) - self._specs.keys():
            try:
                self._specs[backend] = self.installation.plugins.backend_spec(backend)
            except PluginError as error:
                self._specs[backend] = plugin_warning(error)
        found = [self._specs[backend] for backend in sorted(mentioned & self.backend_ids)]
        broken = [each for each in found if isinstance(each, Diagnostic)]
        return {each.id: each for each in found if isinstance(each, BackendSpec)}, broken


@record(frozen=True, kw_only=True)
class CheckedFile:
    """A configuration file, as much of it as can be read.

    Attributes:
        path: Its path.
        is_project: True for a project file.
        problems: The reasons why something of it cannot be read.
        is_whole: True if everything can be read.
        layers: The layers of the profiles and of the project file; empty if it is neither.
        chain: The profiles that it extends or selects; of a profile, itself is the last.
        models: The models of a file that has nothing else.
        project: The contents of a project file, as far as they can be read.
    """

    path: Path
    is_project: bool
    problems: tuple[Diagnostic, ...] = ()
    is_whole: bool = False
    layers: tuple[Layer, ...] = ()
    chain: tuple[Profile, ...] = ()
    models: ModelCatalog | None = None
    project: ProjectFile | None = None

    @property
    def profile(self) -> Profile | None:
        """The profile, if it is one."""
        return None if self.is_project or not self.chain else self.chain[-1]


@record(frozen=True)
class FileCheck:
    """One check of configuration files; its docstring says what is true of files that pass.

    Attributes:
        find: Finds the problems, and may raise `ConfigError` for the rest of them.
        needs: The conditions under which it runs, keys of `NEEDS`.
        rests_on: The check that must find no error.
    """

    find: Callable[[Grounds, CheckedFile], Iterable[Diagnostic]]
    needs: tuple[str, ...]
    rests_on: FileCheck | None


NEEDS: Mapping[str, Callable[[Grounds, CheckedFile], bool]] = {
    "a project file": lambda _, file: file.is_project,
    "models": lambda _, file: file.is_project or file.models is not None,
    "a profile": lambda _, file: file.is_whole and not file.is_project,
    "settings": lambda _, file: bool(file.layers),
    "a right form": lambda _, file: file.is_whole,
    "programs": lambda grounds, _: bool(grounds.found_programs.loaded),
    "a device": lambda grounds, _: grounds.device is not None,
    "no device": lambda grounds, _: grounds.device is None,
}
"""The preconditions of checks."""


def _check(*needs: str, rests_on: FileCheck | None = None) -> Callable[[Any], FileCheck]:
    return lambda find: FileCheck(find, needs, rests_on)


@_check()
def _profile_path(grounds: Grounds, _: CheckedFile) -> Iterable[Diagnostic]:
    """Each named directory of profiles exists."""
    return grounds.installation.profile_path_problems


@_check()
def _programs(grounds: Grounds, _: CheckedFile) -> Iterable[Diagnostic]:
    """The programs and models of the project file can be read."""
    return grounds.found_programs.problems


@_check("a project file")
def _project(grounds: Grounds, _: CheckedFile) -> Iterable[Diagnostic]:
    """No second project file is ignored, and chosen plugins are installed."""
    return grounds.installation.project_warnings


@_check("a project file")
def _executor(grounds: Grounds, _: CheckedFile) -> Iterator[Diagnostic]:
    """The executor exists and accepts its options."""
    executor = grounds.installation.executor
    if executor is None and not grounds.installation.executor_tables:
        return
    from etconfig.app.programs.executors import NUMPY, check_executor_tables, missing_executor

    yield from check_executor_tables(grounds.installation)
    known = sorted({entry.name for entry in grounds.installation.index.entries(EXECUTORS)})
    if executor is not None and executor.target not in (NUMPY, *known):
        yield missing_executor(executor, known)


@_check("a project file")
def _kernels(grounds: Grounds, _: CheckedFile) -> Iterator[Diagnostic]:
    """Preferred kernels exist and are called."""
    if grounds.installation.kernel_preferences:
        from etconfig.app.programs.executors import ignored_kernel_choice

        yield from grounds.installation.kernel_problems.values()
        yield from ignored_kernel_choice(grounds.installation)


@_check("a project file")
def _tests(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """Devices and expected options exist, tests name options, facts and methods that do, rules name files."""
    project, directory = file.project, file.path.parent
    if project is None or not (project.devices or project.tests or project.expect or project.rule_paths):
        return
    from etconfig.app.configuring.project_devices import devices_named
    from etconfig.app.configuring.project_tests import check_tests, missing_expected

    sheets: dict[str, Path] = {}
    yield from _problems_of(lambda: sheets.update(devices_named(project.devices, directory)))
    for sheet in sheets.values():
        yield from _problems_of(partial(load_fact_sheet, sheet, grounds.facts.registry))
    if project.expect is not None and not (directory / project.expect.target).exists():
        yield missing_expected(project.expect)
    yield from (each for path in project.rule_paths for each in _unused_rule(path, directory))
    if project.tests:
        places = [each.where for each in project.tests if each.where is not None]
        yield from grounds.conditions.problems(places) if places else ()
        programs = grounds.found_programs
        check_tests(grounds.installation, project.tests, programs.known if programs.loaded else None)


def _problems_of(run: Callable[[], object]) -> Sequence[Diagnostic]:
    try:
        run()
    except ConfigError as error:
        return error.diagnostics
    return ()


def _unused_rule(path: Reference, directory: Path) -> Iterator[Diagnostic]:
    """Yield a warning if nothing is where `[[rules.files]]` says; below `**`, nothing is searched."""
    head, stars, _ = path.target.lstrip("/").partition("**")
    pattern = Path(glob.escape(str(directory))) / (head.rpartition("/")[0] if stars else head)
    if not glob.glob(str(pattern)):  # noqa: PTH207  (Path.glob takes no absolute patterns)
        yield Diagnostic(
            code="unused-allowance",
            message=f"no file or directory matches {path.target!r}, so these rules change nothing",
            spans=(path.span,),
            severity=Severity.WARNING,
            help="correct the path, which is relative to the project file, or remove it",
        )


@_check("models")
def _models(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """The backends of models are installed, and each condition holds on some devices."""
    models = file.models
    if models is None and grounds.installation.may_declare_models:
        models = grounds.installation.models
    if models is not None:
        yield from engine_problems(models, grounds.backend_ids)
        yield from grounds.conditions.problems(models.conditions) if models.conditions else ()


@_check()
def _form(_: Grounds, file: CheckedFile) -> Iterable[Diagnostic]:
    """TOML, keys, types, facts and everything that it extends are right."""
    return file.problems


@_check("settings")
def _conditions(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """Each condition of the file itself holds on some devices only, and no setting hides another."""
    assignments = file.layers[-1].assignments
    conditions = [each.condition for each in assignments if each.condition is not None]
    if file.profile is not None and file.profile.match is not None:
        conditions.append(file.profile.match)
    if conditions:
        yield from grounds.conditions.problems(conditions)
        yield from grounds.conditions.shadowed_assignments(assignments)


@_check("a profile")
def _profile(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """Its measurements are of this engine and in the past; in a directory, its path ends with its name."""
    profile = file.chain[-1]
    if profile.evidence is not None:
        yield from profile.evidence.date_problems(datetime.date.today())
        yield from stale_engine(profile.name, profile.evidence, grounds.facts, Severity.WARNING)
    if file.path in grounds.of_directories and profile.match is not None:
        yield from misplaced_profile(profile, file.path)


@_check("settings", "a device")
def _facts(grounds: Grounds, _: CheckedFile) -> Iterable[Diagnostic]:
    """The device has facts of installed backends only."""
    return misspelled_backends(grounds.facts.with_overrides(grounds.by_hand), grounds.backend_ids)


@_check("settings")
def _settings(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """The plugins of its backends are not broken; each option exists and accepts its value."""
    (specs, broken), known = grounds.specs(file.layers), grounds.known_fits
    yield from broken
    # With a given device its own values count, not values that other devices might have.
    expressions = (lambda: grounds.expressions) if grounds.device is None else None
    for problem in verify_layers(file.layers, specs, grounds.backend_ids, known, expressions):
        backend = (problem.spans[0].underlined or "").strip("\"'")
        reason = None
        if problem.code == "backend-not-installed":  # perhaps it is, and may not be used
            reason = grounds.installation.index.explain_refusal(BACKENDS, backend)
        yield problem if reason is None else replace(problem, help=reason)


@_check("settings", "programs")
def _names(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """Programs have its methods and backends; packages' profiles may serve other programs."""
    others = file.chain if file.is_project else file.chain[:-1]
    own = user_layers(grounds.installation, others, file.layers)
    return verify_against_programs(own, grounds.found_programs.known, grounds.backend_ids)


@_check("a right form")
def _arguments(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """The arguments resolve for each program, and on the device, and fit into its memory."""
    match = file.profile and file.profile.match
    if grounds.device is not None and grounds.only_matching and match:
        known = grounds.installation.known_facts(grounds.device, grounds.by_hand)
        if match.evaluate(known.values) is not True:
            grounds.unmatched.add(file.path)
            return
    programs = grounds.found_programs.loaded
    if not programs and grounds.device is not None:
        specs, _ = grounds.specs(file.layers)
        yield from _unresolvable(grounds, file, specs, [Target(method=ANY_METHOD, backends=tuple(specs))])
    for name, program in programs.items():
        targets, undeclared = without_undeclared(grounds.installation, targets_of_program(program, {}))
        yield from map(undeclared_warning, undeclared)
        needed = sorted({backend for target in targets for backend in target.backends})
        try:
            specs = specs_of_program(grounds.installation, program, needed)
        except BackendUnavailableError as error:
            if grounds.programs is not None:
                raise
            yield unchecked_program(grounds.found_programs.references[name], error)
            continue
        targets = with_program_values(targets, program, specs)
        try:
            yield from _unresolvable(grounds, file, specs, targets, program)
        except ConfigError as error:
            yield from error.diagnostics


def _unresolvable(
    grounds: Grounds,
    file: CheckedFile,
    specs: Mapping[str, BackendSpec],
    targets: Sequence[Target],
    program: Delegating | None = None,
) -> Iterator[Diagnostic]:
    # the project file sets facts for every profile; a project file brings its own
    facts = {} if file.is_project else grounds.installation.project_facts
    around = Layer(kind=OriginKind.PROJECT, name="project file", facts=facts)
    by_hand = Layer(kind=OriginKind.OVERRIDE, name="fact_overrides", facts=grounds.by_hand)
    layers = (*file.layers, around, by_hand)
    known = grounds.found_programs.known.methods.values()
    resolver = Resolver.compile(
        specs,
        layers,
        targets,
        grounds.backend_ids,
        grounds.installation.advice,
        elsewhere=lambda: {*chain(*known)},
    )
    yield from resolver.warnings
    if grounds.device is None:  # the budget of another machine says nothing about this one
        resolver = replace(resolver, budget=None)
    resolution = resolver.resolve(grounds.facts)
    if grounds.device is not None:
        yield from (each for each in resolution.warnings if each.code.startswith("budget-"))
        yield from resolution.undecided
        yield from verify_on_device(resolution, grounds.facts.values)
        if program is not None:
            from etconfig.app.programs.memory_needs import memory_problems  # reads programs
            from etconfig.app.programs.payloads import payload_problems

            yield from memory_problems(program, resolution)
            yield from payload_problems(program, resolution.facts)


@_check("a right form", "no device", rests_on=_settings)
def _combinations(grounds: Grounds, file: CheckedFile) -> Iterator[Diagnostic]:
    """The options are also right where a device meets several conditions."""
    # another profile may set what a base lacks, which is never selected by itself
    is_base = file.profile is not None and file.profile.match is None
    for spec in grounds.specs(file.layers)[0].values():
        known = grounds.found_programs.known.methods.values()
        found = (tuple(name for name, backends in p.items() if spec.id in backends) for p in known)
        for methods in dict.fromkeys(found) if known else (None,):  # None: of any methods
            for problem in grounds.combinations.problems(spec, file.layers, methods):
                yield replace(problem, severity=Severity.WARNING) if is_base else problem


CHECKS = {name[1:].replace("_", " "): each for name, each in vars().items() if isinstance(each, FileCheck)}
"""All checks by name, in the order in which a file goes through them."""
