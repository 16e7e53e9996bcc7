"""`etconfig tune`: from a search to a profile with evidence, which other commands understand."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli
from command_line import Outcome, error
from synthetic_machine import SyntheticMachine, SyntheticSubject

import etconfig
from etconfig.errors import TuningError
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.tuning import remeasurement
from etconfig.tuning import tune as tuning

Cli = Callable[..., Outcome]
THREADS, ACCUMULATE = "ReferenceCpuBackend.num_threads", "ReferenceCpuBackend.accumulate"
CPU = ("--only", "num_threads", "--only", "accumulate")
TUNE = ("tune", "model.pte", "--budget", "8s", "--profile", "generic/any", *CPU)

CORES = '[facts]\n"cpu.available_cores" = 6\n'


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch, place: Path) -> dict[str, float]:
    """The factors of times: keys are parts of `--set`, or names of profiles, that a configuration has.

    The device has six cores, whatever this machine has.
    """
    (place / "etconfig.toml").write_text(CORES)
    machine, factors = SyntheticMachine(0, noise=0.01), {}

    def make(
        workplace: Workplace, request: SubjectRequest, *, in_own_process: bool = False
    ) -> SyntheticSubject:
        workplace.resolved(request)  # as loading does, this refuses what is wrong
        took = 0.001
        for part, factor in factors.items():
            took *= factor if part in (*request.overrides, str(request.profile), request.model) else 1
        subject = SyntheticSubject(machine, took, lambda value: value)
        subject.peak_bytes = int(took * 1e9) if in_own_process else None
        return subject

    for module in (tuning, remeasurement):
        monkeypatch.setattr(module, "make_subject", make)
    return factors


def test_nothing_better_is_an_answer(cli: Cli, times: dict[str, float], place: Path) -> None:
    done = cli(*TUNE, "--output", "tuned.toml")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "nothing better than what is configured"
    assert not (place / "tuned.toml").exists()
    assert (place / "tuned.study.jsonl").exists()


def test_a_gain_becomes_a_profile_with_evidence(cli: Cli, times: dict[str, float], place: Path) -> None:
    times.update({f"{THREADS}=1": 0.5, f"{ACCUMULATE}=fp64": 0.999})
    done = cli(*TUNE, "--output", "tuned.toml")
    assert (done.status, done.stderr) == (0, "")
    assert re.search(r"^(1.9|2.0)\d x \[1.\d+, 2.\d+\]: num_threads 1$", done.stdout, re.MULTILINE)
    written = tomli.loads((place / "tuned.toml").read_text())
    evidence = written["evidence"]
    assert written["profile"] == {
        "name": "tuned",
        "extends": ["generic/any"],
        "match": written["profile"]["match"],
    }
    assert written["methods"] == {"forward": {"options": {"ReferenceCpuBackend": {"num_threads": 1}}}}
    assert evidence["made"] == datetime.date.today()
    assert evidence["model"] == f"sha256:{hashlib.sha256((place / 'model.pte').read_bytes()).hexdigest()}"
    assert evidence["engine"] == f"etconfig-reference {etconfig.__version__}"
    assert [each["option"] for each in evidence["options"]] == [THREADS]
    assert "cpu.available_cores" in evidence["device"]
    for low, ratio, high in [
        (*each["interval"][:1], each["ratio"], each["interval"][1]) for each in (evidence,)
    ]:
        assert low < 0.5 < high or abs(ratio - 0.5) < 0.01

    checked = cli("validate", "tuned.toml")
    assert (checked.status, checked.stderr) == (0, "1 file checked: 0 errors, 0 warnings\n")
    explained = cli("explain", THREADS, "model.pte", "--profile", "tuned.toml").stdout
    assert re.search(r"^  measured (1.9|2.0)\d x.*; made today$", explained, re.MULTILINE), explained
    chosen = etconfig.resolve(etconfig.load_program("model.pte"), profile="tuned.toml")
    assert "made today" in str(chosen.explain(f"forward:{THREADS}"))
    assert "made today" in chosen.explain(f"forward:{THREADS}")._repr_html_()

    again = cli(*TUNE, "--output", "tuned.toml")
    assert (again.status, again.stderr) == (0, "")
    assert re.search(r"^\d+ outcomes from tuned.study.jsonl$", again.stdout, re.MULTILINE)
    (place / "tuned.toml").write_text("[profile]\nname = 'mine'\n")
    refused = cli(*TUNE, "--output", "tuned.toml")
    assert refused.stderr == error(
        "cannot write tuned.toml: it is there, and not a tuned profile; give another file, or --force"
    )


def test_json_has_everything(cli: Cli, times: dict[str, float], place: Path) -> None:
    times.update({f"{ACCUMULATE}=fp64": 0.8, "other.pte": 1.5})
    (place / "other.pte").write_bytes((place / "model.pte").read_bytes())
    done = cli(*TUNE, "--json", "--control", "other.pte")
    assert (done.status, done.stderr) == (0, "")
    report = done.json
    assert report["etconfig_tune"] == 1
    assert report["better"] == {ACCUMULATE: "fp64"}
    assert report["space"][ACCUMULATE] == ["fp32", "fp64"]
    assert report["control"]["ratio"] == pytest.approx(0.8, abs=0.02)
    assert report["profile_text"].startswith("# Written by `etconfig tune`.\n")
    assert len(report["outcomes"]) == 7


def test_evidence_is_verified_again(cli: Cli, times: dict[str, float], place: Path) -> None:
    times.update({f"{THREADS}=1": 0.5, "tuned.toml": 0.5})
    assert cli(*TUNE, "--output", "tuned.toml").status == 0
    verify = ("tune", "model.pte", "--verify", "tuned.toml")
    done = cli(*verify)
    assert (done.status, done.stderr) == (0, "")
    assert re.search(r"^now: (1.9|2.0)\d x \[.*\]; still better$", done.stdout, re.MULTILINE)
    times["tuned.toml"] = 1.0
    text = (place / "tuned.toml").read_text()
    (place / "tuned.toml").write_text(
        re.sub("sha256:[0-9a-f]+", "sha256:12", text).replace("etconfig-reference 0", "etconfig-reference 9")
    )
    done = cli(*verify, "--json")
    assert (done.status, done.stderr) == (1, "")
    assert not done.json["holds"]
    assert done.json["stale"] == [
        "the model is another one",
        f"it was measured with etconfig-reference 9.1.0; now it is {etconfig.__version__}",
    ]
    (place / "plain.toml").write_text('[profile]\nname = "plain"\n')
    plain = cli("tune", "model.pte", "--verify", "plain.toml")
    assert plain.stderr == error(
        "plain.toml has no [evidence] to verify",
        "`etconfig tune MODEL --output FILE` writes a profile with evidence",
    )


def test_a_lock_refuses_evidence_of_another_model_or_engine(
    cli: Cli, times: dict[str, float], place: Path
) -> None:
    times.update({f"{THREADS}=1": 0.5})
    assert cli(*TUNE, "--output", "tuned.toml").status == 0
    lock = ("lock", "model.pte", "--profile", "tuned.toml")
    assert (cli(*lock).status, (place / "etconfig.lock").exists()) == (0, True)
    text = (place / "tuned.toml").read_text()
    (place / "tuned.toml").write_text(re.sub("sha256:[0-9a-f]+", "sha256:12", text))
    done = cli(*lock)
    assert done.status == 2
    assert (
        "error[stale-evidence]: the options of profile 'tuned' were measured with another model"
        in done.stderr
    )
    (place / "tuned.toml").write_text(text.replace("etconfig-reference 0", "etconfig-reference 9"))
    done = cli(*lock)
    assert done.status == 2
    assert (
        "error[stale-evidence]: the options of profile 'tuned' were measured with etconfig-reference 9.1.0; "
        f"now it is {etconfig.__version__}"
    ) in done.stderr


@pytest.mark.parametrize("days", [1, 3])
def test_evidence_of_the_future_is_questioned(
    cli: Cli, times: dict[str, float], place: Path, days: int
) -> None:
    times.update({f"{THREADS}=1": 0.5})
    assert cli(*TUNE, "--output", "tuned.toml").status == 0
    text, day = (place / "tuned.toml").read_text(), datetime.date.today() + datetime.timedelta(days)
    (place / "tuned.toml").write_text(re.sub(r"made = .*", f"made = {day}", text))
    done = cli("validate", "tuned.toml")
    said = f"warning[stale-evidence]: the options were measured in the future: on {day}" in done.stdout
    assert (done.status, said) == (0, days > 1)


def test_settings_that_beat_every_profile_are_named(cli: Cli, times: dict[str, float], place: Path) -> None:
    times.update({f"{THREADS}=1": 0.5})
    (place / "etconfig.toml").write_text(CORES + "[options.ReferenceCpuBackend]\nnum_threads = 2\n")
    done = cli(*TUNE)
    assert f"etconfig.toml:4:1 sets {THREADS} and beats every profile: change it there\n" in done.stdout


def test_python_returns_the_same_report(times: dict[str, float], place: Path) -> None:
    times.update({f"{THREADS}=1": 0.5})
    report = etconfig.tune(
        "model.pte",
        budget_s=8.0,
        only=[THREADS],
        profile="generic/any",
        output="out.toml",
        study="study.jsonl",
    )
    assert report.is_better
    assert report.found.better == {THREADS: 1}
    assert (place / "out.toml").read_text() == report.profile_text
    assert "num_threads 1" in str(report)
    assert "<table>" in report._repr_html_()
    assert repr(report).startswith("<TuneReport: model.pte: ")
    assert json.dumps(report.to_jsonable())


def test_outcomes_of_other_conditions_are_not_taken(times: dict[str, float], place: Path) -> None:
    zeros, ones = [np.zeros((1, 1, 8, 8), "f4")], [np.ones((1, 1, 8, 8), "f4")]
    first: dict[str, Any] = {"inputs": zeros, "reference": zeros, "overrides": {ACCUMULATE: "fp64"}}
    cases: dict[str, dict[str, Any]] = {
        "other inputs": {"inputs": ones},
        "another reference": {"reference": ones},
        "another tolerance": {"tolerance": 0.5},
        "other bounds": {"bounds": ["error < 0.1"]},
        "another objective": {"objective": "memory"},
        "another incumbent": {"overrides": {ACCUMULATE: "fp32"}},
        "other inputs, another reference": {"inputs": None, "reference": None},
    }

    def tuned(**changed: Any) -> Any:
        shared: dict[str, Any] = {"budget_s": 0.1, "only": [THREADS], "profile": "generic/any"}
        return etconfig.tune("model.pte", study="study.jsonl", **{**shared, **first, **changed})

    tuned()
    assert tuned(seed=7).resumed > 0  # given inputs are the same with another seed
    assert tuned(only=[ACCUMULATE]).resumed == 0  # other options are other outcomes of the same study
    found = {}
    for words, changed in cases.items():
        with pytest.raises(TuningError) as caught:
            tuned(**changed)
        found[words] = caught.value.problem
    assert found == {words: f"study.jsonl was made under other conditions: {words}" for words in cases}


def test_memory_is_an_objective(times: dict[str, float], place: Path) -> None:
    times.update({f"{THREADS}=1": 0.5})
    report = etconfig.tune(
        "model.pte", budget_s=4.0, objective="memory", profile="generic/any", only=[THREADS]
    )
    assert report.found.better == {THREADS: 1}
    assert report.verdict.startswith("0.50 x the memory")


def test_what_cannot_be_asked_for_is_refused(cli: Cli, place: Path) -> None:
    cases: dict[tuple[str, ...], str] = {
        ("--objective", "energy"): error(
            "no fact of this device has the energy of a run, so it cannot be measured",
            "tune for --objective latency: at the same clock, less time is less energy",
        ),
        (
            "--bound",
            "size < 3",
        ): "'size < 3' is not a bound; write memory < 64 MiB, latency < 5 ms or error < 0.001",
        ("--budget", "soon"): "'soon' is not a duration; write 60s, 5min or 1h",
        ("--only", "num_thread"): "no option is called 'num_thread'\n  = help: did you mean 'num_threads'?",
        (
            "--only",
            "threads",
        ): "no option is called 'threads'\n  = help: did you mean ReferenceCpuBackend.num_threads?",
        ("--only", "label"): "no option is called 'label'",
        ("--also", THREADS): f"'{THREADS}' is not an option with values\n  = help: write --also PATH=V1,V2",
        ("--also", f"{THREADS}=many"): f"{THREADS} cannot be 'many': expected an integer",
        ("--bound", "error < nan"): "'error < nan' is not a bound: the limit must be above 0 and finite",
        ("--bound", "latency < 0 ms"): "is not a bound: the limit must be above 0 and finite",
        ("--min-gain", "100%"): "min_gain is 1.0; expected less than 1",
        ("--budget", f"{'9' * 306}h"): "budget_s is inf; expected a finite number of at least 0",
        ("--output", "."): "cannot write .: Is a directory",
    }
    found = {arguments: cli("tune", "model.pte", *arguments) for arguments in cases}
    wrong = {
        arguments: done
        for arguments, done in found.items()
        if done.status != 2 or cases[arguments] not in done.stderr
    }
    assert wrong == {}


def test_real_objects_are_measured(place: Path) -> None:
    report = etconfig.tune(
        "model.pte",
        budget_s=0.2,
        only=[THREADS],
        profile="generic/any",
        inputs=[np.zeros((1, 1, 8, 8), "f4")],
    )
    outcome = report.outcomes[0]
    assert outcome.failure is None
    assert outcome.ratio is not None
    assert outcome.ratio.pairs >= 6
    assert outcome.error == 0
    assert isinstance(report.to_jsonable()["noise"]["ratio"], float)


def test_options_that_are_set_by_hand_are_not_tried(place: Path) -> None:
    report: Any = etconfig.tune("model.pte", budget_s=0.1, overrides={THREADS: 2}, profile="generic/any")
    assert THREADS not in [each.path for each in report.space.dimensions]


def test_configurations_that_fail_for_one_reason_are_one_row(cli: Cli, place: Path) -> None:
    options = ("--only", "num_threads", "--also", f"{ACCUMULATE}=fp64,fp32", "--also", "fault=init,execute")
    report = cli("tune", "model.pte", "--budget", "2s", *options, "--json").json
    reasons = {each["failure"] for each in report["outcomes"] if "failure" in each}
    assert len(reasons) == 2
    shown = cli("tune", "model.pte", "--budget", "2s", *options).stdout
    assert len(re.findall(r"^ *\d+ +failed", shown, re.MULTILINE)) == len(reasons)
    assert re.search(r"fault 'init' and \d+ others: ", shown)


def test_a_control_model_that_cannot_be_loaded_is_an_error_before_the_search(cli: Cli, place: Path) -> None:
    (place / "other.pte").write_bytes(b"nothing")
    done = cli(*TUNE, "--control", "other.pte", "--study", "study.jsonl")
    assert (done.status, done.stdout) == (2, "")
    assert "other.pte" in done.stderr
    assert not (place / "study.jsonl").exists()


def test_the_profile_in_force_is_not_replaced(cli: Cli, times: dict[str, float], place: Path) -> None:
    times[f"{THREADS}=1"] = 0.5
    assert cli(*TUNE, "--output", "tuned.toml").status == 0
    (place / "above.toml").write_text("[profile]\nname = 'above'\nextends = ['tuned.toml']\n")
    written = (place / "tuned.toml").read_bytes()
    for in_force, message in (
        ("tuned.toml", "cannot write tuned.toml: the command reads it; give another file"),
        ("above.toml", "tuned.toml is in force, so the new profile would extend itself"),
    ):
        done = cli("tune", "model.pte", *CPU, "--profile", in_force, "--output", "tuned.toml")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {message}\n")
        assert (place / "tuned.toml").read_bytes() == written
    assert done.stderr.endswith("  = help: tune from what it extends: --profile generic/any\n")
    times.clear()  # now nothing is better: the old profile stays, and that is said
    done = cli(*TUNE, "--output", "tuned.toml", "--study", "other.jsonl")
    assert "tuned.toml is from an earlier run, and stays as it is" in done.stdout
    assert (place / "tuned.toml").read_bytes() == written


def test_without_a_file_the_profile_is_printed_as_it_would_be_written(
    cli: Cli, times: dict[str, float], place: Path
) -> None:
    times[f"{THREADS}=1"] = 0.5
    _, _, printed = cli(*TUNE).stdout.partition("with --output PROFILE it writes:\n\n")
    assert tomli.loads(printed)["evidence"]["objective"] == "latency"


@pytest.mark.parametrize(
    "given",
    [{"budget_s": -1.0}, {"budget_s": float("nan")}, {"tolerance": float("nan")}, {"min_gain": float("inf")}],
)
def test_numbers_that_no_search_can_keep_to_are_refused(place: Path, given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ValueError, match=f"{name} is .*; expected a finite number of at least 0"):
        etconfig.tune("model.pte", **given)


def test_one_text_is_a_list_of_one(times: dict[str, float], place: Path) -> None:
    report = etconfig.tune("model.pte", only=THREADS, bounds="error < 1", profile="generic/any", budget_s=0.1)
    assert [each.path for each in report.space.dimensions] == [THREADS]
