"""The options that are in force in a session, as far as ONNX Runtime reports them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import EffectiveOption
from etconfig_onnxruntime.built import Built, built_of
from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.pools import THREAD_VARIABLES, created_pools
from etconfig_onnxruntime.provider_names import PROVIDERS, short_name
from etconfig_onnxruntime.provider_tables import Provider, provider_names, reported_provider
from etconfig_onnxruntime.run_options import RUN_OPTIONS
from etconfig_onnxruntime.session_entries import SESSION_ENTRIES
from etconfig_onnxruntime.settings import ATTRIBUTES, attribute_value
from etconfig_onnxruntime.versions import is_known, since

_GIVEN = (
    "session.get_session_options() has it as it was given; ONNX Runtime does not report what it makes of it"
)
_PASSED = "passed to ONNX Runtime, which does not report it"
_ELSEWHERE = EffectiveOption.unknown(
    "ONNX Runtime does not report it, and etconfig did not build the session"
)
_THREADS = ("intra_op_num_threads", "inter_op_num_threads")
_RECORDS = "record_ep_graph_assignment_info"


def effective_options(session: Any) -> Mapping[str, EffectiveOption]:
    """Return the value of each option that is in force in a session, and how it is known.

    ONNX Runtime has hardly any answers: mostly, it repeats what it was given. So most values are assumed.
    """
    if not hasattr(session, "get_session_options"):
        raise TypeError(f"expected an onnxruntime.InferenceSession, given {type(session).__name__}")
    settings = session.get_session_options()
    found = {name: EffectiveOption.assumed(attribute_value(settings, name), _GIVEN) for name in ATTRIBUTES}
    found |= {name: _threads(settings, name) for name in _THREADS}
    found |= {name: _entry(settings, name, key) for name, key in SESSION_ENTRIES.items()}
    found["set_denormal_as_zero"] = _denormals(found["set_denormal_as_zero"])
    found[_RECORDS] = _records(session, found[_RECORDS])
    found["enable_profiling"] = EffectiveOption.read_back(
        session.get_profiling_start_time_ns() > 0, "session.get_profiling_start_time_ns()"
    )
    built = built_of(session)
    providers = _providers(session, settings, () if built is None else built.options.providers)
    found["providers"] = EffectiveOption.read_back(
        providers,
        "session.get_providers()",
        meets=lambda asked: asked in ((), providers),  # a policy chose them for ()
    )
    metadata = dict(session.get_modelmeta().custom_metadata_map)
    found["required_metadata"] = EffectiveOption.read_back(
        metadata,
        "the model's metadata",
        meets=lambda asked: isinstance(asked, dict) and asked.items() <= metadata.items(),
    )
    found |= dict.fromkeys(RUN_OPTIONS, EffectiveOption.unknown("it is passed with each run"))
    others = OnnxRuntimeOptions.option_infos().keys() - found.keys()
    if built is None:
        return {**found, **dict.fromkeys(others, _ELSEWHERE)}
    found |= {name: EffectiveOption.assumed(getattr(built.options, name), _PASSED) for name in others}
    return {**found, **_dimensions(session, built)}


def _threads(settings: Any, name: str) -> EffectiveOption:
    if not settings.use_per_session_threads:
        sizes = created_pools()
        if sizes is None:
            return EffectiveOption.unknown("the pools of the process were created elsewhere")
        return EffectiveOption.assumed(
            sizes[_THREADS.index(name)], "the pools of the process were created so"
        )
    number = getattr(settings, name)
    if number == 0:
        return EffectiveOption.unknown(
            f"0 leaves the number to {THREAD_VARIABLES[name]} and ONNX Runtime, which does not report it"
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or number
    surplus = f"; more than the {cores} core(s) of this process" if number > cores else ""
    return EffectiveOption.assumed(number, _GIVEN + surplus)


def _denormals(given: EffectiveOption) -> EffectiveOption:
    """Return whether denormal numbers are 0, if that is the same in this thread and the session's threads."""
    import numpy as np

    is_zero = not np.multiply(np.full(1, 1e-39, np.float32), np.float32(1)).any()
    decided = "for this thread, the first session of the process decided"
    if is_zero is given.value:
        return EffectiveOption.observed(is_zero, f"measured in this thread; {decided}")
    here = "are 0" if is_zero else "are kept"
    return EffectiveOption.unknown(f"denormal numbers {here} in this thread, and not in others: {decided}")


def _records(session: Any, given: EffectiveOption) -> EffectiveOption:
    if not given.is_known:  # this version has no records
        return given
    try:
        session.get_provider_graph_assignment_info()
    except Exception:  # a class of ONNX Runtime's own
        return EffectiveOption.read_back(False, "the session has no records")
    return EffectiveOption.read_back(True, "the session has the records")


def _dimensions(session: Any, built: Built) -> dict[str, EffectiveOption]:
    """Return the dimensions that overrides fixed, as the inputs of the session have them."""
    shapes = {value.name: value.shape for value in session.get_inputs()}
    found = {}
    for name, axes in built.axes.items():
        sizes = {key: {shapes[value][axis] for value, axis in each} for key, each in axes.items()}
        fixed = {key: size for key, (size, *more) in sizes.items() if not more and isinstance(size, int)}
        found[name] = EffectiveOption.read_back(fixed, "the shapes of the session's inputs")
    return found


def _entry(settings: Any, name: str, key: str) -> EffectiveOption:
    info = OnnxRuntimeOptions.option_infos()[name]
    version = import_engine().__version__
    if not is_known(version, key):
        return EffectiveOption.unknown(f"ONNX Runtime {version} does not read it; {since(key)} introduced it")
    try:
        text: str = settings.get_session_config_entry(key)
    except RuntimeError:  # it is not set
        if info.default is None:
            return EffectiveOption.unknown(
                "it is not set, and the default depends on the build and the providers"
            )
        return EffectiveOption.assumed(info.default, "it is not set; this is the default of ONNX Runtime")
    return EffectiveOption.assumed(_value(info, text), _GIVEN)


def _value(info: Any, text: str) -> object:
    """Return the value of an option that a config entry means: the text itself if it means none."""
    kind = info.type.kind.value
    if kind == "boolean":
        return text == "1"
    if kind == "array":
        return tuple(text.split(",")) if text else ()
    if kind == "integer" and text.lstrip("-").isdecimal():
        return int(text)
    return next((choice for choice in info.choices if str(choice) == text), text)


def _providers(session: Any, settings: Any, asked: tuple[Provider, ...]) -> tuple[Provider | str, ...]:
    """Return the providers in force; the CPU, which every session has, only if it may run nodes."""
    tables = dict(zip(provider_names(asked), asked, strict=True))
    options = session.get_provider_options()
    is_strict = _entry(settings, "disable_cpu_ep_fallback", SESSION_ENTRIES["disable_cpu_ep_fallback"]).value
    return tuple(
        reported_provider(short_name(name), options.get(name, {}), tables.get(short_name(name)))
        for name in session.get_providers()
        if not (is_strict and name == PROVIDERS["cpu"])
    )
