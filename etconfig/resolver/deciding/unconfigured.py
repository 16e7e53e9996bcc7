"""The values of a backend's options where nothing configures them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from etconfig.base.provenance import Sourced
from etconfig.diagnostics import Diagnostic
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.resolver.deciding.device_view import DeviceView
from etconfig.resolver.deciding.option_candidates import OptionCandidates
from etconfig.resolver.deciding.recommendation import recommend
from etconfig.schema.declaration import MISSING
from etconfig.schema.spec import BackendSpec

UnconfiguredValue: TypeAlias = "Sourced[object] | Diagnostic | None"
"""A value and its origin, why there can be none, or None for an option that must be set."""


def values_without_configuration(
    spec: BackendSpec, facts: Mapping[str, object], advice: AdviceReader | None = None
) -> Mapping[str, UnconfiguredValue]:
    """Return each option's recommended value on a device with these facts, else its default, by name.

    Args:
        spec: The backend.
        facts: The known facts of the device.
        advice: Reads what the vendor recommends; by default with the built-in facts.

    Raises:
        PluginCallError: the backend's recommendation failed, or its advice is wrong.
    """
    device, recommended = DeviceView(facts), recommend(spec, facts).values
    entries = (advice or AdviceReader(BUILTIN_FACTS)).entries(spec)
    return {
        name: _value(
            OptionCandidates(
                spec=spec, info=info, advice=tuple(each for each in entries if each.info.name == name)
            ),
            device,
            recommended.get(name),
        )
        for name, info in spec.options.option_infos().items()
    }


def _value(
    option: OptionCandidates, device: DeviceView, recommended: Sourced[object] | None
) -> UnconfiguredValue:
    value = option.decide(device, recommended)
    if isinstance(value, Diagnostic):
        return value
    return None if value is MISSING else option.provenance(device, recommended).winner
