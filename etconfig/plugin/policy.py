"""`PluginPolicy`: the plugins that may be used, and the one to prefer when two claim the same name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace

from etconfig.base.records import record
from etconfig.plugin.entry_points import EntryPoint, normalized_name

ENVIRONMENT_VARIABLE = "ETCONFIG_DISABLE_PLUGINS"
"""The variable that disables distributions or entry points, separated by commas; `*` means all."""

OWN_DISTRIBUTION = "etconfig"
"""etconfig's own distribution. `*` and allow lists do not affect it; only its name disables it."""


@record(frozen=True, kw_only=True)
class PluginPolicy:
    """The plugins that may be used, by the names of their distributions or entry points.

    Attributes:
        allow: If set, only these may be used.
        deny: These may not be used.
        disabled: These may not be used either; `ETCONFIG_DISABLE_PLUGINS` lists them.
        prefer: For entry points that several distributions declare, the distribution to use.
    """

    allow: Collection[str] | None = None
    deny: Collection[str] = ()
    disabled: Collection[str] = ()
    prefer: Mapping[str, str] = field(default_factory=dict)

    def with_environment(self, environment: Mapping[str, str]) -> PluginPolicy:
        """Return this policy with the plugins disabled that the variable in `environment` lists."""
        names = (name.strip() for name in environment.get(ENVIRONMENT_VARIABLE, "").split(","))
        return replace(self, disabled=(*self.disabled, *filter(None, names)))

    def refusal(self, entry: EntryPoint) -> str | None:
        """Return why `entry` may not be used, or None if it may."""
        if _names(self.disabled, entry):
            return f"it is disabled by {ENVIRONMENT_VARIABLE}"
        if _names(self.deny, entry):
            return "it is on the project's deny list"
        if self.allow is not None and not _is_own(entry) and not _names(self.allow, entry):
            return "it is not on the project's allow list"
        return None

    def unmatched(self, entries: Iterable[EntryPoint]) -> tuple[str, ...]:
        """Return the names in this policy that no entry has; most likely they are misspelled."""
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
