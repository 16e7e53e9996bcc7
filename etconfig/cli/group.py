"""The command group: commands are listed without importing them, and errors become messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from etconfig import __version__
from etconfig.cli.output import fail
from etconfig.errors import EtconfigError

COMMANDS = {
    "backends": "List installed backends and their options.",
    "doctor": "Check this installation, and say what to do about what is wrong.",
    "explain": "Say where an option's value comes from, and what it beat.",
    "facts": "Show what is known about this device.",
    "inspect": "Show what a program holds and what it needs to run here.",
    "profiles": "List profiles, and say why they match this device or not.",
    "resolve": "Resolve the arguments of every method, instance and backend.",
    "run": "Run a method of a program.",
    "schema": "Print a backend's option schema as JSON Schema or Markdown.",
    "validate": "Check configuration files; exit with 1 if there are findings.",
}
"""Every command and its summary; a test holds each against the command's own docstring."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"etconfig.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from etconfig.diagnostics import did_you_mean

            guess = did_you_mean(args[0], COMMANDS) or f"commands are {', '.join(sorted(COMMANDS))}"
            ctx.fail(f"no command {args[0]!r}; {guess}")
        return super().resolve_command(ctx, args)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="etconfig %(version)s")
def etconfig() -> None:
    """Typed configuration and plugin discovery for ExecuTorch backends.

    \b
    Example:
      etconfig run model.pte --profile auto --input x.npy
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit status. A user's mistake never shows a traceback."""
    try:
        status = etconfig.main(list(arguments), prog_name="etconfig", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        return 130
    except EtconfigError as error:
        fail(error)
        return 2
    except BrokenPipeError:
        # The reader went away (`| head`). Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
