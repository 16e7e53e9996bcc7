"""`Installation`: the plugins, profiles and project file found here, each read when it is needed.

One object provides what all commands share: the project file, the plugins, the registry of facts,
and the profiles. It is created at the entry point and passed on, so nothing is global.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from etconfig.app.installation.profile_path import (
    PROFILE_PATH_VARIABLE,
    NamedDirectory,
    broken_package,
    directories_in_project,
    directories_in_variable,
    each_once,
    user_profiles,
)
from etconfig.app.installation.project_location import find_project_file, ignored_project_file
from etconfig.base.parameters import AnyPath, as_path, check_type
from etconfig.plugin import (
    BACKENDS,
    KERNELS,
    PluginIndex,
    PluginPolicy,
    discover_plugins,
    profile_directories,
)

if TYPE_CHECKING:
    from etconfig.app.installation.contributed_facts import ContributedFacts
    from etconfig.app.installation.kernel_choice import GivenKernels, KernelChoice, SourcedTable
    from etconfig.base.provenance import Sourced
    from etconfig.diagnostics import Diagnostic, Span
    from etconfig.diagnostics.allow_comments import Allowances
    from etconfig.diagnostics.rules import Rules
    from etconfig.facts.registry import FactRegistry
    from etconfig.facts.sheet import FactSheet
    from etconfig.kernel.registry import Kernel
    from etconfig.models.catalog import ModelCatalog
    from etconfig.plugin import PluginFailure
    from etconfig.plugin.code_backends import GivenBackends
    from etconfig.plugin.entry_points import EntryPoint
    from etconfig.plugin.registry import PluginRegistry
    from etconfig.profile.document import Document
    from etconfig.profile.inheritance import ProfileReader
    from etconfig.profile.library import ProfileLibrary
    from etconfig.profile.profile import Profile, Reference
    from etconfig.profile.project import ExecutorTable, ProjectFile
    from etconfig.profile.selector import ProfileSelector
    from etconfig.resolver.deciding.advice import AdviceReader
    from etconfig.schema.spec import BackendSpec

_OpenedT = TypeVar("_OpenedT")

_READ_FROM_FILES = (
    "project_path",
    "_project_document",
    "project",
    "project_warnings",
    "executor",
    "executor_tables",
    "programs",
    "rules",
    "models",
    "_opened",
    "readable_profiles",
    "_profile_reader",
    "selector",
    "_profile_path",
    "kernels",
    "kernel_tables",
    "kernel_preferences",
)
"""What an installation keeps of files; plugins are imported once."""

PROJECT_VARIABLE = "ETCONFIG_PROJECT"
"""The variable that names the project file, instead of a search."""


class Installation:
    """A snapshot of the plugins, profiles and project file found here, each read when it is first needed.

    Later changes of files do not count, except for what could not be read: see `refreshed`.

    Example:
        >>> installation = etconfig.Installation()  # without a project file
        >>> "ReferenceCpuBackend" in installation.backend_ids
        True

    Args:
        directory: The directory in which, and above which, to look for a project file; None reads none.
        environ: The environment variables; by default the process's own. With other ones, the
            user's profiles are found through their XDG_CONFIG_HOME only.
        profile_directories: Further directories of profiles.
        search_path: The directories of installed distributions; by default `sys.path`.

    Raises:
        TypeError: an argument is not a path, or not a list of them.
    """

    def __init__(
        self,
        directory: AnyPath | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        profile_directories: Iterable[AnyPath] = (),
        search_path: Iterable[AnyPath] | None = None,
    ) -> None:
        self.environ = dict(os.environ if environ is None else environ)
        self._is_own_environment = environ is None
        self.directory = None if directory is None else as_path("directory", directory)
        self.profile_directories = _paths("profile_directories", profile_directories)
        paths = None if search_path is None else _paths("search_path", search_path)
        self._search_path = None if paths is None else [str(path) for path in paths]
        self._project_path: Path | None = None
        self.executor_texts: tuple[tuple[str, str], ...] = ()
        self._given_kernels: tuple[Kernel, ...] = ()
        self.texts: Mapping[str, str] = {}

    def with_executor_texts(self, texts: Iterable[tuple[str, str]]) -> Installation:
        """Return the same installation with options of the executor, as a command line has them.

        They win over options of the project file; `load_program(..., executor_options=...)` wins over them.

        Args:
            texts: Names and values; the name of an option with an array may be repeated.
        """
        other = copy.copy(self)
        other.executor_texts = tuple(texts)
        return other

    def with_project(self, path: AnyPath) -> Installation:
        """Return the same installation as seen with a project file; what it says itself is read again.

        Raises:
            ConfigError: the file cannot be read, or chooses plugins wrongly.
            TypeError: `path` is not a path.
        """
        path = as_path("path", path)
        other = self.without_project()
        other._project_path = path
        if self.project_path is not None and path.resolve() == self.project_path.resolve():
            other.index, other.plugins = self.index, self.plugins
        else:
            other.index = discover_plugins(self._search_path, policy=other._policy())
            known: PluginIndex | None = vars(self).get("index")
            if known is not None and known.given:
                other.index = replace(other.index, given=known.given)
                other.plugins = self.plugins.on_index(other.index)
        return other

    def without_project(self) -> Installation:
        """Return the same installation without its project file, such as one that cannot be read.

        Example:
            >>> etconfig.Installation(".").without_project().project is None
            True
        """
        other = Installation(
            environ=self.environ,
            profile_directories=self.profile_directories,
            search_path=self._search_path,
        )
        other._is_own_environment = self._is_own_environment
        other._given_kernels = self._given_kernels
        other.executor_texts = self.executor_texts
        other.texts = self.texts
        return other

    def with_texts(self, texts: Mapping[str, str]) -> Installation:
        """Return the same installation, `refreshed`, in which texts count in place of files.

        Example:
            >>> installation = etconfig.Installation(".").with_texts({"/boards/board.toml": ""})

        Args:
            texts: Texts of profiles, project files and files of models that an editor has not saved, by the
                real paths of the files.
        """
        other = self.refreshed()
        other.texts = texts
        return other

    def refreshed(self) -> Installation:
        """Return the same installation, which reads the project file, profiles and models again.

        Plugins stay as they were imported, and so does the choice among them, unless it could not be read.

        Example:
            >>> installation = etconfig.Installation()
            >>> installation.refreshed().backend_ids == installation.backend_ids
            True
        """
        from etconfig.errors import ConfigError

        other = copy.copy(self)
        for name in _READ_FROM_FILES:
            vars(other).pop(name, None)
        with suppress(ConfigError):  # a wrong choice of plugins is read again
            other.index, other.plugins = self.index, self.plugins
        return other

    def with_backends(self, backends: GivenBackends) -> Installation:
        """Return the same installation with backends given in code, which need no distribution.

        They win over installed backends of the same id, and the project file cannot refuse them.

        Example:
            >>> class Doubling(etconfig.plugin.v1.Backend):
            ...     "Doubles its input."
            ...     def init(self, context, processed, compile_specs): ...
            ...     def execute(self, context, handle, args): args[1][:] = 2 * args[0]
            >>> installation = etconfig.Installation().with_backends({"DoublingBackend": Doubling()})
            >>> "DoublingBackend" in installation.backend_ids
            True

        Args:
            backends: By id: an object of a backend, or its `BackendSpec`. An object alone has the options
                that an installed plugin declares for its id, else none.

        Raises:
            PluginLoadError: the core cannot use one of them.
            TypeError: `backends` has something else.
            ValueError: a declaration has another id than its key.
        """
        other = copy.copy(self)
        other.plugins = self.plugins.with_backends(backends)
        other.index = other.plugins.index
        vars(other).pop("backend_ids", None)
        return other

    # --- the project file ----------------------------------------------------------------

    @cached_property
    def project_path(self) -> Path | None:
        """The path of the project file, or None if there is none."""
        if self._project_path is not None or self.directory is None:
            return self._project_path
        named = self.environ.get(PROJECT_VARIABLE)
        return Path(named) if named else find_project_file(self.directory)

    @cached_property
    def _project_document(self) -> Document | None:
        path = self.project_path
        if path is None:
            return None
        from etconfig.app.installation.trust import check_trusted
        from etconfig.profile.document import load_document

        is_found = self._project_path is None and not self.environ.get(PROJECT_VARIABLE)
        if is_found:
            check_trusted((path,), f"name it: {PROJECT_VARIABLE}={path}")
        return load_document(path, self.texts)

    @cached_property
    def project(self) -> ProjectFile | None:
        """The project file, or None if there is none.

        Raises:
            DocumentError: the file cannot be read, or was found by search and others could have written it.
            ProfileError: it is malformed.
        """
        if self._project_document is None:
            return None
        from etconfig.expression import ExpressionParser
        from etconfig.profile.project import parse_project

        return parse_project(self._project_document, ExpressionParser(self.fact_registry))

    @cached_property
    def project_warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about a second project file, unless a variable names one of them, and plugins.

        The choice of plugins may name one that is not installed, and nearly an installed one.
        """
        from etconfig.app.installation.misspelled_names import misspelled_plugins

        found = [*misspelled_plugins(self.index, self._project_document)]
        if self.project_path is not None and not self.environ.get(PROJECT_VARIABLE):
            ignored = ignored_project_file(self.project_path.parent)
            found += [] if ignored is None else [ignored]
        return tuple(found)

    @cached_property
    def executor(self) -> Reference | None:
        """The executor that the project file names, or None.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: the name is not a string.
        """
        if self._project_document is None:
            return None
        from etconfig.profile.project import parse_part, read_executor

        return parse_part(self._project_document, read_executor, None)

    @cached_property
    def executor_tables(self) -> tuple[ExecutorTable, ...]:
        """The options of executors in the project file, not yet checked.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: they are not tables.
        """
        if self._project_document is None:
            return ()
        from etconfig.profile.project import parse_part, read_executor_tables

        return parse_part(self._project_document, read_executor_tables, ())

    @cached_property
    def programs(self) -> tuple[Reference, ...]:
        """The programs that the project file names; their paths are relative to it.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: the paths are not a list of strings.
        """
        if self._project_document is None:
            return ()
        from etconfig.profile.device_tests import read_names
        from etconfig.profile.project import parse_part

        return parse_part(self._project_document, partial(read_names, key="programs"), ())

    @cached_property
    def rules(self) -> Rules:
        """The levels that the project file gives to findings.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: its rules are wrong.
        """
        from etconfig.diagnostics.rules import Rules

        if self._project_document is None or "rules" not in self._project_document.source.text:
            return Rules()
        from etconfig.profile.project import parse_part, read_rules

        return parse_part(self._project_document, read_rules, Rules())

    def leveled(self, problems: Iterable[Diagnostic], allowances: Allowances) -> list[Diagnostic]:
        """Return findings with their levels, but no finding that is off or that a comment allows.

        Rules that are wrong do not count.
        """
        from etconfig.diagnostics.rules import Rules
        from etconfig.errors import ConfigError

        found = [each for each in problems if not allowances.allows(each)]
        try:
            rules = self.rules if found else Rules()
        except ConfigError:
            return found
        applied = map(rules.applied, found) if rules else found
        return [each for each in applied if each is not None]

    def opened_once(self, make: Callable[[Installation], _OpenedT]) -> _OpenedT:
        """Return what `make` returns for the programs of the project file, called once in a snapshot."""
        if "_opened" not in vars(self):
            self._opened: object = make(self)
        return cast("_OpenedT", self._opened)

    @property
    def may_declare_models(self) -> bool:
        """False if the project file declares no models; most do not, and need no reader of them.

        Raises:
            DocumentError: the file cannot be read.
        """
        if self._project_document is None:
            return False
        text = self._project_document.source.text
        return "model" in text or "\\" in text  # an escape may spell it

    @property
    def may_name_targets(self) -> bool:
        """False if the project file has neither programs nor models, which are what is configured by default.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: the paths of programs are not a list of strings.
        """
        return bool(self.programs) or self.may_declare_models

    @cached_property
    def models(self) -> ModelCatalog:
        """The models of the project file, and of the files that it names; empty if there are none.

        Raises:
            DocumentError: a file cannot be read.
            ProfileError: a table of models is malformed.
            ModelError: two files declare a model of one name.
        """
        from etconfig.app.installation.model_catalog import catalog_of_project

        return catalog_of_project(self._project_document, self.fact_registry, self.texts)

    # --- plugins -------------------------------------------------------------------------

    @cached_property
    def index(self) -> PluginIndex:
        """The installed plugins, from metadata alone: none is imported."""
        return discover_plugins(self._search_path, policy=self._policy())

    @cached_property
    def plugins(self) -> PluginRegistry:
        """The plugins, each imported when it is first needed."""
        from etconfig.plugin.registry import PluginRegistry

        return PluginRegistry(self.index, self._check_backend)

    def _check_backend(self, entry: EntryPoint, spec: BackendSpec) -> None:
        """Check that the advice of a backend names known options and facts, and has the options' types."""
        problems = self.advice.read(spec)[1] if spec.advice else ()
        if problems:
            from etconfig.plugin.failure import load_error

            first, more = problems[0], len(problems) - 1
            others = f" (and {more} more)" if more else ""
            help = first.help or "correct the entry of advice"
            raise load_error(entry, f"its {first}{others}", f"upgrade or report it: {help}", author_help=help)

    @cached_property
    def advice(self) -> AdviceReader:
        """Reads what vendors recommend, with the definitions of facts of this installation."""
        from etconfig.resolver.deciding.advice import AdviceReader

        return AdviceReader(self.fact_registry)

    @cached_property
    def backend_ids(self) -> tuple[str, ...]:
        """The ids of all installed backends."""
        return tuple(sorted({entry.name for entry in self.index.entries(BACKENDS)}))

    def _policy(self) -> PluginPolicy:
        if self._project_document is None:
            return PluginPolicy().with_environment(self.environ)
        # Apart from the rest of the file, which refers to facts: facts of plugins are not known yet.
        from etconfig.profile.project import PluginChoices, parse_part, read_plugins

        choices = parse_part(self._project_document, read_plugins, PluginChoices())
        policy = PluginPolicy(allow=choices.allow, deny=choices.deny, prefer=choices.prefer)
        return policy.with_environment(self.environ)

    # --- facts ---------------------------------------------------------------------------

    @cached_property
    def _contributed_facts(self) -> ContributedFacts:
        from etconfig.app.installation.contributed_facts import ContributedFacts

        return ContributedFacts(self.index, partial(getattr, self, "plugins"))

    @property
    def fact_registry(self) -> FactRegistry:
        """The definitions of the built-in facts and of the plugins' facts."""
        return self._contributed_facts.registry

    def detect_facts(self) -> FactSheet:
        """Detect the facts of this device, as measured: without `[facts]` of the project file."""
        return self._contributed_facts.detect()

    def known_facts(
        self, device: FactSheet | None = None, by_hand: Mapping[str, Sourced[object]] | None = None
    ) -> FactSheet:
        """Return the facts on which profiles are selected: a device's facts, corrected by the project file.

        Every command that selects a profile or shows facts sees these; `detect_facts` measures only.

        Args:
            device: The facts of the device; by default of this device, detected now.
            by_hand: Facts set by hand, by name; they win over `[facts]` of the project file.

        Raises:
            ConfigError: the project file is wrong, or a fact set by hand is.
        """
        device = self.detect_facts() if device is None else device
        facts = {**self.project_facts, **(by_hand or {})}
        return device.with_overrides(facts) if facts else device

    @property
    def project_facts(self) -> Mapping[str, Sourced[object]]:
        """`[facts]` of the project file, by name; empty if there is none.

        Raises:
            ConfigError: the project file cannot be read, or is wrong.
        """
        return {} if self.project is None else self.project.settings.facts

    def redetect_facts(self, sheet: FactSheet) -> FactSheet:
        """Return a sheet whose volatile facts are detected again."""
        return self._contributed_facts.redetect(sheet)

    # --- profiles and kernels ------------------------------------------------------------

    @property
    def profiles(self) -> ProfileLibrary:
        """The profiles of plugins, of etconfig itself, of the user, and of the named directories.

        Raises:
            ProfileError: a named directory does not exist.
            DocumentError: others could have written a profile of the user.
        """
        self._check_profile_path()
        return self.readable_profiles

    @cached_property
    def selector(self) -> ProfileSelector:
        """The rule of `auto` over the profiles.

        Raises:
            ConfigError: as for `profiles`, or a profile is wrong.
        """
        from etconfig.profile.selector import ProfileSelector

        self._check_profile_path()
        reader = self._profile_reader
        return ProfileSelector(reader.library, reader)

    @cached_property
    def _profile_reader(self) -> ProfileReader:
        from etconfig.profile.inheritance import ProfileReader

        return ProfileReader(self.readable_profiles)

    def profile_chain(self, target: str | Path, spans: tuple[Span, ...] = ()) -> tuple[Profile, ...]:
        """Return a profile and all that it extends, base first.

        Args:
            target: A name, or a path that ends in `.toml`.
            spans: The place of the name, if it was read from a file.

        Raises:
            ConfigError: as for `profiles`, or with every problem of all these profiles.
        """
        self._check_profile_path()
        return self._profile_reader.chain(self.readable_profiles.find(target, spans))

    def _check_profile_path(self) -> None:
        if self.profile_path_problems:
            from etconfig.errors import ProfileError

            raise ProfileError(diagnostics=self.profile_path_problems)

    @cached_property
    def readable_profiles(self) -> ProfileLibrary:
        """The same as `profiles`, without the named directories that do not exist.

        Raises:
            DocumentError: others could have written a profile of the user.
        """
        from etconfig.profile.library import ProfileLibrary, ProfileSource, Provider, bundled_profiles

        shipped, broken = profile_directories(self.index)
        # unlike `is_dir`, this never raises: what is wrong is among `profile_path_problems`
        named = [each.path for each in self.profile_path if os.path.isdir(each.path)]  # noqa: PTH112
        real_paths = {os.path.realpath(directory) for directory in named}
        own, missing = user_profiles(self.environ, real_paths, is_own=self._is_own_environment)
        return ProfileLibrary(
            registry=self.fact_registry,
            sources=(
                bundled_profiles(),
                *(
                    ProfileSource(entry.distribution, directory, Provider.PACKAGE)
                    for entry, directory in shipped.items()
                ),
                *(ProfileSource(str(directory), directory, Provider.USER) for directory in (*named, *own)),
            ),
            missing=(*map(broken_package, broken), *missing),
            texts=self.texts,
        )

    @property
    def profile_path(self) -> tuple[NamedDirectory, ...]:
        """The directories of profiles that the user named, each once, in no order of precedence."""
        return self._profile_path[0]

    @property
    def profile_path_problems(self) -> tuple[Diagnostic, ...]:
        """The problems of `profile_path`: directories that do not exist, or a malformed key."""
        return self._profile_path[1]

    @cached_property
    def _profile_path(self) -> tuple[tuple[NamedDirectory, ...], tuple[Diagnostic, ...]]:
        in_variable = directories_in_variable(self.environ.get(PROFILE_PATH_VARIABLE, ""))
        explicit = (NamedDirectory(path, "--profile-path") for path in self.profile_directories)
        in_project, malformed = self._project_profile_path()
        named = each_once((*in_project, *in_variable, *explicit))
        missing = (problem for problem in (directory.problem() for directory in named) if problem)
        return named, (*malformed, *missing)

    def _project_profile_path(self) -> tuple[tuple[NamedDirectory, ...], tuple[Diagnostic, ...]]:
        """Return the directories that the project file names, and what is wrong with that key."""
        document, path = self._project_document, self.project_path
        if document is None or path is None:
            return (), ()
        from etconfig.errors import ProfileError
        from etconfig.profile.device_tests import read_names
        from etconfig.profile.project import parse_part

        try:
            named: tuple[Reference, ...] = parse_part(document, partial(read_names, key="profile_path"), ())
            return tuple(directories_in_project(path, named)), ()
        except ProfileError as error:
            return (), error.diagnostics

    @cached_property
    def kernels(self) -> KernelChoice:
        """The kernels that are built in, of plugins, and given in code: one for each operator.

        Raises:
            ConfigError: `[kernels.prefer]` of the project file cannot be read.
        """
        from etconfig.app.installation.kernel_choice import KernelChoice
        from etconfig.kernels import builtin_kernels

        prefer = {operator: each.target for operator, each in self.kernel_preferences.items()}
        return KernelChoice(builtin_kernels(), self.kernel_tables, prefer, self._given_kernels)

    @cached_property
    def kernel_tables(self) -> tuple[SourcedTable, ...]:
        """The kernels of plugins, each table with the name of its distribution, and that with its version."""
        if not self.index.entries(KERNELS):
            return ()
        from etconfig.kernel.registry import KernelTable
        from etconfig.plugin.contributions import KERNELS_HOOK

        found = self.plugins.contributions_by_entry(KERNELS_HOOK)
        tables = ((entry, each.table) for entry, each in found.items())
        return tuple(
            (entry.distribution, entry.source, table)
            for entry, table in tables
            if isinstance(table, KernelTable)
        )

    @cached_property
    def kernel_preferences(self) -> Mapping[str, Reference]:
        """`[kernels.prefer]` of the project file: by operator, the distribution whose kernel serves it.

        Raises:
            DocumentError: the file cannot be read.
            ProfileError: the table is malformed.
        """
        if self._project_document is None:
            return {}
        from etconfig.profile.project import parse_part, read_kernels

        return parse_part(self._project_document, read_kernels, {})

    @property
    def kernel_problems(self) -> Mapping[str, Diagnostic]:
        """The problem of each line of `[kernels.prefer]` that no installed kernel can follow, by operator.

        Raises:
            ConfigError: `[kernels.prefer]` of the project file cannot be read.
        """
        if not self.kernel_preferences:
            return {}
        from etconfig.app.installation.kernel_choice import preference_problems
        from etconfig.kernels import builtin_kernels

        own = builtin_kernels()
        return dict(preference_problems(self.kernel_preferences, self.kernel_tables, own))

    def with_kernels(self, kernels: GivenKernels) -> Installation:
        """Return the same installation with kernels given in code, which win over all others.

        Those given before stay, except for operators that are given again. Programs need not call them.

        Args:
            kernels: A `KernelTable`, or functions that `kernel` of `etconfig.plugin.v1_kernels` decorates.

        Raises:
            TypeError: `kernels` is something else.
            ValueError: two of them claim one operator.
        """
        from etconfig.app.installation.kernel_choice import given_kernels

        other = copy.copy(self)
        other._given_kernels = (*self._given_kernels, *given_kernels(kernels))
        vars(other).pop("kernels", None)
        return other

    @property
    def kernel_failures(self) -> tuple[PluginFailure, ...]:
        """The broken plugins whose kernels are missing from `kernels`."""
        return tuple(each for each in self.plugins.failures if each.group == KERNELS)


def _paths(argument: str, values: Iterable[AnyPath]) -> tuple[Path, ...]:
    """Return several paths.

    Raises:
        TypeError: they are not; nor is a single text, whose characters would be taken for paths.
    """
    expected = "a list of paths, each as str or pathlib.Path"
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{argument}: expected {expected}, given one {type(values).__name__}")
    check_type(argument, values, Iterable, expected)
    return tuple(as_path(argument, each, expected) for each in values)
