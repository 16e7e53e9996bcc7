"""`PluginIndex`: an immutable list of the installed plugins, and `PluginPolicy`: which may be used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from etconfig.base.packages import REMOVED_BACKENDS, how_to_get_backend
from etconfig.base.records import record
from etconfig.plugin.declarations import Declarations
from etconfig.plugin.entry_points import BACKENDS, DECLARED, EntryPoint, normalized_name
from etconfig.plugin.failure import PluginFailure

if TYPE_CHECKING:
    from etconfig.errors import DuplicatePluginError, UnknownPluginError


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


@record(frozen=True)
class PluginIndex:
    """The plugins that were installed when the index was made.

    Attributes:
        installed: All declared entry points, even refused by the policy.
        failures: The distributions whose metadata are broken.
        policy: The entry points that may be used.
        given: Plugins given in code. They win over installed ones of the same name; no policy refuses them.
    """

    installed: tuple[EntryPoint, ...]
    failures: tuple[PluginFailure, ...] = ()
    policy: PluginPolicy = field(default_factory=PluginPolicy)
    given: tuple[EntryPoint, ...] = ()

    @cached_property
    def declarations(self) -> Declarations:
        """The declarations of the plugins in files, which are read on first use."""
        return Declarations(self.entries(DECLARED))

    def entries(self, group: str) -> tuple[EntryPoint, ...]:
        """Return the entry points of `group` that may be used, given ones first, in the order of the path."""
        return tuple(each for each in self._usable if each.group == group)

    @cached_property
    def _usable(self) -> Sequence[EntryPoint]:
        given = {(entry.group, entry.name): entry for entry in self.given}
        installed = (
            entry
            for entry in self.installed
            if (entry.group, entry.name) not in given and self.policy.refusal(entry) is None
        )
        return (*given.values(), *installed)

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Sequence[EntryPoint]]:
        """The entry points that may be used, by group and name: there may be thousands."""
        named: dict[tuple[str, str], list[EntryPoint]] = {}
        for entry in self._usable:
            named.setdefault((entry.group, entry.name), []).append(entry)
        return named

    def find(self, group: str, name: str) -> EntryPoint:
        """Return the entry point called `name`.

        Raises:
            UnknownPluginError: no distribution declares it, or the policy refuses it.
            DuplicatePluginError: several do, `policy.prefer` names none of them, and their distributions do
                not declare that only one has an implementation.
        """
        matches = self.candidates(group, name)
        if group == BACKENDS and len(matches) > 1:
            declared = [self.declarations.has_implementation(entry) for entry in matches]
            if None not in declared and declared.count(True) == 1:
                return matches[declared.index(True)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise self._unknown(group, name, self.entries(group))
        raise _duplicate(group, name, matches)

    def candidates(self, group: str, name: str) -> list[EntryPoint]:
        """Return the entry points called `name` that may be used, or the choice of `policy.prefer`."""
        matches = [*self._named.get((group, name), ())]
        preferred = normalized_name(self.policy.prefer.get(name, ""))
        return [each for each in matches if normalized_name(each.distribution) == preferred][:1] or matches

    def explain_refusal(self, group: str, name: str) -> str | None:
        """Return why a plugin that is installed may not be used, in a sentence; None if there is none."""
        for entry in self.installed:
            if entry.group == group and entry.name == name:
                refusal = self.policy.refusal(entry)
                return refusal and f"{entry.source} declares it, but {refusal}"
        return None

    def _unknown(self, group: str, name: str, usable: tuple[EntryPoint, ...]) -> UnknownPluginError:
        from etconfig.diagnostics import did_you_mean, did_you_mean_backend
        from etconfig.errors import UnknownPluginError

        known = tuple(sorted({entry.name for entry in usable}))
        help_text = did_you_mean(name, known)
        if group == BACKENDS:
            installed = {normalized_name(entry.distribution) for entry in self.installed}
            how = f"install the package that declares it: {how_to_get_backend(name, installed)}"
            help_text = REMOVED_BACKENDS.get(name) or did_you_mean_backend(name, known) or how
        help_text = self.explain_refusal(group, name) or help_text
        return UnknownPluginError(group=group, name=name, known=known, help=help_text)


def _duplicate(group: str, name: str, matches: list[EntryPoint]) -> DuplicatePluginError:
    from etconfig.errors import DuplicatePluginError

    return DuplicatePluginError(
        group=group,
        name=name,
        distributions=tuple(entry.source for entry in matches),
        help=f'uninstall one, or choose: [plugins] prefer = {{ {name} = "{matches[0].distribution}" }}',
    )
