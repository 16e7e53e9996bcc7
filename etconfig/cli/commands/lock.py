"""`etconfig lock`: record a resolution and everything that it depends on."""

from __future__ import annotations

from pathlib import Path

import click

from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.options import ConfigurationRequest, configuration_options
from etconfig.cli.shared.output import show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import write_file


@click.command("lock", cls=StrictCommand)
@click.argument("program", required=False, type=click.Path(path_type=Path))
@configuration_options
def command(program: Path | None, request: ConfigurationRequest) -> None:
    """Record a resolution and what it depends on, for --locked.

    Writes etconfig.lock next to the project file, or into the current directory: the content of
    the program, versions and schemas of plugins, the values in the profiles and in the project
    file, the facts that were used, and the value of every option. With --locked, `resolve`, `run`
    and `verify` fail if any of these differs. Comments, layout and descriptions do not count.

    \b
    Examples:
      etconfig lock model.pte
      etconfig lock model.pte --facts pi5.json
    """
    from etconfig.app.lock_contents import lock_path, make_lock

    loaded = request.open_program(program)
    configuration = request.configure(loaded)
    lock = make_lock(configuration, configuration.resolve(), loaded)
    path = lock_path(configuration)
    # a file name that is not UTF-8 has parts that only an escape can spell
    write_file(path, lock.to_json().encode(errors="backslashreplace"), is_named=False)
    show(f"{format_count(len(lock.device.options), 'option')} written to {path}")
