"""`SessionSettings`: options in the form that ONNX Runtime takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.errors import unavailable
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.provider_names import engine_name
from etconfig_onnxruntime.provider_tables import (
    PluginProvider,
    Provider,
    provider_name,
    provider_names,
    provider_options,
)
from etconfig_onnxruntime.providers import present_providers
from etconfig_onnxruntime.session_entries import SESSION_ENTRIES
from etconfig_onnxruntime.versions import check_versions

LOG_LEVELS: Mapping[str, int] = {
    "default": -1,
    "verbose": 0,
    "info": 1,
    "warning": 2,
    "error": 3,
    "fatal": 4,
}
"""The numbers of severities."""

GRAPH_LEVELS: Mapping[str, str] = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "layout": "ORT_ENABLE_LAYOUT",
    "all": "ORT_ENABLE_ALL",
}
"""The members of `GraphOptimizationLevel`."""

_PLAIN_ATTRIBUTES = (
    "enable_cpu_mem_arena",
    "enable_mem_pattern",
    "enable_mem_reuse",
    "use_deterministic_compute",
    "use_per_session_threads",
    "optimized_model_filepath",
    "enable_profiling",
    "profile_file_prefix",
    "logid",
    "log_verbosity_level",
)
_CONVERSIONS: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Any], object]]] = {
    **{name: (lambda ort, value: value, lambda value: value) for name in _PLAIN_ATTRIBUTES},
    **{
        name: (lambda ort, value: value, lambda value: value)
        for name in ("intra_op_num_threads", "inter_op_num_threads")
    },
    "graph_optimization_level": (
        lambda ort, value: getattr(ort.GraphOptimizationLevel, GRAPH_LEVELS[value]),
        lambda value: {member: name for name, member in GRAPH_LEVELS.items()}[value.name],
    ),
    "execution_mode": (
        lambda ort, value: getattr(ort.ExecutionMode, f"ORT_{value.upper()}"),
        lambda value: value.name.removeprefix("ORT_").lower(),
    ),
    "execution_order": (
        lambda ort, value: getattr(ort.ExecutionOrder, value.upper()),
        lambda value: value.name.lower(),
    ),
    "log_severity_level": (
        lambda ort, value: LOG_LEVELS[value],
        lambda value: {number: name for name, number in LOG_LEVELS.items()}[value],
    ),
}
"""For each option that is an attribute of SessionOptions: to ONNX Runtime's value, and back."""

ATTRIBUTES = tuple(_CONVERSIONS)
"""The options that are attributes of SessionOptions."""


class SessionSettings(NamedTuple):
    """The second and third argument of `onnxruntime.InferenceSession`.

    Attributes:
        session_options: The SessionOptions.
        providers: The names of the providers, each with its options.
    """

    session_options: Any
    providers: list[tuple[str, dict[str, str]]] | None


def session_settings(ort: Any, options: OnnxRuntimeOptions, model: str) -> SessionSettings:
    """Return the options in the form that ONNX Runtime takes.

    Args:
        ort: The module `onnxruntime`.
        options: The options.
        model: The name of the model for the warning about providers that are left out.

    Raises:
        BackendUnavailableError: a provider is absent, or this version of ONNX Runtime lacks an option.
    """
    check_versions(ort.__version__, set_entries(options))
    settings = ort.SessionOptions()
    defaults = type(options).option_infos()
    pools = () if options.use_per_session_threads else ("intra_op_num_threads", "inter_op_num_threads")
    for name in ATTRIBUTES:
        value = getattr(options, name)
        if value != defaults[name].default and name not in pools:
            _set_attribute(ort, settings, name, value)
    for key, text in session_entries(options).items():
        settings.add_session_config_entry(key, text)
    for dimension, size in options.free_dimension_overrides.items():
        settings.add_free_dimension_override_by_name(dimension, size)
    for denotation, size in options.free_dimension_overrides_by_denotation.items():
        settings.add_free_dimension_override_by_denotation(denotation, size)
    if options.provider_selection_policy is not None:
        policies = ort.OrtExecutionProviderDevicePolicy
        settings.set_provider_selection_policy(getattr(policies, options.provider_selection_policy.upper()))
        return SessionSettings(settings, None)
    return SessionSettings(settings, _providers(ort, settings, present_providers(ort, options, model)))


_ELSEWHERE = {
    "providers": "an argument of InferenceSession, as config.build() without a model returns it",
    "absent_providers": "build follows it",
    "required_metadata": "build checks it",
    **dict.fromkeys(DYNAMIC_ENTRIES, "a setting of a session, not of its SessionOptions"),
}

_OF_POOLS = ("use_per_session_threads", "intra_op_num_threads", "inter_op_num_threads")


def set_on(settings: Any, options: OnnxRuntimeOptions, names: frozenset[str]) -> dict[str, str]:
    """Set options on an `onnxruntime.SessionOptions`; return why each of the others is not.

    Raises:
        TypeError: it is another object.
        BackendUnavailableError: this version of ONNX Runtime lacks an option.
    """
    ort = import_engine()
    if not isinstance(settings, ort.SessionOptions):
        raise TypeError(f"target: expected an onnxruntime.SessionOptions, given {type(settings).__name__}")
    check_versions(ort.__version__, set_entries(options))
    left_out = {}
    for name in sorted(names):
        value = getattr(options, name)
        if name in _OF_POOLS and not options.use_per_session_threads:
            left_out[name] = "build creates the thread pools of the process"
        elif name in ATTRIBUTES:
            _set_attribute(ort, settings, name, value)
        elif name in SESSION_ENTRIES:
            settings.add_session_config_entry(SESSION_ENTRIES[name], entry_text(value))
        elif name in ("config_entries", "newer_config_entries"):
            for key, text in value.items():
                settings.add_session_config_entry(key, text)
        elif name == "free_dimension_overrides":
            for dimension, size in value.items():
                settings.add_free_dimension_override_by_name(dimension, size)
        elif name == "free_dimension_overrides_by_denotation":
            for denotation, size in value.items():
                settings.add_free_dimension_override_by_denotation(denotation, size)
        elif name == "provider_selection_policy":
            policies = ort.OrtExecutionProviderDevicePolicy
            settings.set_provider_selection_policy(getattr(policies, value.upper()))
        else:
            left_out[name] = _ELSEWHERE.get(name, "an option of each run, in its RunOptions")
    return left_out


def set_entries(options: OnnxRuntimeOptions) -> dict[str, str]:
    """Return the place in the options that sets each config entry, by key."""
    infos = type(options).option_infos()
    own = {
        key: name
        for name, key in {**SESSION_ENTRIES, **DYNAMIC_ENTRIES}.items()
        if getattr(options, name) != infos[name].default
    }
    return own | {key: f"config_entries[{key!r}]" for key in options.config_entries}


def session_entries(options: OnnxRuntimeOptions) -> dict[str, str]:
    """Return the config entries of a session, without entries that say what ONNX Runtime does anyway."""
    infos = type(options).option_infos()
    entries = {
        key: entry_text(getattr(options, name))
        for name, key in SESSION_ENTRIES.items()
        if getattr(options, name) != infos[name].default
    }
    names = provider_names(options.providers)
    if options.disable_cpu_ep_fallback is None and names and "cpu" not in names:
        entries[SESSION_ENTRIES["disable_cpu_ep_fallback"]] = "1"
    return {**entries, **options.config_entries, **options.newer_config_entries}


def entry_text(value: object) -> str:
    """Return the text of a config entry: `1` for True, items joined by commas."""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


def attribute_value(settings: Any, name: str) -> object:
    """Return the value of an attribute of SessionOptions, as options spell it."""
    return _CONVERSIONS[name][1](getattr(settings, name))


def _set_attribute(ort: Any, settings: Any, name: str, value: object) -> None:
    try:
        setattr(settings, name, _CONVERSIONS[name][0](ort, value))
    except AttributeError as error:
        raise unavailable(
            f"ONNX Runtime {ort.__version__} has no session option {name!r} with the value {value!r}",
            "update onnxruntime, or remove the option",
        ) from error


def _providers(
    ort: Any, settings: Any, tables: tuple[Provider, ...]
) -> list[tuple[str, dict[str, str]]] | None:
    """Return the providers for a session; None if some are of registered libraries and `settings` has all."""
    # newer versions list registered providers as available, too
    registered = {each.ep_name for each in ort.get_ep_devices() if "library_path" in each.ep_metadata}
    built_in = {*ort.get_available_providers()} - registered
    chosen = [(engine_name(provider_name(table)), provider_options(table), table) for table in tables]
    if all(name in built_in for name, _, _ in chosen):
        return [(name, texts) for name, texts, _ in chosen]
    for name, texts, table in chosen:
        if name in built_in:
            settings.add_provider(name, texts)
        else:
            settings.add_provider_for_devices([_device(ort, name, table)], texts)
    return None


def _device(ort: Any, name: str, table: Provider) -> Any:
    """Return the first device of a provider, or of the kind that is asked for.

    Raises:
        BackendUnavailableError: there is none of that kind.
    """
    devices = {
        each.device.type.name.lower(): each for each in reversed(ort.get_ep_devices()) if each.ep_name == name
    }
    wanted = table.device_type if isinstance(table, PluginProvider) else None
    if wanted is None:
        return next(each for each in ort.get_ep_devices() if each.ep_name == name)
    if wanted not in devices:
        raise unavailable(
            f"{name} has no device of the type {wanted!r} on this machine; it has {', '.join(devices)}",
            "change device_type, or leave it out",
        )
    return devices[wanted]
