"""`build_session`: the session for a model, with all that was asked for or an error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.errors import ModelRefusedError, unavailable
from etconfig_onnxruntime.loading import check_file, load_session
from etconfig_onnxruntime.model_inputs import open_dimensions
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.pools import ensure_pools
from etconfig_onnxruntime.processors import check_processors
from etconfig_onnxruntime.provider_names import PROVIDERS
from etconfig_onnxruntime.provider_tables import provider_names
from etconfig_onnxruntime.providers import report_absent
from etconfig_onnxruntime.settings import session_settings
from etconfig_onnxruntime.written_files import check_written_files

MODEL_CONFIG_VARIABLE = "ORT_LOAD_CONFIG_FROM_MODEL"
"""With `1`, sessions take their options from the metadata of models, in place of those given."""


def build_session(options: OnnxRuntimeOptions, model: str | os.PathLike[str] | bytes | None = None, /) -> Any:
    """Return an `onnxruntime.InferenceSession`, or the settings of one if there is no model.

    ONNX Runtime falls back to the CPU silently in three places: for providers that are absent, for those that
    fail to start, and for runs that fail. The session of this function does neither.

    Args:
        options: The options.
        model: The path of the model, or its bytes, in ONNX or ORT format. Without it, the result is a
            `SessionSettings`: `onnxruntime.InferenceSession(path, *settings)`.

    Raises:
        BackendUnavailableError: ONNX Runtime or a provider is absent, or would not follow the options.
        ModelRefusedError: the model cannot be read or loaded, lacks the metadata or the dimensions that
            the options name, or would be overwritten. Its cause is ONNX Runtime's exception, if that
            refused it.
    """
    ort = import_engine()
    if os.environ.get(MODEL_CONFIG_VARIABLE) == "1":
        raise unavailable(
            f"the environment variable {MODEL_CONFIG_VARIABLE} is 1, so models would replace the options",
            "unset it",
        )
    check_written_files(options, model)
    check_processors(options)
    name = _name(model)
    ensure_pools(ort, options)
    settings = session_settings(ort, options, name)
    if model is None:
        return settings
    check_file(name, model)
    _check_dimensions(name, model, options)
    session = load_session(ort, name, model, settings)
    used = session.get_providers()
    missing = [each for each in provider_names(options.providers) if PROVIDERS[each] not in used]
    expected = [name for name, _ in settings.providers or ()]
    report_absent(
        options,
        [each for each in missing if PROVIDERS[each] in expected],
        "ONNX Runtime could not start it; its log says why",
        name,
    )
    _check_metadata(name, session, options)
    _set_dynamic(session, options)
    return session


def _name(model: str | os.PathLike[str] | bytes | None) -> str:
    if model is None:
        return "settings without a model"
    return f"model of {len(model)} bytes" if isinstance(model, bytes) else os.fspath(model)


def _check_metadata(name: str, session: Any, options: OnnxRuntimeOptions) -> None:
    found: Mapping[str, str] = session.get_modelmeta().custom_metadata_map
    for key, value in options.required_metadata.items():
        if found.get(key) != value:
            given = f"{key} is {found[key]!r}" if key in found else f"there is no {key!r} in it"
            raise ModelRefusedError(
                model=name,
                cause=f"its metadata must have {key} = {value!r}, but {given}",
                help="use the model that the profile is for, or change required_metadata",
            )


def _check_dimensions(name: str, model: str | os.PathLike[str] | bytes, options: OnnxRuntimeOptions) -> None:
    """Check that the model has the dimensions to override: ONNX Runtime ignores other names."""
    asked = {
        "free_dimension_overrides": options.free_dimension_overrides,
        "free_dimension_overrides_by_denotation": options.free_dimension_overrides_by_denotation,
    }
    if not any(asked.values()):
        return
    dimensions = open_dimensions(model if isinstance(model, bytes) else Path(model).read_bytes())
    if dimensions is None:
        return  # ORT format
    for option, known in zip(asked, (dimensions.names, dimensions.denotations), strict=True):
        for each in asked[option]:
            if each not in known:
                listed = ", ".join(map(repr, known)) or "none"
                raise ModelRefusedError(
                    model=name,
                    cause=f"its inputs have no open dimension {each!r}; they have {listed}",
                    help=f"correct {option}",
                )


def _set_dynamic(session: Any, options: OnnxRuntimeOptions) -> None:
    infos = type(options).option_infos()
    entries = {
        key: getattr(options, name)
        for name, key in DYNAMIC_ENTRIES.items()
        if getattr(options, name) != infos[name].default
    }
    if entries:
        session.set_ep_dynamic_options(entries)
