"""`etconfig run --trace`: a file with the events of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome, error

from etconfig.tracing import RecordingTracer

RUN = ("run", "model.pte", "--input", "x.npy", "--repeat", "3", *ON_DEVICE)
DATA = Path(__file__).parents[1] / "data"
USAGE = "see `etconfig run --help`"


class TestFormats:
    """--trace-format or the suffix of the file selects the format."""

    @pytest.mark.parametrize("options", [("trace.json",), ("trace", "--trace-format", "chrome")])
    def test_json_is_a_chrome_trace(
        self, cli: Callable[..., Outcome], place: Path, options: tuple[str, ...]
    ) -> None:
        done = cli(*RUN, "--trace", *options)
        assert (done.status, done.stderr) == (0, "")
        events = json.loads((place / options[0]).read_text())["traceEvents"]
        kinds = {record["cat"] for record in events if record["ph"] == "X"}
        assert kinds == {"phase", "load", "method", "kernel", "delegate", "backend"}
        assert [record["name"] for record in events].count("aten::_softmax.out") == 3
        assert {"read file", "verify forward", "init ReferenceNpuBackend"} <= {e["name"] for e in events}

    @pytest.mark.parametrize(
        "options", [("trace.etdp",), ("trace.etdump",), ("x.json", "--trace-format", "etdump")]
    )
    def test_etdp_is_an_etdump(
        self, cli: Callable[..., Outcome], place: Path, options: tuple[str, ...]
    ) -> None:
        assert cli(*RUN, "--trace", *options).status == 0
        assert (place / options[0]).read_bytes()[8:12] == b"ED00"

    def test_an_unknown_suffix_is_refused(self, cli: Callable[..., Outcome]) -> None:
        done = cli(*RUN, "--trace", "trace.txt")
        message = "trace.txt ends in none of .json, .etdp, .etdump: give --trace-format"
        assert (done.status, done.stderr) == (2, error(message, USAGE))

    def test_a_format_without_a_file_is_refused(self, cli: Callable[..., Outcome]) -> None:
        done = cli(*RUN, "--trace-format", "etdump")
        assert (done.status, done.stderr) == (2, error("--trace-format goes with --trace", USAGE))

    def test_an_executor_without_events_is_refused(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "etconfig.app.programs.executors.records_events", lambda installation, name: False
        )
        done = cli(*RUN, "--trace", "trace.json", "--executor", "other")
        message = "--trace: the executor other records no events"
        assert (done.status, done.stderr) == (2, error(message, USAGE))


def test_a_file_that_cannot_be_written_is_an_error(cli: Callable[..., Outcome]) -> None:
    done = cli(*RUN, "--trace", "missing/trace.json")
    message = (
        "cannot write missing/trace.json: No such file or directory; create the directory 'missing' first"
    )
    assert (done.status, done.stderr) == (2, error(message))


def test_dropped_events_are_reported(cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    def small(tracer: RecordingTracer) -> None:
        initialize(tracer, max_events=20)

    initialize = RecordingTracer.__init__
    monkeypatch.setattr(RecordingTracer, "__init__", small)
    done = cli(*RUN, "--trace", "trace.json")
    assert done.status == 0
    assert done.stderr.startswith("the trace contains the first 20 events; ")
    assert done.stderr.endswith(" more were dropped\n")


def test_left_out_instructions_run_with_no_optimize(cli: Callable[..., Outcome], place: Path) -> None:
    def permutations(*options: str) -> int:
        arguments = ("--input", "x.npy", "--trace", "trace.json", *options)
        assert cli("run", DATA / "digits" / "digits_portable.pte", *arguments).status == 0
        events = json.loads((place / "trace.json").read_text())["traceEvents"]
        return [record["name"] for record in events].count("aten::permute_copy.out")

    assert (permutations(), permutations("--no-optimize")) == (0, 2)
