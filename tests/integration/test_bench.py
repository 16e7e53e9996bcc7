"""`etconfig bench` and `etconfig.compare`: reports, variants, failures, pictures and exit statuses."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny_engine
from command_line import DATA, ON_DEVICE, Outcome, error

import etconfig
from etconfig import load_program
from etconfig.analysis import generate_inputs
from etconfig.base.paired_ratio import PairedRatio
from etconfig.cli.rendering.comparison_text import interval_plot
from etconfig.cli.shared import measured_model
from etconfig.measuring import compare as comparing
from etconfig.measuring.comparison_report import (
    MeasuredRow,
    noise_notes,
    output_error,
    output_notes,
    quantiles_s,
)
from etconfig.measuring.picture import MARK
from etconfig.measuring.processes import make_subject
from etconfig.measuring.worker import decode_values, encode_values
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.plugin.v1 import ModelRunner

Cli = Callable[..., Outcome]
BENCH = ("bench", "model.pte", "--pairs", "6", *ON_DEVICE)
CORES = "ReferenceCpuBackend.num_threads=1,2"
QUICK: Any = {"pairs": 6, "profile": "generic/any"}


@pytest.fixture
def report(cli: Cli) -> dict[str, Any]:
    done = cli(*BENCH, "--json")
    assert (done.status, done.stderr) == (0, "")
    printed: dict[str, Any] = done.json
    return printed


def row(label: str, ratio: float, low: float, high: float) -> MeasuredRow:
    paired = PairedRatio(ratio=ratio, low=low, high=high, pairs=40)
    return MeasuredRow(label=label, options={}, ratio=paired, latency_s={})


@pytest.fixture
def made_up(place: Path) -> etconfig.ComparisonReport:
    """A report with a faster, a slower, an equal and a failed configuration."""
    measured = etconfig.compare("model.pte", **QUICK)
    rows = (
        row("fast", 0.5, 0.45, 0.55),
        row("slow", 1.2, 1.1, 1.3),
        row("near", 1.01, 1.005, 1.015),
        MeasuredRow(label="bad", options={}, failure="no such <device>", latency_s={}),
    )
    floor = PairedRatio(ratio=1.0, low=0.98, high=1.01, pairs=40)
    return replace(measured, rows=rows, noise=floor)


class TestReport:
    """A report has everything needed to understand the numbers and to measure them again."""

    def test_it_names_what_was_measured(self, report: dict[str, Any], place: Path) -> None:
        digest = hashlib.sha256((place / "model.pte").read_bytes()).hexdigest()
        assert report["etconfig_bench"] == 2
        assert report["model"] == {"path": "model.pte", "sha256": digest}
        assert (report["method"], report["instance"], report["runs_on"]) == ("forward", None, "numpy")
        assert report["inputs"] == {"seed": 0, "values": ["float32 [1, 1, 8, 8]"]}
        incumbent = report["incumbent"]
        assert incumbent["profile"] == "generic/linux-x86_64"
        assert incumbent["fingerprint"].startswith("sha256:")
        assert incumbent["options"]["ReferenceCpuBackend.num_threads"] == 4

    def test_it_has_latencies_and_the_noise_floor(self, report: dict[str, Any]) -> None:
        incumbent, noise = report["incumbent"], report["noise"]
        latencies = incumbent["latency_s"]
        assert list(latencies) == ["min", "p50", "p90", "p99", "max"]
        assert list(latencies.values()) == sorted(latencies.values())
        assert latencies["min"] > 0
        assert incumbent["load_s"] > 0
        assert incumbent["runs"] >= 6
        assert (noise["pairs"], report["rows"], report["is_interrupted"]) == (6, [], False)
        assert noise["low"] <= noise["ratio"] <= noise["high"]

    def test_it_has_a_row_for_each_operator_and_delegate(self, report: dict[str, Any]) -> None:
        assert {(each["kind"], each["name"], each["calls"]) for each in report["instructions"]} == {
            ("delegate", "ReferenceNpuBackend #0", 1),
            ("delegate", "ReferenceCpuBackend #1", 1),
            ("kernel", "aten::_softmax.out", 1),
            ("kernel", "aten::mul.out", 1),
            ("kernel", "aten::sub.out", 1),
            ("rest", "between instructions", None),
        }

    def test_it_has_the_machine(
        self, cli: Cli, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert report["environment"]["numpy"] == np.__version__
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
        settings = cli(*BENCH, "--json").json["environment"]["blas_settings"]
        assert settings["OPENBLAS_NUM_THREADS"] == "1"

    def test_the_peak_is_not_that_of_the_process_that_started_it(self) -> None:
        ballast = bytearray(b"\1") * (256 << 20)
        script = "from etconfig.analysis.machine import peak_rss_bytes; print(peak_rss_bytes())"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert 5_000_000 < int(done.stdout) < len(ballast)

    def test_it_is_printed_as_text(self, cli: Cli) -> None:
        done = cli(*BENCH)
        assert (done.status, done.stderr) == (0, "")
        lines = [line for line in done.stdout.splitlines() if not line.startswith("two equal objects")]
        assert lines[0] == "forward of model.pte, numpy, profile generic/linux-x86_64"
        assert lines[2].startswith("noise floor ")
        assert lines[2].endswith("6 pairs)")
        assert " ".join(lines[4].split()) == "CONFIGURATION RATIO P50 P90 LOAD PEAK"
        assert lines[5].startswith("as configured  1")
        assert "WHAT      NAME                    CALLS  TIME" in done.stdout

    def test_notebooks_show_it(self, made_up: etconfig.ComparisonReport) -> None:
        html = made_up._repr_html_()
        assert "no such &lt;device&gt;" in html
        assert html.count("<tr>") == 1 + 1 + len(made_up.rows)
        assert str(made_up).splitlines()[0] == made_up.title


class TestInputs:
    """Without --input, inputs that fit are made up, always the same."""

    def test_equal_seeds_give_equal_inputs(self) -> None:
        with load_program(DATA / "programs" / "types.pte") as program:
            meta = program.metadata(program.method_names[0])
        first, again, other = (generate_inputs(meta, seed) for seed in (1, 1, 2))
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))

    def test_programs_accept_them(self, cli: Cli) -> None:
        for name in ("types", "convolution_channels_last", "dynamic_shapes", "two_methods"):
            path = DATA / "programs" / f"{name}.pte"
            with load_program(path) as loaded:
                method = loaded.method_names[0]
            done = cli("bench", path, "--method", method, "--pairs", "6", *ON_DEVICE)
            assert (done.status, done.stderr) == (0, ""), name

    def test_an_input_that_cannot_be_made_up_is_an_error(self, cli: Cli) -> None:
        done = cli("bench", DATA / "programs" / "symbolic_integer.pte", *ON_DEVICE)
        expected = "expected a value, since one of kind None cannot be made up, given none"
        message = f"method 'forward', input 1: {expected}"
        assert (done.status, done.stderr) == (2, error(message, "give all inputs: --input FILE.npy"))

    def test_inputs_and_reference_can_be_given(self, cli: Cli, place: Path) -> None:
        assert cli("run", "model.pte", "--input", "x.npy", "--output", "y.npz", *ON_DEVICE).status == 0
        found = cli(*BENCH, "--input", "x.npy", "--reference", "y.npz", "--json").json
        assert (found["inputs"]["seed"], found["incumbent"]["error"]) == (None, 0)
        np.savez(place / "wrong.npz", out0=np.zeros((2, 2), np.float32))
        done = cli(*BENCH, "--reference", "wrong.npz")
        assert done.status == 2
        assert "out0 has the shape (1, 10), and that of the reference (2, 2)" in done.stderr


class TestVariants:
    """Each combination of a sweep and each variant is a row, also if it cannot be measured."""

    def test_a_sweep_is_a_product(self, cli: Cli) -> None:
        done = cli(*BENCH, "--sweep", CORES, "--sweep", "ReferenceNpuBackend.core=0,9", "--json")
        rows = done.json["rows"]
        assert [each["label"] for each in rows] == [
            f"num_threads={threads}, core={core}" for threads in (1, 2) for core in (0, 9)
        ]
        assert [each["failure"] is None for each in rows] == [True, False] * 2
        assert "ReferenceNpuBackend.core: expected an integer" in rows[1]["failure"]
        assert rows[0]["options"] == {"ReferenceCpuBackend.num_threads": 1}
        assert (rows[0]["error"], rows[0]["ratio"]["pairs"]) == (0, 6)
        assert done.json["instructions"] == []

    def test_variants_change_anything(self, cli: Cli, place: Path) -> None:
        (place / "board.toml").write_text(
            "[profile]\nname = 'board'\n[options.ReferenceCpuBackend]\nnum_threads = 3\n"
            "[instances.left]\nmethod = 'forward'\n"
        )
        variants = (
            "profile=board.toml",
            "profile=board.toml instance=left ReferenceNpuBackend.core=1",
            "executor=absent",
            "instance=left",
            f"model={DATA / 'digits' / 'digits.pte'}",
            "ReferenceCpuBackend.thread=2",
        )
        options = [word for each in variants for word in ("--against", each)]
        rows = cli(*BENCH, *options, "--json").json["rows"]
        assert [each["label"] for each in rows] == list(variants)
        assert rows[0]["options"] == {"ReferenceCpuBackend.num_threads": 3}
        assert rows[1]["options"] == {"ReferenceCpuBackend.num_threads": 3, "ReferenceNpuBackend.core": 1}
        assert [each["profile"] for each in rows[:2]] == ["board", "board"]
        assert rows[4]["failure"] is None
        reasons = {2: "absent", 3: "has no instance 'left'", 5: "has no option 'thread'"}
        for index, text in reasons.items():
            assert text in rows[index]["failure"], rows[index]

    def test_malformed_ones_are_usage_errors(self, cli: Cli) -> None:
        for words, message in (
            (("--sweep", "X.y"), "expected PATH=VALUE,VALUE, given 'X.y'"),
            (("--sweep", "X.y=1,"), "expected PATH=VALUE,VALUE, given 'X.y=1,'"),
            (("--against", "left"), "expected KEY=VALUE, given 'left'; a key is an option path or one of"),
            (
                ("--sweep", "X.y=" + "1," * 100 + "1", "--sweep", "X.z=" + "1," * 100 + "1"),
                "sweep has more than 10,000",
            ),
            (("--pairs", "5"), "5 is not in the range x>=6"),
            (("--fail-if-slower", "much"), "'much' is not a share, such as 99.5% or 0.995"),
            (("--output", "picture.png"), "expected a file that ends with .html or .svg, given picture.png"),
        ):
            done = cli("bench", "model.pte", *words, *ON_DEVICE)
            assert done.status == 2, words
            assert message in done.stderr, (words, done.stderr)

    @pytest.mark.parametrize("sweep", [{"X.y": range(10**10)}, {f"X.y{i}": [1, 2] for i in range(64)}])
    def test_a_sweep_has_a_limit(self, place: Path, sweep: Any) -> None:
        with pytest.raises(ValueError, match="sweep has more than 10,000 combinations; leave out values"):
            etconfig.compare("model.pte", sweep=sweep, **QUICK)

    @pytest.mark.parametrize("sweep", [CORES.rpartition(",")[0], {CORES.partition("=")[0]: "1"}])
    def test_a_single_text_is_one(self, place: Path, sweep: Any) -> None:
        found = etconfig.compare("model.pte", sweep=sweep, **QUICK)
        assert [each.label for each in found.rows] == ["num_threads=1"]

    @pytest.mark.parametrize("choices", [{"seconds": each} for each in (-1, math.nan, math.inf)])
    def test_a_time_is_finite(self, choices: Any) -> None:
        with pytest.raises(ValueError, match="expected a number from 0 on"):
            etconfig.compare("absent.pte", **choices)

    def test_the_incumbent_must_work(self, cli: Cli) -> None:
        done = cli(*BENCH, "--set", "ReferenceNpuBackend.core=9")
        assert done.status == 2
        assert "--set:1:26" in done.stderr

    def test_python_takes_values_with_their_types(self, place: Path) -> None:
        found = etconfig.compare(
            "model.pte",
            sweep={"ReferenceCpuBackend.num_threads": [1, 2]},
            against=[{"ReferenceNpuBackend.core": 1, "profile": "generic/linux"}],
            overrides={"ReferenceCpuBackend.num_threads": 3},
            **QUICK,
        )
        labels = ["num_threads=1", "num_threads=2", "ReferenceNpuBackend.core=1 profile=generic/linux"]
        assert [each.label for each in found.rows] == labels
        assert found.incumbent.options["ReferenceCpuBackend.num_threads"] == 3
        assert found.rows[0].options == {"ReferenceCpuBackend.num_threads": 1}


class TestEngines:
    """The files of engines are measured by the way of `config.build`, and the plugin's runner."""

    @pytest.fixture
    def installation(self, place: Path) -> etconfig.Installation:
        (place / "model.tiny").write_bytes(b"tiny")
        (place / "models.toml").write_text("[model.detector]\nbackends = ['TinyEngine']\n")
        specs: Any = {"TinyEngine": tiny_engine.SPEC}
        return etconfig.Installation(place).with_backends(specs)

    def test_the_engine_is_found_by_the_file(self, installation: etconfig.Installation) -> None:
        sweep = {"TinyEngine.scale": [2], "TinyEngine.threads": [1, 0]}
        found = etconfig.compare("model.tiny", sweep=sweep, installation=installation, **QUICK)
        assert (found.method, found.runs_on) == ("model", "TinyEngine")
        assert found.inputs == ("float32 [1, 3]", "bool [2]")
        assert [each.error for each in found.rows] == [pytest.approx(1)] * 2
        assert found.instructions == ()

    def test_open_sizes_are_1_and_said_so_or_given(self, installation: etconfig.Installation) -> None:
        guessed = etconfig.compare("model.tiny", installation=installation, **QUICK)
        note = "sizes that the model leaves open are 1: values=1,3; --shape gives others"
        assert note in guessed.notes
        for shapes in ({"values": [7, 3]}, ["values=7,3"], "values=7,3"):
            found = etconfig.compare("model.tiny", shapes=shapes, installation=installation, **QUICK)
            assert found.inputs == ("float32 [7, 3]", "bool [2]")
            assert note not in found.notes

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            (
                "values=99999999999999999999999999,3",
                "1 GiB at most, and these take more: values .* most; give",
            ),
            ("values=100000000,3", r"these take more: values \[100000000, 3\] most; give smaller sizes"),
            ("values=" + "9" * 5000, r"given 5,007 characters: 'values=9+'\.\.\.$"),
            ("values=" + "1," * 50000 + "1", r"given 100,008 characters: 'values=1,"),
            (
                "values=7",
                r"^as configured cannot be measured: input values: expected the shape \[\?, 3\], given \[7\]",
            ),
            ("values=7,4", r"values: expected the shape \[\?, 3\], given \[7, 4\]"),
            ("flags=3", r"flags: expected the shape \[2\], given \[3\]"),
            ("other=7,3", r"expected the name of an input: values, flags, given 'other'"),
            ("values", r"expected NAME=1,3,224,224, the shape of an input, given 'values'"),
            ("values=7,-3", r"expected NAME=1,3,224,224, the shape of an input, given 'values=7,-3'"),
        ],
    )
    def test_a_shape_that_does_not_fit_is_refused(
        self, installation: etconfig.Installation, shape: str, message: str
    ) -> None:
        with pytest.raises((etconfig.EtconfigError, ValueError), match=message):
            etconfig.compare("model.tiny", shapes=[shape], installation=installation, **QUICK)

    def test_an_input_has_one_shape(self, cli: Cli) -> None:
        done = cli("bench", "model.pte", "--shape", "x=1,3", "--shape", "x=1,4", *ON_DEVICE)
        assert done.status == 2
        assert "expected one shape of x, given 2" in done.stderr

    @pytest.mark.parametrize(
        "name", ["build", "none", "raises", "inputs", "dtype", "negative", "later", "text"]
    )
    def test_nonsense_of_a_plugin_is_an_error_of_the_incumbent_or_a_row(
        self, installation: etconfig.Installation, name: str
    ) -> None:
        class SilentError(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        def build(options: tiny_engine.TinyOptions, path: str | None = None) -> object:
            if name == "build" and options.threads == 2:
                raise SilentError
            return tiny_engine.build(options, path)

        def runner(session: Any) -> Any:
            good = tiny_engine.runner(session)
            if session.threads != 2 or name == "build":
                return good
            if name == "raises":
                raise SilentError
            if name in ("later", "text"):
                runs = iter([lambda values: good.run(values)] if name == "later" else [lambda values: 5])
                return replace(good, run=lambda values: next(runs)(values))
            values = good.inputs[0]
            wrong = {
                "inputs": replace(good, inputs=("values",)),
                "dtype": replace(good, inputs=(replace(values, dtype="float33"), good.inputs[1])),
                "negative": replace(good, inputs=(replace(values, shape=(-1, 3)), good.inputs[1])),
            }
            return wrong.get(name)

        specs: Any = {"TinyEngine": replace(tiny_engine.SPEC, build=build, runner=runner)}
        there: Any = {"installation": installation.with_backends(specs), **QUICK}
        with pytest.raises(etconfig.errors.MeasurementError, match="as configured cannot be measured: "):
            etconfig.compare("model.tiny", overrides=["TinyEngine.threads=2"], **there)
        if name != "dtype":  # the incumbent makes up the inputs
            bad, good = etconfig.compare("model.tiny", sweep={"TinyEngine.threads": [2, 3]}, **there).rows
            assert bad.failure, name
            assert good.failure is None

    def test_a_program_says_its_shapes_itself(self, place: Path) -> None:
        with pytest.raises(etconfig.EtconfigError, match="a program says the shapes of its inputs itself"):
            etconfig.compare("model.pte", shapes=["x=1"], **QUICK)

    def test_what_an_engine_raises_names_the_sizes_that_were_guessed(
        self, installation: etconfig.Installation
    ) -> None:
        def failing(session: object) -> ModelRunner:
            def run(values: Sequence[Any]) -> Sequence[Any]:
                raise RuntimeError("kernel larger\nthan data")

            return replace(tiny_engine.runner(session), run=run)  # type: ignore[arg-type]

        specs: Any = {"TinyEngine": replace(tiny_engine.SPEC, runner=failing)}
        with pytest.raises(etconfig.errors.MeasurementError) as caught:
            etconfig.compare("model.tiny", installation=installation.with_backends(specs), **QUICK)
        assert caught.value.reason == "RuntimeError: kernel larger than data"
        assert (
            caught.value.help == "sizes that the model leaves open were 1 (values=1,3); --shape gives others"
        )

    def test_profiles_know_it_by_its_name(self, installation: etconfig.Installation, place: Path) -> None:
        profile = "[profile]\nname = 'board'\n[methods.detector.options.TinyEngine]\nscale = 5\n"
        (place / "board.toml").write_text(profile)
        found = etconfig.compare(
            "model.tiny", method="detector", profile="board.toml", installation=installation, pairs=6
        )
        assert (found.method, found.incumbent.options["TinyEngine.scale"]) == ("detector", 5)

    def test_the_models_file_has_the_name_of_a_file_and_chooses_its_engine(
        self, installation: etconfig.Installation, place: Path
    ) -> None:
        twice: Any = {"SecondEngine": replace(tiny_engine.SPEC, id="SecondEngine")}
        there: Any = {"installation": installation.with_backends(twice), "models": "models.toml", **QUICK}
        (place / "detector.tiny").write_bytes(b"tiny")
        for model, method in (("detector.tiny", None), ("model.tiny", "detector")):
            found = etconfig.compare(model, method=method, **there)
            assert (found.method, found.runs_on) == ("detector", "TinyEngine")
        with pytest.raises(etconfig.EtconfigError, match="several installed backends run such a file"):
            etconfig.compare("model.tiny", **there)

    def test_a_quota_is_said_since_it_favours_threads(self, installation: etconfig.Installation) -> None:
        facts = etconfig.FactSheet.from_values({"cpu.quota_cores": 1.5})
        found = etconfig.compare("model.tiny", facts=facts, installation=installation, **QUICK)
        note = "a quota of 1.5 cores holds here: more threads look faster than they are in a loop"
        assert note in found.notes

    def test_shares_are_those_of_all_models_of_the_file(
        self, installation: etconfig.Installation, place: Path
    ) -> None:
        names = ("detector", "encoder", "decoder")
        models = "".join(f"[model.{name}]\nbackends = ['TinyEngine']\n" for name in names)
        models += "[model.other]\nbackends = ['MissingEngine']\n"  # its engine is not installed here
        (place / "models.toml").write_text(models)
        share = "{ expr = 'share(\"threads\")' }"
        profile = (
            f"[profile]\nname = 'board'\n[budget]\nthreads = 12\n[options.TinyEngine]\nthreads = {share}\n"
        )
        (place / "board.toml").write_text(profile)
        there: Any = {
            "installation": installation,
            "models": "models.toml",
            "profile": "board.toml",
            "pairs": 6,
        }
        alone = etconfig.compare("model.tiny", **there)
        found = etconfig.compare("model.tiny", method="encoder", sweep={"TinyEngine.threads": [8]}, **there)
        assert alone.incumbent.options["TinyEngine.threads"] == 12
        assert found.incumbent.options["TinyEngine.threads"] == 4
        assert found.rows[0].options == {"TinyEngine.threads": 8}
        assert found.rows[0].failure is None

    def test_overrides_are_for_the_measured_one_of_several_models(
        self, installation: etconfig.Installation, place: Path
    ) -> None:
        models = "".join(f"[model.{name}]\nbackends = ['TinyEngine']\n" for name in ("detector", "encoder"))
        (place / "models.toml").write_text(models)
        scale = "[profile]\nname = 'board'\n[methods.encoder.options.TinyEngine]\nscale = 5\n"
        (place / "board.toml").write_text(scale)
        there: Any = {
            "installation": installation,
            "models": "models.toml",
            "profile": "board.toml",
            "pairs": 6,
        }
        for scope in ("", "encoder:", "enc*:"):
            row = etconfig.compare(
                "model.tiny", method="encoder", sweep=[f"{scope}TinyEngine.scale=7"], **there
            ).rows[0]
            assert row.options == {"TinyEngine.scale": 7}

    def test_an_option_of_another_engine_says_how_to_choose_it(
        self, installation: etconfig.Installation
    ) -> None:
        twice: Any = {"SecondEngine": replace(tiny_engine.SPEC, id="SecondEngine")}
        there: Any = {"installation": installation.with_backends(twice), "backend": "TinyEngine", **QUICK}
        against = ["SecondEngine.scale=2", "SecondEngine.scale=2 backend=SecondEngine"]
        bad, good = etconfig.compare("model.tiny", against=against, **there).rows
        assert str(bad.failure).endswith("; add backend=SecondEngine")
        assert good.failure is None

    def test_what_cannot_be_found_says_what_to_do(
        self, installation: etconfig.Installation, place: Path
    ) -> None:
        (place / "model.onnx").write_bytes(b"\x08\x0a\x12\x07pytorch\xff")
        twice: Any = {"SecondEngine": replace(tiny_engine.SPEC, id="SecondEngine")}
        only: Any = {"OtherEngine": tiny_engine.OTHER}
        for model, backends, choices, message in (
            ("model.onnx", {}, {}, "it is an ONNX model, and no installed backend runs such a file"),
            ("model.tiny", twice, {}, "several installed backends run such a file: SecondEngine, TinyEngine"),
            ("detector", {}, {"models": "models.toml"}, "the file of models does not say where its own file"),
            ("model.tiny", only, {"backend": "OtherEngine"}, "its declaration has no runner"),
            ("absent.pte", {}, {}, "absent.pte"),
        ):
            there = installation.with_backends(backends) if backends else installation
            with pytest.raises(etconfig.EtconfigError) as caught:
                etconfig.compare(model, installation=there, **choices, **QUICK)
            assert message in str(caught.value), model

    def test_a_name_of_the_models_file_is_a_program(self, cli: Cli, place: Path) -> None:
        (place / "models.toml").write_text("[model.digits]\nvariants = [{ file = 'model.pte' }]\n")
        done = cli("bench", "digits", "--models", "models.toml", "--pairs", "6", *ON_DEVICE, "--json")
        assert done.json["model"]["path"] == "model.pte"


class TestProcesses:
    """A configuration in a process of its own gives the same, and its failures are rows."""

    def test_outputs_and_failures_are_those_of_this_process(self, place: Path) -> None:
        variants = ["ReferenceCpuBackend.num_threads=1", "ReferenceNpuBackend.core=9"]
        found = etconfig.compare("model.pte", against=variants, own_processes=True, **QUICK)
        assert found.in_own_processes
        assert (found.rows[0].failure, found.rows[0].error) == (None, 0)
        failure = str(found.rows[1].failure)
        assert "expected an integer" in failure
        assert "cannot be measured" not in failure  # the label stands beside it
        assert found.incumbent.peak_bytes is None or found.incumbent.peak_bytes > 0

    def test_a_process_that_dies_is_a_reason(self, place: Path, tmp_path: Path) -> None:
        installation = etconfig.Installation()
        facts = etconfig.load_fact_sheet("device.json")
        workplace = Workplace(installation=installation, facts=facts, fact_overrides={})
        request = SubjectRequest(label="it", model="model.pte", profile="generic/any")
        with make_subject(workplace, request, in_own_process=True) as subject:
            subject.run(subject.generate(0))
            assert len(subject.time_block(3)) == 3
            subject._channel._process.kill()  # type: ignore[attr-defined]
            with pytest.raises(etconfig.ExecutionError, match="it cannot be measured: its process ended"):
                subject.time_block(3)
        absent = replace(request, model="absent.pte")
        with pytest.raises(etconfig.ExecutionError, match=r"it cannot be measured: .*absent\.pte"):
            make_subject(workplace, absent, in_own_process=True)

    def test_making_up_inputs_takes_no_memory_of_the_model(self, place: Path) -> None:
        facts = etconfig.load_fact_sheet("device.json")
        workplace = Workplace(installation=etconfig.Installation(), facts=facts, fact_overrides={})
        request = SubjectRequest(label="it", model="model.pte", profile="generic/any")
        same = replace(request, overrides=("ReferenceCpuBackend.num_threads=1",))
        with (
            make_subject(workplace, request, in_own_process=True) as first,
            make_subject(workplace, same, in_own_process=True) as second,
        ):
            inputs = first.generate(0)
            first.run(inputs)
            second.run(inputs)
            if first.peak_bytes is not None:
                assert second.peak_bytes == pytest.approx(first.peak_bytes, rel=0.02)

    @pytest.mark.parametrize("is_hanging", [True, False])
    def test_a_process_ends_quietly_with_the_one_that_measures(self, is_hanging: bool) -> None:
        script = (
            "import time; from etconfig.measuring import worker; worker.END_S = 0.1; "
            + ("worker._serve = lambda *each: time.sleep(600); " if is_hanging else "")
            + "worker.serve()"
        )
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
            process.stdout.close()  # type: ignore[union-attr]
            _, errors = process.communicate(b'["load", {}]\n', timeout=60)
        assert (process.returncode, errors) == (1, b"")

    def test_values_are_sent_between_processes(self) -> None:
        values = [np.array(["a", "b"]), np.array([["a", None]], object), np.array([1 + 2j]), 3, [1.5], "x"]
        values += [np.array(["2026-01-01"], "datetime64[D]"), np.array(b"a\0b"), np.zeros((0, 2), np.float16)]
        sent = decode_values(json.loads(json.dumps(encode_values(values))))
        assert output_error(sent, values) == 0
        assert [getattr(each, "dtype", None) for each in sent] == [
            getattr(each, "dtype", None) for each in values
        ]
        assert decode_values(encode_values([3 + 4j, np.float32(2)])) == [3 + 4j, 2.0]
        for wrong in ({"a": object()}, np.array([object()])):
            with pytest.raises(ValueError, match="value 1 cannot be sent between processes: Object of type"):
                encode_values([1, wrong])


class TestVerdicts:
    """A difference counts if its interval excludes 1, and if it is beyond the noise floor."""

    def test_rows_are_judged(self, made_up: etconfig.ComparisonReport) -> None:
        verdicts = [made_up.verdict(each) for each in made_up.rows]
        assert verdicts == ["faster", "slower", "same", None]
        noisy = replace(made_up, noise=PairedRatio(ratio=1.0, low=0.7, high=1.3, pairs=40))
        assert [noisy.verdict(each) for each in noisy.rows] == ["faster", "same", "same", None]

    def test_a_gate_fails_for_certain_regressions_and_failures(
        self, made_up: etconfig.ComparisonReport, cli: Cli
    ) -> None:
        assert [each.label for each in made_up.slower_than(0.05)] == ["slow", "bad"]
        assert [each.label for each in made_up.slower_than(0.15)] == ["bad"]
        gate = ("--sweep", CORES, "--fail-if-slower")
        assert cli(*BENCH, *gate, "100000%").status == 0
        assert cli(*BENCH, "--against", "ReferenceNpuBackend.core=9", "--fail-if-slower", "1000").status == 1

    def test_the_picture_has_an_interval_for_each_row(self, made_up: etconfig.ComparisonReport) -> None:
        lines = list(interval_plot(made_up.rows[:3]))
        bar = lines[0].index("│")
        assert lines[1].index("─") > bar > lines[0].index("●") > lines[0].index("─")
        assert all("●" in line for line in lines[:3])
        assert lines[3].strip() == "faster ← 1 → slower, 0.45 to 1.3 times the incumbent's time"

    def test_errors_are_shares_of_the_largest_value(self) -> None:
        reference = [np.array([1.0, -4.0])]
        assert output_error([np.array([1.0, -4.2])], reference) == pytest.approx(0.05)
        assert output_error([np.array([np.nan, -4.0])], reference) == float("inf")
        assert output_error([np.array([np.nan])], [np.array([np.nan])]) == 0
        assert output_error([3], [3]) == output_error([None], [None]) == 0
        assert output_error([np.array([3 + 4j])], [np.array([3 - 1j])]) == pytest.approx(5 / abs(3 - 1j))
        assert output_error([[np.zeros(2), {"a": 1.0}]], [[np.zeros(2), {"a": 2.0}]]) == 0.5
        for equal, other in (
            (np.array(["a", "b"]), np.array(["a", "c"])),
            (np.array(["a", np.zeros(2)], object), np.array(["a", np.ones(2)], object)),
            (np.array(["2026-01-01"], "datetime64[D]"), np.array(["2026-01-02"], "datetime64[D]")),
            (b"a", b"b"),
            ({"a": 1}, {"b": 1}),
        ):
            assert output_error([equal], [copy.deepcopy(equal)]) == 0
            assert output_error([other], [equal]) > 0.5
        for wrong in ([], [np.zeros(3)], [[1.0]]):
            with pytest.raises(ValueError, match=r"output\(s\)|shape"):
                output_error(wrong, reference)

    def test_noise_and_other_outputs_are_notes(self) -> None:
        floors = [PairedRatio(ratio=1, low=0.95, high=high, pairs=6) for high in (1.05, 3.49)]
        assert [len(noise_notes(each)) for each in (None, *floors)] == [0, 0, 1]
        assert noise_notes(floors[1])[0].startswith("two equal objects differ by 249%: stop what else runs")
        rows = [MeasuredRow(label="it", options={}, latency_s={}, error=each) for each in (None, 0.01, 0.76)]
        assert output_notes(rows) == ("it gives other outputs: error 0.76",)
        assert output_notes(rows[2:] * 9)[-2:] == (
            "it gives other outputs: error 0.76",
            "9 give other outputs",
        )

    def test_quantiles_are_the_nearest_ranks(self) -> None:
        shuffled = [(7 * i) % 101 * 10**9 for i in range(1, 101)]
        assert quantiles_s(shuffled) == {"min": 1, "p50": 50, "p90": 90, "p99": 99, "max": 100}
        assert quantiles_s([]) == {}


class TestInterruption:
    """Ctrl-C keeps what was measured."""

    def test_the_rows_so_far_stay(self, place: Path) -> None:
        def progress(label: str, share: float) -> None:
            shown.append((label, share))
            if label == "num_threads=2":
                raise KeyboardInterrupt

        shown: list[tuple[str, float]] = []
        sweep = {"ReferenceCpuBackend.num_threads": [1, 2, 3]}
        found = etconfig.compare("model.pte", sweep=sweep, progress=progress, **QUICK)
        assert found.is_interrupted
        assert [(each.label, each.failure) for each in found.rows] == [
            ("num_threads=1", None),
            ("num_threads=2", "interrupted"),
        ]
        shares = [share for _, share in shown]
        assert shares == sorted(shares)
        assert [label for label, share in shown if not share] == [
            *["resolving all configurations"] * 3,
            "the noise floor",
        ]

    def test_while_the_floor_is_measured(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(comparing, "measure_subjects", interrupted)
        found = etconfig.compare("model.pte", **QUICK)
        assert (found.is_interrupted, found.noise, found.rows) == (True, None, ())
        assert found.noise_text == "noise floor unknown: interrupted"
        assert found.incumbent.latency_s == {}

    def test_the_command_prints_them_and_ends_with_130(
        self, cli: Cli, made_up: etconfig.ComparisonReport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        partial = replace(made_up, is_interrupted=True)
        monkeypatch.setattr(comparing, "compare_requests", lambda *arguments, **named: partial)
        done = cli(*BENCH)
        assert done.status == 130
        assert "interrupted: the rest was not measured" in done.stdout
        assert "1 faster, 1 slower, 1 not different from as configured, 1 failed" in done.stdout


class TestPicture:
    """`--output` draws the intervals with vl-convert, which is an extra."""

    def test_without_the_library_nothing_is_measured(
        self, cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        done = cli(*BENCH, "--output", "bench.svg")
        assert (done.status, done.stdout) == (2, "")
        assert "needs the package vl-convert-python, which is not installed" in done.stderr
        assert "[report]'" in done.stderr
        assert not (place / "bench.svg").exists()

    def test_it_is_written(self, cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn: list[Any] = []

        def draw(specification: Any) -> str:
            drawn.append(specification)
            return "<svg></svg>"

        monkeypatch.setitem(sys.modules, "vl_convert", SimpleNamespace(vegalite_to_svg=draw))
        for name in ("bench.svg", "bench.html", "bench.svg"):
            done = cli(*BENCH, "--sweep", CORES, "--output", name)
            assert (done.status, done.stdout.splitlines()[-1]) == (0, f"drawn in {name}")
        assert (place / "bench.svg").read_text() == f"{MARK}\n<svg></svg>\n"
        page = (place / "bench.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert page.count("<svg ") == page.count("<table") == 1
        assert [each["label"] for each in drawn[0]["data"]["values"]] == ["num_threads=1", "num_threads=2"]
        (place / "own.svg").write_text("<svg/>")
        done = cli(*BENCH, "--output", "own.svg")
        assert (done.status, (place / "own.svg").read_text()) == (2, "<svg/>")


def test_progress_is_shown_on_a_terminal_only(terminal: Callable[..., str]) -> None:
    assert "the noise floor" in terminal(*BENCH)


def test_progress_may_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(measured_model, "shows_progress", lambda: True)
    monkeypatch.setattr(measured_model, "command_errors", lambda: shown)
    with measured_model.measuring_progress() as update:
        for share in (0.5, 0.1, 0.3, 0.2):
            update("it", share)
    assert [each.strip() for each in re.findall(r"([-\d]+%)", shown.getvalue())] == [
        "0%",
        "50%",
        "10%",
        "30%",
        "20%",
    ]
