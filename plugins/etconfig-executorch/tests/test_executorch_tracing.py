"""Traces of the real runtime: the same events as of the numpy executor, and the events of XNNPACK."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etconfig
from etconfig.errors import RuntimeFailedError
from etconfig.tracing import Event, RecordingTracer, chrome_trace

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

DATA = Path(__file__).parents[3] / "tests" / "data"
DIGITS = DATA / "digits" / "digits.pte"
IMAGE = np.load(DATA / "digits" / "digits.npz")["images"][:1]


def record(
    program: Any, inputs: list[Any], executor: str = "executorch", tracer: RecordingTracer | None = None
) -> RecordingTracer:
    """A recording of loading `forward` and executing it twice."""
    tracer = tracer or RecordingTracer()
    with (
        etconfig.load_program(program, executor=executor, tracer=tracer) as loaded,
        loaded.load_method("forward", tracer=tracer) as method,
    ):
        for _ in range(2):
            method.execute(inputs)
    return tracer


def identity(event: Event) -> tuple[object, ...]:
    return (event.kind, event.name, event.method, event.run, event.chain, event.instruction, event.debug_id)


def running(tracer: RecordingTracer) -> list[Event]:
    return [event for event in tracer.events if event.run is not None]


class TestSameEvents:
    """Both executors record the same runs of the same instructions."""

    def test_kernels_delegates_and_spans_of_backends_are_equal(self) -> None:
        ours, theirs = (record(DIGITS, [IMAGE], each) for each in ("numpy", "executorch"))
        assert [*map(identity, running(ours))] == [*map(identity, running(theirs))]

    def test_events_come_in_the_order_in_which_they_end(self) -> None:
        ends = [event.end_ns for event in record(DIGITS, [IMAGE]).events]
        assert ends == sorted(ends)

    def test_parts_lie_within_the_whole(self) -> None:
        events = running(record(DIGITS, [IMAGE]))
        whole = {event.run: event for event in events if event.kind == "method"}
        delegates = {(e.run, e.instruction): e for e in events if e.kind == "delegate"}
        for event in events:
            outer = delegates[event.run, event.instruction] if event.kind == "backend" else whole[event.run]
            assert outer.start_ns <= event.start_ns <= event.end_ns <= outer.end_ns

    def test_loading_is_recorded(self) -> None:
        loading = {(e.kind, e.name) for e in record(DIGITS, [IMAGE]).events if e.run is None}
        inits = {("phase", f"init Reference{kind}Backend") for kind in ("Npu", "Cpu")}
        assert {
            ("load", "forward"),
            ("phase", "Method::init"),
            ("phase", "verify forward"),
            *inits,
        } <= loading

    def test_instances_have_events_of_their_own(self) -> None:
        tracer = RecordingTracer()
        program = etconfig.load_program(DIGITS, executor="executorch")
        config = etconfig.resolve(program, instances={"forward": ["left", "right"]})
        for instance in ("left", "right"):
            program.load_method("forward", config.arguments("forward", instance), tracer=tracer).execute(
                [IMAGE]
            )
        methods = Counter(event.method for event in running(tracer))
        assert set(methods) == {"forward@left", "forward@right"}
        assert len({event.run for event in running(tracer)}) == 2


class TestXnnpack:
    """XNNPACK reports the time of each of its operators."""

    def test_its_operators_are_parts_of_the_delegate_call(self, large_program: tuple[Path, Path]) -> None:
        path, arrays = large_program
        events = running(record(path, [np.load(arrays)["x"]]))
        spans = [event for event in events if event.kind == "backend"]
        assert len(spans) == 2 * 8  # linear layers
        assert all(event.name.startswith("Fully Connected") for event in spans)
        assert {(event.chain, event.instruction) for event in spans} == {(0, 0)}
        (delegate,) = [event for event in events if event.kind == "delegate" and event.run == 0]
        spent_ns = sum(event.duration_ns for event in spans if event.run == 0)
        assert delegate.name == "XnnpackBackend"
        assert 0 < spent_ns <= delegate.duration_ns + 8_000  # XNNPACK counts whole microseconds

    def test_the_inspector_shows_them(self, large_program: tuple[Path, Path], tmp_path: Path) -> None:
        from executorch.devtools import Inspector

        path, arrays = large_program
        np.save(tmp_path / "x.npy", np.load(arrays)["x"])
        run = (sys.executable, "-m", "etconfig", "run", path, "--input", "x.npy", "--repeat", "3")
        for name in ("trace.etdp", "trace.json"):
            options = ("--executor", "executorch", "--trace", name)
            subprocess.run([*run, *options], check=True, cwd=tmp_path, capture_output=True)
        (block,) = [
            each
            for each in Inspector(etdump_path=str(tmp_path / "trace.etdp")).event_blocks
            if each.name == "Execute"
        ]
        names = [event.name for event in block.events]
        assert names[-2:] == ["DELEGATE_CALL", "Method::execute"]
        assert all(name.startswith("Fully Connected") for name in names[:-2])
        assert all(len(event.perf_data.raw) == 3 for event in block.events)
        in_chrome = Counter(
            event["name"] for event in json.loads((tmp_path / "trace.json").read_bytes())["traceEvents"]
        )
        assert in_chrome["XnnpackBackend"] == 3

    def test_bench_shows_the_table(self, large_program: tuple[Path, Path], tmp_path: Path) -> None:
        command = (sys.executable, "-m", "etconfig", "bench", large_program[0], "--executor", "executorch")
        done = subprocess.run(
            [*command, "--pairs", "6", "--json"], check=True, cwd=tmp_path, capture_output=True, text=True
        )
        rows = json.loads(done.stdout)["instructions"]
        assert {"XnnpackBackend #0", "between instructions"} <= {row["name"] for row in rows}


class TestLimits:
    """Lost events are counted, failures are recorded, and nothing stays behind."""

    @pytest.mark.parametrize("max_events", [0, 5, 12, 20])
    def test_lost_events_are_counted(self, max_events: int) -> None:
        complete = len(record(DIGITS, [IMAGE]).events)
        tracer = record(DIGITS, [IMAGE], tracer=RecordingTracer(max_events))
        assert len(tracer.events) == max_events
        assert tracer.dropped + max_events == pytest.approx(
            complete, abs=8
        )  # the runtime's own are counted, too

    def test_an_execute_that_fails_ends_its_event(self) -> None:
        tracer = RecordingTracer()
        program = etconfig.load_program(DATA / "programs" / "add.pte", executor="executorch")
        method = program.load_method("forward", tracer=tracer)
        method._runnable._native = _Failing()  # type: ignore[union-attr]
        with pytest.raises(RuntimeFailedError):
            method.execute([np.ones(3, np.float32), np.ones(3, np.float32)])
        assert running(tracer)[-1].kind == "method"

    @pytest.mark.parametrize("limits", [{}, {"timeout": 100}])
    def test_an_execute_that_fails_is_recorded_once(
        self, limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("no power")

        monkeypatch.setattr("etconfig_reference.npu.ReferenceNpuBackend.execute", fail)
        tracer = RecordingTracer()
        program = etconfig.load_program(DIGITS, executor="executorch")
        method = program.load_method("forward", tracer=tracer)
        with pytest.raises(etconfig.EtconfigError, match="no power"):
            method.execute([IMAGE], **limits)
        assert [each.kind for each in running(tracer)].count("method") == 1

    def test_a_method_is_freed_with_its_trace(self) -> None:
        tracer = RecordingTracer()
        program = etconfig.load_program(DIGITS, executor="executorch")
        method = program.load_method("forward", tracer=tracer)
        trace = weakref.ref(method._runnable._trace)  # type: ignore[union-attr]
        method.close()
        del method
        gc.collect()
        assert trace() is None

    def test_a_chrome_trace_has_all(self) -> None:
        tracer = record(DIGITS, [IMAGE])
        events = [e for e in json.loads(chrome_trace(tracer))["traceEvents"] if e["ph"] == "X"]
        assert len(events) == len(tracer.events)


class _Failing:
    def execute(self, inputs: object) -> object:
        from etconfig_executorch.native import native

        error = native.RuntimeCallError("execute: Internal")
        error.code, error.code_name, error.log = 1, "Internal", []
        raise error
