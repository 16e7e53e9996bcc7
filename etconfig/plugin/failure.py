"""Broken plugins: a `PluginFailure` is listed, a `load_error` is raised when the plugin is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.packages import how_to_install, is_our_package
from etconfig.base.records import record
from etconfig.plugin.entry_points import EntryPoint, normalized_name

if TYPE_CHECKING:
    from etconfig.errors import PluginLoadError


@record(frozen=True, kw_only=True)
class PluginFailure:
    """The reason why a plugin, or the metadata of a distribution, cannot be used.

    Attributes:
        distribution: The distribution at fault.
        version: Its version.
        cause: What is wrong.
        help: What to do about it.
        group: The group of the entry point, or None if the metadata as a whole are broken.
        name: The name of the entry point, or None likewise.
        author_help: What the plugin's author has to do, or None to build it again.
    """

    distribution: str
    version: str
    cause: str
    help: str
    group: str | None = None
    name: str | None = None
    author_help: str | None = None

    @classmethod
    def of(cls, error: PluginLoadError) -> PluginFailure:
        """Return the failure that `error` reports."""
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


def load_error(
    entry: EntryPoint,
    cause: str,
    help_text: str,
    *,
    author_help: str | None = None,
    code: object = None,
    error: BaseException | None = None,
) -> PluginLoadError:
    """Return an error that names `entry`, its distribution and version, and the code at fault.

    In the vendor's own checkout, which is installed in editable mode, the reader is the author: the error
    then has the symbol and the instruction for the author.

    Args:
        entry: The plugin.
        cause: What is wrong.
        help_text: What a user can do.
        author_help: What the plugin's author has to do, if that differs.
        code: The function or class at fault; by default the plugin's hook.
        error: What the plugin raised, if it did.
    """
    from etconfig.errors import PluginLoadError
    from etconfig.plugin.culprit import culprit_of, is_development, without_place  # listing does not need it

    culprit = culprit_of(entry, code, error)
    if is_development(entry):
        cause, help_text = f"{culprit}: {without_place(cause)}", author_help or help_text
    return PluginLoadError(
        group=entry.group,
        name=entry.name,
        distribution=entry.distribution,
        version=entry.version,
        cause=cause,
        help=help_text,
        culprit=culprit,
        author_help=author_help or help_text,
    )


def reinstall_help(distribution: str) -> str:
    """Return the help for a damaged installation."""
    words = ("--force-reinstall", "--no-deps", distribution)
    is_ours = is_our_package(normalized_name(distribution))
    command = how_to_install(*words) if is_ours else " ".join(("pip install", *words))
    return f"reinstall {distribution}: {command}"
