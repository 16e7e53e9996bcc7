"""`plan_memory`: the need of instances, compared with a timeline that knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from npu import NpuOptions

from etconfig.errors import PluginCallError
from etconfig.memory import planning
from etconfig.memory.planning import PlannedInstance, plan_memory
from etconfig.program.model import DataLocation, SerializedTensor
from etconfig.program.program import Program, open_program
from etconfig.schema.delegate_memory import DelegateFacts, DelegateMemory
from etconfig.schema.spec import ApiRange, BackendSpec

DATA = Path(__file__).parents[2] / "data"
PROGRAMS = sorted(
    each for name in ("programs", "digits", "shared_state") for each in (DATA / name).glob("*.pte")
)


class Case(NamedTuple):
    """A declaration of a backend, by its numbers, and the instances of each method."""

    held: int
    loading: int
    keeps_payload: bool
    is_shared: bool
    copies: int
    workspace: int = 0
    running: int = 0
    kernels: int = 0
    freed_from: int = 10_000


CASES = [
    Case(*each)
    for each in product(
        *((0, 1000), (0, 70_000), (False, True), (False, True), (1, 3)),
        *((0, 500), (0, 700), (0, 300), (0, 10_000, 1 << 20)),
    )
]


def spec_of(backend: str, case: Case) -> BackendSpec:
    def memory(options: NpuOptions, delegate: DelegateFacts) -> DelegateMemory:
        assert options.core == 1
        assert len(delegate.read()) == delegate.payload_bytes
        return DelegateMemory(
            held_bytes=case.held,
            running_bytes=case.running,
            workspace_bytes=case.workspace,
            loading_bytes=case.loading,
            keeps_payload=case.keeps_payload,
            is_shared=case.is_shared,
        )

    return BackendSpec(id=backend, doc="x", options=NpuOptions, api=ApiRange(1, 1), memory=memory)


def instances_of(program: Program, case: Case) -> list[PlannedInstance]:
    options = NpuOptions(core=1, threads=1)
    return [
        PlannedInstance(
            program=program,
            method=name,
            label=f"{name}@{number}",
            backends={each.id: (spec_of(each.id, case), options) for each in program.plan(name).delegates},
            kernel_bytes=case.kernels,
        )
        for name in program.method_names
        for number in range(case.copies)
    ]


def timeline(program: Program, case: Case) -> Iterator[int]:
    """Yield what is taken (positive) and returned (negative) while the instances are loaded, and then run."""
    running = []
    yield program.header.program_size if program.header else program.size_bytes
    seen: set[Any] = set()
    for name in program.method_names:
        plan = program.plan(name)
        tensors = [each for each in plan.values if isinstance(each, SerializedTensor)]
        for _ in range(case.copies):
            for each in tensors:
                is_stored = (each.data_buffer_idx or each.external) and each.allocation_info is None
                key = (each.external, each.fully_qualified_name if each.external else each.data_buffer_idx)
                if is_stored and key not in seen:
                    yield 0 if is_inline(program) else each.size_bytes
                    seen.add(key)
            for delegate in plan.delegates:
                size = len(program.delegate_data(delegate))
                size = size if delegate.processed.location is DataLocation.SEGMENT else 0
                is_kept = case.keeps_payload or size < case.freed_from
                payload = ("payload", delegate.processed)
                size = 0 if is_kept and payload in seen else size
                is_there = case.is_shared and delegate.processed in seen
                seen.add(delegate.processed)
                yield size
                running += [0 if delegate.id in seen else case.workspace, 0 if is_there else case.running]
                seen.add(delegate.id)
                if not is_there:
                    yield from (case.held, case.loading, -case.loading)
                if is_kept:
                    seen.add(payload)
                else:
                    yield -size
            inputs = [plan.values[i] for i in plan.inputs if plan.values[i] in tensors]
            outputs = [plan.values[i] for i in plan.outputs if plan.values[i] in tensors]
            copied = [*(each for each in inputs if each.allocation_info is None), *outputs]
            running += [case.kernels, sum(plan.non_const_buffer_sizes[1:])]
            running += [each.size_bytes for each in copied]
    yield from running


def has_delegates(program: Program) -> bool:
    return any(program.plan(name).delegates for name in program.method_names)


def is_inline(program: Program) -> bool:
    """Return True for the programs of the corpus that were exported with their constants in the tables."""
    return Path(program.path or "").name in ("linear_inline_constants.pte",)


def test_the_peak_is_that_of_a_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = []
    for path in PROGRAMS:
        with open_program(path) as program:
            for case in CASES if has_delegates(program) else CASES[:2]:
                monkeypatch.setattr(planning, "APART_BYTES", case.freed_from)
                need = plan_memory(instances_of(program, case))
                expected = max(accumulate(timeline(program, case)))
                if need.peak.size_bytes != expected:
                    wrong.append((path.name, case, need.peak.size_bytes, expected))
    assert wrong == []


def test_shared_arenas_count_once() -> None:
    with open_program(DATA / "shared_state" / "shared_named.pte") as program:
        instances = instances_of(program, Case(0, 0, False, False, 2))
        apart = plan_memory(instances).arenas.size_bytes
        shared = [replace(each, share_memory_arenas=True) for each in instances]
        together = plan_memory(shared).arenas.size_bytes
        sizes = [program.plan(name).non_const_buffer_sizes[1:] for name in program.method_names]
    assert apart == 2 * sum(map(sum, sizes))
    assert together == sum(max(each) for each in zip(*sizes, strict=True))


def test_a_backend_of_which_nothing_is_known_takes_as_much_as_its_payload() -> None:
    with open_program(DATA / "digits" / "digits_xnnpack.pte") as program:
        payloads = sum(program.payload_size(each) for each in program.plan("forward").delegates)
        alone = PlannedInstance(program=program, method="forward", label="forward", backends={})
        need = plan_memory([alone])
    assert (need.backend.size_bytes, need.backend.origin, need.backend.certainty) == (
        payloads,
        "assumed",
        "estimate",
    )
    assert need.peak.origin == "assumed"
    (note,) = need.notes
    assert note == "nothing is known of the memory of XnnpackBackend: as much as its payloads is assumed"
    assert (need.arenas.origin, need.arenas.certainty) == ("read", "exact")


def test_an_answer_that_is_not_a_declaration_is_the_fault_of_the_plugin() -> None:
    options = NpuOptions(core=1, threads=1)

    def refused(memory: Any) -> str:
        spec = replace(spec_of("XnnpackBackend", CASES[0]), memory=memory)
        backends = {"XnnpackBackend": (spec, options)}
        with (
            open_program(DATA / "digits" / "digits_xnnpack.pte") as program,
            pytest.raises(PluginCallError) as caught,
        ):
            plan_memory(
                [PlannedInstance(program=program, method="forward", label="forward", backends=backends)]
            )
        return caught.value.message

    call = "memory of plugin 'XnnpackBackend' (etconfig.backends) failed:"
    assert refused(lambda options, delegate: 7) == f"{call} TypeError: it returned 7"
    assert refused(lambda options, delegate: DelegateMemory(held_bytes=-1)).startswith(
        f"{call} ValueError: DelegateMemory(held_bytes=-1"
    )
