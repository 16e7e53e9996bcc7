"""`etconfig lock`: record a resolution and everything that it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.options import ConfigurationRequest, several_devices_options
from etconfig.cli.shared.output import fail, show
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import write_file
from etconfig.errors import ConfigError

if TYPE_CHECKING:
    from etconfig.app.configuration import Configuration
    from etconfig.resolver import Resolution


@click.command("lock", cls=StrictCommand)
@click.argument("program", required=False, type=click.Path(path_type=Path))
@several_devices_options
def command(program: Path | None, requests: Sequence[ConfigurationRequest]) -> int:
    """Record resolutions and what they depend on, for --locked.

    Writes etconfig.lock next to the project file, or into the current directory: the content of
    the program, versions and schemas of plugins, the values in the profiles and in the project
    file, and for each device the facts that were used and the value of every option. With --locked,
    `resolve`, `run` and `verify` fail if any of these differs, and say which. Comments, layout and
    descriptions do not count.

    \b
    Examples:
      etconfig lock model.pte
      etconfig lock model.pte --facts pi5.json
      etconfig lock model.pte --facts pi5.json --device pixel-8
    """
    from etconfig.app.lock_contents import lock_path, make_lock

    loaded = requests[0].open_program(program)
    resolved: dict[str, tuple[Configuration, Resolution]] = {}
    for request in requests:
        try:
            configuration = request.configure(loaded)
            resolved[request.device_name] = configuration, configuration.resolve()
        except ConfigError as error:
            if len(requests) == 1:
                raise
            show(f"device {request.device_name}:", err=True)
            fail(error)
    if len(resolved) < len(requests):
        return 2
    lock = make_lock(resolved, loaded)
    path = lock_path(configuration)
    # a file name that is not UTF-8 has parts that only an escape can spell
    write_file(path, lock.to_json().encode(errors="backslashreplace"), is_named=False)
    options = format_count(sum(len(device.options) for device in lock.devices.values()), "option")
    show(f"{options}{'' if len(requests) == 1 else f' of {len(requests)} devices'} written to {path}")
    return 0
