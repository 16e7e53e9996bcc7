"""`ExternalData`: tensors and blobs outside a program, found by key in the data files opened with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from etconfig.errors import MissingDataError
from etconfig.program.bulk.shared_values import different
from etconfig.program.flat_tensor import DataFile, open_data_file
from etconfig.program.limits import Limits
from etconfig.program.model import ExecutionPlan, SerializedTensor
from etconfig.program.program_errors import malformed, naming
from etconfig.program.source import LoadMode, ProgramSource, check_source
from etconfig.program.tensor_reader import TensorLayout

DataSources: TypeAlias = "ProgramSource | DataFile | Sequence[ProgramSource | DataFile]"
"""One or several .ptd files: paths, bytes, or open files."""

_EXPECTED = "the path of a .ptd, its bytes, what etconfig.open_data_file returns, or a list of these"


class ExternalData:
    """The data files of one program.

    Attributes:
        files: The files, in the order of the argument.
        blobs: The data of all files, by key.
    """

    def __init__(self, files: Sequence[DataFile], inside: Mapping[str, object]) -> None:
        """Join `files`; the program itself stores the keys of `inside`.

        Raises:
            MalformedProgramError: a key occurs twice.
        """
        self.files = tuple(files)
        self._homes = dict.fromkeys(inside, "the program")
        for file in files:
            self._check_new(file)
            self._homes.update(dict.fromkeys(file.blobs, file.name))
        self.blobs = {key: blob for file in files for key, blob in file.blobs.items()}

    def size_of(self, key: str) -> int | None:
        """Return the number of bytes under a key, without reading them; None if no file has it."""
        blob = self.blobs.get(key)
        return None if blob is None else blob.size_bytes

    def tensors(self, plan: ExecutionPlan) -> Mapping[str, memoryview]:
        """Return the data of the external tensors of `plan`, by fully qualified name.

        Raises:
            MissingDataError: some are in none of the files; the error lists all of these.
            MalformedProgramError: a file has another type or shape for one of them.
        """
        wanted = [
            value for value in different(plan.values) if type(value) is SerializedTensor and value.external
        ]
        missing = tuple(dict.fromkeys(_key(each) for each in wanted if _key(each) not in self.blobs))
        if missing:
            raise MissingDataError(
                code="missing-external-data",
                region=f"method {plan.name!r}",
                keys=missing,
                files=tuple(file.name for file in self.files),
                help="give the .ptd that was exported with the program: data=[...], or --data FILE.ptd",
            )
        return {_key(each): self._tensor(each) for each in wanted}

    def _tensor(self, tensor: SerializedTensor) -> memoryview:
        key = _key(tensor)
        blob = self.blobs[key]
        layout = blob.layout
        expected = TensorLayout(tensor.scalar_type, tensor.sizes, tensor.dim_order)
        if layout != expected:
            found = "bytes that are not a tensor" if layout is None else str(layout)
            detail = f"the program expects {expected}, but {self._homes[key]} has {found}"
            raise malformed("external-data-mismatch", f"tensor {key!r}", detail)
        return blob.data[: layout.size_bytes]

    def _check_new(self, file: DataFile) -> None:
        for key in file.blobs:
            if key in self._homes:
                detail = f"{key!r} is stored in {self._homes[key]} as well"
                with naming(file.path):
                    raise malformed("duplicate-name", "named_data", detail, advice="give only one of them")


def open_data_files(sources: DataSources, limits: Limits, load_mode: LoadMode) -> list[DataFile]:
    """Open the files that are not open yet; raises the same errors as `open_data_file`."""
    if isinstance(sources, Sequence) and not isinstance(sources, (str, bytes, bytearray, memoryview)):
        several: Sequence[ProgramSource | DataFile] = sources
    else:
        several = [sources]
    for each in several:
        if not isinstance(each, DataFile):
            check_source("data", each, _EXPECTED)
    modes = [load_mode if isinstance(each, (str, os.PathLike)) else LoadMode.File for each in several]
    return [
        each if isinstance(each, DataFile) else open_data_file(each, limits=limits, load_mode=mode)
        for each, mode in zip(several, modes, strict=True)
    ]


def _key(tensor: SerializedTensor) -> str:
    """Return the name of an external tensor; the reader has refused those without one."""
    assert tensor.fully_qualified_name is not None
    return tensor.fully_qualified_name
