"""`etconfig bench`: its report and its comparison."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DATA, ON_DEVICE, Outcome, error

from etconfig import load_program
from etconfig.analysis import BenchmarkComparison, compare_benchmarks, generate_inputs
from etconfig.analysis.benchmark_report import parse_benchmark
from etconfig.cli.rendering.benchmark_text import describe_comparison


def compare(old: dict[str, Any], new: dict[str, Any]) -> BenchmarkComparison:
    """Compare two reports as they were printed."""
    return compare_benchmarks(parse_benchmark(old), parse_benchmark(new))


BENCH = ("bench", "model.pte", "--runs", "4", *ON_DEVICE)


@pytest.fixture
def report(cli: Callable[..., Outcome]) -> dict[str, Any]:
    done = cli(*BENCH, "--json")
    assert (done.status, done.stderr) == (0, "")
    printed: dict[str, Any] = done.json
    return printed


class TestReport:
    """A report has everything needed to understand the numbers and to measure them again."""

    def test_it_names_what_was_measured(self, report: dict[str, Any], place: Path) -> None:
        digest = hashlib.sha256((place / "model.pte").read_bytes()).hexdigest()
        assert report["program"] == {"path": "model.pte", "size_bytes": 91048, "sha256": digest}
        assert (report["method"], report["instance"], report["executor"]) == ("forward", None, "numpy")
        assert report["profile"] == "generic/linux-x86_64"
        assert report["arguments"].startswith("sha256:")
        assert report["inputs"] == {
            "files": [],
            "seed": 0,
            "values": [{"dtype": "float32", "shape": [1, 1, 8, 8]}],
        }

    def test_it_has_latencies(self, report: dict[str, Any]) -> None:
        assert (report["warmup"], report["runs"], report["noise"]) == (3, 4, None)
        latencies = report["latency_s"]
        assert list(latencies) == ["min", "p15", "p50", "p90", "p99", "max"]
        assert list(latencies.values()) == sorted(latencies.values())
        assert latencies["min"] > 0
        assert report["throughput_per_s"] > 0
        assert set(report["load_s"]) == {"open", "load"}

    def test_it_has_a_row_for_each_operator_and_delegate(self, report: dict[str, Any]) -> None:
        rows = report["traced"]["instructions"]
        assert {(row["kind"], row["name"], row["calls"]) for row in rows} == {
            ("delegate", "ReferenceNpuBackend #0", 1),
            ("delegate", "ReferenceCpuBackend #1", 1),
            ("kernel", "aten::_softmax.out", 1),
            ("kernel", "aten::mul.out", 1),
            ("kernel", "aten::sub.out", 1),
            ("rest", "between instructions", None),
        }
        assert report["traced"]["runs"] == 2

    def test_it_has_the_memory_and_the_machine(self, report: dict[str, Any]) -> None:
        assert report["memory"]["planned_bytes"] == 2304
        assert report["memory"]["constant_bytes"] == 20
        assert report["memory"]["peak_rss_bytes"] > 10_000_000
        assert report["environment"]["numpy"] == np.__version__
        assert report["environment"]["blas"]
        assert isinstance(report["environment"]["blas_settings"], dict)

    def test_the_peak_is_not_that_of_the_process_that_started_it(self) -> None:
        ballast = bytearray(b"\1") * (256 << 20)
        script = "from etconfig.analysis.machine import peak_rss_bytes; print(peak_rss_bytes())"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert 5_000_000 < int(done.stdout) < len(ballast)

    def test_inputs_from_files_are_named(self, cli: Callable[..., Outcome]) -> None:
        inputs = cli(*BENCH, "--input", "x.npy", "--json").json["inputs"]
        assert (inputs["files"], inputs["seed"]) == (["x.npy"], None)

    def test_settings_of_blas_are_recorded(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
        settings = cli(*BENCH, "--json").json["environment"]["blas_settings"]
        assert settings["OPENBLAS_NUM_THREADS"] == "1"

    def test_it_is_printed_as_text(self, cli: Callable[..., Outcome]) -> None:
        done = cli(*BENCH)
        assert (done.status, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert lines[0] == "forward of model.pte, executor numpy, profile generic/linux-x86_64"
        assert any(line.startswith("4 runs, ") and line.endswith("too few to see noise") for line in lines)
        assert any(line.startswith("memory: planned 2.25 KiB, constants 20 bytes, peak ") for line in lines)
        assert "WHAT      NAME                    CALLS  TIME" in done.stdout


class TestInputs:
    """Without --input, inputs that fit are made up, always the same."""

    def test_equal_seeds_give_equal_inputs(self, load_meta: Callable[[str], Any]) -> None:
        first, again, other = (generate_inputs(load_meta("types"), seed) for seed in (1, 1, 2))
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))

    @pytest.mark.parametrize(
        "program", ["types", "convolution_channels_last", "dynamic_shapes", "two_methods"]
    )
    def test_programs_accept_them(self, cli: Callable[..., Outcome], program: str) -> None:
        path = DATA / "programs" / f"{program}.pte"
        with load_program(path) as loaded:
            method = loaded.method_names[0]
        done = cli("bench", path, "--method", method, "--runs", "1", *ON_DEVICE)
        assert (done.status, done.stderr) == (0, "")

    def test_an_input_that_cannot_be_made_up_is_an_error(self, cli: Callable[..., Outcome]) -> None:
        done = cli("bench", DATA / "programs" / "symbolic_integer.pte", *ON_DEVICE)
        expected = "expected a value, since one of kind None cannot be made up, given none"
        message = f"method 'forward', input 1: {expected}"
        assert (done.status, done.stderr) == (2, error(message, "give all inputs: --input FILE.npy"))

    @pytest.fixture
    def load_meta(self) -> Callable[[str], Any]:
        def load(name: str) -> Any:
            with load_program(DATA / "programs" / f"{name}.pte") as program:
                return program.metadata(program.method_names[0])

        return load


class TestCompare:
    """A difference counts only if it is larger than the noise."""

    def test_a_report_is_compared_with_an_earlier_one(self, cli: Callable[..., Outcome], place: Path) -> None:
        (place / "before.json").write_text(cli(*BENCH, "--json").stdout)
        done = cli(*BENCH, "--compare", "before.json")
        assert done.status == 0
        printed = done.stdout.partition("compared with before.json:\n")[2].splitlines()
        assert printed[0].startswith("  new / old: min ")
        assert printed[1:] == ["  too few runs to separate a difference from noise"]
        as_json = cli(*BENCH, "--compare", "before.json", "--json").json["comparison"]
        assert set(as_json) == {"ratios", "noise", "verdict", "differences"}

    @pytest.mark.parametrize(
        ("p50", "noise", "printed"),
        [
            (1.0, 0.02, "no difference that is larger than the noise of 5.0%"),
            (1.04, 0.02, "no difference that is larger than the noise of 5.0%"),
            (1.2, 0.02, "slower, by more than the noise of 5.0%"),
            (0.8, 0.02, "faster, by more than the noise of 5.0%"),
            (0.7, 0.4, "no difference that is larger than the noise of 40.0%"),
            (0.5, None, "too few runs to separate a difference from noise"),
        ],
    )
    def test_the_verdict_depends_on_the_noise(
        self, report: dict[str, Any], p50: float, noise: float | None, printed: str
    ) -> None:
        latencies = dict.fromkeys(report["latency_s"], 1.0)
        old = {**report, "latency_s": latencies, "noise": 0.05}
        new = {**report, "latency_s": {**latencies, "p50": p50}, "noise": noise}
        lines = list(describe_comparison(compare(old, new)))
        assert lines[0] == f"new / old: min 1, p15 1, p50 {p50:.3g}, p90 1"
        assert lines[1] == printed

    def test_a_run_without_the_optimizer_is_a_difference(
        self, cli: Callable[..., Outcome], report: dict[str, Any]
    ) -> None:
        faithful = cli(*BENCH, "--no-optimize", "--json").json
        assert (report["optimize"], faithful["optimize"]) == (True, False)
        assert compare(report, faithful).differences == ("optimize: True -> False",)

    def test_other_differences_are_listed(self, report: dict[str, Any]) -> None:
        environment = {**report["environment"], "numpy": "1.0", "load_average": 99}
        old = {**report, "environment": environment, "arguments": "sha256:0", "executor": "other"}
        lines = [
            line for line in describe_comparison(compare(old, report)) if line.startswith("not the same")
        ]
        assert lines == [
            "not the same: executor: other -> numpy",
            f"not the same: numpy: 1.0 -> {np.__version__}",
            "not the same: arguments",
        ]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[]", "old.json is not a report of etconfig bench, version 1"),
            ('{"etconfig_bench": 2}', "old.json is not a report of etconfig bench, version 1"),
            ('{"etconfig_bench": 1}', "old.json is not a report of etconfig bench, version 1"),
            (
                "{",
                "old.json is not a report of etconfig bench: Expecting property name enclosed",
            ),
        ],
    )
    def test_a_file_that_is_not_a_report_is_an_error(
        self, cli: Callable[..., Outcome], place: Path, content: str, message: str
    ) -> None:
        (place / "old.json").write_text(content)
        done = cli(*BENCH, "--compare", "old.json")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {message}")

    def test_a_missing_report_is_an_error(self, cli: Callable[..., Outcome]) -> None:
        done = cli(*BENCH, "--compare", "old.json")
        assert done.stderr == error("cannot read old.json: No such file or directory")


def test_progress_is_shown_on_a_terminal_only(terminal: Callable[..., str]) -> None:
    shown = terminal(*BENCH)
    assert "measuring" in shown
    assert "tracing" in shown
