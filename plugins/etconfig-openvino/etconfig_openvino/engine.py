"""Models compiled or imported by OpenVINO, strictly: the functions behind `config.build` and delegates."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from etconfig_openvino.cache import cache_directory
from etconfig_openvino.devices import kind_of, parse_device
from etconfig_openvino.errors import AdjustedValueError, ModelError, PropertyError
from etconfig_openvino.installed import openvino
from etconfig_openvino.messages import help_for, reason_of
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.properties import CORE, PROPERTIES
from etconfig_openvino.readback import adjustments
from etconfig_openvino.settings import Settings, requested, settings_of, word_of

_CACHING = ("CACHE_DIR", "CACHE_MODE")
_KNOWN_KEYS: dict[str, frozenset[str]] = {}
"""The properties of each device, which stay the same in a process; reading them leaks 2 kB in OpenVINO."""

_LOG = logging.getLogger("etconfig_openvino")


def build(options: OpenvinoOptions, model: object = None, *, weights: object = None, core: Any = None) -> Any:
    """Return a model compiled with these options, an `openvino.CompiledModel`.

    Args:
        options: The options.
        model: The path of a model that OpenVINO reads (.xml of OpenVINO IR, .onnx, .tflite, ...), its bytes,
            or an `openvino.Model`. None returns `Settings`, for callers that compile themselves.
        weights: The bytes of the .bin beside the bytes of an .xml.
        core: The `openvino.Core` to compile with; by default, each call makes its own.

    Raises:
        BackendUnavailableError: OpenVINO is missing, too old, or cannot be imported.
        PropertyError: a device is not here, or the installed OpenVINO lacks one of the properties.
        ModelError: OpenVINO cannot read or compile the model.
        AdjustedValueError: OpenVINO replaced a value, and `adjusted_values` is refuse.
    """
    if model is None:
        return settings_of(options)
    core = openvino().Core() if core is None else core
    settings = prepare(core, options)
    read = _reader(core, model, weights)
    cached = _with_cache(settings, options, core, lambda: _identity(model, weights))
    return compiled_strictly(
        options, lambda: core.compile_model(read(), cached.device, dict(cached.properties)), _name(model)
    )


def import_blob(options: OpenvinoOptions, blob: Any, name: str, core: Any = None) -> Any:
    """Return a model that OpenVINO compiled and exported before, with these options.

    Raises:
        BackendUnavailableError, PropertyError, ModelError, AdjustedValueError: as `build`.
    """
    core = openvino().Core() if core is None else core
    settings = prepare(core, options)
    tensor = _tensor(blob)
    # a blob is compiled already, so there is nothing to cache
    properties = {key: value for key, value in settings.properties.items() if key not in _CACHING}
    return compiled_strictly(options, lambda: core.import_model(tensor, settings.device, properties), name)


def prepare(core: Any, options: OpenvinoOptions) -> Settings:
    """Return the settings for options, after a check that the devices are here and have the properties.

    Raises:
        PropertyError: they do not; the message says which, and what to do.
    """
    choice, available = parse_device(options.device), tuple(core.available_devices)
    for target in choice.targets:
        if not any(target in (device, kind_of(device)) for device in available):
            raise PropertyError(
                f"device is {options.device!r}, but OpenVINO finds {_listed(available)} here, not {target}; "
                "choose one of these, or install the driver of the device"
            )
    kinds = dict.fromkeys((choice.kind, *(choice.targets or available)))
    known = {kind: _keys(core, kind) for kind in kinds}
    for name in requested(options):
        prop = PROPERTIES[name]
        owners = [kind for kind in known if kind_of(kind) in prop.devices]
        if CORE not in prop.devices and owners and not any(prop.key in known[kind] for kind in owners):
            raise PropertyError(
                f"{name} needs OpenVINO's property {prop.key}, which {_listed(owners)} does not have in "
                f"OpenVINO {openvino().__version__.partition('-')[0]}; leave it out"
            )
    return settings_of(options, available)


def compiled_strictly(options: OpenvinoOptions, make: Callable[[], Any], name: str) -> Any:
    """Return what `make` compiles, unless OpenVINO replaced values of the options.

    Args:
        options: The options.
        make: Compiles or imports the model.
        name: The name of the model for messages.

    Raises:
        ModelError: OpenVINO refuses; the message has its reason and what to do.
        AdjustedValueError: OpenVINO replaced a value, and `adjusted_values` is refuse.
    """
    try:
        compiled = make()
    except RuntimeError as error:
        text = str(error)
        raise ModelError(f"OpenVINO cannot load {name}: {reason_of(text)}{help_for(text)}") from error
    replaced = list(adjustments(compiled, options))
    if replaced and options.adjusted_values == "refuse":
        raise AdjustedValueError(
            f"{'; '.join(replaced)}: ask for a value that this device has, or set adjusted_values to report"
        )
    for each in replaced:
        _LOG.warning("%s", each)
    return compiled


def update(
    compiled: Any, options: OpenvinoOptions, previous: OpenvinoOptions, changed: frozenset[str]
) -> None:
    """Give changed options to a compiled model.

    Raises:
        ModelError: the device does not take the change; the old options stay in force.
    """
    values = {
        PROPERTIES[name].key: word_of(name, getattr(options, name))
        for name in sorted(changed)
        if getattr(options, name) is not None
    }
    if not values:
        return
    try:
        compiled.set_property(values)
    except RuntimeError as error:
        raise ModelError(
            f"OpenVINO cannot change {', '.join(sorted(changed))}: {reason_of(str(error))}"
        ) from error


def _reader(core: Any, model: object, weights: object) -> Callable[[], Any]:
    """Return a function that returns what `compile_model` takes."""
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        if not path.is_file():
            raise ModelError(f"there is no model at {path}; name a file, such as an .xml or .onnx")
        return lambda: str(path)
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        return lambda: core.read_model(data, _tensor(weights) if weights else None)
    if isinstance(model, openvino().Model):
        return lambda: model
    raise ModelError(
        f"a model of type {type(model).__name__} cannot be compiled; expected a path, bytes, or an "
        "openvino.Model"
    )


def _tensor(data: Any) -> Any:
    """Return a tensor with a copy of bytes, in memory that OpenVINO aligns and keeps with the model."""
    import numpy as np

    return openvino().Tensor(np.frombuffer(data, np.uint8), shared_memory=False)


def _with_cache(
    settings: Settings, options: OpenvinoOptions, core: Any, identity: Callable[[], bytes | None]
) -> Settings:
    """Return settings whose cache directory belongs to this model, these options and this engine alone."""
    if options.cache_dir is None:
        return settings
    payload = identity()
    if payload is None:
        raise ModelError(
            "a model that exists only in memory cannot be cached safely; save it with openvino.save_model, "
            "and "
            "build from the file, or unset cache_dir"
        )
    directory = cache_directory(options, payload, core)
    return Settings(settings.device, {**settings.properties, "CACHE_DIR": str(directory)})


def _identity(model: object, weights: object) -> bytes | None:
    from etconfig_openvino.cache import hash_of_bytes, hash_of_file

    if isinstance(model, (str, os.PathLike)):
        return hash_of_file(Path(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return hash_of_bytes(model, b"" if weights is None else weights)
    return None


def _keys(core: Any, device: str) -> frozenset[str]:
    if device not in _KNOWN_KEYS:
        try:
            _KNOWN_KEYS[device] = frozenset(core.get_property(device, "SUPPORTED_PROPERTIES"))
        except RuntimeError as error:
            raise PropertyError(f"OpenVINO cannot use {device}: {reason_of(str(error))}") from error
    return _KNOWN_KEYS[device]


def _name(model: object) -> str:
    return str(model) if isinstance(model, (str, os.PathLike)) else "the model"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no device"
