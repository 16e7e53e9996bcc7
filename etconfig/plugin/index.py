"""`PluginIndex`: an immutable list of the installed plugins."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from etconfig.base.packages import REMOVED_BACKENDS, how_to_get_backend
from etconfig.base.records import record
from etconfig.plugin.declarations import Declarations
from etconfig.plugin.entry_points import BACKENDS, DECLARED, EntryPoint, normalized_name
from etconfig.plugin.failure import PluginFailure
from etconfig.plugin.policy import PluginPolicy

if TYPE_CHECKING:
    from etconfig.errors import DuplicatePluginError, UnknownPluginError


@record(frozen=True)
class PluginIndex:
    """The plugins that were installed when the index was made.

    Attributes:
        installed: All declared entry points, including those that the policy refuses.
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
        given = {entry.name: entry for entry in self.given if entry.group == group}
        installed = (
            entry
            for entry in self.installed
            if entry.group == group and entry.name not in given and self.policy.refusal(entry) is None
        )
        return (*given.values(), *installed)

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
        """Return the entry points called `name` that may be used, or the one that `policy.prefer` names."""
        matches = [entry for entry in self.entries(group) if entry.name == name]
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
