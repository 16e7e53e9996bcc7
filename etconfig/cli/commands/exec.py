"""`etconfig exec`: run a command with options as environment variables."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click

from etconfig.base.interrupts import is_own_process
from etconfig.cli.shared.command_options import models_option
from etconfig.cli.shared.environment_request import chosen_options, requested_environment
from etconfig.cli.shared.output import note, print_error
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options
from etconfig.cli.shared.standard_output import command_output
from etconfig.cli.shared.usage import StrictCommand

if TYPE_CHECKING:
    from subprocess import Popen

    from etconfig.app.programs.engine_environment import EngineEnvironment

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
"""The exit statuses of shells for a command that cannot run."""

_PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCONT")
_OF_TERMINAL = ("SIGINT", "SIGQUIT")
"""The signals that a terminal sends to the command itself, too."""


@click.command("exec", cls=StrictCommand, context_settings={"allow_interspersed_args": False})
@click.argument("arguments", metavar="CMD [ARG]...", nargs=-1, required=True, type=click.UNPROCESSED)
@models_option
@chosen_options
@click.option(
    "--effective",
    is_flag=True,
    help="Afterwards, report on stderr which variables took effect in an engine of such a process.",
)
@partial(configuration_options, on_this_device=True)
@click.pass_obj
def command(
    environ: Mapping[str, str] | None,
    arguments: Sequence[str],
    model: str | None,
    backend: str | None,
    effective: bool,
    request: ConfigurationRequest,
) -> int:
    """Run a command with options as environment variables.

    CMD takes the place of etconfig, with its standard input, output, signals and exit status. A variable
    that already has another value is an error, and CMD does not run. A note on stderr names each option that
    no variable expresses, unless it has its default.

    With --effective, etconfig waits for CMD, then asks each engine in a process with the same variables,
    for at most a minute. What CMD itself sets is not seen.

    \b
    Examples:
      etconfig exec --models models.toml -- python -c 'print("hello")'
      etconfig exec --models models.toml --model camera --effective -- python -c 'print("hello")'
    """
    environ = {**(os.environ if environ is None else environ)}
    found = requested_environment(request, model, backend)
    conflicts = [*found.conflicts_with(environ)]
    for message, help_line in conflicts:
        print_error(message, help_line)
    if conflicts:
        return 2
    environ |= found.variables
    if not found.variables:
        note("note: no environment variable expresses a value that something sets or recommends")
    try:
        if not effective and is_own_process() and os.name != "nt":  # Windows would only start another one
            _become(arguments, environ)
        status = _run(arguments, environ)
    except OSError as error:
        print_error(f"cannot run {arguments[0]!r}: {error.strerror}")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
    if effective:
        _report(found, environ)
    if status < 0:  # end as the command did
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if status >= 0 else 128 - status


def _become(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Replace this process. Raises OSError if the command cannot run."""
    os.dup2(command_output().fileno(), 1)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and the command would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    os.execvpe(arguments[0], [*arguments], environ)  # noqa: S606  (the user's own command)


def _run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the command as a child, pass signals on to it, and return its status; negative for a signal."""
    import subprocess

    stdout, before = command_output() if is_own_process() else None, {}
    with subprocess.Popen(arguments, env=environ, stdout=stdout) as process:  # noqa: S603  (the user's own)
        for name in _PASSED_ON:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, partial(_pass_on, process))
        try:
            return process.wait()
        finally:  # a signal ends the report
            for number, handler in before.items():
                signal.signal(number, handler)


def _pass_on(process: Popen[bytes], number: int, _frame: FrameType | None) -> None:
    if signal.Signals(number).name not in _OF_TERMINAL or not sys.stdin.isatty():
        process.send_signal(number)


def _report(asked: EngineEnvironment, environ: Mapping[str, str]) -> None:
    """Print which variables are in force in the engines of a process with them."""
    from etconfig.app.programs.environment_probe import ask_engines
    from etconfig.schema.coerce import show_value

    for path, found in ask_engines(asked.requested, environ):
        if isinstance(found, str):
            note(f"unknown: {path}: {found}")
            continue
        names = " and ".join(
            name for name, each in asked.options.items() if any(one.is_of(path) for one in each)
        )
        what = f"{names} for {path} = {show_value(found['requested'])}"
        how = f"{found['source']}: {found['reason']}"
        if found["differs"] is None:
            note(f"unknown: {what}: {found['reason']}")
        elif found["differs"]:
            note(f"not in force: {what}, but {show_value(found['value'])} is ({how})")
        else:
            note(f"in force: {what} ({how})")
