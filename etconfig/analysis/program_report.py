"""`ProgramReport`: the contents of a program and its needs, as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from etconfig.analysis.plain import describe_value, plain_data
from etconfig.base.number_text import format_bytes
from etconfig.base.records import record
from etconfig.program.memory_plan import MemoryPlan
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text
from etconfig.schema.payload_description import PayloadDescription


@record(frozen=True, kw_only=True)
class ConstantsReport:
    """The constants that tensors refer to, each counted once.

    Attributes:
        count: The number of constant tensors.
        size_bytes: The bytes of all of them.
        dtypes: The number of tensors by element type, such as `{"float32": 10}`.
        shared: The number of tensors that several methods use.
    """

    count: int
    size_bytes: int
    dtypes: Mapping[str, int]
    shared: int


@record(frozen=True, kw_only=True)
class NamedDataReport:
    """Bytes that a program stores under a key, usually for its delegates."""

    key: str
    size_bytes: int


@record(frozen=True, kw_only=True)
class DataFileReport:
    """A data file (.ptd) that was opened with the program.

    Attributes:
        path: Its path, or None if it was given as bytes.
        size_bytes: The size of the file.
        keys: The number of entries in it.
    """

    path: str | None
    size_bytes: int
    keys: int


@record(frozen=True, kw_only=True)
class UnclaimedBytes:
    """A range of the file that nothing refers to, apart from zeros that only align.

    Attributes:
        offset: The position of the first byte in the file.
        size_bytes: The number of bytes.
    """

    offset: int
    size_bytes: int


@record(frozen=True, kw_only=True)
class AttributeReport:
    """A mutable buffer with a name.

    Attributes:
        name: Its name.
        tensor: Its element type and shape, such as `float32 [3]`.
    """

    name: str
    tensor: str


@record(frozen=True, kw_only=True)
class CompileSpecReport:
    """A compile spec of a delegate.

    Attributes:
        key: Its key.
        size_bytes: The size of its value.
        text: The value if its backend declares it as a number or truth value, or if it is short, printable
            text; else None.
    """

    key: str
    size_bytes: int
    text: str | None


@record(frozen=True, kw_only=True)
class DelegateReport:
    """A delegate of a method.

    Attributes:
        backend: The id of its backend.
        installed: True if an installed plugin declares the backend.
        calls: The number of instructions that call it.
        payload_bytes: The size of its payload.
        stored: The part of the file that contains the payload: `inline` or `segment`.
        compile_specs: Its compile specs.
        payload: The contents and the needs of its payload, as its backend's plugin describes them, or None.
        payload_problem: Why the plugin could not describe it; None if it did, or describes no payloads.
    """

    backend: str
    installed: bool
    calls: int
    payload_bytes: int
    stored: str
    compile_specs: tuple[CompileSpecReport, ...]
    payload: PayloadDescription | None
    payload_problem: str | None


@record(frozen=True, kw_only=True)
class ExternalTensorReport:
    """A tensor whose data are in a data file.

    Attributes:
        key: Its key in the file.
        tensor: Its element type and shape, such as `float32 [4, 4]`.
        file: The data file that contains it, or None if no opened file does.
    """

    key: str | None
    tensor: str
    file: str | None


@record(frozen=True, kw_only=True)
class RunObstacle:
    """A reason why the executor cannot run a method here.

    Attributes:
        what: What is missing: an operator, a backend or the data of a tensor.
        why: Why it is missing.
        help: What to do about it, or None.
    """

    what: str
    why: str
    help: str | None


@record(frozen=True, kw_only=True)
class MethodReport(HasView):
    """A method of a program.

    Attributes:
        name: Its name.
        inputs: The types and shapes of its inputs, such as `float32 [1, 8]`.
        outputs: The types and shapes of its outputs.
        attributes: Its mutable buffers with names.
        instructions: The number of instructions in all chains.
        operators: The number of calls by operator, such as `{"aten::add.out": 2}`.
        missing_operators: The operators that the executor has no kernel for.
        kernel_sources: For each operator that the built-in executor has a kernel for, the distribution
            that it is from; empty for other executors.
        delegates: Its delegates.
        external_tensors: The tensors whose data are in data files.
        planned_memory_bytes: The sizes of its arenas, from memory 1 on.
        memory_plan: The place and the lifetime of each planned tensor.
        obstacles: Why the executor cannot run it here; empty if it can.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[AttributeReport, ...]
    instructions: int
    operators: Mapping[str, int]
    missing_operators: tuple[str, ...]
    kernel_sources: Mapping[str, str]
    delegates: tuple[DelegateReport, ...]
    external_tensors: tuple[ExternalTensorReport, ...]
    planned_memory_bytes: tuple[int, ...]
    memory_plan: MemoryPlan
    obstacles: tuple[RunObstacle, ...]

    @property
    def payload_lines(self) -> tuple[str, ...]:
        """The descriptions of payloads, as lines."""
        return tuple(
            f"payload of {each.backend} #{index}: {line}"
            for index, each in enumerate(self.delegates)
            for line in filter(None, _described(each))
        )

    def _view(self) -> View:
        calls = [*self.operators.items(), *((each.backend, each.calls) for each in self.delegates)]
        table = Table(headers=("OPERATOR OR BACKEND", "CALLS"), rows=calls)
        title = f"{self.name}, {count_text(self.instructions, 'instruction')}"
        return View(title=title, lines=self.payload_lines, tables=(table,))

    def to_jsonable(self) -> dict[str, Any]:
        """The report as plain data; `memory` has the arenas of the memory plan."""
        data: dict[str, Any] = {}
        for field in fields(self):
            if field.name == "memory_plan":
                arenas = self.memory_plan.arena_bytes
                data["memory"] = [_arena_jsonable(self.memory_plan, memory_id) for memory_id in arenas]
            else:
                data[field.name] = plain_data(getattr(self, field.name))
        return data


@record(frozen=True, kw_only=True)
class SharedStateReport:
    """A mutable buffer that several methods share if the program is loaded with shared arenas.

    Attributes:
        name: Its name, or its place if the program names no buffers.
        methods: The methods that use it.
    """

    name: str
    methods: tuple[str, ...]


@record(frozen=True, kw_only=True)
class ProgramReport(HasView):
    """The contents of a program, and what it needs to run here.

    Attributes:
        path: Its path, or None if it was opened from bytes.
        executor: The name of the executor that the methods were checked for.
        size_bytes: The size of the file.
        version: The version of the format.
        constant_bytes: The size of the stored constants.
        constants: The constants that tensors refer to.
        named_data: The data that are stored under keys, in the order of the keys.
        data_files: The data files that were opened with it.
        segments: The sizes of its segments in bytes.
        unclaimed: The ranges of the file that nothing refers to.
        shared_state: The state that methods share if the program is loaded with `share_memory_arenas=True`.
        methods: Its methods, in the order of the file.
    """

    path: str | None
    executor: str
    size_bytes: int
    version: int
    constant_bytes: int
    constants: ConstantsReport
    named_data: tuple[NamedDataReport, ...]
    data_files: tuple[DataFileReport, ...]
    segments: tuple[int, ...]
    unclaimed: tuple[UnclaimedBytes, ...]
    shared_state: tuple[SharedStateReport, ...]
    methods: tuple[MethodReport, ...]

    def _view(self) -> View:
        sizes = f"{format_bytes(self.size_bytes)}, constants {format_bytes(self.constant_bytes)}"
        rows = [
            (
                each.name,
                ", ".join(each.inputs),
                ", ".join(each.outputs),
                ", ".join(dict.fromkeys(delegate.backend for delegate in each.delegates)),
                format_bytes(sum(each.planned_memory_bytes)),
            )
            for each in self.methods
        ]
        table = Table(headers=("METHOD", "INPUTS", "OUTPUTS", "DELEGATES", "PLANNED MEMORY"), rows=rows)
        return View(
            title=self.path or "program in memory",
            lines=[f"{sizes}, {count_text(len(self.segments), 'segment')}"],
            tables=(table,),
        )

    def to_jsonable(self) -> dict[str, Any]:
        """The report as plain data, as `etconfig inspect --json` prints it."""
        data = {
            field.name: plain_data(getattr(self, field.name))
            for field in fields(self)
            if field.name != "methods"
        }
        return {**data, "methods": [method.to_jsonable() for method in self.methods]}


def _described(delegate: DelegateReport) -> Iterator[str]:
    payload = PayloadDescription() if delegate.payload is None else delegate.payload
    yield delegate.payload_problem or ""
    yield ", ".join(f"{count} {name}" for name, count in payload.operators.items())
    yield "" if payload.target is None else f"compiled for {payload.target}"
    yield "" if payload.sdk_version is None else f"made by {payload.sdk_version}"
    compiled_for = f"it is compiled for {payload.target}"  # shown already
    yield from (need.reason for need in payload.needs if not compiled_for.startswith(need.reason))
    yield from payload.notes


def _arena_jsonable(memory: MemoryPlan, memory_id: int) -> dict[str, Any]:
    peak_use, mean_use = memory.use(memory_id)
    return {
        "memory_id": memory_id,
        "size_bytes": memory.arena_bytes[memory_id],
        "peak_use": peak_use,
        "mean_use": mean_use,
        "tensors": [
            {
                "value": each.value,
                "tensor": describe_value(each.tensor),
                "role": each.role,
                "offset": each.offset,
                "size_bytes": each.size_bytes,
                "first_instruction": each.first,
                "last_instruction": each.last,
            }
            for each in memory.of_arena(memory_id)
        ],
    }
