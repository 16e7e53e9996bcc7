"""`PluginPolicy`: which plugins may be used, and which one when two claim one name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace

from etconfig.plugin.entry_points import EntryPoint, normalized_name
from etconfig.records import record

ENVIRONMENT_VARIABLE = "ETCONFIG_DISABLE_PLUGINS"
"""Distributions or entry points to leave out, separated by commas; `*` means all."""

OWN_DISTRIBUTION = "etconfig"
"""What it declares itself stays unless it is named: `*` and an allow list mean others."""


@record(frozen=True, kw_only=True)
class PluginPolicy:
    """Which plugins may be used. Names are those of distributions or of entry points.

    Attributes:
        allow: If given, only these.
        deny: Not these.
        disabled: Not these either: what `ETCONFIG_DISABLE_PLUGINS` lists.
        prefer: For an entry point that several distributions declare, the one to use.
    """

    allow: Collection[str] | None = None
    deny: Collection[str] = ()
    disabled: Collection[str] = ()
    prefer: Mapping[str, str] = field(default_factory=dict)

    def with_environment(self, environment: Mapping[str, str]) -> PluginPolicy:
        """The same policy, with what the variable in `environment` disables."""
        names = (name.strip() for name in environment.get(ENVIRONMENT_VARIABLE, "").split(","))
        return replace(self, disabled=(*self.disabled, *filter(None, names)))

    def refusal(self, entry: EntryPoint) -> str | None:
        """Why `entry` may not be used, or None if it may."""
        if _names(self.disabled, entry):
            return f"it is disabled by {ENVIRONMENT_VARIABLE}"
        if _names(self.deny, entry):
            return "it is on the project's deny list"
        if self.allow is not None and not _is_own(entry) and not _names(self.allow, entry):
            return "it is not on the project's allow list"
        return None

    def unmatched(self, entries: Iterable[EntryPoint]) -> tuple[str, ...]:
        """The names in this policy that no entry has: most likely typing errors."""
        known = {"*"}
        for entry in entries:
            known |= {entry.name, normalized_name(entry.distribution)}
        names = {*(self.allow or ()), *self.deny, *self.disabled, *self.prefer, *self.prefer.values()}
        return tuple(sorted(name for name in names if not {name, normalized_name(name)} & known))


def _is_own(entry: EntryPoint) -> bool:
    return normalized_name(entry.distribution) == OWN_DISTRIBUTION


def _names(names: Collection[str], entry: EntryPoint) -> bool:
    if entry.name in names or ("*" in names and not _is_own(entry)):
        return True
    distribution = normalized_name(entry.distribution)
    return any(normalized_name(name) == distribution for name in names)
