"""Validation of configuration files: every problem of a file in one run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.app.configuring.engine_models import model_file_problem
from etconfig.app.configuring.profile_choice import choose_project_profile
from etconfig.app.configuring.targets import Delegating, check_facts, find_installation
from etconfig.app.configuring.tuned_models import models_of
from etconfig.app.installation.installation import Installation
from etconfig.app.validating.file_checks import CHECKS, NEEDS, CheckedFile, FileCheck, Grounds
from etconfig.app.validating.validated_programs import programs_by_name
from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.diagnostics.allow_comments import Allowances
from etconfig.errors import ConfigError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet
from etconfig.profile.layers import layers_of, salvage_layers
from etconfig.profile.names import PROJECT_FILES
from etconfig.profile.profile import Profile
from etconfig.profile.project import parse_project, salvage_project

if TYPE_CHECKING:
    from etconfig.app.validating.selectability import Contestant
    from etconfig.expression.proof.proof_steps import ProofSteps


_NEEDS_DEVICE = frozenset(
    {
        "known-quirk",
        "memory-exceeded",
        "no-model-variant",
        "payload-mismatch",
        "undecided-condition",
        "unknown-fact-value",
    }
)
_NEEDS_PROGRAM = frozenset(
    {"not-delegated", "option-conflict", "process-scope-conflict", "program-conflict", "unknown-method"}
)
_OF_OTHER_COMMANDS = frozenset(
    {"cannot-carry", "failed-test", "matrix-mismatch", "not-updatable", "undecided-test", "untried-test"}
)
"""The codes that are looked for only on a given device, only with a program, and only by other commands."""


@record(frozen=True, kw_only=True)
class Validator(Grounds):
    """Runs the checks on configuration files. Attributes as for `Grounds`.

    Attributes:
        allowances: What comments allow.
    """

    allowances: Allowances = field(default_factory=Allowances, repr=False, compare=False)
    _contestants: dict[str, Contestant] = field(default_factory=dict, init=False, repr=False, compare=False)

    def problems(self, path: Path, without: Collection[str] = ()) -> tuple[Diagnostic, ...]:
        """Return all problems of a profile or a project file, each once, in the order of the lines.

        A file named `etconfig.toml` or `pyproject.toml` is a project file, any other one a profile.

        Args:
            path: The file.
            without: The names of checks to leave out, keys of `CHECKS`.

        Raises:
            BackendUnavailableError: the program delegates to a backend that is not installed.
            PluginError: a plugin that the program needs is broken.
            FactError: a fact set by hand is wrong.
        """
        for proofs in self._proofs():
            proofs.renew()
        validator = self
        if path.name in PROJECT_FILES:  # it is checked with the plugins that it names itself
            try:
                validator = replace(self, installation=self.installation.with_project(path))
            except ConfigError:  # it is reported with the other problems of the file
                validator = replace(self, installation=self.installation.without_project())
        name = str(path)
        self.allowances.paths[name] = path
        every = (*_each_once(validator._problems(path, without)), *self.allowances.problems(name))
        found = tuple(validator.installation.leveled(every, self.allowances))
        if found and path.name not in PROJECT_FILES:
            found += self._rule_problems
        return found if len(found) < 2 else tuple(sorted(found, key=_place))

    @cached_property
    def _rule_problems(self) -> tuple[Diagnostic, ...]:
        """The problems of rules that would have given findings other levels."""
        try:
            self.installation.rules  # noqa: B018  (read now)
        except ConfigError as error:
            return error.diagnostics
        return ()

    def unused_allowances(self, paths: Iterable[Path]) -> tuple[Diagnostic, ...]:
        """Return a warning for each comment in checked files that allows nothing, once all are checked."""
        unchecked = {*_OF_OTHER_COMMANDS, *(_NEEDS_DEVICE if self.device is None else ())}
        unchecked |= set() if self.found_programs.loaded else _NEEDS_PROGRAM
        found = [each for path in paths for each in self.allowances.unused(str(path), unchecked)]
        return tuple(self.installation.leveled(found, self.allowances))

    def _proofs(self) -> list[ProofSteps]:
        """Return the steps of the verifiers that were used; others have all steps left."""
        used = ("conditions", "expressions", "combinations")
        return [getattr(self, name).steps for name in used if name in vars(self)]

    def stop(self) -> None:
        """Let `problems` return soon, in whichever thread it runs; its result is then of no use."""
        for proofs in self._proofs():
            proofs.stop()

    def _problems(self, path: Path, without: Collection[str]) -> Iterator[Diagnostic]:
        assert self.by_hand is not None  # if they are wrong, this file is not to blame
        file = self._read(path)
        failed: set[FileCheck | None] = set()
        if not file.is_whole:
            self.allowances.cut_short.add(str(path))
        for name, check in CHECKS.items():
            if check.rests_on in failed:
                self.allowances.cut_short.add(str(path))
                continue
            if name in without or not all(NEEDS[need](self, file) for need in check.needs):
                continue
            try:
                for problem in check.find(self, file):
                    if problem.is_error:
                        failed.add(check)
                    if problem.code == "document-too-large":
                        self.allowances.cut_short.add(str(path))
                    yield problem
            except ConfigError as error:
                self.allowances.cut_short.add(str(path))
                yield from error.diagnostics

    def selection_problems(self) -> tuple[Diagnostic, ...]:
        """Return a problem for each profile checked so far that `auto` can never select beside others.

        These are the profiles on the profile path; for a profile that is not there, those checked so far
        that lie in the same directory of profiles.
        """
        if not self._contestants:
            return ()
        from etconfig.app.validating.selectability import unselectable_profiles

        found = unselectable_profiles(tuple(self._contestants.values()), self.profiles)
        return tuple(self.installation.leveled(found, self.allowances))

    def _read(self, path: Path) -> CheckedFile:
        file = CheckedFile(path=path, is_project=path.name in PROJECT_FILES)
        project = None
        try:
            if file.is_project:
                project = parse_project(self.profiles.document(path), self.profiles.expressions)
                facts = self.facts.with_overrides({**project.settings.facts, **self.by_hand})
                concerns = models_of(lambda: [*self.found_programs.loaded.values()])
                chain = choose_project_profile(self.installation, project, facts, concerns=concerns).chain
                layers = layers_of(chain, project)
            else:
                chain = self._read_profile(path)
                layers = layers_of(chain)
        except ConfigError as error:
            return self._salvaged(replace(file, problems=error.diagnostics))
        return replace(file, is_whole=True, chain=chain, layers=layers, project=project)

    def _read_profile(self, path: Path) -> tuple[Profile, ...]:
        file = self.profiles.library.find(path)
        try:
            chain = self.profiles.chain(file)
        finally:
            self.profiles.forget(file)  # unless it is a base: there may be thousands of files
        if file.name is not None or file.path.as_posix().endswith(f"{chain[-1].name}.toml"):
            from etconfig.app.validating.selectability import Contestant

            found = Contestant.of(file, chain)
            if found is not None:  # it lies where its name says, and so may be found by that name
                self._contestants[file.real_path] = found
        return chain

    def _salvaged(self, file: CheckedFile) -> CheckedFile:
        """Return a file that is wrong somewhere with all that can be read of it; it may have models only."""
        path, problems = file.path, file.problems
        if any(each.code == "invalid-toml" and each.spans[0].file == str(path) for each in problems):
            of_engine = model_file_problem(path)
            return file if of_engine is None else replace(file, problems=(of_engine,))
        expressions = self.profiles.expressions
        try:
            if file.is_project:
                project = salvage_project(self.profiles.document(path), expressions)
                settings = project.settings
                inherited = dict.fromkeys(settings.inherited, "*")
                layer = settings.to_layer(OriginKind.PROJECT, project.name, inherited)
                return replace(file, layers=(layer,), project=project)
            from etconfig.models.reading import is_models_document, parse_models

            document = self.profiles.document(path)
            if is_models_document(document):
                problems = ()
                return replace(file, problems=(), models=parse_models(document, expressions))
            chain, of_bases = self.profiles.salvage(self.profiles.library.find(path))
            layers, of_instances = salvage_layers(chain)
            problems = (*problems, *of_bases, *of_instances)
            return replace(file, problems=problems, chain=chain, layers=layers)
        except ConfigError as error:
            return replace(file, problems=(*problems, *error.diagnostics))


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
