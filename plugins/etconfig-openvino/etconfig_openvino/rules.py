"""The rules between options: what OpenVINO would refuse late, or take without an effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from etconfig_openvino.devices import HARDWARE, VIRTUAL, DeviceChoice, kind_of, parse_device
from etconfig_openvino.properties import CORE, PROPERTIES

RECOMMENDED = "cpu_inference_precision"
"""The option that is recommended by fact, and so may have a value that the chosen device does not need."""


def find_problems(options: Any) -> Iterator[str]:
    """Yield a text for each option that is set and that the chosen devices do not take, or not as it is.

    Raises:
        ValueError: `device` names no device of OpenVINO.
    """
    choice = parse_device(options.device)
    for name in PROPERTIES:
        value = getattr(options, name)
        if value is not None and name != RECOMMENDED:
            yield from _misplaced(name, value, choice)
    yield from _of_auto(options, choice)
    if options.cache_mode is not None and options.cache_dir is None:
        yield "cache_mode changes nothing without cache_dir; set cache_dir, or leave cache_mode out"


def reached(name: str, value: object, choice: DeviceChoice) -> frozenset[str]:
    """Return the kinds of device that get the value of an option.

    A virtual device that has the property itself gets it; those behind it get all others.
    """
    prop = PROPERTIES[name]
    if CORE in prop.devices:
        return frozenset({CORE})
    own = {choice.kind} & set(prop.devices)
    return frozenset(own or set(choice.kinds)) & frozenset(prop.takers(value))


def _misplaced(name: str, value: object, choice: DeviceChoice) -> Iterator[str]:
    prop = PROPERTIES[name]
    if isinstance(value, tuple) and len(set(value)) < len(value):
        yield f"{name} has an item twice; name each once"
    elif reached(name, value, choice):
        return
    elif not {CORE, choice.kind, *choice.kinds}.isdisjoint(prop.devices):
        shown = value if isinstance(value, str) else " and ".join(map(str, value))  # type: ignore[call-overload]
        takers = " and ".join(prop.takers(value))
        rule = f"is a value for {takers}" if takers else "is for no device at once"
        yield f"{name} = {shown} {rule}, but device is {choice.text!r}; choose another value or device"
    else:
        yield (
            f"{name} is an option of {' and '.join(prop.devices)}, but device is {choice.text!r}; "
            f"leave it out, or choose another device"
        )


def _of_auto(options: Any, choice: DeviceChoice) -> Iterator[str]:
    """Yield what AUTO would take without an effect."""
    low = options.auto_low_power_device
    if choice.kind == "AUTO" and low is not None and low not in choice.kinds:
        yield (
            f"auto_low_power_device is {low!r}, which is not behind device {choice.text!r}; "
            f"choose {' or '.join(choice.kinds)}"
        )
    for key in options.auto_devices_utilization_threshold or ():
        if not is_device(key):
            from difflib import get_close_matches

            guess = next(iter(get_close_matches(key.upper(), HARDWARE, 1, 0.4)), None)
            hint = f"did you mean {guess!r}?" if guess else f"expected {', '.join(HARDWARE)} or such as GPU.1"
            yield f"auto_devices_utilization_threshold has the key {key!r}, which is not a device; {hint}"
        elif choice.kind == "AUTO" and not _is_behind(key, choice):
            yield (
                f"auto_devices_utilization_threshold has the key {key!r}, which is not behind device "
                f"{choice.text!r}; leave it out"
            )
    if (
        choice.kind == "AUTO"
        and options.auto_schedule_policy is not None
        and options.performance_hint != "cumulative_throughput"
    ):
        yield (
            "auto_schedule_policy changes nothing with AUTO unless performance_hint is "
            "'cumulative_throughput'; set that, or leave it out"
        )


def is_device(text: str) -> bool:
    """Return True if a text names one device that computes, such as `GPU.1`."""
    try:
        return parse_device(text).kind not in VIRTUAL
    except ValueError:
        return False


def _is_behind(key: str, choice: DeviceChoice) -> bool:
    return key in choice.targets or (kind_of(key) in choice.kinds and key not in choice.excluded)
