"""`DeviceConfigurations`: one program on many devices, where each selected profile is compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from etconfig.app.configuring.configuration import Configuration, configure
from etconfig.app.configuring.profile_choice import AUTO, ProfileChoice, choose_profile
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating
from etconfig.app.configuring.tuned_models import models_in_use
from etconfig.app.installation.installation import Installation
from etconfig.base.parameters import AnyPath
from etconfig.errors import ConfigError, PluginError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet

if TYPE_CHECKING:
    from etconfig.profile.layer import Layer
    from etconfig.profile.selector import ProfileSelector
    from etconfig.resolver.compiling.override_forms import Overrides


class DeviceConfigurations:
    """The configurations of a program on one device after another.

    Devices for which the same profile is chosen share its compiled layers: nothing in them depends on the
    device. So do the errors of a profile that cannot be compiled.

    Args:
        programs: The programs, whose methods get their options together; empty to resolve without one.
        installation: Plugins, profiles and project file.
        profile: As for `configure`.
        require_match: As for `configure`.
        fact_overrides: As for `configure`; they hold on every device.
        overrides: As for `configure`.
    """

    def __init__(
        self,
        programs: Sequence[Delegating],
        installation: Installation,
        *,
        profile: AnyPath | None = None,
        require_match: bool = False,
        fact_overrides: FactOverrides | None = None,
        overrides: Overrides | Layer | None = None,
    ) -> None:
        self._program = SeveralPrograms.of(programs)
        self.installation = installation
        self._profile = profile
        self._require_match = require_match
        self._by_hand = source_facts(fact_overrides, installation.fact_registry)
        self._overrides = overrides
        self._named: ProfileChoice | None = None
        self._known: dict[str, Configuration | ConfigError | PluginError] = {}

    @cached_property
    def _selector(self) -> ProfileSelector:
        return self.installation.selector.for_models(models_in_use(self.installation, self._program))

    def check_named_profile(self) -> None:
        """Check that a profile which is named for every device, here or in the project file, can be read.

        Raises:
            ConfigError: as for `choose_profile`.
        """
        project = self.installation.project
        named = project and project.profile and project.profile.target
        if (self._profile or named or AUTO) != AUTO:
            self._named = self.choose(FactSheet.empty(self.installation.fact_registry))

    def choose(self, facts: FactSheet) -> ProfileChoice:
        """Choose the profile for a device.

        Raises:
            ConfigError: as for `choose_profile`.
        """
        if self._named is not None:
            return self._named
        known = self.installation.known_facts(facts, self._by_hand)
        project = self.installation.project
        if self._profile != AUTO and (self._profile or (project and project.profile)):
            return choose_profile(
                self.installation,
                self._profile,
                known,
                require_match=self._require_match,
                concerns=models_in_use(self.installation, self._program),
            )
        require_match = self._require_match or (project is not None and project.require_match)
        selection = self._selector.select(known.values, require_match=require_match)
        return ProfileChoice(chain=selection.chain, selection=selection)

    def configuration(self, choice: ProfileChoice, facts: FactSheet) -> Configuration:
        """Return the configuration for the device that `choose` chose a profile for.

        Raises:
            BackendUnavailableError, ConfigError, PluginError: as for `configure`.
        """
        name = choice.profile.name
        if name not in self._known:
            self._known[name] = self._compile(facts)
        found = self._known[name]
        if not isinstance(found, Configuration):
            raise found
        return replace(found, facts=facts, selection=choice.selection)

    def _compile(self, facts: FactSheet) -> Configuration | ConfigError | PluginError:
        try:
            return configure(
                self._program,
                profile=self._profile,
                require_match=self._require_match,
                facts=facts,
                fact_overrides=self._by_hand,
                overrides=self._overrides,
                installation=self.installation,
            )
        except (ConfigError, PluginError) as error:
            return error
