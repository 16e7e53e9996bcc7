"""What the options of a backend are where nothing configures them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from etconfig.diagnostics import Diagnostic
from etconfig.provenance import Sourced
from etconfig.resolver.advice import recommend
from etconfig.resolver.chain import OptionChain
from etconfig.resolver.device import DeviceView
from etconfig.schema import MISSING, BackendSpec

UnconfiguredValue: TypeAlias = "Sourced[object] | Diagnostic | None"
"""A value and its origin, why there can be none, or None for an option that must be set."""


def values_without_configuration(
    spec: BackendSpec, facts: Mapping[str, object]
) -> Mapping[str, UnconfiguredValue]:
    """By option name: its vendor's recommendation on a device with these facts, else the schema's default.

    Raises:
        PluginCallError: the backend's recommendation failed.
    """
    device, advice = DeviceView(facts), recommend(spec, facts)
    return {
        name: _value(OptionChain(spec=spec, info=info), device, advice.values.get(name))
        for name, info in spec.options.option_infos().items()
    }


def _value(chain: OptionChain, device: DeviceView, recommended: Sourced[object] | None) -> UnconfiguredValue:
    value = chain.decide(device, recommended)
    if isinstance(value, Diagnostic):
        return value
    return None if value is MISSING else chain.story(device, recommended).winner
