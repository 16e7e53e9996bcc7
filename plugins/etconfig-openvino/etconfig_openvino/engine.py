"""Models compiled or imported by OpenVINO, strictly: the functions behind `config.build` and delegates."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from etconfig_openvino.cache import SAVED_MODEL, cache_directory, checked_files
from etconfig_openvino.devices import DeviceChoice, is_same, kind_of, parse_device
from etconfig_openvino.errors import AdjustedValueError, ModelError, PropertyError
from etconfig_openvino.installed import openvino
from etconfig_openvino.messages import help_for, reason_of
from etconfig_openvino.options import OpenvinoOptions
from etconfig_openvino.properties import CORE, PROPERTIES
from etconfig_openvino.readback import Built, adjustments, built_of, remember
from etconfig_openvino.rules import RECOMMENDED, reached
from etconfig_openvino.settings import Settings, requested, settings_of, targets_of, word_of

_OF_CORES = ("inference_num_threads", "num_streams")
"""The options that OpenVINO lowers to the cores that no other model has reserved."""

_CACHING = ("CACHE_DIR", "CACHE_MODE")
_KNOWN_KEYS: dict[str, frozenset[str]] = {}
"""The properties of each device, which stay the same in a process; reading them leaks 2 kB in OpenVINO."""

_LOG = logging.getLogger("etconfig_openvino")


def build(options: OpenvinoOptions, model: object = None, *, weights: object = None, core: Any = None) -> Any:
    """Return a model compiled with these options, an `openvino.CompiledModel`.

    Args:
        options: The options.
        model: The path of a model that OpenVINO reads (.xml of OpenVINO IR, .onnx, .tflite, the directory of
            a SavedModel, ...), its bytes, or an `openvino.Model`. None returns `Settings`, for callers that
            compile themselves.
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
    _check_loading(options, is_file=isinstance(model, (str, os.PathLike)), is_blob=False)
    read = _reader(core, model, weights)
    directory = _cache_of(options, core, lambda: _identity(model, weights))
    properties = dict(settings.properties)
    files: AbstractContextManager[None] = nullcontext()
    if directory is not None:
        properties["CACHE_DIR"] = str(directory)
        files = checked_files(directory, options.device)
    with files:
        return compiled_strictly(
            options,
            lambda: core.compile_model(read(), settings.device, properties),
            _name(model),
            lambda: _help_for_model(core, model, read),
            directory,
        )


def import_blob(options: OpenvinoOptions, blob: Any, name: str, core: Any = None) -> Any:
    """Return a model that OpenVINO compiled and exported before, with these options.

    Raises:
        BackendUnavailableError, PropertyError, ModelError, AdjustedValueError: as `build`.
    """
    core = openvino().Core() if core is None else core
    settings = prepare(core, options)
    _check_loading(options, is_file=False, is_blob=True)
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
        if not any(is_same(target, device) for device in available):
            raise PropertyError(
                f"device is {options.device!r}, but OpenVINO finds {_listed(available)} here, not {target}; "
                f"choose one of these, or install the driver of the device{_fallback(choice, target)}"
            )
    targets = targets_of(choice, available)
    if not targets:
        raise PropertyError(
            f"device is {options.device!r}, which leaves none of OpenVINO's devices here: "
            f"{_listed(available)}; leave out fewer devices"
        )
    _check_reached(options, choice, targets)
    _check_known(options, {kind: _keys(core, kind) for kind in dict.fromkeys((choice.kind, *targets))})
    return settings_of(options, available)


def _fallback(choice: DeviceChoice, target: str) -> str:
    """Return how to declare that AUTO may run a model without a device that is not here."""
    if choice.kind != "AUTO":
        return ""
    return (
        f"; 'AUTO' alone takes whatever is here, and a profile can name {target} for machines with one: "
        f"[[when]] with if = '\"{target}\" in openvino.devices'"
    )


def _check_reached(options: OpenvinoOptions, choice: DeviceChoice, targets: Sequence[str]) -> None:
    """Raise PropertyError for an option that none of the devices that are here takes."""
    here = {CORE, choice.kind, *map(kind_of, targets)}
    for name in requested(options):
        value = getattr(options, name)
        if name != RECOMMENDED and here.isdisjoint(reached(name, value, choice)):
            what = f"{name} = {value}" if PROPERTIES[name].only else name
            raise PropertyError(
                f"{what} is for {' and '.join(PROPERTIES[name].takers(value))}, but OpenVINO finds only "
                f"{_listed(targets)} here for device {choice.text!r}; leave it out on this machine"
            )
    low = options.auto_low_power_device
    named = [*(options.auto_devices_utilization_threshold or ()), *(() if low is None else (low,))]
    for device in named:
        if not any(is_same(device, target) for target in targets):
            raise PropertyError(
                f"device {choice.text!r} is {_listed(targets)} here, and an option of AUTO names {device}; "
                "leave it out on this machine"
            )


def _check_loading(options: OpenvinoOptions, *, is_file: bool, is_blob: bool) -> None:
    """Raise PropertyError for an option without an effect on how this model is loaded, or a missing file."""
    if options.enable_mmap is not None and not is_file:
        raise PropertyError("enable_mmap is for models in files, and this one is in memory; leave it out")
    if options.weights_path is not None and not is_blob:
        raise PropertyError(
            "weights_path is for blobs that were exported without weights, and this model has its own; "
            "leave it out"
        )
    for name in ("weights_path", "gpu_config_file"):
        path = getattr(options, name)
        if path is not None and not Path(path).is_file():
            raise PropertyError(f"{name} is {path!r}, which is not a file here; name one, or leave it out")


def _check_known(options: OpenvinoOptions, known: Mapping[str, frozenset[str]]) -> None:
    """Raise PropertyError for an option whose property the installed OpenVINO does not have."""
    for name in requested(options):
        prop = PROPERTIES[name]
        owners = [kind for kind in known if kind_of(kind) in prop.devices]
        if CORE not in prop.devices and owners and not any(prop.key in known[kind] for kind in owners):
            raise PropertyError(
                f"{name} needs OpenVINO's property {prop.key}, which {_listed(owners)} does not have in "
                f"OpenVINO {_version()}; leave it out"
            )


def compiled_strictly(
    options: OpenvinoOptions,
    make: Callable[[], Any],
    name: str,
    explain: Callable[[], str] = str,
    cache: Path | None = None,
) -> Any:
    """Return what `make` compiles, unless OpenVINO replaced values of the options.

    Args:
        options: The options.
        make: Compiles or imports the model.
        name: The name of the model for messages.
        explain: Returns what to do about an error that OpenVINO's text does not explain, after a semicolon.
        cache: The directory that OpenVINO caches the compiled model in.

    Raises:
        ModelError: OpenVINO refuses; the message has its reason and what to do.
        AdjustedValueError: OpenVINO replaced a value, and `adjusted_values` is refuse.
    """
    try:
        compiled = make()
    except RuntimeError as error:
        text = str(error)
        advice = help_for(text) or _help_for_options(text, options) or explain()
        raise ModelError(f"OpenVINO cannot load {name}: {reason_of(text)}{advice}") from error
    replaced = list(adjustments(compiled, options))
    if replaced and options.adjusted_values == "refuse":
        way_out = "ask for a value that this device has"
        if parse_device(options.device).kind == "BATCH":
            way_out = "export the model so, or name the device without BATCH"
        elif any(each.startswith(_OF_CORES) for each in replaced):
            way_out += (
                ", close a model of this process that reserved cores (enable_cpu_reservation) if there is one"
            )
        raise AdjustedValueError(f"{'; '.join(replaced)}: {way_out}, or set adjusted_values to report")
    for each in replaced:
        _LOG.warning("%s", each)
    remember(compiled, Built(options, cache))
    return compiled


def _help_for_model(core: Any, model: object, read: Callable[[], Any]) -> str:
    """Return what to do about a model that OpenVINO did not compile; empty if it can read the model."""
    if isinstance(model, (str, os.PathLike)) and Path(model).suffix == ".xml":
        weights = Path(model).with_suffix(".bin")
        if not weights.exists() and _is_xml(Path(model)):
            return f"; there is no {weights}: copy both files of the model"
    try:
        found = read()
        if isinstance(found, str):
            core.read_model(found)
    except RuntimeError:
        return "; copy or export the model again: it is damaged, cut off, or of another version"
    return ""


def _is_xml(path: Path) -> bool:
    """Return True if a file is XML without a mistake."""
    from xml.parsers import expat

    try:
        with path.open("rb") as file:
            expat.ParserCreate().ParseFile(file)
    except expat.ExpatError:
        return False
    return True


def _help_for_options(text: str, options: OpenvinoOptions) -> str:
    """Return what to do about an error that names properties of options; empty if it names none."""
    named = [name for name in requested(options) if PROPERTIES[name].key in text]
    if not named:
        return ""
    return f"; OpenVINO {_version()} has no such value: change {' or '.join(named)}, or leave it out"


def _version() -> str:
    return str(openvino().__version__).partition("-")[0]


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
    built = built_of(compiled)
    if built is not None:
        remember(compiled, Built(options, built.cache))


_OF_BUILD = {
    "device": "an argument of compile_model",
    "cache_dir": "build keeps a directory for each model, engine and set of options; a Core would share one",
    "adjusted_values": "build follows it",
    "weights_path": "a property of one model",
}


def set_on(core: Any, options: OpenvinoOptions, names: frozenset[str]) -> dict[str, str]:
    """Set properties of an `openvino.Core` for the models that it compiles; return why others are not set.

    Raises:
        TypeError: it is another object.
    """
    if not isinstance(core, openvino().Core):
        raise TypeError(f"target: expected an openvino.Core, given {type(core).__name__}")
    choice, available = parse_device(options.device), core.available_devices
    # a Core also takes properties of a device that is not here
    here = [each for each in targets_of(choice, available) if any(is_same(each, one) for one in available)]
    devices = [choice.kind, *here] if choice.is_virtual else here
    left_out = {name: _OF_BUILD[name] for name in sorted(names & _OF_BUILD.keys())}
    for name in sorted(names - _OF_BUILD.keys()):
        value = getattr(options, name)
        kinds, properties = reached(name, value, choice), {PROPERTIES[name].key: word_of(name, value)}
        owners = [(device,) for device in devices if kind_of(device) in kinds]
        try:
            for owner in [()] if CORE in kinds else owners:
                core.set_property(*owner, properties)
            if CORE not in kinds and not owners:
                left_out[name] = f"no device of {choice.text} that is here takes it"
        except RuntimeError as error:
            left_out[name] = reason_of(str(error))
    return left_out


def _reader(core: Any, model: object, weights: object) -> Callable[[], Any]:
    """Return a function that returns what `compile_model` takes."""
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        if weights is not None:
            raise ModelError(
                "weights are for the bytes of an .xml; of a file, OpenVINO reads the .bin beside it"
            )
        if not path.exists():
            raise ModelError(f"there is no model at {path}; name a file, such as an .xml or .onnx")
        if path.is_dir() and not (path / SAVED_MODEL).is_file():
            raise ModelError(
                f"{path} is a directory without {SAVED_MODEL}; name the file of a model, such as an .xml or "
                ".onnx, or the directory of a SavedModel of TensorFlow"
            )
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


def _cache_of(options: OpenvinoOptions, core: Any, identity: Callable[[], bytes | None]) -> Path | None:
    """Return the cache directory that belongs to this model, these options and this engine alone."""
    if options.cache_dir is None:
        return None
    parent = Path(options.cache_dir).absolute().parent
    if not parent.is_dir():  # OpenVINO would make it
        raise ModelError(
            f"cache_dir is {options.cache_dir!r}, but there is no directory {parent}; create it, or let "
            "cache_dir name another directory"
        )
    payload = identity()
    if payload is None:
        raise ModelError(
            "a model that exists only in memory cannot be cached safely; save it with openvino.save_model, "
            "and build from the file, or unset cache_dir"
        )
    return cache_directory(options, payload, core)


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
