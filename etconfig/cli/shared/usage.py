"""Usage errors of click in the form of our errors, with a guess at the intended name."""

from __future__ import annotations

import click

from etconfig.cli.shared.output import print_error


class SuggestingGroup(click.Group):
    """A group of commands that suggests a name for a mistyped one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command as click does; refuse an unknown one with a suggestion."""
        from etconfig.diagnostics import did_you_mean

        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            guess = did_you_mean(args[0], known) or f"commands are {', '.join(known)}"
            ctx.fail(f"no command {args[0]!r}; {guess}")
        return super().resolve_command(ctx, args)


def fail_usage(error: click.ClickException) -> None:
    """Print an error of click on stderr."""
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
