"""The command group: lists commands without importing them, and turns errors into messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

import click

from etconfig.base.version import __version__
from etconfig.cli.shared.output import fail, has_failed, show_escaped
from etconfig.cli.shared.standard_output import own_standard_output
from etconfig.cli.shared.usage import SuggestingGroup, fail_usage
from etconfig.cli.startup.command_list import COMMAND_SUMMARIES

_COMPLETION_VARIABLE = "_ETCONFIG_COMPLETE"
"""Set by shells: `bash_source` requests the completion script, `bash_complete` completions."""


class _LazyGroup(SuggestingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMAND_SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMAND_SUMMARIES:
            return None
        command: click.Command = import_module(f"etconfig.cli.commands.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMAND_SUMMARIES.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="etconfig %(version)s")
def etconfig() -> None:
    """Typed configuration and plugin discovery for ExecuTorch backends.

    \b
    Example:
      etconfig run model.pte --profile auto --input x.npy
    """


def run(arguments: Sequence[str], environ: Mapping[str, str] | None = None) -> int:
    """Run one command and return its exit status. A user's mistake never shows a traceback.

    Args:
        arguments: The command line without the name of the program.
        environ: The environment of programs that the command starts; by default the process's own.

    Raises:
        OSError: the output cannot be written.
        KeyboardInterrupt: the user pressed Ctrl-C.
    """
    instruction = os.environ.get(_COMPLETION_VARIABLE)
    if instruction:
        return _complete(instruction)
    return _reported(lambda: _invoked(arguments, environ))


def _invoked(arguments: Sequence[str], environ: Mapping[str, str] | None) -> int:
    # Not `etconfig.main(...)`: it exits with 1 for `| head` and Ctrl-C, and here 1 means findings.
    with etconfig.make_context("etconfig", list(arguments), obj=environ) as context:
        status = _reported(lambda: etconfig.invoke(context))  # in the context, which knows --color
        return status or int(has_failed())


def _reported(call: Callable[[], object]) -> int:
    """Return the status of a call; print its error if it ends with one."""
    try:
        status = call()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code
    except click.ClickException as error:
        fail_usage(error)
        return 2
    except Exception as error:
        from etconfig.errors import EtconfigError  # not needed before something goes wrong

        if not isinstance(error, EtconfigError):
            raise
        fail(error)
        return 2


def _complete(instruction: str) -> int:
    """Print the completion script of a shell, or the completions of its line, as click does."""
    from click.shell_completion import get_completion_class

    shell, _, what = instruction.partition("_")
    found = get_completion_class(shell)
    if found is None or what not in ("source", "complete"):
        return 1
    completion = found(etconfig, {}, "etconfig", _COMPLETION_VARIABLE)
    with own_standard_output():
        show_escaped(f"{completion.source() if what == 'source' else completion.complete()}\n")
    return 0
