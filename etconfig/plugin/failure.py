"""Broken plugins: `PluginFailure` lists one, `load_error` raises for one that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.plugin.entry_points import EntryPoint
from etconfig.records import record

if TYPE_CHECKING:
    from etconfig.errors import PluginLoadError


@record(frozen=True, kw_only=True)
class PluginFailure:
    """Why a plugin, or a distribution's metadata, cannot be used.

    Attributes:
        distribution: The distribution at fault.
        version: Its version.
        cause: What is wrong.
        help: What to do about it.
        group: The entry point's group, or None when the metadata as a whole are broken.
        name: The entry point's name, or None likewise.
    """

    distribution: str
    version: str
    cause: str
    help: str
    group: str | None = None
    name: str | None = None

    @classmethod
    def of(cls, error: PluginLoadError) -> PluginFailure:
        """The failure that `error` tells of."""
        return cls(
            distribution=error.distribution,
            version=error.version,
            cause=error.cause,
            help=error.help or "",
            group=error.group,
            name=error.name,
        )

    def __str__(self) -> str:
        what = "" if self.name is None else f"{self.name} ({self.group}): "
        return f"{self.distribution} {self.version}: {what}{self.cause}; {self.help}"


def load_error(entry: EntryPoint, cause: str, help_text: str) -> PluginLoadError:
    """The error that names `entry`, its distribution and version."""
    from etconfig.errors import PluginLoadError

    return PluginLoadError(
        group=entry.group,
        name=entry.name,
        distribution=entry.distribution,
        version=entry.version,
        cause=cause,
        help=help_text,
    )


def reinstall_help(distribution: str) -> str:
    """What to do about a damaged installation."""
    return f"reinstall {distribution}: pip install --force-reinstall {distribution}"
