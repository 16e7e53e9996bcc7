"""Inputs read from .npy and .npz files, outputs written to them and shown as text."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType
from etconfig.base.written_files import FileKind
from etconfig.cli.shared.writing import write_file
from etconfig.errors import InvalidInputError
from etconfig.kernel.tensor import DTYPES, TensorForm
from etconfig.method.inputs import TensorCheck

if TYPE_CHECKING:
    from etconfig.program.metadata import MethodMeta

_MAX_SHOWN = 8
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK"

OUTPUTS = FileKind("outputs that `etconfig run` wrote", lambda path: _has_outputs(path))

_MALFORMED = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError, MemoryError)
"""The exceptions of numpy and zipfile for files that are damaged, encrypted, or claim to be huge."""


def read_inputs(paths: Sequence[Path], meta: MethodMeta) -> list[Any]:
    """Read the inputs of a method, in order: a .npy file has one, an .npz file has in0, in1, ...

    An array without dimensions becomes a number, which scalar inputs take too. Files for bfloat16
    inputs contain float32, since .npy has no bfloat16. Type and shape are checked before any data are read.

    Raises:
        click.ClickException: a file cannot be read, or has neither format.
        InvalidInputError: the method takes more or fewer inputs, or an array does not fit.
    """
    stored = [each for path in paths for each in _stored(path)]
    if len(stored) != meta.num_inputs():
        raise InvalidInputError(
            method=meta.name(),
            input="inputs",
            expected=f"{meta.num_inputs()} value(s)",
            given=str(len(stored)),
            help="give each with --input FILE.npy, in order, or all in an .npz as in0, in1, ...",
        )
    for index, each in enumerate(stored):
        _check(each, meta, index)
    arrays = [each.load() for each in stored]
    return [_narrowed(array if array.ndim else array[()], meta, index) for index, array in enumerate(arrays)]


def read_arrays(paths: Sequence[Path], prefix: str = "in") -> list[Any]:
    """Read arrays, in order: a .npy file has one, an .npz file has in0, in1, ..., or another prefix.

    Raises:
        click.ClickException: a file cannot be read, or has neither format.
    """
    return [each.load() for path in paths for each in _stored(path, prefix)]


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


def _check(stored: _Stored, meta: MethodMeta, index: int) -> None:
    """Check the type and shape of a stored array with the check that `execute` has for the array itself."""
    role = f"input {index}"
    if meta.input_tag(index) == "Tensor":
        info = meta.input_tensor_meta(index)
        form = TensorForm(info.dtype(), info.sizes(), info.dim_order(), info.shape_dynamism())
        TensorCheck(meta.name(), role, form).check(_narrowed(stored.stand_in, meta, index))
    elif stored.stand_in.ndim:
        given = f"an array of shape {stored.stand_in.shape}"
        raise InvalidInputError(method=meta.name(), input=role, expected="one number", given=given)


def _narrowed(array: Any, meta: MethodMeta, index: int) -> Any:
    """Convert float32 to bfloat16 where the method takes bfloat16; stand-ins stay without memory."""
    is_wanted = meta.input_tag(index) == "Tensor" and (
        meta.input_tensor_meta(index).dtype() is ScalarType.BFLOAT16
    )
    if not is_wanted or array.dtype != np.float32:
        return array
    if array.ndim and not any(array.strides):
        return np.broadcast_to(DTYPES[ScalarType.BFLOAT16].type(0), array.shape)
    return array.astype(DTYPES[ScalarType.BFLOAT16])


@record(frozen=True, kw_only=True)
class _Stored:
    """An array in a file, of which only the header was read.

    Attributes:
        path: The file.
        name: Its name in an .npz; None in a .npy.
        stand_in: An array of its type and shape, without memory for its elements.
    """

    path: Path
    name: str | None
    stand_in: Any

    def load(self) -> Any:
        """Read the array."""
        with _opened(self.path) as file:
            loaded = np.load(file, allow_pickle=False)
            return loaded if self.name is None else loaded[self.name]


def _stored(path: Path, prefix: str = "in") -> list[_Stored]:
    """Read the headers of the arrays in a file."""
    with _opened(path) as file:
        if file.peek(len(_ZIP_MAGIC)).startswith(_NPY_MAGIC):
            return [_Stored(path=path, name=None, stand_in=_stand_in(file))]
        found: list[_Stored] = []
        with zipfile.ZipFile(file) as archive:
            for name in _member_names(path, archive, prefix):
                with archive.open(f"{name}.npy") as member:
                    found.append(_Stored(path=path, name=name, stand_in=_stand_in(member)))
        return found


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a .npy or .npz file; an error names it if the block finds that it is damaged."""
    try:
        with path.open("rb") as file:
            if not file.peek(len(_NPY_MAGIC)).startswith((_NPY_MAGIC, _ZIP_MAGIC)):
                raise click.ClickException(f"{path}: expected a .npy or .npz file, as numpy.save writes it")
            yield file
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error
    except _MALFORMED as error:
        raise click.ClickException(f"cannot read {path}: {_reason(error)}") from error


def _stand_in(file: IO[bytes]) -> Any:
    version = np.lib.format.read_magic(file)
    # the third version has the layout of the second; it differs in the names of fields, which no input has
    read = np.lib.format.read_array_header_1_0 if version[0] == 1 else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it needs allow_pickle")
    return np.broadcast_to(np.empty((), dtype), shape)


def _member_names(path: Path, archive: zipfile.ZipFile, prefix: str) -> list[str]:
    files = [each.removesuffix(".npy") for each in archive.namelist()]
    names = [f"{prefix}{index}" for index in range(len(files))]
    if sorted(files) != sorted(names):
        found = ", ".join(files)
        raise click.ClickException(f"{path}: expected the arrays {', '.join(names)}, found {found}")
    return names


def _reason(error: Exception) -> str:
    if "allow_pickle" in str(error):  # numpy has no exception class for it
        return "it contains Python objects, which are not loaded; save an array of numbers"
    return str(error)
