"""`etconfig tune`: find better options for a model on this machine, and write a profile with evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from etconfig.cli.rendering.configuration_table import ConfigurationTable
from etconfig.cli.shared.command_options import FiniteNumber, Share, json_option
from etconfig.cli.shared.measured_model import (
    MeasuredModelRequest,
    measured_model_options,
    measuring_progress,
)
from etconfig.cli.shared.output import print_json, show, show_diagnostics
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options
from etconfig.cli.shared.usage import StrictCommand
from etconfig.cli.shared.writing import (
    OutputPath,
    check_can_write,
    files_of_command,
    force_option,
    write_file,
    writing,
)

if TYPE_CHECKING:
    from etconfig.app.installation.installation import Installation
    from etconfig.tuning.contest import Trial
    from etconfig.tuning.remeasurement import EvidenceCheck
    from etconfig.tuning.tune_report import TuneReport

_INTERRUPTED = 130
_DURATION = re.compile(r"([0-9.]+) *(s|min|h)?")
_OF_USAGE = ("from_usage", "output", "only", "force", "profile_paths", "as_json")
"""The parameters that --from-usage allows."""
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
@measured_model_options
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
@click.option("--min-gain", type=Share(), default="2%", show_default=True, help="The least gain that counts.")
@click.option(
    "--tolerance",
    type=Share(),
    default="1%",
    show_default=True,
    help="The largest difference of outputs, as a share of the largest expected value.",
)
@click.option("--output", type=OutputPath(), metavar="PROFILE", help="Write the profile if it is better.")
@click.option(
    "--study",
    type=OutputPath(),
    metavar="FILE",
    help="Keep every outcome here, and go on with outcomes that are; by default here, if --output is given.",
)
@click.option(
    "--verify",
    type=click.Path(path_type=Path),
    metavar="PROFILE",
    help="Measure a tuned profile again; exit with 1 if it is no longer better.",
)
@click.option(
    "--from-usage",
    type=click.Path(path_type=Path),
    is_eager=True,
    metavar="FILE.json",
    help="Measure nothing: write the options of a rollout that made devices faster, from the output of fleet "
    "compare --json; --only names the rollout, if there are several.",
)
@force_option
@partial(configuration_options, on_this_device=True)
@json_option
def command(
    model: MeasuredModelRequest,
    request: ConfigurationRequest,
    budget: float,
    min_gain: float,
    seed: int,
    output: Path | None,
    study: Path | None,
    verify: Path | None,
    control: str | None,
    from_usage: Path | None,
    force: bool,
    as_json: bool,
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
      etconfig tune --from-usage compared.json --output profiles/acme/used.toml
    """
    from etconfig.tuning.remeasurement import verify_tuned
    from etconfig.tuning.study import STUDY
    from etconfig.tuning.tune import TuneOptions, tune_request
    from etconfig.tuning.tuned_profile import TUNED
    from etconfig.tuning.tuning import TuneLimits

    if output is not None:
        check_can_write(output, TUNED)
    if from_usage is not None:
        return _give_usage(from_usage, choices["only"], output, request, as_json=as_json)
    if output is not None:
        study = study or Path(output.with_suffix(".study.jsonl").name)  # a directory of profiles stays tidy
    if study is not None:
        check_can_write(study, STUDY)
    options = TuneOptions(
        limits=TuneLimits(budget_s=budget, min_gain=min_gain, seed=seed),
        output=output,
        study=study,
        **choices,
    )
    try:
        options.check()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if verify is not None:
        evidence = request.installation.profile_chain(verify)[-1].evidence
        if evidence is not None:  # the same conditions as then
            backend, shapes = model.backend or evidence.backend, model.shapes or evidence.shapes
            model = replace(model, backend=backend, shapes=shapes)
    measured = model.find(request)
    show_diagnostics(measured.workplace.resolved(measured.base).notes)
    options = replace(options, inputs=measured.inputs, reference=measured.reference)
    if verify is not None:
        checked = verify_tuned(measured.workplace, measured.base, verify, options)
        print_json(checked.to_jsonable()) if as_json else _print_check(checked)
        return int(not checked.holds)
    with measuring_progress() as show_progress, writing():
        report = tune_request(
            measured.workplace,
            measured.base,
            options,
            control=control,
            files=files_of_command(),
            progress=partial(_show_phase, show_progress),
        )
    print_json(report.to_jsonable()) if as_json else _print_report(report, output)
    return _INTERRUPTED if report.found.is_interrupted else 0


def _show_phase(
    show_progress: Callable[[str, float], object], phase: str, done: int, count: int, best: Trial | None
) -> None:
    is_known = best is not None and best.value < float("inf")
    shown = f", best {best.value:.3f}" if is_known and best is not None else ""
    done %= max(count, 1)
    show_progress(f"{phase}, {done} of {count}{shown}", done / max(count, 1))


def _print_report(report: TuneReport, output: Path | None) -> None:
    from etconfig.tuning.tune_report import HEADERS

    show(f"{report.model}, {report.engine}, profile {report.profile}")
    for line in report.lines:
        show(line)
    if report.outcomes:
        show()
        ConfigurationTable.of(HEADERS, report.rows(), name=len(HEADERS) - 1).show()
    show()
    show(report.verdict)
    if report.profile_text is None:
        return
    if output is not None:
        show(f"written to {output}; auto selects it in a directory of profiles, else give --profile {output}")
        return
    show("with --output PROFILE it writes:")
    show()
    for line in report.profile_text.splitlines():
        show(line)


def _give_usage(
    path: Path, only: Sequence[str], output: Path | None, request: ConfigurationRequest, *, as_json: bool
) -> int:
    """Print what a comparison of usage says of each rollout, and write the profile of a faster one."""
    from etconfig.tuning.tuned_profile import TUNED, profile_name
    from etconfig.tuning.usage_gains import read_usage_gains

    _refuse_what_measures()
    installation, place = request.installation, output or Path("used.toml")
    name = profile_name(place, (each.directory for each in installation.readable_profiles.sources))
    verdicts, texts = read_usage_gains(path, name)
    if only:
        unknown = next((each for each in only if each not in verdicts), None)
        if unknown is not None:
            raise click.UsageError(
                f"--only: no rollout {unknown!r}; there are {', '.join(verdicts) or 'none'}"
            )
        texts = {label: text for label, text in texts.items() if label in only}
    if output is not None and len(texts) > 1:
        raise click.UsageError(f"several rollouts are faster; choose one with --only: {', '.join(texts)}")
    text = next(iter(texts.values())) if len(texts) == 1 else None
    if text is not None:
        _check_profile(text, place, path, installation)
    if output is not None and text is not None:
        write_file(output, text.encode(), TUNED)
    if as_json:
        print_json({"rollouts": verdicts, "profile_text": text})
        return 0
    for label, verdict in verdicts.items():
        show(f"{label}: {verdict}")
    if not texts:
        show("nothing better than what is configured")
    elif text is not None:
        show(f"written to {output}" if output is not None else f"with --output PROFILE it writes:\n\n{text}")
    return 0


def _refuse_what_measures() -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if is_given and parameter.name not in _OF_USAGE:
            raise click.UsageError(
                f"--from-usage measures nothing; leave out {parameter.get_error_hint(context)}"
            )


def _check_profile(text: str, place: Path, compared: Path, installation: Installation) -> None:
    """Raise a TuningError if the profile would not be valid at its place."""
    from etconfig.errors import ConfigError, TuningError

    try:
        written = place.with_suffix(".toml").resolve()
        installation.with_texts({str(written): text}).profile_chain(written)
    except ConfigError as error:
        problem = f"{compared} leads to no valid profile: {error.diagnostics[0].message}"
        raise TuningError(problem=problem, help="compare again, with the profiles in force") from error


def _print_check(checked: EvidenceCheck) -> None:
    from etconfig.tuning.tune_report import shown_gain

    evidence, now = checked.evidence, checked.now
    then = shown_gain(evidence.whole, evidence.objective)
    show(f"{checked.profile}: {then} on {evidence.made}, {evidence.engine}")
    for line in checked.stale:
        show(line)
    show(f"noise: two equal configurations differ by {abs(1 - checked.noise.ratio):.1%}")
    if now.ratio is None or now.failure is not None:
        show(f"now it fails: {now.failure}")
        return
    shown = shown_gain(now.ratio, evidence.objective)
    show(f"now: {shown}; {'still better' if checked.holds else 'no longer better with certainty'}")
