"""An empty path is an error for every command, and never the current directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
from command_line import Outcome

from etconfig.cli.shared.usage import StrictCommand, may_be_path
from etconfig.cli.startup.command_group import etconfig


def _commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if words:
        yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, (*words, name))


def test_every_option_and_argument_of_every_command(cli: Callable[..., Outcome]) -> None:
    wrong, tried = [], 0
    for words, command in _commands(etconfig):
        if not isinstance(command, StrictCommand):
            wrong.append((words, "is not strict"))
        paths = [parameter for parameter in command.params if may_be_path(parameter)]
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        for parameter in paths:
            if isinstance(parameter, click.Option):
                given = ["x" for each in arguments for _ in range(abs(each.nargs))]
                option = [parameter.opts[0], ""]
                is_mixed = command.context_settings.get("allow_interspersed_args", True)
                line = [*words, *(given + option if is_mixed else option + given)]
            else:
                line = [*words, *("" if each is parameter else "x" for each in arguments)]
            done, tried = cli(*line), tried + 1
            if done.status != 2 or "is empty, like an unset variable" not in done.stderr:
                wrong.append((line, done))
    assert not wrong
    assert tried > 100


def test_one_of_several_values_and_sides_of_a_comparison(cli: Callable[..., Outcome]) -> None:
    lines = (
        ("lock", "--facts", "device.json", "--facts", ""),
        ("matrix", "model.pte", "", "--facts", "device.json"),
        ("validate", "device.json", ""),
        ("diff", "facts:", "facts:device.json"),
        ("diff", "device:", "facts:device.json"),
    )
    found = {line: cli(*line) for line in lines}
    assert not [each for each in found.items() if each[1].status != 2 or "empty" not in each[1].stderr]
