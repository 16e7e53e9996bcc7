"""Options and arguments of commands, each defined once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from etconfig.app.installation.installation import Installation
from etconfig.cli.shared.completion import (
    complete_assignment,
    complete_device,
    complete_profile,
)
from etconfig.cli.shared.input_files import (
    InputPath,
    KnownDevices,
)
from etconfig.cli.shared.output import keep_leveling
from etconfig.cli.shared.usage import options_in_order
from etconfig.cli.shared.writing import note_reads

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic
    from etconfig.diagnostics.allow_comments import Allowances

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
    if path is not None or context.resilient_parsing or context.params.get("from_usage"):
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

instance_option = click.option("--instance", help="A named instance; by default the unnamed one.")
input_option = click.option(
    "--input",
    "inputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="An input as .npy, or several as .npz with in0, in1, ... Repeatable, in order.",
)
backend_option = click.option(
    "--backend", metavar="ID", help="The engine that runs a model, if several installed ones do."
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
    note_reads(filter(None, [installation.project_path]))
    context = click.get_current_context(silent=True)
    texts = () if context is None else context.meta.get(_EXECUTOR_TEXTS, ())
    kept: list[Allowances] = []

    def leveled(problems: Iterable[Diagnostic]) -> Sequence[Diagnostic]:
        from etconfig.diagnostics.allow_comments import Allowances

        kept.extend(() if kept else [Allowances()])  # comments are read once
        return installation.leveled(problems, kept[0])

    keep_leveling(leveled)
    return installation.with_executor_texts(texts) if texts else installation
