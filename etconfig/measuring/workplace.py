"""`Workplace`: opens and resolves configurations of a model, as a user's own path does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from etconfig.app.configuring.configuration import configure
from etconfig.app.configuring.engine_models import Models
from etconfig.app.configuring.targets import options_by_backend
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.api import load_program
from etconfig.app.programs.executors import choose_executor, executor_with_options
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.facts.sheet import FactSheet
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.deciding.device_problems import notes_on_device
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.declaration import Scope

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating
    from etconfig.measuring.remote import RemoteDevice

EXECUTOR_PREFIX = "executor."
"""Paths with this prefix name options of the executor: `executor.libraries`."""
_QUOTA = "a quota of {:.3g} cores holds here: more threads look faster than they are in a loop"
"""Both sides share the quota, and the least time of a block is that of a run which was not stopped."""
_GIVEN = (OriginKind.PROFILE, OriginKind.PROJECT, OriginKind.ENVIRONMENT, OriginKind.OVERRIDE)


@record(frozen=True, kw_only=True)
class SubjectRequest:
    """A configuration of a model, as plain values.

    Attributes:
        label: Its name in results.
        model: The path of a program, or of a model that an engine runs.
        backend: The id of the backend whose engine runs it; None for a program.
        method: The method of a program; of an engine's model, the name that profiles have for it.
        instance: The named instance, or None.
        executor: The executor of a program, or None for the executor of the project file.
        optimize: False runs every instruction as the program says.
        profile: The profile, as `etconfig.configure` takes it.
        require_match: As `etconfig.configure` takes it.
        overrides: Options that win over all others, as `PATH=VALUE`; paths that begin with `executor.` are
            for the executor. Of two for one path, the later one wins.
        data: The data files of a program.
        shapes: The shapes of inputs that are made up for an engine's model, as `NAME=1,3,224,224`.
        others: The other models of its file, as `NAME=BACKEND,BACKEND`; applications resolve them together,
            and a budget is divided among all. What `overrides` say is for this one then.
    """

    label: str
    model: str
    backend: str | None = None
    method: str = "forward"
    instance: str | None = None
    executor: str | None = None
    optimize: bool = True
    profile: str | None = None
    require_match: bool = False
    overrides: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def executor_texts(self) -> tuple[tuple[str, str], ...]:
        """The options of the executor, as names and values."""
        texts = (text for text in self.overrides if text.startswith(EXECUTOR_PREFIX))
        pairs = (text.removeprefix(EXECUTOR_PREFIX).partition("=") for text in texts)
        return tuple((name, value) for name, _, value in pairs)


@record(frozen=True, kw_only=True)
class Workplace:
    """The plugins, the device and the facts set by hand, which all subjects of a measurement share.

    Attributes:
        installation: The plugins, profiles and project file.
        facts: The device.
        fact_overrides: Facts set by hand.
        overrides_name: The source of overrides, for origins and diagnostics.
        device: The device that measures; None for this one.
    """

    installation: Installation
    facts: FactSheet
    fact_overrides: Mapping[str, object]
    overrides_name: str = "overrides"
    device: RemoteDevice | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the device that readers of results need."""
        found = () if self.device is None else (f"measured on {self.device.name}",)
        quota = self.facts.values.get("cpu.quota_cores")
        return found if quota is None else (*found, _QUOTA.format(quota))

    def resolve(self, request: SubjectRequest, program: Delegating) -> Resolution:
        """Return the arguments of a configuration.

        Raises:
            ConfigError, PluginError, BackendUnavailableError: as for `etconfig.resolve`.
        """
        texts = [text for text in request.overrides if not text.startswith(EXECUTOR_PREFIX)]
        known_options = partial(options_by_backend, self.installation)
        layer = layer_from_overrides(texts, self.overrides_name, known_options=known_options)
        if request.others:
            assignments = (
                each if each.path.method else replace(each, path=replace(each.path, method=request.method))
                for each in layer.assignments
            )
            layer = replace(layer, assignments=tuple(assignments))
        return configure(
            program,
            profile=request.profile,
            require_match=request.require_match,
            facts=self.facts,
            fact_overrides=self.fact_overrides,
            overrides=layer,
            installation=program.installation,
        ).resolve()

    def open_program(self, request: SubjectRequest) -> LoadedProgram:
        """Return the program of a configuration.

        Raises:
            ProgramError, ConfigError, UnknownPluginError: as for `etconfig.load_program`.
        """
        installation = self.installation
        if request.executor_texts:
            texts = (*installation.executor_texts, *request.executor_texts)
            installation = installation.with_executor_texts(texts)
        executor = choose_executor(installation, request.executor)
        return load_program(request.model, data=request.data, executor=executor, installation=installation)

    def engine_model(self, request: SubjectRequest) -> Models:
        """Return the model of a configuration that an engine runs."""
        assert request.backend is not None
        others = (text.partition("=") for text in request.others)
        backends = {name: ids.split(",") for name, _, ids in others}
        return Models({**backends, request.method: [request.backend]}, self.installation)

    def resolved(self, request: SubjectRequest) -> ResolvedOptions:
        """Return the options of a configuration, without loading it.

        Raises:
            EtconfigError: as for `resolve` and `open_program`.
        """
        if request.backend is not None:
            resolution = self.resolve(request, self.engine_model(request))
            return _of_backends(resolution, request, request.backend)
        with self.open_program(request) as program:
            found = _of_backends(self.resolve(request, program), request, program.executor)
            _, options = executor_with_options(program.installation, program.executor)
        if options is None:
            return found
        values = {f"{EXECUTOR_PREFIX}{name}": value for name, value in options.to_jsonable().items()}
        return replace(
            found, values={**found.values, **values}, of_process=frozenset({*found.of_process, *values})
        )


@record(frozen=True, kw_only=True)
class ResolvedOptions:
    """The options of a configuration.

    Attributes:
        values: Each value as plain data, by `BACKEND.OPTION` or `executor.OPTION`.
        of_process: The paths of options that apply to a whole process.
        profile: The name of the profile.
        fingerprint: The fingerprint of the resolution.
        runs_on: The executor of a program, or the id of the backend whose engine runs the model.
        notes: The warnings of the resolution, and the notes about the device.
        given: The paths of options that a profile, the project file or the user sets.
        facts: The facts that it depends on.
    """

    values: Mapping[str, object]
    of_process: frozenset[str]
    profile: str | None
    fingerprint: str
    runs_on: str
    notes: tuple[Diagnostic, ...]
    given: frozenset[str] = frozenset()
    facts: FactSheet

    @property
    def backends(self) -> frozenset[str]:
        """The ids of the backends."""
        paths = (path for path in self.values if not path.startswith(EXECUTOR_PREFIX))
        return frozenset(path.partition(".")[0] for path in paths)

    def differing(self, other: ResolvedOptions) -> dict[str, object]:
        """Return the values that another configuration has not, or has differently."""
        missing = object()
        return {
            path: value for path, value in self.values.items() if other.values.get(path, missing) != value
        }

    def needs_own_process(self, other: ResolvedOptions) -> bool:
        """Return True if the two differ in an option of the whole process."""
        common = self.of_process & other.values.keys()
        return any(self.values[path] != other.values[path] for path in common)


def _of_backends(resolution: Resolution, request: SubjectRequest, runs_on: str) -> ResolvedOptions:
    values: dict[str, object] = {}
    of_process: set[str] = set()
    given: set[str] = set()
    for backend, each in resolution.arguments(request.method, request.instance).backends.items():
        infos = each.options.option_infos()
        for name, value in each.options.to_jsonable().items():
            values[f"{backend}.{name}"] = value
            if infos[name].scope is Scope.PROCESS:
                of_process.add(f"{backend}.{name}")
            if each.origin(name).kind in _GIVEN and value is not None:
                given.add(f"{backend}.{name}")
    return ResolvedOptions(
        values=values,
        of_process=frozenset(of_process),
        profile=resolution.profile,
        fingerprint=resolution.fingerprint(),
        runs_on=runs_on,
        notes=(*resolution.warnings, *notes_on_device(resolution)),
        given=frozenset(given),
        facts=resolution.facts,
    )
