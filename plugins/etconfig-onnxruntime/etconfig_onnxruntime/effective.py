"""The options that are in force in a session, as far as ONNX Runtime reports them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import EffectiveOption
from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.pools import created_pools
from etconfig_onnxruntime.provider_names import PROVIDERS, short_name
from etconfig_onnxruntime.provider_tables import Provider, reported_provider
from etconfig_onnxruntime.run_options import RUN_OPTIONS
from etconfig_onnxruntime.session_entries import SESSION_ENTRIES
from etconfig_onnxruntime.settings import ATTRIBUTES, attribute_value
from etconfig_onnxruntime.versions import is_known, since

_FROM_SESSION = "session.get_session_options()"
_THREADS = ("intra_op_num_threads", "inter_op_num_threads")


def effective_options(session: Any) -> Mapping[str, EffectiveOption]:
    """Return the value of each option that is in force in a session, and how it is known.

    ONNX Runtime reports what it was given, not what it made of that: 0 threads stay 0. What is written to
    `session.get_session_options()` after the session was created shows here, too, though it has no effect.
    """
    settings = session.get_session_options()
    found = {
        name: EffectiveOption.read_back(attribute_value(settings, name), _FROM_SESSION) for name in ATTRIBUTES
    }
    found |= {name: _threads(settings, name) for name in _THREADS}
    found |= {name: _entry(settings, name, key) for name, key in SESSION_ENTRIES.items()}
    providers = _providers(session, settings)
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
    unreported = EffectiveOption.unknown("ONNX Runtime does not report it")
    found |= dict.fromkeys(DYNAMIC_ENTRIES, unreported)
    found |= dict.fromkeys(RUN_OPTIONS, EffectiveOption.unknown("it is passed with each run"))
    return found


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
        return EffectiveOption.unknown("0 lets ONNX Runtime choose, which does not report the number")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or number
    surplus = f", more than the {cores} core(s) of this process" if number > cores else ""
    return EffectiveOption.read_back(number, _FROM_SESSION + surplus)


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
    if name == "intra_op_thread_affinities":
        return EffectiveOption.assumed(text, "ONNX Runtime only logs that it could not bind a thread")
    return EffectiveOption.read_back(_value(info, text), _FROM_SESSION)


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


def _providers(session: Any, settings: Any) -> tuple[Provider | str, ...]:
    """Return the providers in force; the CPU, which every session has, only if it may run nodes."""
    options = session.get_provider_options()
    is_strict = _entry(settings, "disable_cpu_ep_fallback", SESSION_ENTRIES["disable_cpu_ep_fallback"]).value
    return tuple(
        reported_provider(short_name(name), options.get(name, {}))
        for name in session.get_providers()
        if not (is_strict and name == PROVIDERS["cpu"])
    )
