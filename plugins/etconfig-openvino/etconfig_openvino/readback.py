"""The options in force of a compiled model, read back from OpenVINO."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etconfig.plugin.v1 import EffectiveOption
from etconfig_openvino.devices import VIRTUAL, kind_of, parse_device
from etconfig_openvino.matching import DeviceMatch, ValueMatch, is_met
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.properties import CORE, PROPERTIES, Property
from etconfig_openvino.rules import reached

_TYPE_NAMES = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "uint8_t": "u8",
    "uint4_t": "u4",
    "uint3_t": "u3",
    "int8_t": "i8",
}
_NOT_KEPT = frozenset({"weights_path"})
"""Options that decide how a model is loaded, and that its properties do not show."""

_BUILT = "etconfig_built"
_PASSED = "passed to OpenVINO, which does not report it"
_NO_TRACE = "it decides how a model is loaded, and leaves no trace in the model"
_CONSTANT = frozenset({("MULTI", "PERFORMANCE_HINT")})
"""What a virtual device reports of itself whatever was asked for."""

_KEPT = frozenset({("HETERO", "MODEL_DISTRIBUTION_POLICY")})
"""What a virtual device neither reports nor passes on: those behind it report something else."""

_UNLIMITED = 2**63
"""OpenVINO reports no limit as a number that no option has."""


@dataclass(frozen=True)
class Built:
    """The options and the cache that etconfig loaded a model with.

    Attributes:
        options: The options.
        cache: The directory of its cache; None if nothing is cached.
    """

    options: OpenvinoOptions
    cache: Path | None


def remember(compiled: Any, built: Built) -> None:
    """Note how a compiled model was loaded; the note belongs to it."""
    setattr(compiled, _BUILT, built)


def built_of(compiled: Any) -> Built | None:
    """Return how a model was loaded; None if etconfig did not load it."""
    return getattr(compiled, _BUILT, None)


class Readings:
    """The properties of a compiled model, of the virtual device and of the devices behind it.

    Args:
        compiled: An `openvino.CompiledModel`.
        keys: The properties to read; by default all. Each reading costs bytes that OpenVINO never frees.
    """

    def __init__(self, compiled: Any, keys: Iterable[str] | None = None) -> None:
        self._own = _properties_of(compiled, keys)
        nested = self._own.pop("DEVICE_PROPERTIES", {})
        self._nested: Mapping[str, Mapping[str, object]] = nested if isinstance(nested, dict) else {}
        devices = self._own.get("EXECUTION_DEVICES", ())
        named = (devices,) if isinstance(devices, str) else tuple(devices)
        # AUTO reports (CPU) while the CPU stands in for a device whose model is being compiled
        self.devices = tuple(device.strip("()") for device in named)
        """The devices that compute, such as `CPU`."""
        self.virtual = self._virtual()
        """The virtual device that the model was compiled for, such as `AUTO`; None without one."""
        self.collects = _collects(compiled) if self.virtual == "BATCH" else True
        """Whether BATCH collects requests of the model; None if nothing shows it."""
        self.kinds = tuple(map(kind_of, self.devices)) if self.virtual is None else (self.virtual,)
        """The kinds of device that the model was compiled for: a virtual device, or all that compute."""

    def _virtual(self) -> str | None:
        """Return the virtual device, as its own properties show it; OpenVINO does not name it."""
        if "HETERO_NUMBER_OF_SUBMODELS" in self._own:
            return "HETERO"
        if "MULTI_DEVICE_PRIORITIES" in self._own:
            is_cumulative = _word("performance_hint", self._own.get("PERFORMANCE_HINT")).startswith("cumul")
            # both report a policy where requests are divided; MULTI always reports the hint THROUGHPUT
            return "MULTI" if "SCHEDULE_POLICY" in self._own and not is_cumulative else "AUTO"
        return "BATCH" if "AUTO_BATCH_TIMEOUT" in self._own else None

    def values(self, prop: Property) -> Mapping[str, object]:
        """Return the values of a property by device, where OpenVINO reports one.

        What the virtual device reports of itself counts; only other properties come from the devices behind
        it. So AUTO has the hint cumulative_throughput, for which it gives devices throughput.
        """
        owners = [kind for kind in self.kinds if kind in prop.devices and (kind, prop.key) not in _CONSTANT]
        if prop.key in self._own and owners:
            return {owners[0]: self._own[prop.key]}
        if (self.virtual, prop.key) in _KEPT:
            return {}
        return {
            device: values[prop.key]
            for device, values in self._nested.items()
            if prop.key in values and kind_of(device) in prop.devices
        }


def effective(compiled: Any) -> dict[str, EffectiveOption]:
    """Return what is in force, for each option.

    Args:
        compiled: An `openvino.CompiledModel`, whoever compiled it.
    """
    if not hasattr(compiled, "get_property"):
        raise TypeError(f"expected an openvino.CompiledModel, given {type(compiled).__name__}")
    readings, built = Readings(compiled), built_of(compiled)
    found = {"device": _device(readings), "adjusted_values": EffectiveOption.unknown(_NO_TRACE)}
    for name, prop in PROPERTIES.items():
        found[name] = _option(name, prop, readings)
        if built is not None and not found[name].is_known and _is_passed(name, built):
            found[name] = EffectiveOption.assumed(getattr(built.options, name), _PASSED)
    if built is not None:
        found["adjusted_values"] = EffectiveOption.assumed(
            built.options.adjusted_values, "etconfig applies it itself when it loads a model"
        )
        found["cache_dir"] = _cache(built)
    if readings.virtual == "BATCH" and readings.collects is not True:
        found["batch_timeout_ms"] = EffectiveOption.unknown(_why_not_collected(readings))
    return found


def adjustments(compiled: Any, options: OpenvinoOptions) -> Iterator[str]:
    """Yield a text for each value that OpenVINO replaced by another one."""
    wanted = {
        name: value
        for name, prop in PROPERTIES.items()
        if (value := getattr(options, name)) is not None and value not in prop.adjustable
    }
    choice = parse_device(options.device)
    if not wanted and choice.batch == 1:
        return
    readings = Readings(compiled, None if choice.is_virtual else [PROPERTIES[name].key for name in wanted])
    if choice.batch > 1 and readings.collects is False:
        yield f"device is {choice.text!r}, but {_why_not_collected(readings)}"
    for name, value in wanted.items():
        for device, raw in readings.values(PROPERTIES[name]).items():
            used = spelled(name, raw)
            if name not in _NOT_KEPT and not is_met(name, value, used):
                yield f"{name} is {_text(value)}, but OpenVINO uses {_text(used)} on {device}"


def spelled(name: str, raw: object) -> object:
    """Return a value that OpenVINO reports as the option spells it."""
    default = next((each for each in PROPERTIES[name].defaults.values() if each is not None), None)
    if isinstance(raw, enum.Enum) or type(raw).__module__.startswith("openvino"):
        return _word(name, raw)
    if isinstance(raw, (set, frozenset, list, tuple)):
        return tuple(sorted(str(_word(name, each)) for each in raw))
    if isinstance(raw, str):
        if isinstance(default, bool):
            return raw in ("YES", "True", "true")
        if isinstance(default, int) and raw.lstrip("-").isdigit():
            return int(raw)
        return raw.lower() if PROPERTIES[name].words else raw
    return raw


def _word(name: str, raw: object) -> str:
    # members of OpenVINO's enums have a name; its types print as <Type: 'float32'>
    member = getattr(raw, "name", None)
    if isinstance(member, str):
        return {"err": "error"}.get(member.lower(), member.lower())
    text = str(raw).rpartition("'")[0].rpartition("'")[2]
    return _TYPE_NAMES.get(text, text)


def _option(name: str, prop: Property, readings: Readings) -> EffectiveOption:
    values = {device: spelled(name, raw) for device, raw in readings.values(prop).items()}
    if not values:
        return EffectiveOption.unknown(_why_unknown(prop, readings))
    first = next(iter(values.values()))
    if isinstance(first, int) and first >= _UNLIMITED:
        return EffectiveOption.unknown("OpenVINO reports no limit")
    if all(value == first for value in values.values()):
        return EffectiveOption.read_back(first, "OpenVINO reports it", meets=ValueMatch(name, first))
    listed = ", ".join(f"{_text(value)} on {device}" for device, value in values.items())
    return EffectiveOption.unknown(f"the devices differ: {listed}")


def _why_unknown(prop: Property, readings: Readings) -> str:
    if CORE in prop.devices:
        return "OpenVINO reports it for no compiled model"
    if {*readings.kinds, *map(kind_of, readings.devices)}.isdisjoint(prop.devices):
        return f"it is an option of {' and '.join(prop.devices)}, which this model does not use"
    behind = " behind a virtual device" if set(readings.kinds) & set(VIRTUAL) else ""
    return f"OpenVINO does not report it for a model on {', '.join(readings.devices)}{behind}"


def _device(readings: Readings) -> EffectiveOption:
    if not readings.devices:
        return EffectiveOption.unknown("OpenVINO does not report the devices of this model")
    if readings.collects is None:
        return EffectiveOption.unknown(_why_not_collected(readings))
    why = "" if readings.collects else f"; {_why_not_collected(readings)}"
    match = DeviceMatch(readings.virtual, readings.devices, readings.collects)
    return EffectiveOption.read_back(
        ",".join(readings.devices), f"the devices that run the model{why}", meets=match
    )


def _is_passed(name: str, built: Built) -> bool:
    """Return True if an option was passed to a device that is asked to follow it."""
    value, choice = getattr(built.options, name), parse_device(built.options.device)
    is_cache = name == "cache_mode" and built.cache is None
    return value is not None and not is_cache and bool(reached(name, value, choice))


def _cache(built: Built) -> EffectiveOption:
    """Return the directory for compiled models if one of this model is there."""
    wanted = built.options.cache_dir
    if wanted is None:
        return EffectiveOption.assumed(None, "none was passed")
    if built.cache is None:
        return EffectiveOption.assumed(None, "the model is compiled already, so nothing is cached")
    if any(built.cache.glob("*")):
        return EffectiveOption.observed(wanted, f"the compiled model is in {built.cache}")
    if parse_device(built.options.device).kind == "AUTO":
        return EffectiveOption.assumed(wanted, f"{_PASSED}; AUTO has written nothing yet")
    return EffectiveOption.observed(None, f"OpenVINO wrote nothing to {built.cache}")


def _collects(compiled: Any) -> bool | None:
    """Return whether BATCH runs several requests of a model at once; None if nothing shows it.

    It then wants more requests at once than the device alone, unless the application asked for a number.
    """
    try:
        at_once = int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
        asked = int(compiled.get_property("PERFORMANCE_HINT_NUM_REQUESTS"))
        (device,) = compiled.get_property("DEVICE_PROPERTIES").values()
        alone = int(device["OPTIMAL_NUMBER_OF_INFER_REQUESTS"])
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError):  # older releases report less
        return False if _is_open(compiled) else None
    if at_once > (asked or alone):
        return True
    return False if _is_open(compiled) or not asked else None


def _is_open(compiled: Any) -> bool:
    return any(port.partial_shape.is_dynamic for port in compiled.inputs)


def _why_not_collected(readings: Readings) -> str:
    if readings.collects is None:
        return "OpenVINO does not report whether BATCH collects requests of this model"
    return "BATCH collects no requests of this model: it needs fixed shapes, and a batch of 1"


def _properties_of(compiled: Any, keys: Iterable[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    wanted = compiled.get_property("SUPPORTED_PROPERTIES") if keys is None else ("EXECUTION_DEVICES", *keys)
    for key in wanted:
        if key != "SUPPORTED_PROPERTIES":
            try:
                found[key] = compiled.get_property(key)
            except (RuntimeError, TypeError):
                continue  # not reported for compiled models, or Python has no type for it
    return found


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) or "empty" if isinstance(value, tuple) else str(value)
