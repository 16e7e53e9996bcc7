"""The methods that `etconfig run` executes one after another, each with its own inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from etconfig.base.records import record
from etconfig.cli.shared.command_options import input_option
from etconfig.cli.shared.completion import complete_method
from etconfig.cli.shared.usage import options_in_order

_NAMES = ("method", "instance", "inputs")

_DEFAULT = "forward"
_method_option = click.option(
    "--method",
    multiple=True,
    default=(_DEFAULT,),
    show_default=_DEFAULT,
    shell_complete=complete_method,
    help="The method. Repeatable: methods run in this order and share their state.",
)
_instance_option = click.option(
    "--instance", multiple=True, help="A named instance of the method; by default the unnamed one."
)
step_options = (_method_option, _instance_option, input_option)


@record(frozen=True, kw_only=True)
class MethodStep:
    """One execute.

    Attributes:
        method: The name of the method.
        instance: The named instance, or None for the default one.
        inputs: The files with its inputs.
    """

    method: str
    instance: str | None
    inputs: tuple[Path, ...]

    @property
    def label(self) -> str:
        """The method with its instance."""
        return self.method if self.instance is None else f"{self.method}@{self.instance}"


def read_steps(methods: Sequence[str], instances: Sequence[str], inputs: Sequence[Path]) -> list[MethodStep]:
    """Return the steps of the current command line: an option belongs to the method before it.

    Options before the first method belong to it.

    Raises:
        click.UsageError: a method has two instances.
    """
    order = [name for name in options_in_order(click.get_current_context()) if name in _NAMES]
    if "method" not in order:
        order = ["method", *order]
    first = order.index("method")
    order = ["method", *order[:first], *order[first + 1 :]]
    starts = [index for index, name in enumerate(order) if name == "method"]
    left_instances, left_inputs = iter(instances), iter(inputs)
    return [
        _read_step(method, order[start + 1 : end], left_instances, left_inputs)
        for method, start, end in zip(methods, starts, [*starts[1:], len(order)], strict=True)
    ]


def _read_step(
    method: str, options: Sequence[str], instances: Iterator[str], inputs: Iterator[Path]
) -> MethodStep:
    if options.count("instance") > 1:
        raise click.UsageError(f"--instance is given twice for method {method!r}; give --method again")
    instance = next(instances) if "instance" in options else None
    files = tuple(next(inputs) for name in options if name == "inputs")
    return MethodStep(method=method, instance=instance, inputs=files)
