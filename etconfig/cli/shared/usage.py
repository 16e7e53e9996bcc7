"""Usage errors: click's in the form of our errors, and errors of options that are given repeatedly."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click
from click.core import ParameterSource

from etconfig.cli.shared.output import keep_display, print_error
from etconfig.cli.shared.standard_output import own_standard_output

_ORDER = "etconfig.order"
"""The key of click's context for the name of each parameter, in the order of the command line."""


def _display_options() -> list[click.Option]:
    """Return the options of every command, which may stand before and after its name."""
    return [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=keep_display,
            help="On stderr, print errors only: no notes, warnings, summaries and progress.",
        ),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=keep_display,
            help="When to color; by default auto: on a terminal, or by FORCE_COLOR and NO_COLOR.",
        ),
        click.Option(
            ["--fail-on"],
            type=click.Choice(["error", "warning", "note"]),
            expose_value=False,
            callback=keep_display,
            help="Exit with 1 if a finding of this level, or a worse one, is shown.",
        ),
    ]


DISPLAY_OPTIONS = frozenset(str(option.name) for option in _display_options())
"""The names of the options that every command has."""


class StrictCommand(click.Command):
    """A command that refuses empty paths, and a second value for an option that takes one.

    click would take the last value; an empty path, such as an unset variable of a script, would be the
    current directory. While it runs, no plugin writes to standard output.
    """

    def __init__(self, *arguments: Any, **values: Any) -> None:
        if values.get("callback") is not None:
            values["callback"] = _with_own_output(values["callback"])
        super().__init__(*arguments, **values)
        self.params += _display_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does.

        Raises:
            click.UsageError: the arguments are wrong, a path is empty, or an option that takes one value has
                several.
        """
        if not ctx.resilient_parsing:  # a shell completes a line that is not finished
            values, _, order = self.make_parser(ctx).parse_args(list(args))
            for parameter in self.get_params(ctx):
                value = values.get(parameter.name or "")
                if may_be_path(parameter) and (
                    value == "" or (isinstance(value, (list, tuple)) and "" in value)
                ):
                    name = (
                        parameter.opts[0]
                        if isinstance(parameter, click.Option)
                        else parameter.make_metavar(ctx)
                    )
                    ctx.fail(f"{name} is empty, like an unset variable; give a value, or leave it out")
            ctx.meta[_ORDER] = [parameter.name for parameter in order]
            for parameter, count in Counter(order).items():
                if count > 1 and takes_one_value(parameter):
                    times = "twice" if count == 2 else f"{count} times"
                    ctx.fail(
                        f"{parameter.opts[0]} is given {times}; "
                        "give it once, or run the command once for each value"
                    )
        return super().parse_args(ctx, args)


def _with_own_output(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command own standard output, unless a command below it follows, whose help may be printed yet."""

    @functools.wraps(callback)
    def run(*arguments: Any, **values: Any) -> Any:
        if click.get_current_context().invoked_subcommand is not None:
            return callback(*arguments, **values)
        with own_standard_output():
            return callback(*arguments, **values)

    return run


def may_be_path(parameter: click.Parameter) -> bool:
    """Return True for a parameter whose value may be a path, or the name of a thing as arguments are."""
    is_profile = parameter.name == "profile" and takes_value(parameter)
    is_argument = isinstance(parameter, click.Argument) and parameter.type is not click.UNPROCESSED
    return is_argument or isinstance(parameter.type, click.Path) or is_profile


def given_parameters(context: click.Context) -> Iterator[click.Parameter]:
    """Yield the parameters of the command itself that the command line has, without options that all have."""
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if is_given and parameter.name not in DISPLAY_OPTIONS:
            yield parameter


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first option that is given; by name, whether or with which value it is."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"{why}: leave out {name}")


def takes_value(parameter: click.Parameter) -> bool:
    """Return False for flags."""
    return not (isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count))


def options_in_order(context: click.Context) -> list[str]:
    """Return the names of the parameters in the order of the command line, each as often as it is given."""
    names: list[str] = context.meta.get(_ORDER, [])
    return names


def takes_one_value(parameter: click.Parameter) -> bool:
    """Return True for an option with a value that cannot be repeated; flags may be."""
    return isinstance(parameter, click.Option) and not (
        parameter.is_flag or parameter.count or parameter.multiple
    )


class SuggestingGroup(StrictCommand, click.Group):
    """A group of commands that suggests a name for a mistyped one."""

    command_class = StrictCommand

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
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]  # the name of an argument
