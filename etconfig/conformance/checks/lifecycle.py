"""Checks of handles: each is initialized, used and destroyed once, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from etconfig.backend import Backend, ExecuteContext, InitContext, Processed, Value
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.fault_injector import ARGUMENTS, FaultInjector
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError, suggesting
from etconfig.conformance.process.output_watch import watch_output
from etconfig.conformance.process.process_resources import ProcessResources
from etconfig.conformance.subject.changed_payload import refuses_part
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.loaded_peer import LoadedPeer
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics.escape import shorten
from etconfig.errors import DelegateError, MethodClosedError

_REFUSALS = 5
"""The number of refusals, to distinguish leaks of each refusal from unrelated changes."""


@check("order", level=1, rests_on=("answers",), prevents="handles that depend on each other")
def order(subject: Subject) -> None:
    """A method can be closed without a run, and two open methods can run and close in any order."""
    case = subject.simplest
    subject.load(case).close()
    with (
        LoadedPeer(subject, case, "the older of two methods") as older,
        LoadedPeer(subject, case, "the newer of two methods") as newer,
    ):
        newer.answer_all("before the older one ran")
        older.answer_all("after the newer one ran")
        older.method.close()
        newer.answer_all("after the older one was closed")


@check(
    "prints-nothing",
    level=2,
    rests_on=("answers",),
    since="1.1",
    prevents="backends that spoil what an application writes to standard output",
)
def prints_nothing(subject: Subject) -> None:
    """Nothing is printed on standard output while a method is loaded, runs, and is closed."""
    case = subject.simplest
    with watch_output() as printed, LoadedPeer(subject, case, "the method") as peer:
        peer.answer_all("while its output was watched")
    if printed != [""]:
        text = shorten(repr(printed[0]), 200)
        raise CheckFailedError(f"{case.name}: the backend prints {text}; use a logger, or standard error")


class _HandleCounter(FaultInjector):
    """Records the handles that are made and destroyed, including handles that the backend destroys itself."""

    def __init__(self, made: list[Any], destroyed: list[Any]) -> None:
        super().__init__(ARGUMENTS)
        self._made = made
        self._destroyed = destroyed

    def around(self, inner: Backend[Any, Any]) -> Interposer:
        destroy = inner.destroy

        def counted(handle: Any) -> None:
            self._destroyed.append(handle)
            destroy(handle)

        vars(inner)["destroy"] = counted
        return super().around(inner)

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        self._made.append(handle)
        return handle


@check("destroy-once", level=1, rests_on=("answers",), prevents="double frees")
def destroy_once(subject: Subject) -> None:
    """Every load has its own handle, which is destroyed once, even after a failed execute."""
    case = subject.simplest
    made: list[Any] = []
    destroyed: list[Any] = []
    first, second = _HandleCounter(made, destroyed), _HandleCounter(made, destroyed)
    with subject.load(case, through=first) as method, subject.load(case, through=second) as other:
        subject.check_runs(other, case)
        first.error = RuntimeError("a fault injected by the conformance kit")
        with suppress(DelegateError):
            method.execute(case.inputs())
        first.error = None
        subject.check_runs(method, case)
    # None has no identity, and numbers may be indices into a table of each backend
    objects = [handle for handle in made if handle is not None and not isinstance(handle, int)]
    for handle in objects:
        what = f"{case.name}: the {type(handle).__name__} that init returned"
        if sum(each is handle for each in objects) > 1:
            raise CheckFailedError(f"{what} serves two delegates at once; make a new handle in each init")
        times = sum(each is handle for each in destroyed)
        if times != 1:
            raise CheckFailedError(
                f"{what} was destroyed {times} times, expected once; leave the call of destroy to the core"
            )


@check(
    "failed-init",
    level=1,
    rests_on=("answers",),
    isolated=True,
    prevents="leaks, and backends that stop working after one bad program",
)
def failed_init(subject: Subject) -> None:
    """An init that refuses its payload leaves no threads and files behind, and the next one works."""
    case = subject.simplest
    subject.check_case(case)
    refused = False
    for share in (0.5, 0):
        resources = ProcessResources()
        if all(refuses_part(subject, case, share) for _ in range(_REFUSALS)):
            refused = True
            what = f"init refused {share:.0%} of the payload of {case.name} {_REFUSALS} times"
            resources.check_unchanged(_REFUSALS, what, "init must release what it acquired before it raises")
        subject.check_case(case)
    if not refused:
        raise NotApplicableError(f"init of {subject.backend_id} refuses no payload, not even an empty one")


@check("reinit", level=1, rests_on=("answers",), prevents="state that survives from one load to the next")
def reinit(subject: Subject) -> None:
    """A payload can be loaded again after its method was closed, and gives the same answers."""
    case = subject.simplest
    with subject.open(case) as program:
        for attempt in ("first", "second", "third"):
            with (
                suggesting("let no state of a method outlive its handle", where=f"at the {attempt} load"),
                subject.load_from(program, case.method) as method,
            ):
                subject.check_runs(method, case)


class _LastCall(Interposer):
    """Keeps the arguments of the last execute."""

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        super().execute(context, handle, args)
        self.last = context, handle, args


@check(
    "use-after-destroy",
    level=1,
    rests_on=("aliasing",),
    isolated=True,
    prevents="crashes from destroyed handles",
)
def use_after_destroy(subject: Subject) -> None:
    """A closed method refuses to run; a backend with a destroyed handle raises or gives right answers."""
    case = subject.simplest
    last_call = None if subject.is_native else _LastCall()
    method = subject.load(case, through=last_call)
    subject.check_runs(method, case)
    method.close()
    try:
        method.execute(case.inputs())
    except MethodClosedError:
        pass
    else:
        raise CheckFailedError(f"{case.name}: a closed method ran; expected MethodClosedError")
    if last_call is not None:
        _use_destroyed(subject, case, last_call)


def _use_destroyed(subject: Subject, case: DelegatedCase, last_call: _LastCall) -> None:
    context, handle, args = last_call.last
    run = case.runs()[-1]
    outputs = args[len(args) - len(run.outputs) :]
    for output in outputs:
        np.asarray(output)[...] = 0
    try:
        last_call.inner.execute(context, handle, args)
    except Exception:
        return  # refused, as it should be; a crash would end the process of this check
    try:
        subject.check_outputs(case, run, outputs)
    except CheckFailedError as error:
        raise CheckFailedError(
            f"execute returned with a destroyed handle, but {error}; raise an error instead"
        ) from None
