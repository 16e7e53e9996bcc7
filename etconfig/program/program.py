"""`open_program` and `Program`: a .pte, verified, immutable, and safe to share between threads."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from etconfig.base.records import Immutable
from etconfig.diagnostics.suggest import did_you_mean
from etconfig.errors import MethodNotFoundError, ProgramError
from etconfig.program import program_tables
from etconfig.program.cursor import Cursor, Extent
from etconfig.program.external_data import DataSources, ExternalData, open_data_files
from etconfig.program.flat_tensor import DataFile
from etconfig.program.identify import ExtendedHeader, check_is_program, is_bundled, read_header
from etconfig.program.limits import DEFAULT_LIMITS, Limits
from etconfig.program.model import BackendDelegate, ExecutionPlan, SerializedTensor
from etconfig.program.payload_reader import NamedData, Payloads, VerifiedLoader, gaps_between, read_payloads
from etconfig.program.plan_reader import PlanReader
from etconfig.program.process_lock import ProcessLock, collection_paused
from etconfig.program.program_errors import locate, malformed, naming, unreadable
from etconfig.program.source import DataLoader, LoadMode, ProgramSource, open_bytes

if TYPE_CHECKING:
    from etconfig.program.bundled import Bundle


class Verification(enum.Enum):
    """The time at which plans are read and verified. Both levels verify everything before it is used.

    The names come from executorch.runtime.Verification, whose Minimal trusts the file instead.
    """

    Minimal = "minimal"
    """Each plan on first use: opening takes less time."""
    InternalConsistency = "internal-consistency"
    """All plans when the program is opened: a program that opens is sound."""


class _Contents(NamedTuple):
    """The parts of an open program.

    Attributes:
        file: Returns views of the whole file.
        tables: Reads the program's tables.
        version: Program.version.
        payloads: The extents of the payloads.
        named_data: Program.named_data.
        external: The data outside the file.
        plan_tables: The position of each plan's table, by name, in the order of the file.
    """

    file: Cursor
    tables: Cursor
    version: int
    payloads: Payloads
    named_data: Mapping[str, memoryview]
    external: ExternalData
    plan_tables: Mapping[str, int]


class Program(Immutable):
    """A program, as `open_program` returns it. It is immutable, and threads may share it.

    Payloads are returned as views into the file's bytes, read-only and without a copy; the parts of a
    large file are read on first use (see `LoadMode`). The views stay valid after `close`, which only
    drops the program's own reference to the bytes: they are freed with their last view.

    Attributes:
        path: The file, or None if the program was opened from bytes.
        size_bytes: The size of the program: of the file, unless it is a bundled one.
        verification: The level of verification.
        header: The extended header, or None if there is none.
        version: The version in the file; ExecuTorch writes 0.
        method_names: The methods, in the order of the file.
        segments: The extents of the segments in the file.
        constant_bytes: The size of all constants together.
        has_inline_constants: True if the constants are in the tables, and not in a segment.
        table_bytes: The size of the tables, which are read when the program is opened.
        bundled_cases: For a bundled program (.bpte), the recorded cases of each method; else empty.
    """

    def __init__(
        self,
        path: str | None,
        verification: Verification,
        header: ExtendedHeader | None,
        contents: _Contents,
        bundle: Bundle | None,
    ) -> None:
        self.path: Final = path
        self.size_bytes: Final = contents.file.size_bytes
        self.verification: Final = verification
        self.header: Final = header
        self.version: Final = contents.version
        self.method_names: Final = tuple(contents.plan_tables)
        self.segments: Final = contents.payloads.segments
        self.constant_bytes: Final = sum(extent.size_bytes for extent in set(contents.payloads.constants))
        self.table_bytes: Final = contents.tables.size_bytes
        self.has_inline_constants: Final = any(
            extent.size_bytes and extent.start < self.table_bytes for extent in contents.payloads.constants
        )
        self.bundled_cases: Final = bundle.cases if bundle else MappingProxyType({})
        self._used = _Use(contents, naming(path, bundle.program.start if bundle else 0))
        self._plans: dict[str, ExecutionPlan] = {}
        self._lock = ProcessLock()
        self._is_sealed = True

    def __repr__(self) -> str:
        return (
            f"<Program {self.path or 'in memory'}: {self.size_bytes} bytes, {len(self.method_names)} methods>"
        )

    # --- methods -------------------------------------------------------------------------

    def plan(self, name: str) -> ExecutionPlan:
        """Return the method `name`, verified. It is read once; other threads wait meanwhile.

        Raises:
            MethodNotFoundError: the program has no such method.
            ProgramError: the method is malformed (only with Verification.Minimal), or the program is closed.
        """
        with self._used as contents:
            if name not in contents.plan_tables:
                known = self.method_names
                raise MethodNotFoundError(method=name, known=known, help=_method_help(name, known))
            with self._lock.current():
                if name not in self._plans:
                    with collection_paused():
                        self._plans[name] = _read_plan(contents, name)
                return self._plans[name]

    # --- payloads ------------------------------------------------------------------------

    def constant(self, data_buffer_idx: int, size_bytes: int) -> memoryview:
        """Return the first `size_bytes` bytes of a constant.

        Raises:
            MalformedProgramError: there is no such constant.
            TruncatedProgramError: it has fewer bytes.
        """
        with self._used as contents:
            return contents.file.view(contents.payloads.constant(data_buffer_idx, size_bytes), "constants")

    def mutable_initial_data(
        self, mutable_data_segments_idx: int, data_buffer_idx: int, size_bytes: int
    ) -> memoryview:
        """Return the first `size_bytes` bytes of a mutable tensor's initial state.

        Raises the same errors as `constant`.
        """
        with self._used as contents:
            extent = contents.payloads.mutable_initial_data(
                mutable_data_segments_idx, data_buffer_idx, size_bytes
            )
            return contents.file.view(extent, "mutable_data_segments")

    def delegate_data(self, delegate: BackendDelegate) -> memoryview:
        """Return the payload of a delegate of one of this program's plans.

        Raises:
            MalformedProgramError: there is no such payload.
        """
        with self._used as contents:
            return contents.file.apart(contents.payloads.delegate(delegate.processed), "processed")

    def payload_size(self, delegate: BackendDelegate) -> int:
        """Return the size of a delegate's payload in bytes, without reading it; raises as `delegate_data`."""
        with self._used as contents:
            return contents.payloads.delegate(delegate.processed).size_bytes

    def extent(self, data: BackendDelegate | SerializedTensor | str) -> Extent | None:
        """Return the place of a payload, a constant or named data in the file; None if they lie elsewhere.

        Raises:
            MalformedProgramError: there is no such payload or constant.
            TruncatedProgramError: a constant has fewer bytes.
        """
        with self._used as contents:
            if isinstance(data, str):
                return contents.payloads.named_data.get(data)
            if isinstance(data, SerializedTensor):
                found = contents.payloads.constant
                return None if data.external else found(data.data_buffer_idx, data.size_bytes)
            return contents.payloads.delegate(data.processed)

    @property
    def named_data(self) -> Mapping[str, memoryview]:
        """The data of the program and its data files, by key; 1 MiB or more is freed with its last view."""
        with self._used as contents:
            return contents.named_data

    def named_data_size(self, key: str) -> int | None:
        """Return the number of bytes that `named_data` has under a key, without reading them, or None."""
        with self._used as contents:
            extent = contents.payloads.named_data.get(key)
            return contents.external.size_of(key) if extent is None else extent.size_bytes

    def unclaimed(self) -> tuple[Extent, ...]:
        """Return the parts of the program outside of tables and segments that are not all zero.

        Exporters leave only zeros there, for alignment. Any other bytes belong to something that was not
        verified. To find them, those parts are read.
        """
        with self._used as contents:
            gaps = gaps_between(contents.tables.size_bytes, self.segments, self.size_bytes)
            return tuple(gap for gap in gaps if not contents.file.is_zero(gap))

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        """The data files that were opened with the program."""
        with self._used as contents:
            return contents.external.files

    def whole(self) -> memoryview:
        """Return all bytes of the program, read-only, for an executor that parses them itself.

        Raises:
            ProgramError: the file cannot be read or became shorter, or the program is closed.
        """
        with self._used as contents:
            return contents.file.view(Extent(0, self.size_bytes), "")

    def loader(self) -> DataLoader:
        """Return a loader of the program's bytes, for an executor that parses them itself, in parts.

        The tables are the bytes that were verified. Segments are read when they are loaded, unless they were
        before, into memory that is freed with its last view. It works after `close`, too.

        Raises:
            ProgramError: the program is closed. `load` raises it if the file cannot be read, became shorter,
                or changed after the same bytes were read before.
        """
        with self._used as contents:
            return VerifiedLoader(contents.file, contents.tables.size_bytes, self._used.naming)

    def external_tensors(self, plan: ExecutionPlan) -> Mapping[str, memoryview]:
        """Return the data of the tensors of `plan` outside the program, by fully qualified name.

        Raises:
            MissingDataError: some are in none of the data files; the error lists all of these.
            MalformedProgramError: a data file has another type or shape for one of them.
        """
        with self._used as contents:
            return contents.external.tensors(plan)

    # --- lifetime ------------------------------------------------------------------------

    def close(self) -> None:
        """Drop the file's bytes. Closing twice does nothing."""
        self._used.contents = None
        self._plans = {}

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Use:
    """A context with the contents of a program, unless it is closed; errors name the file.

    It has no state of its own, so that threads may enter it at once.
    """

    __slots__ = ("contents", "naming")

    def __init__(self, contents: _Contents | None, named: naming) -> None:
        self.contents = contents
        self.naming = named

    def __enter__(self) -> _Contents:
        contents = self.contents
        if contents is None:
            with self.naming:
                raise unreadable("program-closed", "the program was closed", advice="open it again")
        return contents

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.naming.__exit__(kind, error, traceback)


def open_program(
    source: ProgramSource,
    *,
    data: DataSources = (),
    verification: Verification = Verification.InternalConsistency,
    limits: Limits = DEFAULT_LIMITS,
    load_mode: LoadMode = LoadMode.File,
    phase: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Program:
    """Open a .pte, or the program in a .bpte, and verify it.

    Args:
        source: The path of the file, its bytes, an open file, or a `DataLoader`.
        data: The data files (.ptd) with the tensors and blobs that lie outside the program.
        verification: When to verify the methods. Everything else is always verified here.
        limits: Bounds on the program.
        load_mode: Whether files are read or mapped. See `LoadMode` for the risk.
        phase: Returns a context, such as a timer, for a part of the work, from the part's name.

    Raises:
        ProgramError: a file cannot be read, is not a program or data file, or is malformed, or a key is
            stored twice. Whatever the files contain, no other exception is raised.
        ValueError: `load_mode` maps files, but the source is not a path.
    """
    path = os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else None
    with phase("read data files"):
        data_files = open_data_files(data, limits, load_mode)
    with naming(path):
        with phase("read file"):
            file = open_bytes(source, load_mode, limits)
        bundle = _read_bundle(file) if is_bundled(file) else None
    if bundle:
        file = file.within(bundle.program)
    with naming(path, bundle.program.start if bundle else 0), phase("verify tables"):
        check_is_program(file)
        header = read_header(file)
        contents = _read_contents(file, header, data_files)
    program = Program(path, verification, header, contents, bundle)
    if verification is Verification.InternalConsistency:
        for name in program.method_names:
            with phase(f"verify {name}"):
                program.plan(name)
    return program


def _read_bundle(file: Cursor) -> Bundle:
    from etconfig.program.bundled import read_bundle

    return read_bundle(file)


def _read_contents(file: Cursor, header: ExtendedHeader | None, data_files: Sequence[DataFile]) -> _Contents:
    """Read everything that does not belong to one method."""
    tables = file.first(header.program_size if header else file.size_bytes)
    position = tables.root()
    try:
        root = tables.table(position, program_tables.PROGRAM)
    except ProgramError as error:
        locate(error, "root", position)
        raise
    version, execution_plan, *_ = root
    try:
        payloads = read_payloads(tables, root, header, file.size_bytes)
        plan_tables = _read_plan_tables(tables, execution_plan)
    except ProgramError as error:
        locate(error, offset=position)
        raise
    external = ExternalData(data_files, payloads.named_data)
    named_data = {
        key: partial(file.apart, extent, "named_data") for key, extent in payloads.named_data.items()
    }
    outside = {key: blob.read for key, blob in external.blobs.items()}
    return _Contents(
        file=file,
        tables=tables,
        version=version,
        payloads=payloads,
        named_data=NamedData({**named_data, **outside}),
        external=external,
        plan_tables=plan_tables,
    )


def _read_plan_tables(tables: Cursor, position: int) -> Mapping[str, int]:
    tables.length(position, "execution_plan", tables.limits.max_methods, "max_methods")
    plan_tables: dict[str, int] = {}

    def read(table: int) -> None:
        name = tables.string(tables.table(table, program_tables.EXECUTION_PLAN)[0], "name")
        if name in plan_tables:
            raise malformed("duplicate-name", "name", f"another method is named {name!r}")
        plan_tables[name] = table

    tables.each(position, "execution_plan", read)
    return plan_tables


def _read_plan(contents: _Contents, name: str) -> ExecutionPlan:
    """Read one plan. A failure leaves the work budget as it was, so that the next try fails the same way."""
    tables, table = contents.tables, contents.plan_tables[name]
    work_left_bytes = tables.work_left_bytes
    try:
        return PlanReader(tables, contents.payloads).read(table)
    except ProgramError as error:
        tables.work_left_bytes = work_left_bytes
        locate(error, f"execution_plan[{list(contents.plan_tables).index(name)}]", table)
        raise


def _method_help(name: str, known: Collection[str]) -> str | None:
    method, of_instance, _ = name.partition("@")
    if of_instance and method in known:
        return f"name the method alone, {method!r}; its arguments name the instance"
    return did_you_mean(name, known)
