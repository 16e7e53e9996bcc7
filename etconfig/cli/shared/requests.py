"""The requests that commands make with their options: devices and configurations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.cli.shared.input_files import (
    expanded_sheets,
    name_of_device,
    sheet_names,
    standard_input,
)
from etconfig.cli.shared.output import show_diagnostics
from etconfig.cli.shared.writing import files_of_command

if TYPE_CHECKING:
    from etconfig.app.configuring.configuration import Configuration
    from etconfig.app.configuring.engine_models import Models
    from etconfig.app.configuring.targets import Delegating
    from etconfig.base.provenance import Sourced
    from etconfig.facts.sheet import FactSheet
    from etconfig.resolver.deciding.resolution import Resolution

from etconfig.cli.shared.command_options import (
    device_options,
    fact_option,
    make_installation,
    profile_options,
)


@record(frozen=True, kw_only=True)
class ConfigurationRequest:
    """The values of the configuration options of a command.

    Attributes:
        profile: `--profile`.
        require_match: `--require-match`.
        overrides: `--set`.
        sheet: The path of the sheet of `--facts` or `--device`.
        fact_texts: `--fact`.
        profile_paths: `--profile-path`.
        locked: `--locked`, for the commands that have it.
        models: `--models`, for the commands that have it.
        called: The name of the device, if several are given; by default its sheet's name.
    """

    profile: str | None
    require_match: bool
    overrides: Sequence[str]
    fact_texts: Sequence[str]
    profile_paths: Sequence[Path]
    sheet: Path | None = None
    locked: bool = False
    models: Path | None = None
    called: str | None = None

    @cached_property
    def installation(self) -> Installation:
        """The installation, with the profile directories of the request."""
        return make_installation(self.profile_paths)

    @property
    def has_choices(self) -> bool:
        """True if any of the options was used."""
        return any(getattr(self, field.name) not in (None, False, (), []) for field in fields(self))

    def share_installation(self, other: ConfigurationRequest) -> None:
        """Use the installation of another request with the same profile directories."""
        vars(self)["installation"] = other.installation

    def reloaded(self) -> ConfigurationRequest:
        """Return the same request on the same device, which reads the project file and profiles again."""
        other = replace(self)
        vars(other).update(installation=self.installation.refreshed(), device=self.device)
        return other

    @property
    def device_name(self) -> str:
        """The name of the device in results: of a known device, of the file of a sheet, or of this one."""
        return self.called or name_of_device(self.sheet)

    @cached_property
    def device(self) -> RequestedDevice:
        """The device that the options select."""
        return read_device(self.installation, self.sheet, self.fact_texts)

    def configure(self, program: Delegating | None) -> Configuration:
        """Return the requested configuration; its warnings go to stderr."""
        configuration = self.configure_on(self.device.facts, program)
        show_diagnostics(configuration.resolver.warnings)
        return configuration

    def configure_on(self, facts: FactSheet, program: Delegating | None) -> Configuration:
        """Do the same as `configure`, on other facts and without printing warnings."""
        from etconfig.app.configuring.configuration import configure

        installation = self.installation if program is None else program.installation
        return configure(program, facts=facts, installation=installation, **self.settings())

    def settings(self) -> dict[str, Any]:
        """Return the profile and what is set by hand, as `configure` takes them."""
        from etconfig.app.configuring.targets import options_by_backend
        from etconfig.resolver.compiling.overrides import layer_from_overrides

        known_options = partial(options_by_backend, self.installation)
        return {
            "profile": standard_input() if self.profile == "-" else self.profile,
            "require_match": self.require_match,
            "fact_overrides": self.facts_by_hand,
            "overrides": layer_from_overrides(self.overrides, "--set", known_options=known_options),
        }

    @cached_property
    def facts_by_hand(self) -> dict[str, Sourced[object]]:
        """The facts that `--fact` sets."""
        from etconfig.facts.assignment import parse_fact_assignments

        return dict(parse_fact_assignments(self.fact_texts, self.installation.fact_registry))

    def open_program(self, program: Path) -> Delegating:
        """Open the program in a file, or a model that an engine runs, to configure it.

        Its executor matters only if no plugin declares one of its backends: the runtime may have that.
        """
        from etconfig.app.programs.api import load_program
        from etconfig.app.programs.executors import NUMPY
        from etconfig.program.metadata import delegated_backends

        model = model_of_engine(program, self.installation)
        if model is not None:
            return model
        loaded = load_program(program, executor=NUMPY, installation=self.installation)
        if delegated_backends(loaded.program) <= set(self.installation.backend_ids):
            return loaded
        chosen = executor_if_installed(self.installation, None)
        return load_program(program, executor=chosen, installation=self.installation)

    def open_all(self, programs: Sequence[Path]) -> list[Delegating]:
        """Open programs to configure them, and add the models of `--models`.

        Without either, they are the programs and models of the project file.
        """
        note_project(self.installation, self.profile)
        if not programs and self.models is None:
            if not self.installation.may_name_targets:
                return []
            from etconfig.app.configuring.default_program import default_programs

            return default_programs(self.installation, self.open_program)
        models = open_targets((), self.models, self.installation)
        return [*map(self.open_program, programs), *models.values()]

    def open_together(self, programs: Sequence[Path]) -> Delegating | None:
        """Do the same, and return all as one; None if there is none."""
        from etconfig.app.configuring.several_programs import SeveralPrograms

        return SeveralPrograms.of(self.open_all(programs))

    def executor(self, name: str | None) -> str:
        """Return the executor that `--executor` names, else the project file's, else numpy."""
        return chosen_executor(self.installation, name)

    def resolve(self, program: Delegating | None) -> Resolution:
        """Return the requested resolution; its warnings and notes go to stderr.

        With `--locked`, check it against the lock file.
        """
        from etconfig.resolver.deciding.device_problems import notes_on_device

        configuration = self.configure(program)
        resolution = self._resolved(configuration)
        shown = configuration.resolver.warnings
        show_diagnostics(each for each in resolution.warnings if each not in shown)
        show_diagnostics(notes_on_device(resolution))
        return resolution

    def resolve_silently(self, program: Delegating | None) -> Resolution:
        """Do the same without printing anything."""
        return self._resolved(self.configure_on(self.device.facts, program))

    def _resolved(self, configuration: Configuration) -> Resolution:
        resolution = configuration.resolve()
        if self.locked:
            from etconfig.app.locking.lock_comparison import check_lock
            from etconfig.app.locking.lock_contents import ResolvedForLock, lock_path, make_lock

            now = ResolvedForLock(device=self.device_name, configuration=configuration, resolution=resolution)
            check_lock(lock_path(configuration), make_lock([now]))
        return resolution

    def resolve_files(self, programs: Sequence[Path]) -> Resolution:
        """Do the same as `resolve` for the methods of programs in files together, or of `open_all`."""
        return self.resolve(self.open_together(programs))


def note_project(installation: Installation, profile: str | None = None) -> None:
    """Note programs, models and profiles that a command may read: `--force` does not replace them.

    Args:
        installation: The project file, and the directories of profiles.
        profile: The profile that is named, if one is.
    """
    files = files_of_command()
    if not files.force:
        return  # they are of no kind that a command writes
    from etconfig.app.configuring.profile_choice import choose_profile
    from etconfig.app.configuring.project_programs import programs_of_project
    from etconfig.errors import EtconfigError
    from etconfig.facts.sheet import FactSheet
    from etconfig.profile.directory import files_below

    with suppress(EtconfigError):
        files.reads(path for _, path in programs_of_project(installation))
        files.reads(variant.path for model in installation.models for variant in model.variants)
    with suppress(EtconfigError):
        for source in installation.readable_profiles.sources:
            files.reads(files_below(source.directory).files)
    with suppress(EtconfigError):
        named = choose_profile(installation, profile, FactSheet.empty(installation.fact_registry))
        files.reads(each.path for each in named.chain if each.path)


def model_of_engine(path: Path, installation: Installation, backend: str | None = None) -> Models | None:
    """Return the model in a file that an installed engine runs; None for other files, such as programs.

    Raises:
        ConfigError: several engines run it, or the models of the project file cannot be read.
    """
    from etconfig.app.configuring.engine_models import model_in_file

    is_program = path.suffix in ("", ".pte", ".bpte") and backend is None
    return None if is_program or not path.is_file() else model_in_file(path, installation, backend)


def open_targets(
    programs: Sequence[Path], models: Path | None, installation: Installation
) -> dict[str, Delegating]:
    """Open programs and a file of models, by their paths, to configure them with the backends of plugins.

    Raises:
        ProgramError: a program cannot be read.
        ConfigError: the file of models is wrong, or several engines run a file.
    """
    opened: dict[str, Delegating] = {}
    if programs:
        from etconfig.app.programs.api import load_program
        from etconfig.app.programs.executors import NUMPY

        for path in programs:
            opened[str(path)] = model_of_engine(path, installation) or load_program(
                path, executor=NUMPY, installation=installation
            )
    if models is not None:
        from etconfig.app.configuring.engine_models import Models

        opened[str(models)] = Models.read(models, installation)
    return opened


def configuration_options(
    function: Callable[..., Any], *, on_this_device: bool = False
) -> Callable[..., Any]:
    """Add all options that select or change a configuration; the command gets them as one `request`.

    With `on_this_device`, options that select another device are left out.
    """

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        request = ConfigurationRequest(**taken_values(ConfigurationRequest, parameters))
        return function(request=request, **parameters)

    on_device = fact_option if on_this_device else device_options
    return profile_options(on_device(with_request))


def several_devices_options(
    function: Callable[..., Any], *, several_profiles: bool = False, of_project: bool = False
) -> Callable[..., Any]:
    """Add the same for several devices; the command gets a request for each of them, as `requests`.

    With `of_project`, these are the devices of the project file, unless others are given.
    """

    @wraps(function)
    def with_requests(**parameters: Any) -> Any:
        values = taken_values(ConfigurationRequest, parameters)
        given = values.pop("profile")
        profiles = (given or (None,)) if several_profiles else (given,)
        sheets: Sequence[Path | None] = expanded_sheets(values.pop("sheet"))
        named = dict(zip(sheet_names(sheets), sheets, strict=True))
        if of_project and not sheets:
            from etconfig.app.configuring.project_devices import project_devices

            named.update(project_devices(make_installation()))
        named = named or {name_of_device(None): None}
        if len(profiles) > 1 and len(named) > 1:
            raise click.UsageError("give several --profile or several --facts, not both")
        requests = [
            ConfigurationRequest(profile=profile, sheet=sheet, called=name, **values)
            for profile in profiles
            for name, sheet in named.items()
        ]
        for request in requests[1:]:  # plugins and profiles are read once
            request.share_installation(requests[0])
        return function(requests=requests, **parameters)

    return profile_options(device_options(with_requests, several=True), several=several_profiles)


def taken_values(kind: type[Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Take the values for the fields of a record out of the parameters of a command."""
    return {each.name: parameters.pop(each.name) for each in fields(kind) if each.name in parameters}


def chosen_executor(installation: Installation, name: str | None) -> str:
    """Return the executor that `--executor` names, else the project file's, else numpy.

    Raises:
        ConfigError: the project file's executor is not installed; or `--executor-option` was given, but numpy
            has no options.
    """
    from etconfig.app.programs.executor_options import check_no_options
    from etconfig.app.programs.executors import NUMPY, choose_executor

    chosen = choose_executor(installation, name)
    if chosen == NUMPY:
        check_no_options([option for option, _ in installation.executor_texts])
    return chosen


def executor_if_installed(installation: Installation, name: str | None) -> str:
    """Do the same as `chosen_executor` for a command that runs nothing.

    Without the executor of the project file, it goes on with numpy and prints a warning.
    """
    from etconfig.app.programs.executors import NUMPY
    from etconfig.diagnostics import Severity
    from etconfig.errors import ProfileError

    try:
        return chosen_executor(installation, name)
    except ProfileError as error:
        if any(each.code != "unknown-executor" for each in error.diagnostics):
            raise
        show_diagnostics([replace(each, severity=Severity.WARNING) for each in error.diagnostics])
        return NUMPY


@record(frozen=True)
class RequestedDevice:
    """The device that `--facts`, `--device` and `--fact` select.

    Attributes:
        facts: The facts of this device, or of the sheet, without those set by hand.
        by_hand: The facts that `--fact` sets.
        installation: The project file, which may set facts, too.
    """

    facts: FactSheet
    by_hand: dict[str, Sourced[object]]
    installation: Installation

    @property
    def known(self) -> FactSheet:
        """All facts, also from the project file and `--fact`; misspelled backends are warned about.

        Raises:
            ConfigError: the project file is wrong.
        """
        from etconfig.app.installation.misspelled_names import misspelled_backends

        known = self.installation.known_facts(self.facts, self.by_hand)
        show_diagnostics(misspelled_backends(known, self.installation.backend_ids))
        return known


def read_device(installation: Installation, sheet: Path | None, fact_texts: Sequence[str]) -> RequestedDevice:
    """Return the device that the sheet of `--facts` or `--device`, and `--fact` select.

    Raises:
        FactError: the sheet, or a fact set by hand, is wrong.
    """
    from etconfig.facts.assignment import parse_fact_assignments
    from etconfig.facts.sheet import load_fact_sheet

    registry = installation.fact_registry
    facts = installation.detect_facts() if sheet is None else load_fact_sheet(sheet, registry)
    return RequestedDevice(facts, dict(parse_fact_assignments(fact_texts, registry)), installation)
