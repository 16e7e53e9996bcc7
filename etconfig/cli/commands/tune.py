"""`etconfig tune`: find better options for a model on this machine, and write a profile with evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.shared.completion import complete_method
from etconfig.cli.shared.options import (
    ConfigurationRequest,
    FiniteNumber,
    data_option,
    executor_option,
    fact_option,
    input_option,
    instance_option,
    json_option,
    profile_options,
    run_program_argument,
)
from etconfig.cli.shared.output import print_json, print_table, show, shows_progress
from etconfig.cli.shared.percentage import Percentage
from etconfig.cli.shared.standard_output import command_errors
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import (
    OutputPath,
    check_can_write,
    files_of_command,
    force_option,
    writing,
)

if TYPE_CHECKING:
    from etconfig.tuning.contest import Trial
    from etconfig.tuning.report import TuneReport
    from etconfig.tuning.verification import EvidenceCheck

_INTERRUPTED = 130
_DURATION = re.compile(r"([0-9.]+) *(s|min|h)?")
_SECONDS = {"s": 1, "min": 60, "h": 3600, None: 1}


class Seconds(FiniteNumber):
    """A duration as `60s`, `5min` or `1h`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it in seconds. Raises click.BadParameter."""
        match = _DURATION.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a duration; write 60s, 5min or 1h", param, ctx)
        return FiniteNumber().convert(match[1], param, ctx) * _SECONDS[match[2]]


@click.command("tune", cls=StrictCommand)
@run_program_argument
@click.option(
    "--objective",
    type=click.Choice(["latency", "throughput", "memory", "energy"]),
    default="latency",
    show_default=True,
    help="What to make better.",
)
@click.option(
    "--budget", type=Seconds(), default="60s", show_default=True, help="The time that all may take, about."
)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="'NAME < LIMIT'",
    help="Refuse what breaks it: memory < 64 MiB, latency < 5 ms, error < 0.001. Repeatable.",
)
@click.option("--only", multiple=True, metavar="PATH", help="Try only this option. Repeatable.")
@click.option("--also", multiple=True, metavar="PATH=V1,V2", help="Try these values, too. Repeatable.")
@click.option("--control", metavar="MODEL", help="Measure the result on another model, too.")
@click.option(
    "--min-gain", type=Percentage(), default="2%", show_default=True, help="The least gain that counts."
)
@click.option(
    "--tolerance",
    type=Percentage(),
    default="1%",
    show_default=True,
    help="The largest difference of outputs, as a share of the largest expected value.",
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Outputs to compare with; by default those of what is configured.",
)
@click.option("--output", type=OutputPath(), metavar="PROFILE", help="Write the profile if it is better.")
@click.option(
    "--study",
    type=OutputPath(),
    metavar="FILE",
    help="Keep every outcome here, and go on with those that are; by default beside --output.",
)
@click.option(
    "--verify",
    type=click.Path(path_type=Path),
    metavar="PROFILE",
    help="Measure a tuned profile again; exit with 1 if it is no longer better.",
)
@click.option("--backend", metavar="ID", help="The engine that runs a model, if several installed ones do.")
@click.option(
    "--method",
    shell_complete=complete_method,
    help="The method of a program, by default forward; of an engine's model, its name in profiles.",
)
@instance_option
@input_option
@click.option("--seed", default=0, show_default=True, help="Seed of the search, and of inputs.")
@data_option
@executor_option
@click.option(
    "--models",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file of models that PROGRAM names one of; by default the project file.",
)
@force_option
@fact_option
@profile_options
@json_option
def command(
    program: Path,
    inputs: Sequence[Path],
    reference: Path | None,
    output: Path | None,
    study: Path | None,
    verify: Path | None,
    control: str | None,
    as_json: bool,
    force: bool,
    **choices: Any,
) -> int:
    """Find better options for a model on this machine.

    PROGRAM is as for `bench`. Combinations of options are measured in turns with what is configured; the best
    must win again on new objects and inputs. That nothing is better is an answer, with status 0; then no
    profile is written. Without --input, inputs are made up.

    \b
    Examples:
      etconfig tune model.pte --budget 1s --output tuned.toml
      etconfig tune model.pte --budget 1s --only ReferenceCpuBackend.num_threads
    """
    from etconfig.tuning.study import STUDY
    from etconfig.tuning.tune import tune_request
    from etconfig.tuning.tuned_profile import TUNED
    from etconfig.tuning.verification import verify_tuned

    study = output.with_suffix(".study.jsonl") if study is None and output is not None else study
    for path, kind in ((output, TUNED), (study, STUDY)):
        if path is not None:
            check_can_write(path, kind)
    workplace, base, options = _request(program, inputs, reference, choices, output=output, study=study)
    if verify is not None:
        checked = verify_tuned(workplace, base, verify, options)
        print_json(checked.to_jsonable()) if as_json else _print_check(checked)
        return int(not checked.holds)
    with _progress() as progress, writing():
        report = tune_request(
            workplace, base, options, control=control, files=files_of_command(), progress=progress
        )
    print_json(report.to_jsonable()) if as_json else _print_report(report, output)
    return _INTERRUPTED if report.found.is_interrupted else 0


def _request(
    model: Path, inputs: Sequence[Path], reference: Path | None, choices: dict[str, Any], **paths: Any
) -> tuple[Any, Any, Any]:
    """Return the workplace, the request for what is configured, and what to look for."""
    from etconfig.cli.shared.arrays import read_arrays, read_inputs
    from etconfig.measuring.requests import find_model
    from etconfig.measuring.workplace import SubjectRequest, Workplace
    from etconfig.tuning.bounds import parse_bound
    from etconfig.tuning.tune import TuneOptions
    from etconfig.tuning.tuning import TuneLimits

    fields = ("profile", "require_match", "overrides", "fact_texts", "profile_paths")
    request = ConfigurationRequest(sheet=None, **{name: choices[name] for name in fields})
    device = request.device
    workplace = Workplace(
        installation=request.installation,
        facts=device.facts,
        fact_overrides=device.by_hand,
        overrides_name="--set",
    )
    base = SubjectRequest(
        label="as configured",
        model=str(model),
        backend=choices["backend"],
        instance=choices["instance"],
        executor=choices["executor"],
        profile=request.profile,
        require_match=request.require_match,
        overrides=tuple(request.overrides),
        data=tuple(map(str, choices["data"])),
    )
    base = find_model(workplace, base.model, base, method=choices["method"], models=choices["models"])
    try:
        for each in choices["bounds"]:
            parse_bound(each)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    arrays = None
    if inputs and base.backend is not None:
        arrays = read_arrays(inputs)
    elif inputs:
        with workplace.open_program(base) as loaded:
            arrays = read_inputs(inputs, loaded.metadata(base.method))
    limits = TuneLimits(budget_s=choices["budget"], min_gain=choices["min_gain"], seed=choices["seed"])
    names = ("objective", "bounds", "only", "also", "tolerance")
    options = TuneOptions(
        limits=limits,
        inputs=arrays,
        reference=None if reference is None else read_arrays([reference], "out"),
        **{name: choices[name] for name in names},
        **paths,
    )
    return workplace, base, options


def _print_report(report: TuneReport, output: Path | None) -> None:
    from etconfig.tuning.report import HEADERS

    show(f"{report.model}, {report.engine}, profile {report.profile}")
    for line in report.lines:
        show(line)
    if report.outcomes:
        show()
        print_table(HEADERS, report.rows())
    show()
    show(report.verdict)
    if report.profile_text is None:
        return
    if output is not None:
        show(f"written to {output}; use it with --profile {output}, or in a directory of profiles")
        return
    show("with --output PROFILE it writes:")
    show()
    show(report.profile_text.rstrip("\n"))


def _print_check(checked: EvidenceCheck) -> None:
    from etconfig.profile.evidence import gain_text
    from etconfig.tuning.report import interval_text

    evidence, now = checked.evidence, checked.now
    then = gain_text(evidence.whole.ratio, evidence.objective)
    show(f"{checked.profile}: {then} {interval_text(evidence.whole)} on {evidence.made}, {evidence.engine}")
    for line in checked.stale:
        show(line)
    show(f"noise: two equal configurations differ by {abs(1 - checked.noise.ratio):.1%}")
    if now.ratio is None or now.failure is not None:
        show(f"now it fails: {now.failure}")
        return
    shown = f"{gain_text(now.ratio.ratio, evidence.objective)} {interval_text(now.ratio)}"
    show(f"now: {shown}; {'still better' if checked.holds else 'no longer better with certainty'}")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int, Trial | None], None]]:
    """Give a function that shows each phase with the best so far on stderr, if that is a terminal."""
    if not shows_progress():
        yield lambda phase, done, count, best: None
        return
    with click.progressbar(length=1000, file=command_errors(), show_eta=False) as bar:

        def update(phase: str, done: int, count: int, best: Trial | None) -> None:
            is_known = best is not None and best.value < float("inf")
            shown = f", best {best.value:.3f}" if is_known and best is not None else ""
            bar.label = f"{phase}, {done % max(count, 1)} of {count}{shown}"
            bar.update(1000 * (done % max(count, 1)) // max(count, 1) - bar.pos)
            bar.render_progress()

        yield update
