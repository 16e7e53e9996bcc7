"""`plan_memory`: the need of a program's instances, read from its plans and declared by its backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from etconfig.base.records import record
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginCallError
from etconfig.memory.need import MemoryAmount, MemoryHolder, MemoryNeed
from etconfig.program.model import (
    BackendDelegate,
    DataLocation,
    DelegateCall,
    ExecutionPlan,
    SerializedTensor,
)
from etconfig.program.program import Program
from etconfig.program.shared_state import SHARED_MEMORY_IDS
from etconfig.schema.delegate_memory import DelegateFacts, DelegateMemory
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import BackendSpec

_UNKNOWN = "nothing is known of the memory of {}: as much as its payloads is assumed"


@record(frozen=True, kw_only=True)
class PlannedInstance:
    """An instance of a method that is to be loaded.

    Attributes:
        method: The name of the method.
        label: The name of the instance in reports, such as `forward@left`.
        backends: The declarations and options of its backends, by id; of those that are left out, the memory
            is assumed.
    """

    method: str
    label: str
    backends: Mapping[str, tuple[BackendSpec, BackendOptions]]


def plan_memory(
    program: Program, instances: Iterable[PlannedInstance], *, share_memory_arenas: bool = False
) -> MemoryNeed:
    """Return the memory that the instances of a program need together.

    Args:
        program: The program.
        instances: The instances, in the order in which they are loaded.
        share_memory_arenas: True if the methods share their arenas.

    Raises:
        PluginCallError: a backend's `memory` failed, or returned something else.
        ProgramError: the program is malformed.
    """
    loading = _Loading(program, share_memory_arenas=share_memory_arenas)
    for instance in instances:
        loading.load(instance)
    return loading.need()


class _Loading:
    """The memory in use while instances are loaded one after another."""

    def __init__(self, program: Program, *, share_memory_arenas: bool) -> None:
        self._program = program
        self._share_memory_arenas = share_memory_arenas
        self._parts: dict[str, MemoryAmount] = {}
        self._holders: dict[str, MemoryAmount] = {}
        self._held = self._peak = MemoryAmount()
        self._constants: set[object] = set()
        self._shared: set[object] = set()
        self._notes: dict[str, None] = {}
        self._hold("constants", "constants", MemoryAmount(size_bytes=program.table_bytes))

    def load(self, instance: PlannedInstance) -> None:
        """Load one more instance, and run it."""
        plan = self._program.plan(instance.method)
        if not self._program.has_inline_constants:
            constants = MemoryAmount(size_bytes=sum(self._new_constants(plan)))
            self._hold("constants", "constants", constants)
        arguments = _argument_bytes(plan)
        for index, delegate in enumerate(plan.delegates):
            self._init(instance, delegate, arguments[index])
        for name, size_bytes in self._arenas(instance, plan):
            self._hold("arenas", name, MemoryAmount(size_bytes=size_bytes))
        self._hold("inputs", f"{instance.label}: inputs", _copied(plan))

    def need(self) -> MemoryNeed:
        """Return the need of all."""
        names = ("constants", "arenas", "payloads", "backend", "inputs")
        parts = {name: self._parts.get(name, MemoryAmount()) for name in names}
        in_order = sorted(self._holders.items(), key=lambda each: -each[1].size_bytes)
        holders = tuple(MemoryHolder(name, amount) for name, amount in in_order if amount.size_bytes)
        return MemoryNeed(
            program=self._program.path or "program",
            **parts,
            peak=self._peak,
            holders=holders,
            notes=tuple(self._notes),
        )

    def _hold(self, part: str, holder: str, amount: MemoryAmount) -> None:
        self._count(part, amount)
        self._keep(holder, amount)
        self._reach(self._held)

    def _count(self, part: str, amount: MemoryAmount) -> None:
        self._parts[part] = self._parts.get(part, MemoryAmount()) + amount

    def _keep(self, holder: str, amount: MemoryAmount) -> None:
        self._holders[holder] = self._holders.get(holder, MemoryAmount()) + amount
        self._held += amount

    def _reach(self, amount: MemoryAmount) -> None:
        """Note that so much memory is in use now."""
        self._peak = max(self._peak, amount, key=lambda each: each.size_bytes)

    def _new_constants(self, plan: ExecutionPlan) -> Iterator[int]:
        for value in plan.values:
            if not isinstance(value, SerializedTensor) or not value.is_constant:
                continue
            if value.constant_key not in self._constants:
                self._constants.add(value.constant_key)
                yield value.size_bytes

    def _init(self, instance: PlannedInstance, delegate: BackendDelegate, argument_bytes: int) -> None:
        """Load a delegate: its payload is read, its backend makes something of it, and may free it."""
        spec, options = instance.backends.get(delegate.id, (None, None))
        facts = _facts_of(self._program, delegate, spec, argument_bytes)
        # an inline payload is among the tables, which stay
        stored_bytes = facts.named_data_bytes
        stored_bytes += 0 if delegate.processed.location is DataLocation.INLINE else facts.payload_bytes
        payload = MemoryAmount(size_bytes=stored_bytes)
        memory = _declared(spec, options, facts)
        made, loading = _amounts(memory, facts)
        if memory is None:
            self._notes[_UNKNOWN.format(delegate.id)] = None
        elif memory.is_shared and (key := (delegate.id, delegate.processed)) in self._shared:
            made = loading = MemoryAmount()
        elif memory.is_shared:
            self._shared.add(key)
        self._count("payloads", payload)
        self._count("backend", made)
        self._reach(self._held + payload + made + loading)
        self._keep(f"{instance.label}: {delegate.id}", made)
        if memory is not None and memory.keeps_payload:
            self._keep(f"{instance.label}: payloads", payload)

    def _arenas(self, instance: PlannedInstance, plan: ExecutionPlan) -> Iterator[tuple[str, int]]:
        own = dict(enumerate(plan.non_const_buffer_sizes))
        own.pop(0, None)  # reserved
        if self._share_memory_arenas:
            for memory_id in SHARED_MEMORY_IDS:
                own.pop(memory_id, None)
            if "arenas" not in self._parts:
                yield "shared arenas", sum(self._largest(memory_id) for memory_id in SHARED_MEMORY_IDS)
        yield f"{instance.label}: arenas", sum(own.values())

    def _largest(self, memory_id: int) -> int:
        plans = map(self._program.plan, self._program.method_names)
        return max((sum(plan.non_const_buffer_sizes[memory_id : memory_id + 1]) for plan in plans), default=0)


def _facts_of(
    program: Program, delegate: BackendDelegate, spec: BackendSpec | None, argument_bytes: int
) -> DelegateFacts:
    read = partial(program.delegate_data, delegate)
    named: set[str] = set()
    if spec is not None and spec.data_names is not None and program.named_data:
        try:
            named = {*spec.data_names(bytes(read()))}
        except Exception as error:
            raise _call_error(spec, "data_names", error, "return names") from error
    return DelegateFacts(
        payload_bytes=program.payload_size(delegate),
        named_data_bytes=sum(program.named_data_size(name) or 0 for name in named),
        argument_bytes=argument_bytes,
        read=read,
        named_data=program.named_data,
    )


def _declared(
    spec: BackendSpec | None, options: BackendOptions | None, facts: DelegateFacts
) -> DelegateMemory | None:
    """Return what a backend declares; None if it declares nothing."""
    if spec is None or spec.memory is None:
        return None
    try:
        memory = spec.memory(options, facts)
        if not isinstance(memory, DelegateMemory):
            raise TypeError(f"it returned {memory!r}")
    except Exception as error:
        raise _call_error(spec, "memory", error, "return a DelegateMemory") from error
    return memory


def _call_error(spec: BackendSpec, call: str, error: Exception, help: str) -> PluginCallError:
    return PluginCallError(
        group="etconfig.backends", name=spec.id, call=call, cause=error_text(error), help=help
    )


def _amounts(memory: DelegateMemory | None, facts: DelegateFacts) -> tuple[MemoryAmount, MemoryAmount]:
    """Return what a backend holds, and what it takes further while it loads."""
    if memory is None:
        return MemoryAmount(size_bytes=facts.stored_bytes, origin="assumed", is_exact=False), MemoryAmount()
    origin = "measured" if memory.is_measured else "declared"
    held, loading = (
        MemoryAmount(size_bytes=each, origin=origin, is_exact=memory.is_exact)  # type: ignore[arg-type]
        for each in (memory.held_bytes, memory.loading_bytes)
    )
    return held, loading


def _argument_bytes(plan: ExecutionPlan) -> Mapping[int, int]:
    """Return the bytes of the largest call of each delegate, by its index."""
    found: Counter[int] = Counter()
    for chain in plan.chains if plan.delegates else ():
        for call in chain.instructions:
            if isinstance(call, DelegateCall):
                size_bytes = sum(_size_bytes(plan, index) for index in set(call.args))
                found[call.delegate_index] = max(found[call.delegate_index], size_bytes)
    return found


def _copied(plan: ExecutionPlan) -> MemoryAmount:
    """Return the memory of inputs without planned memory, and of the outputs that a call returns."""
    values = (plan.values[index] for index in plan.inputs)
    inputs = sum(
        value.size_bytes
        for value in values
        if isinstance(value, SerializedTensor) and value.allocation_info is None
    )
    return MemoryAmount(size_bytes=inputs + sum(_size_bytes(plan, index) for index in plan.outputs))


def _size_bytes(plan: ExecutionPlan, index: int) -> int:
    value = plan.values[index] if index >= 0 else None
    return value.size_bytes if isinstance(value, SerializedTensor) else 0
