"""Loading of a model, with errors that name it and the way out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etconfig_onnxruntime.errors import ModelRefusedError
from etconfig_onnxruntime.settings import SessionSettings

_HELP: Mapping[str, str] = {
    "Protobuf parsing failed": "it is cut off, damaged or not a model: export or download it again",
    "ORT model verification failed": "it is cut off, damaged or not in ORT format: convert it again, or "
    "leave out load_model_format",
    "Unsupported model IR version": "install a newer ONNX Runtime, or export for an older version of ONNX",
    "is under development": "export for an older opset, or install a newer ONNX Runtime",
    "opset": "install a newer ONNX Runtime, or export for an opset that this one has",
    "No Op registered": "install an ONNX Runtime that has the operator, or export without it",
    "is not a registered function/op": "install an ONNX Runtime that has the operator, or export without it",
    "NOT_IMPLEMENTED": "export without the operator, or choose a provider that has it",
    "Memory efficient topological order": 'choose another execution_order: "memory_efficient" needs a build '
    "for training",
    "CPU EP fallback": 'add { provider = "cpu" } to providers, so that the CPU may run the other nodes',
    "external": "put the files with its weights beside the model",
}
"""What to do, by a part of ONNX Runtime's message in any case; the first that fits counts."""

_NO_KERNEL = re.compile(r"Could not find an implementation for (\w+)\((\d+)\)")

_OTHERWISE = "correct the options that the message names, or check the model with onnx.checker.check_model"


def check_file(name: str, model: str | os.PathLike[str] | bytes) -> None:
    """Check that a model is there and is not empty. Raises ModelRefusedError."""
    if isinstance(model, bytes):
        if not model:
            raise ModelRefusedError(model=name, cause="it is empty", help="pass the bytes of a model")
        return
    path = Path(model)
    if "\0" in str(path):
        raise ModelRefusedError(
            model=name, cause="its path has a NUL character", help="pass the path of a file"
        )
    if any("\udc80" <= each <= "\udcff" for each in str(path)):  # bytes that are not UTF-8
        cause = "its path is not UTF-8 text, which ONNX Runtime needs"
        raise ModelRefusedError(model=name, cause=cause, help="rename it, or pass its bytes")
    try:
        if not path.is_file() and not path.is_dir() and path.exists():
            # reading a pipe would wait, and a device has no end
            cause, help = "it is neither a file nor a link to one", "pass the path of a model"
            raise ModelRefusedError(model=name, cause=cause, help=help)
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        cause = f"it cannot be read: {error.strerror}"
        raise ModelRefusedError(
            model=name, cause=cause, help=f"pass the path of a model, seen from {Path.cwd()}"
        ) from error
    if is_empty:
        raise ModelRefusedError(model=name, cause="it is empty", help="export or download it again")


def load_session(
    ort: Any, name: str, model: str | os.PathLike[str] | bytes, settings: SessionSettings
) -> Any:
    """Return the session of a model.

    Raises:
        ModelRefusedError: ONNX Runtime refuses the model, or the options for it.
    """
    try:
        return ort.InferenceSession(model, settings.session_options, settings.providers, enable_fallback=0)
    except Exception as error:  # classes of ONNX Runtime's own
        text = str(error).strip()
        folded = text.casefold()  # messages about bytes and about files differ in case
        general = next((help for part, help in _HELP.items() if part.casefold() in folded), _OTHERWISE)
        raise ModelRefusedError(
            model=name,
            cause=f"ONNX Runtime {ort.__version__} cannot load it: {text}",
            help=_help_with_old_operator(text) or general,
        ) from error


def _help_with_old_operator(text: str) -> str | None:
    """Return what to do about a version of an operator that has no kernel, while a newer one exists."""
    found = _NO_KERNEL.search(text)
    if found is None:
        return None
    name, version = found[1], int(found[2])
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as native

        later = {each.since_version for each in native.get_all_operator_schema() if each.name == name}
    except (ImportError, AttributeError):  # not every build has it
        return None
    newer = sorted(each for each in later if each > version)
    if not newer:
        return None
    return (
        f"its opset is old: {name} is that of opset {version}, and newer ones are of {_listed(newer)}; "
        f"convert the model (onnx.version_converter.convert_version(model, {newer[-1]})), "
        "or export for a newer opset"
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
