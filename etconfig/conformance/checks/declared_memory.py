"""The check of `BackendSpec.memory`: what is declared is close to what loaded methods take."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from etconfig.app.configuring.configuration import resolve_defaults
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.base.number_text import format_bytes
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.process.process_resources import resident_bytes
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import PluginCallError
from etconfig.memory.need import MemoryNeed
from etconfig.memory.planning import PlannedInstance, plan_memory

_INSTANCES = 16
"""The methods that are open together, so that small programs stand out from the noise of the allocator."""
_FACTOR, _SLACK_BYTES = 2, 16 << 20


@check(
    "memory-declared",
    level=3,
    rests_on=("answers",),
    prevents="programs that are said to fit, and do not",
    since="1.1",
    isolated=True,
    timeout_seconds=120.0,
)
def memory_declared(subject: Subject) -> None:
    """`memory` answers for every golden program, equally each time, and within a factor of 2, plus 16 MiB, of
    what 16 open methods take. Only Linux reports that.
    """
    if subject.spec.memory is None:
        raise NotApplicableError(f"{subject.backend_id} does not declare its memory")
    for case in subject.cases():
        with subject.open(case) as program:
            needs = [_need(subject, program, count) for count in (1, 1, 2, 3)]
        sizes = [each.backend.size_bytes for each in needs]
        if sizes[0] != sizes[1] or sizes != sorted(sizes):
            raise CheckFailedError(
                f"{case.name}: memory declares {', '.join(map(str, sizes))} bytes for 1, again 1, 2 and 3 "
                "instances; compute it from the options and the delegate alone"
            )
    if sys.platform == "linux":
        _compare(subject, subject.simplest)


def _need(subject: Subject, program: LoadedProgram, count: int) -> MemoryNeed:
    try:
        return plan_memory(_instances(subject, program, count))
    except PluginCallError as error:
        raise CheckFailedError(error.message) from error


def _instances(subject: Subject, program: LoadedProgram, count: int) -> Iterator[PlannedInstance]:
    for method in program.method_names:
        arguments = resolve_defaults(program, method, facts=subject.facts)
        backends = {name: (each.spec, each.options) for name, each in arguments.backends.items()}
        for number in range(count):
            label = f"{method}@{number}"
            yield PlannedInstance(program=program.program, method=method, label=label, backends=backends)


def _compare(subject: Subject, case: DelegatedCase) -> None:
    """Compare the declared memory of open methods with the growth of the process."""
    with subject.open(case) as program, ExitStack() as methods:
        need = _need(subject, program, _INSTANCES)
        with subject.load_from(program, case.method) as method:  # libraries are not declared
            subject.check_runs(method, case)
        gc.collect()
        before = resident_bytes()
        for _ in range(_INSTANCES):
            subject.check_runs(methods.enter_context(subject.load_from(program, case.method)), case)
        taken = resident_bytes() - before
    declared = sum(each.size_bytes for each in need.holders.values())
    if not (taken <= _FACTOR * declared + _SLACK_BYTES and declared <= _FACTOR * taken + _SLACK_BYTES):
        raise CheckFailedError(
            f"{case.name}: {_INSTANCES} open methods take {format_bytes(taken)}, and memory declares "
            f"{format_bytes(declared)}; measure one, and declare what init and execute keep"
        )
