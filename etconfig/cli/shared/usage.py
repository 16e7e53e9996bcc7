"""A command line that click refuses: its errors in the form of ours, with what was probably meant."""

from __future__ import annotations

import click

from etconfig.cli.shared.output import print_error


class SuggestingGroup(click.Group):
    """A group of commands that guesses what a mistyped one was meant to be."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; an unknown command is refused here."""
        from etconfig.diagnostics import did_you_mean

        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            guess = did_you_mean(args[0], known) or f"commands are {', '.join(known)}"
            ctx.fail(f"no command {args[0]!r}; {guess}")
        return super().resolve_command(ctx, args)


def fail_usage(error: click.ClickException) -> None:
    """One of click's errors on stderr."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    elif isinstance(error, click.UsageError):
        see = f"see `{error.ctx.command_path} --help`" if error.ctx else None
        print_error(_sentence(error), see)
    else:
        print_error(error.message)


def _sentence(error: click.UsageError) -> str:
    from etconfig.diagnostics import did_you_mean

    if isinstance(error, click.NoSuchOption):
        known = [name for param in error.ctx.command.params for name in param.opts] if error.ctx else []
        guess = did_you_mean(error.option_name, known)
        return f"no option {error.option_name!r}" + (f"; {guess}" if guess else "")
    text = error.format_message().rstrip(".")
    return text[:1].lower() + text[1:]
