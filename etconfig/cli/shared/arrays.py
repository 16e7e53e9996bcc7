"""Inputs read from .npy and .npz files, outputs written to them and shown as text."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from etconfig.cli.shared.writing import write_file
from etconfig.errors import InvalidInputError
from etconfig.kernel.tensor import DTYPES
from etconfig.scalar_types import ScalarType
from etconfig.written_files import FileKind

if TYPE_CHECKING:
    from etconfig.program import MethodMeta

_MAX_SHOWN = 8
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK"

OUTPUTS = FileKind("outputs that `etconfig run` wrote", lambda path: _has_outputs(path))

_MALFORMED = (ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, MemoryError)
"""The exceptions of numpy and zipfile for files that are damaged, encrypted, or claim to be huge."""


def read_inputs(paths: Sequence[Path], meta: MethodMeta) -> list[Any]:
    """Read the inputs of a method, in order: a .npy file has one, an .npz file has in0, in1, ...

    An array without dimensions becomes a number, which scalar inputs take too. Files for bfloat16
    inputs contain float32, since .npy has no bfloat16.

    Raises:
        click.ClickException: a file cannot be read, or has neither format.
        InvalidInputError: the method takes more or fewer inputs.
    """
    arrays = [array if array.ndim else array[()] for path in paths for array in _read(path)]
    if len(arrays) != meta.num_inputs():
        raise InvalidInputError(
            method=meta.name(),
            input="inputs",
            expected=f"{meta.num_inputs()} value(s)",
            given=str(len(arrays)),
            help="give each with --input FILE.npy, in order, or all in an .npz as in0, in1, ...",
        )
    return [_narrowed(array, meta, index) for index, array in enumerate(arrays)]


def write_outputs(path: Path, outputs: Sequence[Any]) -> None:
    """Write the outputs as out0, out1, ... into an .npz, whole or not at all.

    A bfloat16 output is written as float32, which has all its numbers: .npz has no bfloat16.

    Raises:
        click.ClickException: an output is None, or the file cannot be written.
    """
    arrays: dict[str, Any] = {}
    for index, value in enumerate(outputs):
        if value is None or isinstance(value, (list, str)):
            raise click.ClickException(f"out{index} is {format_output(value)}, which an .npz cannot contain")
        array = np.asarray(value)
        arrays[f"out{index}"] = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_file(path, buffer.getvalue(), OUTPUTS)


def _has_outputs(path: Path) -> bool:
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        return bool(names) and names == [f"out{index}.npy" for index in range(len(names))]
    return False


def format_output(value: object) -> str:
    """Return an output in one line: dtype, shape and the first values of an array."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    flat = value.reshape(-1)
    items = flat[:_MAX_SHOWN].tolist()
    shown = ", ".join(f"{item:.6g}" if isinstance(item, float) else str(item) for item in items)
    more = ", ..." if flat.size > _MAX_SHOWN else ""
    return f"{value.dtype.name} {list(value.shape)}: {shown}{more}"


def describe_output(value: object) -> dict[str, Any]:
    """Return an output as plain data: dtype and shape of an array, the value of anything else."""
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.name, "shape": list(value.shape)}
    return {"value": value}


def _narrowed(array: Any, meta: MethodMeta, index: int) -> Any:
    """Convert float32 to bfloat16 where the method takes bfloat16."""
    is_wanted = meta.input_tag(index) == "Tensor" and (
        meta.input_tensor_meta(index).dtype() is ScalarType.BFLOAT16
    )
    return array.astype(DTYPES[ScalarType.BFLOAT16]) if is_wanted and array.dtype == np.float32 else array


def _read(path: Path) -> list[Any]:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_NPY_MAGIC))
            if not magic.startswith((_NPY_MAGIC, _ZIP_MAGIC)):
                raise click.ClickException(f"{path}: expected a .npy or .npz file, as numpy.save writes it")
            file.seek(0)
            loaded = np.load(file, allow_pickle=False)
            return [loaded] if isinstance(loaded, np.ndarray) else list(_members(path, loaded))
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error
    except _MALFORMED as error:
        raise click.ClickException(f"cannot read {path}: {_reason(error)}") from error


def _members(path: Path, loaded: Any) -> Iterator[Any]:
    names = [f"in{index}" for index in range(len(loaded.files))]
    if sorted(loaded.files) != sorted(names):
        found = ", ".join(loaded.files)
        raise click.ClickException(f"{path}: expected the arrays {', '.join(names)}, found {found}")
    for name in names:
        yield loaded[name]


def _reason(error: Exception) -> str:
    if "allow_pickle" in str(error):  # numpy has no exception class for it
        return "it contains Python objects, which are not loaded; save an array of numbers"
    return str(error)
