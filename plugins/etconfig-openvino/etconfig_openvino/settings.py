"""`Settings`: what `compile_model` of OpenVINO takes for a set of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from etconfig_openvino.devices import DeviceChoice, kind_of, parse_device
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.properties import CORE, PROPERTIES
from etconfig_openvino.rules import reached


@dataclass(frozen=True)
class Settings:
    """The arguments of `openvino.Core().compile_model(model, settings.device, settings.properties)`.

    Attributes:
        device: The device.
        properties: The properties by key; properties of devices behind a virtual device are under
            DEVICE_PROPERTIES.
    """

    device: str
    properties: Mapping[str, object] = field(default_factory=dict)


def settings_of(options: OpenvinoOptions, available: Sequence[str] | None = None) -> Settings:
    """Return the settings for options; an option that nothing sets is not among them.

    Args:
        options: The options.
        available: The devices that OpenVINO finds, for AUTO without a list; None for any.
    """
    choice = parse_device(options.device)
    properties: dict[str, object] = {}
    by_target: dict[str, dict[str, object]] = {}
    for name in requested(options):
        prop, given = PROPERTIES[name], getattr(options, name)
        value, kinds = word_of(name, given), reached(name, given, choice)
        if choice.kind == "BATCH" or not kinds.isdisjoint((CORE, choice.kind)):
            properties[prop.key] = value
            continue
        for target in targets_of(choice, available):
            if kind_of(target) in kinds:
                by_target.setdefault(target, {})[prop.key] = value
    if by_target:
        properties["DEVICE_PROPERTIES"] = by_target
    return Settings(choice.text, properties)


def requested(options: OpenvinoOptions) -> tuple[str, ...]:
    """Return the names of the options with a property that have a value."""
    return tuple(name for name in PROPERTIES if getattr(options, name) is not None)


def word_of(name: str, value: object) -> object:
    """Return a value of an option as OpenVINO takes it."""
    words = PROPERTIES[name].words
    if isinstance(value, tuple):
        return ",".join(words.get(each, each) for each in value)
    return words.get(value, value) if isinstance(value, str) else value


def targets_of(choice: DeviceChoice, available: Sequence[str] | None) -> Sequence[str]:
    """Return the devices that compute: the named devices, or all that OpenVINO chooses among.

    Args:
        choice: The device.
        available: The devices that OpenVINO finds; None for any.
    """
    if choice.targets or not choice.is_virtual:
        return choice.targets
    return choice.kinds if available is None else [each for each in available if choice.includes(each)]
