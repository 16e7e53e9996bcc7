"""`plan_memory`: the need of instances, read from their programs and declared by their backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from etconfig.base.records import record
from etconfig.errors import InvalidPayloadError, PluginCallError, UnreadableProgramError
from etconfig.memory.need import PARTS, MemoryAmount, MemoryNeed, MemoryOrigin
from etconfig.program.cursor import Extent
from etconfig.program.model import (
    BackendDelegate,
    DataLocation,
    DelegateCall,
    ExecutionPlan,
    SerializedTensor,
)
from etconfig.program.program import Program
from etconfig.program.program_errors import unreadable
from etconfig.program.shared_state import SHARED_MEMORY_IDS, shared_arena_sizes
from etconfig.program.source import APART_BYTES, FILE_BLOCK_BYTES
from etconfig.schema.delegate_memory import DelegateFacts, DelegateMemory
from etconfig.schema.guarded_calls import failing_as
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import BackendSpec

_Stored: TypeAlias = "BackendDelegate | SerializedTensor | str"
"""What a program stores: a payload, a constant, or named data by key."""


@record(frozen=True, kw_only=True)
class PlannedInstance:
    """An instance of a method that is to be loaded.

    Attributes:
        program: The program.
        method: The name of the method.
        label: The name of the instance in reports, such as `forward@left`.
        backends: The declarations and options of its backends, by id; of other backends, the memory
            is assumed.
        share_memory_arenas: True if the methods of the program share their arenas.
        kernel_bytes: The memory that the executor's kernels take.
        arena_bytes: The bytes that are used of each arena, by memory id; None for all that is planned.
        note: A sentence about what is not known of it.
    """

    program: Program
    method: str
    label: str
    backends: Mapping[str, tuple[BackendSpec, BackendOptions]]
    share_memory_arenas: bool = False
    kernel_bytes: int = 0
    arena_bytes: Sequence[int] | None = None
    note: str | None = None


@record(frozen=True, kw_only=True)
class PlannedModel:
    """A model in a file that an engine is to load.

    Attributes:
        path: The file.
        label: The name of the instance in reports.
        spec: The declaration of the backend.
        options: Its options.
    """

    path: Path
    label: str
    spec: BackendSpec
    options: BackendOptions


def plan_memory(instances: Iterable[PlannedInstance | PlannedModel]) -> MemoryNeed:
    """Return the memory that instances need together, in the order in which they are loaded.

    Raises:
        PluginCallError: a backend's `memory` failed, or returned something else.
        ProgramError: a program is malformed, or a file cannot be read.
    """
    loading = _Loading()
    for instance in instances:
        if isinstance(instance, PlannedModel):
            loading.load_model(instance)
        else:
            loading.load(instance)
    return loading.need()


class _Loading:
    """The memory in use while instances are loaded one after another."""

    def __init__(self) -> None:
        self._parts = dict.fromkeys(PARTS, MemoryAmount())
        self._holders: dict[str, MemoryAmount] = {}
        self._held = self._peak = self._running = MemoryAmount()
        self._names: dict[str, None] = {}
        self._seen: set[object] = set()
        self._workspaces: Counter[str] = Counter()
        self._notes: dict[str, None] = {}

    def load(self, instance: PlannedInstance) -> None:
        """Load one more instance."""
        program, plan = instance.program, instance.program.plan(instance.method)
        self._names[program.path or "program"] = None
        self._hold("constants", "constants", MemoryAmount(sum(self._new_constants(program, plan))))
        argument_bytes = _argument_bytes(plan)
        for index, delegate in enumerate(plan.delegates):
            self._init(instance, delegate, argument_bytes[index])
        shared = (0, *(SHARED_MEMORY_IDS if instance.share_memory_arenas else ()))  # 0 is reserved
        if instance.share_memory_arenas and self._is_new(program, "arenas"):
            sizes = shared_arena_sizes(map(program.plan, program.method_names))
            self._hold("arenas", "shared arenas", MemoryAmount(sum(sizes)), from_run=True)
        planned, used = (
            sum(size for at, size in enumerate(sizes) if at not in shared)
            for sizes in (plan.non_const_buffer_sizes, instance.arena_bytes or plan.non_const_buffer_sizes)
        )
        arenas = MemoryAmount(used, "read" if used == planned else "declared")
        self._hold("arenas", f"{instance.label}: arenas", arenas, from_run=True)
        kernels = MemoryAmount(instance.kernel_bytes, "declared")
        self._hold("kernels", f"{instance.label}: kernels", kernels, from_run=True)
        if instance.note is not None:
            self._notes[instance.note] = None
        copied = MemoryAmount(_copied_bytes(plan))
        self._hold("inputs", f"{instance.label}: inputs", copied, from_run=True)

    def load_model(self, model: PlannedModel) -> None:
        """Load the model of an engine."""
        path = model.path
        try:
            size_bytes = path.stat().st_size
            if not path.is_file():
                raise IsADirectoryError("it is not a regular file")
        except OSError as error:
            raise _unreadable(path, error) from error
        self._names[str(path)] = None

        def read() -> memoryview:
            try:
                return memoryview(path.read_bytes())
            except (OSError, MemoryError) as error:
                raise _unreadable(path, error) from error

        facts = DelegateFacts(payload_bytes=size_bytes, path=str(path), read=read)
        try:
            memory, origin = self._declared(model.spec.id, model.spec, model.options, facts)
        except PluginCallError as error:
            if isinstance(error.__cause__, InvalidPayloadError):  # the file is wrong, not the plugin
                raise _unreadable(path, error.__cause__.cause) from error
            raise
        self._make(model.label, model.spec.id, memory, origin, MemoryAmount())

    def need(self) -> MemoryNeed:
        """Return the need of all."""
        self._reach(self._held + self._running)
        in_order = sorted(self._holders.items(), key=lambda each: -each[1].size_bytes)
        return MemoryNeed(
            program=", ".join(self._names),
            **self._parts,
            peak=self._peak,
            holders={name: each for name, each in in_order if each.size_bytes},
            notes=tuple(self._notes),
        )

    def _hold(self, part: str, holder: str, amount: MemoryAmount, *, from_run: bool = False) -> None:
        """Add memory that stays; with `from_run`, it is taken when all are loaded and the first one runs."""
        self._parts[part] += amount
        self._holders[holder] = self._holders.get(holder, MemoryAmount()) + amount
        if from_run:
            self._running += amount
        else:
            self._held += amount
            self._reach(self._held)

    def _reach(self, amount: MemoryAmount) -> None:
        """Note that so much memory is in use now."""
        self._peak = max(self._peak, amount, key=lambda each: each.size_bytes)

    def _is_new(self, *key: object) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _new_constants(self, program: Program, plan: ExecutionPlan) -> Iterator[int]:
        yield self._read(program, Extent(0, program.table_bytes))
        tensors = (each for each in plan.values if isinstance(each, SerializedTensor) and each.is_constant)
        for tensor in () if program.has_inline_constants else tensors:
            yield self._stored(program, tensor, tensor.constant_key, tensor.size_bytes)

    def _stored(self, program: Program, data: _Stored, key: object, size_bytes: int) -> int:
        """Return the bytes that come into memory, and stay, when data are read that may lie in the file."""
        extent = program.extent(data)
        if extent is not None:
            return self._read(program, Extent(extent.start, size_bytes))
        return size_bytes if self._is_new(program, key) else 0

    def _read(self, program: Program, extent: Extent) -> int:
        """Return the bytes of the file that come into memory: whole blocks of it, unless it is small."""
        if program.size_bytes <= FILE_BLOCK_BYTES:
            return extent.size_bytes if self._is_new(program, "at", extent.start) else 0
        blocks = range(extent.start // FILE_BLOCK_BYTES, -(-extent.end // FILE_BLOCK_BYTES))
        new = [block for block in blocks if self._is_new(program, "block", block)]
        return sum(min(FILE_BLOCK_BYTES, program.size_bytes - block * FILE_BLOCK_BYTES) for block in new)

    def _init(self, instance: PlannedInstance, delegate: BackendDelegate, argument_bytes: int) -> None:
        """Load a delegate: its payload is read, its backend makes something of it, and may free it."""
        program = instance.program
        spec, options = instance.backends.get(delegate.id, (None, None))
        named = _named_sizes(program, delegate, spec)
        facts = DelegateFacts(
            payload_bytes=program.payload_size(delegate),
            named_data_bytes=sum(named.values()),
            argument_bytes=argument_bytes,
            read=partial(program.delegate_data, delegate),
            named_data=program.named_data,
        )
        memory, origin = self._declared(delegate.id, spec, options, facts)
        if memory.is_shared and not self._is_new(program, delegate.id, delegate.processed):
            memory = replace(memory, held_bytes=0, running_bytes=0, loading_bytes=0)
        kept, freed = self._payloads(program, delegate, named, keeps_all=memory.keeps_payload)
        self._make(instance.label, delegate.id, memory, origin, kept + freed)
        self._hold("payloads", f"{instance.label}: payloads", kept)
        self._parts["payloads"] += freed

    def _declared(
        self, backend: str, spec: BackendSpec | None, options: BackendOptions | None, facts: DelegateFacts
    ) -> tuple[DelegateMemory, MemoryOrigin]:
        if spec is None or spec.memory is None:
            note = f"nothing is known of the memory of {backend}: as much as its payloads is assumed"
            self._notes[note] = None
            return DelegateMemory(held_bytes=facts.stored_bytes), "assumed"
        with failing_as(spec.id, "memory", "return a DelegateMemory"):
            memory = spec.memory(options, facts)
            if not isinstance(memory, DelegateMemory):
                raise TypeError(f"it returned {memory!r}")
        return memory, "measured" if memory.is_measured else "declared"

    def _make(
        self, label: str, backend: str, memory: DelegateMemory, origin: MemoryOrigin, payload: MemoryAmount
    ) -> None:
        """Let a backend make something of a payload that was read for it."""
        made = MemoryAmount(memory.held_bytes, origin)
        self._reach(self._held + payload + made + MemoryAmount(memory.loading_bytes, origin))
        self._hold("backend", f"{label}: {backend}", made)
        self._hold(
            "backend", f"{label}: {backend}", MemoryAmount(memory.running_bytes, origin), from_run=True
        )
        more = max(0, memory.workspace_bytes - self._workspaces[backend])
        self._workspaces[backend] += more
        self._hold("backend", f"{backend}: workspace", MemoryAmount(more, origin), from_run=True)

    def _payloads(
        self, program: Program, delegate: BackendDelegate, named: Mapping[str, int], *, keeps_all: bool
    ) -> tuple[MemoryAmount, MemoryAmount]:
        """Return the bytes of a delegate's payload and data that are read and stay, and that are freed."""
        sizes: dict[_Stored, int] = dict(named.items())
        if delegate.processed.location is not DataLocation.INLINE:  # then it is in the tables, which stay
            sizes[delegate] = program.payload_size(delegate)
        kept = freed = 0
        for data, size in sizes.items():
            if size < APART_BYTES:
                kept += self._stored(program, data, data, size)
            elif not keeps_all:
                freed += size
            elif self._is_new(program, "apart", data if isinstance(data, str) else delegate.processed):
                kept += size
        return MemoryAmount(kept), MemoryAmount(freed)


def _unreadable(path: Path, cause: Exception | str) -> UnreadableProgramError:
    reason = getattr(cause, "strerror", None) or str(cause) or "there is too little memory"
    found = unreadable("unreadable-file", reason)
    found.path = str(path)
    return found


def _named_sizes(program: Program, delegate: BackendDelegate, spec: BackendSpec | None) -> dict[str, int]:
    """Return the sizes of the named data of a delegate."""
    if spec is None or spec.data_names is None or not program.named_data:
        return {}
    with failing_as(spec.id, "data_names", "return names"):
        names = {*spec.data_names(bytes(program.delegate_data(delegate)))}
    return {name: program.named_data_size(name) or 0 for name in names}


def _argument_bytes(plan: ExecutionPlan) -> Mapping[int, int]:
    """Return the bytes of the largest call of each delegate, by its index."""
    found: Counter[int] = Counter()
    for chain in plan.chains if plan.delegates else ():
        for call in chain.instructions:
            if isinstance(call, DelegateCall):
                size_bytes = sum(_size_bytes(plan, index) for index in set(call.args))
                found[call.delegate_index] = max(found[call.delegate_index], size_bytes)
    return found


def _copied_bytes(plan: ExecutionPlan) -> int:
    """Return the memory of inputs without planned memory, and of the outputs that a call returns."""
    tensors = (plan.values[index] for index in plan.inputs)
    inputs = (t.size_bytes for t in tensors if isinstance(t, SerializedTensor) and t.allocation_info is None)
    return sum(inputs) + sum(_size_bytes(plan, index) for index in plan.outputs)


def _size_bytes(plan: ExecutionPlan, index: int) -> int:
    value = plan.values[index] if index >= 0 else None
    return value.size_bytes if isinstance(value, SerializedTensor) else 0
