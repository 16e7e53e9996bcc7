"""Options that several commands share, and the requests that they make: devices and configurations."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from etconfig.app.installation.installation import Installation
from etconfig.base.records import record
from etconfig.cli.shared.completion import (
    complete_assignment,
    complete_device,
    complete_method,
    complete_profile,
)
from etconfig.cli.shared.inputs import (
    InputPath,
    KnownDevices,
    expanded_sheets,
    name_of_device,
    sheet_names,
    standard_input,
)
from etconfig.cli.shared.output import keep_leveling, show_diagnostics
from etconfig.cli.shared.usage import options_in_order

if TYPE_CHECKING:
    from etconfig.app.configuring.configuration import Configuration
    from etconfig.app.configuring.targets import Delegating
    from etconfig.app.programs.loaded_program import LoadedProgram
    from etconfig.base.provenance import Sourced
    from etconfig.diagnostics import Diagnostic
    from etconfig.diagnostics.allow_comments import Allowances
    from etconfig.facts.sheet import FactSheet
    from etconfig.resolver.deciding.resolution import Resolution

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")

profile_path_option = click.option(
    "--profile-path",
    "profile_paths",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another directory of profiles. Repeatable.",
)

require_match_option = click.option(
    "--require-match", is_flag=True, help="Fail if auto finds generic/any only, which matches every device."
)

fact_option = click.option(
    "--fact", "fact_texts", multiple=True, metavar="NAME=VALUE", help="Set a fact by hand. Repeatable."
)

locked_option = click.option("--locked", is_flag=True, help="Fail if anything differs from etconfig.lock.")

program_argument = click.argument("program", type=click.Path(path_type=Path))
optional_program = click.argument("program", required=False, type=click.Path(path_type=Path))
programs_argument = click.argument(
    "programs", metavar="[PROGRAM]...", nargs=-1, type=click.Path(path_type=Path)
)
programs_option = click.option(
    "--program",
    "programs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Resolve for the methods of this program. Repeatable.",
)


def _only_program(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Return the program that is given, by default the only one of the project file."""
    if path is not None or context.resilient_parsing:
        return path
    from etconfig.app.configuring.project_programs import programs_of_project

    named = programs_of_project(make_installation())
    if not named:
        raise click.MissingParameter(ctx=context, param=parameter, param_hint="'PROGRAM'")
    if len(named) > 1:
        known = ", ".join(reference.target for reference, _ in named)
        raise click.UsageError(f"give PROGRAM: the project file names several, {known}", context)
    return named[0][1]


run_program_argument = click.argument(
    "program", metavar="[PROGRAM]", required=False, type=click.Path(path_type=Path), callback=_only_program
)
"""The program of a command that runs one; by default the only one of the project file."""

data_option = click.option(
    "--data",
    multiple=True,
    metavar="FILE.ptd",
    type=click.Path(path_type=Path),
    help="A data file of the program. Repeatable.",
)


models_option = click.option(
    "--models",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Resolve for the models of this file that engines run without a program; without a program, by "
    "default the programs and models of the project file.",
)


def _refuse_models(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is not None:
        raise click.UsageError(
            "--models names models that engines run without a program, but this command works on programs; "
            "etconfig.resolve(models=...).build(...) in Python makes an engine's object",
            context,
        )


no_models_option = click.option(
    "--models",
    type=click.Path(path_type=Path),
    help="Refused: the command works on programs.",
    hidden=True,
    expose_value=False,
    callback=_refuse_models,
)
"""Refuses `--models` with the reason, in commands that open or run a program."""

method_option = click.option(
    "--method", default="forward", show_default=True, shell_complete=complete_method, help="The method."
)
instance_option = click.option("--instance", help="A named instance; by default the unnamed one.")
input_option = click.option(
    "--input",
    "inputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="An input as .npy, or several as .npz with in0, in1, ... Repeatable, in order.",
)
_EXECUTOR_TEXTS = "etconfig.executor_texts"
"""The key of click's context for the texts of `--executor-option`."""


def _keep_executor_texts(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> None:
    """Keep the texts for `make_installation`, since they belong to every program that the command loads."""
    pairs = [text.partition("=") for text in texts]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise click.BadParameter(f"expected NAME=VALUE, given {name!r}", context, parameter)
    context.meta[_EXECUTOR_TEXTS] = [(name, value) for name, _, value in pairs]


def executor_option(command: CommandT) -> CommandT:
    """Add `--executor`, and `--executor-option`, whose values `make_installation` finds."""
    command = click.option(
        "--executor-option",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_keep_executor_texts,
        expose_value=False,
        help="Set an option of the executor. Repeatable; each of a list adds an item.",
    )(command)
    return click.option(
        "--executor",
        help="The executor: numpy, or one of a plugin; by default the project file's, else numpy.",
    )(command)


def count_from(minimum: int) -> click.IntRange:
    """Return the type of an option that counts something."""
    count = click.IntRange(min=minimum)
    count.name = "integer"  # or click would say: 'x' is not a valid integer range
    return count


class FiniteNumber(click.FloatRange):
    """The type of an option that is a number of at least 0; `nan` and `inf` are refused."""

    name = "number"  # or click would say: 'x' is not a valid float range

    def __init__(self, highest: float | None = None) -> None:
        super().__init__(min=0, max=highest)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number.

        Raises:
            click.BadParameter: it is not a number, not finite, or out of range.
        """
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number", param, ctx)
        return number


class Share(click.FloatRange):
    """The type of a share: `99.5%`, or a number such as 0.995; at most `highest`, if that is not None."""

    name = "share"

    def __init__(self, highest: float | None = 1) -> None:
        super().__init__(min=0, max=highest)
        self._highest = math.inf if highest is None else highest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share as a number.

        Raises:
            click.BadParameter: it is none.
        """
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= self._highest or share == math.inf:
            self.fail(f"{value!r} is not a share, such as 99.5% or 0.995", param, ctx)
        return share


_DEVICES = "etconfig.known_devices"
"""The key of click's context for the values of `--device`, which `--facts` adds to its own."""
_FACTS_HELP = {
    False: "Use a saved fact sheet instead of detecting this device; - is standard input.",
    True: "Use saved fact sheets instead of detecting this device: a file, a directory, a quoted pattern, or "
    "- for standard input.",
}


def sheet_options(command: CommandT, *, several: bool) -> CommandT:
    """Add `--facts` and `--device`; the command gets what both name as `sheet`.

    That is one path or None, or with `several` a tuple of them, in the order of the command line.
    """
    repeatable = " Repeatable." if several else ""
    command = click.option(
        "--device",
        "device",
        multiple=several,
        metavar="NAME",
        type=KnownDevices(takes_patterns=several),
        is_eager=True,  # before `--facts`
        expose_value=False,
        callback=_keep_devices,
        shell_complete=complete_device,
        help=f"Use the sheet of a known device{' or, quoted, of all that a pattern matches' * several}: see "
        "`etconfig devices list`." + repeatable,
    )(command)
    return click.option(
        "--facts",
        "sheet",
        multiple=several,
        type=InputPath(),
        callback=_add_devices,
        help=_FACTS_HELP[several] + repeatable,
    )(command)


def _keep_devices(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta[_DEVICES] = value


def _add_devices(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the values of both options; refuse both where a command takes one."""
    devices = context.meta.pop(_DEVICES, None)
    if not parameter.multiple:
        if value is not None and devices is not None:
            raise click.UsageError("--facts and --device name two devices; give one of them", context)
        return devices if value is None else value
    left = {"sheet": deque(value), "device": deque(devices or ())}
    found = (left[name].popleft() for name in options_in_order(context) if left.get(name))
    return tuple(path for each in found for path in (each if isinstance(each, list) else [each]))


def device_options(command: CommandT, *, several: bool = False) -> CommandT:
    """Add `--facts`, `--device` and `--fact`, which select the device; with `several`, of several devices."""
    return sheet_options(fact_option(command), several=several)


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

    def open_program(self, program: Path) -> LoadedProgram:
        """Open the program in a file, to configure it.

        Its executor matters only if no plugin declares one of its backends: the runtime may have that.
        """
        from etconfig.app.programs.api import load_program
        from etconfig.app.programs.executors import NUMPY
        from etconfig.program.metadata import delegated_backends

        loaded = load_program(program, executor=NUMPY, installation=self.installation)
        if delegated_backends(loaded.program) <= set(self.installation.backend_ids):
            return loaded
        chosen = executor_if_installed(self.installation, None)
        return load_program(program, executor=chosen, installation=self.installation)

    def open_all(self, programs: Sequence[Path]) -> list[Delegating]:
        """Open programs to configure them, and add the models of `--models`.

        Without either, they are the programs and models of the project file.
        """
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

        resolution = self._resolved(self.configure(program))
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
        """Do the same as `resolve` for the methods of programs in files together, or those of `open_all`."""
        return self.resolve(self.open_together(programs))


def open_targets(
    programs: Sequence[Path], models: Path | None, installation: Installation
) -> dict[str, Delegating]:
    """Open programs and a file of models, by their paths, to configure them with the backends of plugins.

    Raises:
        ProgramError: a program cannot be read.
        ConfigError: the file of models is wrong.
    """
    opened: dict[str, Delegating] = {}
    if programs:
        from etconfig.app.programs.api import load_program
        from etconfig.app.programs.executors import NUMPY

        for path in programs:
            opened[str(path)] = load_program(path, executor=NUMPY, installation=installation)
    if models is not None:
        from etconfig.app.configuring.engine_models import Models

        opened[str(models)] = Models.read(models, installation)
    return opened


def configuration_options(
    function: Callable[..., Any], *, on_this_device: bool = False
) -> Callable[..., Any]:
    """Add all options that select or change a configuration; the command gets them as one `request`.

    With `on_this_device`, those that select another device are left out.
    """

    @wraps(function)
    def with_request(**parameters: Any) -> Any:
        request = ConfigurationRequest(**taken_values(ConfigurationRequest, parameters))
        return function(request=request, **parameters)

    on_device = fact_option if on_this_device else device_options
    return profile_options(on_device(with_request))


def several_devices_options(
    function: Callable[..., Any], *, several_profiles: bool = False
) -> Callable[..., Any]:
    """Add the same for several devices; the command gets a request for each of them, as `requests`."""

    @wraps(function)
    def with_requests(**parameters: Any) -> Any:
        values = taken_values(ConfigurationRequest, parameters)
        given = values.pop("profile")
        profiles = (given or (None,)) if several_profiles else (given,)
        sheets: Sequence[Path | None] = expanded_sheets(values.pop("sheet")) or [None]
        if len(profiles) > 1 and len(sheets) > 1:
            raise click.UsageError("give several --profile or several --facts, not both")
        requests = [
            ConfigurationRequest(profile=profile, sheet=sheet, called=name, **values)
            for profile in profiles
            for sheet, name in zip(sheets, sheet_names(sheets), strict=True)
        ]
        for request in requests[1:]:  # plugins and profiles are read once
            request.share_installation(requests[0])
        return function(requests=requests, **parameters)

    return profile_options(device_options(with_requests, several=True), several=several_profiles)


def taken_values(kind: type[Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Take the values for the fields of a record out of the parameters of a command."""
    return {each.name: parameters.pop(each.name) for each in fields(kind) if each.name in parameters}


def profile_options(function: CommandT, *, several: bool = False) -> CommandT:
    """Add the options that select or change a configuration, but not the device."""
    command = click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="PATH=VALUE",
        shell_complete=complete_assignment,
        help="Set [METHOD[@INSTANCE]:]BACKEND.OPTION. Repeatable; of two for one path, the last wins. "
        "Arrays and tables are JSON, such as '[1, 2]'.",
    )(profile_path_option(function))
    command = require_match_option(command)
    return click.option(
        "--profile",
        metavar="auto|NAME|FILE",
        multiple=several,
        shell_complete=complete_profile,
        help="The profile; by default the project file's, else auto." + (" Repeatable." if several else ""),
    )(command)


def chosen_executor(installation: Installation, name: str | None) -> str:
    """Return the executor that `--executor` names, else that of the project file, else numpy.

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


def make_installation(profile_paths: Sequence[Path] = ()) -> Installation:
    """Return the installation as seen from the current directory.

    Raises:
        click.ClickException: the current directory is gone.
    """
    try:
        directory = Path.cwd()
    except OSError as error:
        raise click.ClickException(f"cannot read the current directory: {error.strerror}") from error
    installation = Installation(directory, profile_directories=profile_paths)
    context = click.get_current_context(silent=True)
    texts = () if context is None else context.meta.get(_EXECUTOR_TEXTS, ())
    kept: list[Allowances] = []

    def leveled(problems: Iterable[Diagnostic]) -> Sequence[Diagnostic]:
        from etconfig.diagnostics.allow_comments import Allowances

        kept.extend(() if kept else [Allowances()])  # comments are read once
        return installation.leveled(problems, kept[0])

    keep_leveling(leveled)
    return installation.with_executor_texts(texts) if texts else installation


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
