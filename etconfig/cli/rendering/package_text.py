"""The contents of an `.etargs` file, for `etconfig inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.cli.shared.output import print_json, print_table, show

if TYPE_CHECKING:
    from etconfig.transport import PackedConfiguration, PackedOption

SUFFIX = ".etargs"


def show_package(path: Path, *, as_json: bool) -> None:
    """Print the contents of an `.etargs` file.

    Raises:
        SavedResultError: the file cannot be read, or is damaged.
    """
    from etconfig.transport import load_package

    package = load_package(path)
    if as_json:
        print_json(package.to_jsonable())
        return
    show(f"written by {package.producer}")
    for configuration in package.configurations:
        show()
        show(f"{configuration.name}: {configuration.fingerprint}")
        print_table(("METHOD", "BACKEND", "OPTION", "VALUE", "SENT AS", "SCOPE"), _rows(configuration))


def _rows(configuration: PackedConfiguration) -> Iterator[tuple[str, ...]]:
    from etconfig.resolver import show_setting

    for method in configuration.methods:
        for backend, option in method.options():
            cells = (method.label, backend, option.name, show_setting(option.value), _sent(option))
            yield (*cells, option.scope.value)


def _sent(option: PackedOption) -> str:
    """Return the key and value in ExecuTorch's option map, or the reason why the map cannot have them."""
    from etconfig.resolver import show_setting
    from etconfig.transport import EXECUTORCH

    if option.value is None:
        return "-"
    return option.obstacle(EXECUTORCH) or f"{option.key} = {show_setting(option.sent)}"
