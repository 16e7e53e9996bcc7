"""`build_session`: the session for a model, with all that was asked for or an error."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig_onnxruntime.built import Axis, Built, remember
from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.errors import ModelRefusedError, unavailable
from etconfig_onnxruntime.loading import check_file, load_session
from etconfig_onnxruntime.model_inputs import named_dimensions
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.pools import THREAD_VARIABLES, ensure_pools
from etconfig_onnxruntime.processors import check_processors
from etconfig_onnxruntime.provider_names import engine_name
from etconfig_onnxruntime.provider_tables import provider_names
from etconfig_onnxruntime.providers import report_absent
from etconfig_onnxruntime.settings import session_settings
from etconfig_onnxruntime.written_files import check_written_files, claimed_files

MODEL_CONFIG_VARIABLE = "ORT_LOAD_CONFIG_FROM_MODEL"
"""With `1`, sessions take their options from the metadata of models, in place of those given."""

_ORT_FORMAT = b"ORTM"
"""The identifier of a model in ORT format, after four bytes. Source: onnxruntime/core/flatbuffers/schema."""

_LOG = logging.getLogger("etconfig_onnxruntime")


def build_session(options: OnnxRuntimeOptions, model: str | os.PathLike[str] | bytes | None = None, /) -> Any:
    """Return an `onnxruntime.InferenceSession`, or the settings of one if there is no model.

    ONNX Runtime falls back to the CPU silently in three places: for providers that are absent, for providers
    that fail to start, and for runs that fail. The session of this function does neither.

    Args:
        options: The options.
        model: The path of the model, or its bytes, in ONNX or ORT format. Without it, the result is a
            `SessionSettings`: `onnxruntime.InferenceSession(path, *settings)`.

    Raises:
        BackendUnavailableError: ONNX Runtime or a provider is absent, or would not follow the options.
        ModelRefusedError: the model cannot be read or loaded, lacks the metadata or the dimensions that
            the options name, or would be overwritten, or its optimized model would overwrite another one.
            Its cause is ONNX Runtime's exception, if that refused it.
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
    _report_variables(name, options)
    ensure_pools(ort, options)
    settings = session_settings(ort, options, name)
    if model is None:
        return settings
    check_file(name, model)
    _check_bytes(name, model, options)
    axes = _axes(name, model, options)
    with claimed_files(options, name, model, ort.__version__):
        session = load_session(ort, name, model, settings)
    remember(session, Built(options, axes))
    used = session.get_providers()
    missing = [each for each in provider_names(options.providers) if engine_name(each) not in used]
    expected = [name for name, _ in settings.providers or ()]
    report_absent(
        options,
        [each for each in missing if engine_name(each) in expected],
        "ONNX Runtime could not start it; its log says why",
        name,
    )
    _check_metadata(name, session, options)
    _set_dynamic(session, options)
    return session


def _report_variables(name: str, options: OnnxRuntimeOptions) -> None:
    """Log the environment variables that options replace, recommended ones, too."""
    for option, variable in THREAD_VARIABLES.items():
        number, text = getattr(options, option), os.environ.get(variable)
        if number and text is not None and text != str(number):
            _LOG.warning(
                "%s: %s is %d, so %s=%s has no effect; set the option to 0 to follow the variable",
                *(name, option, number, variable, text),
            )


def _check_bytes(name: str, model: str | os.PathLike[str] | bytes, options: OnnxRuntimeOptions) -> None:
    """Check that the bytes of the model can be used directly, if they are to be: ONNX Runtime does not."""
    if not options.use_ort_model_bytes_directly:
        return
    if isinstance(model, bytes) and model[4:8] == _ORT_FORMAT:
        return
    found = "these are not in ORT format" if isinstance(model, bytes) else "this is a file"
    raise ModelRefusedError(
        model=name,
        cause=f"use_ort_model_bytes_directly is for the bytes of a model in ORT format, and {found}",
        help="leave it out for this model",
    )


def _name(model: str | os.PathLike[str] | bytes | None) -> str:
    if model is None:
        return "settings without a model"
    if isinstance(model, bytes):
        return f"model of {len(model)} bytes"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in os.fspath(model))


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


def _axes(
    name: str, model: str | os.PathLike[str] | bytes, options: OnnxRuntimeOptions
) -> dict[str, dict[str, list[Axis]]]:
    """Return the axes that each override fixes, by option and key; check that there are some.

    ONNX Runtime ignores names that the model does not have, and keeps no names of fixed dimensions.
    """
    asked = {
        "free_dimension_overrides": options.free_dimension_overrides,
        "free_dimension_overrides_by_denotation": options.free_dimension_overrides_by_denotation,
    }
    if not any(asked.values()):
        return {option: {} for option in asked}
    dimensions = named_dimensions(model if isinstance(model, bytes) else Path(model).read_bytes())
    if dimensions is None:
        return {}  # ORT format
    axes: dict[str, dict[str, list[Axis]]] = {}
    for option, attribute in zip(asked, ("name", "denotation"), strict=True):
        found: dict[str, list[Axis]] = {}
        for each in dimensions:
            found.setdefault(getattr(each, attribute), []).append((each.input, each.axis))
        known = [key for key in found if key]
        for key in asked[option]:
            if key not in known:
                listed = ", ".join(map(repr, known)) or "none"
                raise ModelRefusedError(
                    model=name,
                    cause=f"its inputs have no open dimension {key!r}; they have {listed}",
                    help=f"correct {option}",
                )
        axes[option] = {key: found[key] for key in asked[option]}
    return axes


def _set_dynamic(session: Any, options: OnnxRuntimeOptions) -> None:
    infos = type(options).option_infos()
    entries = {
        key: getattr(options, name)
        for name, key in DYNAMIC_ENTRIES.items()
        if getattr(options, name) != infos[name].default
    }
    if entries:
        session.set_ep_dynamic_options(entries)
