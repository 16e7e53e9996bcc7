"""Known devices on the command line: `--device NAME` beside `--facts PATH`, in the order given."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from etconfig.cli.shared.completion import complete_device
from etconfig.cli.shared.standard_input import InputPath
from etconfig.cli.shared.usage import options_in_order

if sys.platform == "win32":
    from pathlib import WindowsPath as _LocalPath
else:
    from pathlib import PosixPath as _LocalPath

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])

_KEY = "etconfig.known_devices"
"""The key of click's context for the values of `--device`, which `--facts` adds to its own."""

_HELP = "Use a saved fact sheet instead of detecting this device; - is standard input."
_HELP_SEVERAL = (
    "Use saved fact sheets instead of detecting this device: a file, a directory, a quoted pattern, or - for "
    "standard input."
)


class KnownDevicePath(_LocalPath):
    """The path of the sheet of a known device, which messages call by the device's name."""

    def __str__(self) -> str:
        return "/".join(self.parts[-2:]).removesuffix(".json")

    def __fspath__(self) -> str:
        return super().__str__()


def known_device(name: str) -> KnownDevicePath:
    """Return the path of the sheet of a known device.

    Raises:
        FactError: no device has this name, or several do.
    """
    from etconfig.facts.known_devices import device_path, find_device

    return KnownDevicePath(device_path(find_device(name)))


class KnownDevice(InputPath):
    """The type of the name of a known device; its value is the path of the device's sheet."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.

        Raises:
            FactError: no device has this name, or several do.
        """
        if isinstance(value, Path):
            return value
        return known_device(value)


class KnownDevices(KnownDevice):
    """The type of a name or pattern of known devices; its value is a path, or a list of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the paths of the sheets of the devices that a pattern such as `google/*` matches.

        Raises:
            FactError: no device has this name or matches the pattern, or several have the name.
        """
        if not isinstance(value, str) or not set(value) & set("*?["):
            return super().convert(value, param, ctx)
        from etconfig.facts.known_devices import device_path, matching_devices

        return [KnownDevicePath(device_path(name)) for name in matching_devices(value)]


class SheetPath(InputPath):
    """The type of an argument that is a fact sheet: the name of a known device, a path, or `-`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. What does not end in .json and is not a file is a name.

        Raises:
            click.ClickException: standard input cannot be read.
            FactError: no device has this name, or several do.
        """
        is_name = isinstance(value, str) and value != "-" and not value.endswith(".json")
        if is_name and not Path(value).exists():
            return KnownDevice().convert(value, param, ctx)
        return super().convert(value, param, ctx)


def name_of_device(sheet: Path | None) -> str:
    """Return the name of a device in results.

    It is that of a known device, that of the sheet's file without its suffix, or `this device`.
    """
    if sheet is None:
        return "this device"
    return str(sheet) if isinstance(sheet, KnownDevicePath) else sheet.stem


def sheet_options(command: _CommandT, *, several: bool) -> _CommandT:
    """Add `--facts` and `--device`; the command gets what both name as `sheet`.

    That is one path or None, or with `several` a tuple of them, in the order of the command line.
    """
    repeatable = " Repeatable." if several else ""
    command = click.option(
        "--device",
        "device",
        multiple=several,
        metavar="NAME",
        type=KnownDevices() if several else KnownDevice(),
        is_eager=True,  # before `--facts`
        expose_value=False,
        callback=_keep_devices,
        shell_complete=complete_device,
        help=f"Use the sheet of a known device{' or, quoted, of all that a pattern matches' * several}: see "
        "`etconfig devices list`." + repeatable,
    )(command)
    return click.option(
        "--facts",
        "sheet",
        multiple=several,
        type=InputPath(),
        callback=_add_devices,
        help=(_HELP_SEVERAL if several else _HELP) + repeatable,
    )(command)


def _keep_devices(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta[_KEY] = value


def _add_devices(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the values of both options; refuse both where a command takes one."""
    devices = context.meta.pop(_KEY, None)
    if not parameter.multiple:
        if value is not None and devices is not None:
            raise click.UsageError("--facts and --device name two devices; give one of them", context)
        return devices if value is None else value
    left = {"sheet": deque(value), "device": deque(devices or ())}
    found = (left[name].popleft() for name in options_in_order(context) if left.get(name))
    return tuple(path for each in found for path in (each if isinstance(each, list) else [each]))
