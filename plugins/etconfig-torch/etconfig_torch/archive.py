"""Exported programs as bytes, without code.

`torch.export.load` runs what a file contains: it unpickles sample inputs and weights, evaluates the
expressions of sizes, compiles guards, and calls any function of `torch` that the graph names. So a file is
read here first: each part is one that data need, and each text is a name or plain arithmetic. Then
the parts are written to a new file, the only one that PyTorch sees.
"""

from __future__ import annotations

import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import torch

from etconfig_torch.errors import UnreadableModelError, UnsafeArchiveError
from etconfig_torch.graph_check import check_path, checked_model

_LOADING = threading.Lock()
"""PyTorch reads one program at a time: a second thread meets an assertion."""

_AGAIN = "copy it again, or export it again with torch.export.save"
_EXPORT = "load the module, and export it with torch.export.export and torch.export.save"

_MODEL = "models/model.json"
_SAMPLES = "data/sample_inputs/model.pt"
_CONFIGS = {
    "data/weights/model_weights_config.json": re.compile(r"weight_[0-9]{1,9}"),
    "data/constants/model_constants_config.json": re.compile(r"tensor_[0-9]{1,9}"),
}
_PARTS = re.compile(
    r"models/model\.json|data/weights/(weight_[0-9]{1,9}|model_weights_config\.json)"
    r"|data/constants/(tensor_[0-9]{1,9}|model_constants_config\.json)|data/sample_inputs/model\.pt"
    r"|archive_format|archive_version|byteorder|\.data/(version|serialization_id|alignment)|version"
)


def load_program(data: bytes | bytearray | memoryview) -> torch.export.ExportedProgram:
    """Return the program of the bytes that `torch.export.save` writes, without running any code of them.

    Guards of the export are dropped, since they are code; shapes are checked by what runs the program.

    Raises:
        UnsafeArchiveError: the file contains code.
        UnreadableModelError: it is damaged, or something else.
    """
    parts = dict(_parts(data))
    for required in (_MODEL, *_CONFIGS):
        if required not in parts:
            raise UnreadableModelError(
                f"the exported program lacks {required}; save it again with torch.export.save"
            )
    for config, names in _CONFIGS.items():
        _check_config(config, _json(config, parts[config]), names)
    _check_samples(parts.get(_SAMPLES, b""))
    parts[_MODEL] = json.dumps(checked_model(_json(_MODEL, parts[_MODEL]))).encode()
    written = io.BytesIO(_written(parts))
    try:
        with _LOADING:
            return torch.export.load(written)
    # whatever PyTorch raises for parts that do not fit each other
    except Exception as error:
        raise UnreadableModelError(
            f"PyTorch {torch.__version__} cannot read the exported program: {type(error).__name__}: "
            f"{(str(error).splitlines() or [''])[0]:.200}; save it again with torch.export.save"
        ) from error


def save_program(program: torch.export.ExportedProgram) -> bytes:
    """Return the bytes of a program; equal programs give equal bytes."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _check_start(start: bytes) -> None:
    """Raise UnreadableModelError for a file that is not an archive."""
    if not start:
        raise UnreadableModelError(f"the file is empty; {_AGAIN}")
    if start[4:6] == b"ET":
        raise UnreadableModelError("it is a program of ExecuTorch (.pte); open it with etconfig.load_program")
    if start.startswith(b"\x80"):
        raise UnreadableModelError(f"it is a pickle, as older torch.save writes it; {_EXPORT}")
    if not start.startswith(b"PK"):
        raise UnreadableModelError(
            f"it is not an exported program, or it is damaged: it begins with {start!r}; {_AGAIN}"
        )


def _check_kind(names: set[str]) -> None:
    """Raise UnreadableModelError for an archive that another function of PyTorch wrote."""
    if "data.pkl" not in names or _MODEL in names:
        return
    if any(name.startswith("code/") for name in names):
        raise UnreadableModelError(f"it is a program of TorchScript, as torch.jit.save writes it; {_EXPORT}")
    raise UnreadableModelError(f"it is a state_dict, a module or a tensor of torch.save; {_EXPORT}")


def _parts(data: bytes | bytearray | memoryview) -> Iterator[tuple[str, bytes]]:
    _check_start(bytes(data[:8]))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check_kind({info.filename.partition("/")[2] for info in infos})
            if len({info.filename.partition("/")[2] for info in infos}) != len(infos):
                raise UnsafeArchiveError("a part of the exported program appears twice")
            if sum(info.file_size for info in infos) > len(data):
                raise UnsafeArchiveError("parts of the exported program overlap, or are larger than the file")
            for info in infos:
                _, _, name = info.filename.partition("/")
                if not _PARTS.fullmatch(name) or info.compress_type != zipfile.ZIP_STORED:
                    raise UnsafeArchiveError(
                        f"the exported program contains {info.filename!r}, which is not data of a model; "
                        "only programs that torch.export.save wrote are read, without extra files"
                    )
                yield name, archive.read(info)
    except UnreadableModelError:
        raise
    # zipfile raises many kinds of errors for damaged files
    except Exception as error:
        raise UnreadableModelError(f"the exported program is damaged: {error}; {_AGAIN}") from None


def _written(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def _json(name: str, content: bytes) -> Any:
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableModelError(f"{name} of the exported program is not JSON: {error}; {_AGAIN}") from None


def _check_config(name: str, config: Any, names: re.Pattern[str]) -> None:
    """Raise UnsafeArchiveError unless every tensor is stored as plain bytes."""
    entries = config.get("config") if isinstance(config, dict) else None
    if not isinstance(entries, dict):
        raise UnsafeArchiveError(f"{name} of the exported program is malformed")
    for key, entry in entries.items():
        check_path(key, f"a key in {name}")
        path = entry.get("path_name") if isinstance(entry, dict) else None
        is_plain = isinstance(path, str) and names.fullmatch(path) and not entry.get("use_pickle")
        if not is_plain or entry.get("tensor_meta") is None:
            raise UnsafeArchiveError(
                f"the exported program stores {key!r} as a pickle, which may run any code; only plain "
                "tensors are read, so leave out tensor subclasses and other objects before exporting"
            )


def _check_samples(content: bytes) -> None:
    if not content:
        return
    try:
        # torch.export.load falls back to unpickling anything
        torch.load(io.BytesIO(content), weights_only=True)
    except Exception as error:
        raise UnsafeArchiveError(
            "the sample inputs of the exported program are not plain tensors, and unpickling them may run "
            "any code; export it again with tensors and numbers as inputs"
        ) from error
