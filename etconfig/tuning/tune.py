"""`tune`: find options that are better than what is configured, and write them down with evidence."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

from etconfig.app.configuring.profile_choice import choose_profile
from etconfig.app.configuring.tuned_models import model_hash
from etconfig.app.installation.engine_version import engine_text
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import choose_executor, executor_with_options
from etconfig.base.fingerprint import file_sha256
from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.base.written_files import FilesOfRun
from etconfig.errors import MeasurementError, TuningError
from etconfig.facts.facts_by_hand import FactOverrides
from etconfig.facts.sheet import FactSheet
from etconfig.measuring.input_shapes import Shapes, guessed_note
from etconfig.measuring.measurement_requests import find_model, override_texts, subject_of
from etconfig.measuring.processes import make_subject
from etconfig.measuring.subjects import MeasuredSubject
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.declaration import OptionInfo, Scope
from etconfig.schema.units import Unit
from etconfig.tuning.contest import FRESH_LOADS, MEMORY, Contest, Objective, Trial
from etconfig.tuning.objective_bounds import parse_bound
from etconfig.tuning.space import Combination, Space, make_space
from etconfig.tuning.study import Study, content_hash
from etconfig.tuning.tune_report import TuneReport
from etconfig.tuning.tuned_profile import (
    CORES,
    TUNED,
    TunedProfile,
    base_of,
    device_facts,
    extended,
    profile_name,
)
from etconfig.tuning.tuning import Found, TuneLimits, TuneProgress, find_better

OBJECTIVES = ("latency", "throughput", "memory", "energy")
TOLERANCE = 0.01
"""The largest difference of outputs by default, as a share of the largest expected value."""
_CONTROL_PAIRS = 60


@record(frozen=True, kw_only=True)
class TuneOptions:
    """The aims of a search.

    Attributes:
        objective: One of `OBJECTIVES`.
        limits: The limits of the search.
        bounds: What configurations must keep, such as `memory < 64 MiB`.
        only: The options to try; by default all that suit.
        also: Further options with values, as `PATH=V1,V2`.
        tolerance: The largest difference of outputs, as a share of the largest expected value.
        inputs: The inputs; None to make them up.
        reference: The outputs to compare with; None for the outputs of what is configured.
        output: The file of the profile; None to write none.
        study: The file of all outcomes; None to keep them in memory.
    """

    objective: str = "latency"
    limits: TuneLimits = field(default_factory=TuneLimits)
    bounds: Sequence[str] = ()
    only: Sequence[str] = ()
    also: Sequence[str] = ()
    tolerance: float = TOLERANCE
    inputs: Sequence[Any] | None = None
    reference: Sequence[Any] | None = None
    output: Path | None = None
    study: Path | None = None

    def check(self) -> None:
        """Raise ValueError for a bound that is malformed, and for a number that no search can keep to."""
        for each in self.bounds:
            parse_bound(each)
        given = {"budget_s": self.limits.budget_s, "tolerance": self.tolerance}
        for name, value in {**given, "min_gain": self.limits.min_gain}.items():
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} is {value}; expected a finite number of at least 0")
        if self.limits.min_gain >= 1:
            raise ValueError(f"min_gain is {self.limits.min_gain}; expected less than 1")


def tune(
    model: AnyPath,
    *,
    objective: str = "latency",
    budget_s: float = 60.0,
    bounds: Sequence[str] = (),
    only: Sequence[str] = (),
    also: Sequence[str] = (),
    control: AnyPath | None = None,
    min_gain: float = 0.02,
    tolerance: float = TOLERANCE,
    inputs: Sequence[Any] | None = None,
    shapes: Shapes = (),
    reference: Sequence[Any] | None = None,
    output: AnyPath | None = None,
    study: AnyPath | None = None,
    backend: str | None = None,
    method: str | None = None,
    instance: str | None = None,
    data: AnyPath | Sequence[AnyPath] = (),
    executor: str | None = None,
    on: str | None = None,
    models: AnyPath | None = None,
    profile: AnyPath | None = None,
    fact_overrides: FactOverrides | None = None,
    overrides: Mapping[str, object] | Sequence[str] = (),
    seed: int = 0,
    installation: Installation | None = None,
    progress: TuneProgress | None = None,
) -> TuneReport:
    """Find options with which a model is better on this machine than with what is configured.

    All combinations are measured in turns with what resolves now; the better half goes on, with twice as many
    pairs. The winner must win again, on objects and inputs that the search has not seen, and loses the
    options that do not matter. Often the answer is that nothing is better.

    Example:
        >>> report = etconfig.tune("model.pte", only=["ReferenceCpuBackend.num_threads"], budget_s=0.1)
        >>> [each.path for each in report.space.dimensions]
        ['ReferenceCpuBackend.num_threads']

    Args:
        model: The path of a program, of a model that an engine runs, or a name of the models file.
        objective: `latency`, `throughput` (as many copies as cores at once) or `memory`.
        budget_s: The time that all may take, about, in seconds.
        bounds: What configurations must keep: `memory < 64 MiB`, `latency < 5 ms`, `error < 0.001`.
        only: The options to try; by default each whose plugin declares it, else each with few values.
        also: Further options with values, as `PATH=V1,V2`.
        control: Another model, on which the better options are measured, too.
        min_gain: The least gain that counts, as a share.
        tolerance: The largest difference of outputs, as a share of the largest expected value.
        inputs: The inputs, in order; by default they are made up.
        shapes: As for `compare`.
        reference: The outputs to compare with; by default the outputs of what is configured.
        output: The file of the profile, which is written if something is better.
        study: The file of all outcomes; a second run goes on with it.
        backend: As for `compare`; so are the following, up to `models`, and `overrides`.
        method: As for `compare`.
        instance: As for `compare`.
        data: As for `compare`.
        executor: As for `compare`.
        on: As for `compare`.
        models: As for `compare`.
        profile: As for `configure`.
        fact_overrides: As for `configure`.
        overrides: As for `compare`; options that they set are not tried.
        seed: The order of the search, and the inputs that are made up.
        installation: As for `configure`.
        progress: Called before each comparison.

    Returns:
        What was found, with a table of all configurations.

    Raises:
        TuningError: the objective cannot be measured here, or the study is of something else.
        MeasurementError, RemoteDeviceError, ConfigError, ProgramError: as for `compare`.
        ValueError: a bound, the objective or `on` is malformed.
    """
    options = TuneOptions(
        objective=objective,
        limits=TuneLimits(budget_s=budget_s, min_gain=min_gain, seed=seed),
        bounds=_listed(bounds),
        only=_listed(only),
        also=_listed(also),
        tolerance=tolerance,
        inputs=inputs,
        reference=reference,
        output=None if output is None else as_path("output", output),
        study=None if study is None else as_path("study", study),
    )
    other = None if control is None else str(as_path("control", control))
    with subject_of(
        model,
        installation=installation,
        on=on,
        fact_overrides=fact_overrides,
        method=method,
        models=models,
        profile=profile,
        overrides=overrides,
        data=data,
        shapes=shapes,
        backend=backend,
        instance=instance,
        executor=executor,
    ) as (workplace, base):
        return tune_request(workplace, base, options, control=other, progress=progress)


def _listed(texts: Sequence[str]) -> Sequence[str]:
    """Return texts, of which one may be given by itself."""
    return (texts,) if isinstance(texts, str) else texts


def tune_request(
    workplace: Workplace,
    base: SubjectRequest,
    options: TuneOptions,
    *,
    control: str | None = None,
    files: FilesOfRun | None = None,
    progress: TuneProgress | None = None,
) -> TuneReport:
    """Do the same as `tune` for a request.

    Args:
        workplace: The plugins and the device.
        base: The incumbent.
        options: What to look for.
        control: The path of another model.
        files: The files of the run.
        progress: As for `tune`.

    Raises:
        TuningError, EtconfigError, ValueError: as for `tune`.
    """
    files = files or FilesOfRun()
    options.check()
    if options.output is not None:
        files.check(options.output, TUNED)
    resolution, sha256 = resolve_model(workplace, base)
    if options.output is not None:
        _check_not_in_force(workplace, base, resolution, options.output)
    other = None if control is None else _control_request(workplace, base, control, options.limits.seed)
    arguments = resolution.arguments(base.method, base.instance)
    space = make_space(arguments, cores_of(resolution.facts), options.only, options.also)
    contest = _contest(workplace, base, options, space, resolution)
    backend = space.dimensions[0].path.partition(".")[0]
    engine = engine_text(workplace.installation, arguments.backends[backend].spec, resolution.facts)
    has_threads = any(info.unit is Unit.THREADS for info in _infos(space, arguments))
    device = device_facts(resolution.facts.values, has_threads=has_threads)
    here = device_facts(resolution.facts.values, has_threads=True)  # the same for any choice of options
    identity = _identity(workplace, base, options, sha256, engine, here, resolution.fingerprint())
    study = Study(options.study, identity, files, space)
    try:
        found = find_better(contest, space, study, options.limits, progress or (lambda *shown: None))
    finally:
        study.close()
    report = TuneReport(
        model=base.model,
        sha256=sha256,
        method=base.method,
        engine=engine,
        profile=resolution.profile,
        objective=options.objective,
        space=space,
        found=found,
        outcomes=study.outcomes(),
        notes=(*workplace.notes, *_notes(found, arguments, base, options)),
        study=None if options.study is None else str(options.study),
        resumed=study.resumed,
    )
    if other is not None and found.better and not found.is_interrupted:
        try:
            report = replace(report, control=_control(workplace, other, contest, found))
        except KeyboardInterrupt:  # the gain is confirmed all the same
            report = replace(report, found=replace(found, is_interrupted=True))
    if found.whole is None:
        return report
    output = options.output or Path("tuned.toml")
    sources = workplace.installation.readable_profiles.sources
    name = profile_name(output, (each.directory for each in sources))
    text = _profile(report, base, resolution, device, output, name).text()
    if options.output is not None:
        files.write(options.output, text.encode(), TUNED)
    return replace(report, profile_text=text)


def _control_request(workplace: Workplace, base: SubjectRequest, control: str, seed: int) -> SubjectRequest:
    """Return the request for the control model, which runs once so that its problems are reported early."""
    other = find_model(workplace, replace(base, model=control), method=base.method, models=None)
    with make_subject(workplace, other, in_own_process=False) as subject:
        subject.run(subject.generate(seed))
    return other


def _identity(
    workplace: Workplace,
    base: SubjectRequest,
    options: TuneOptions,
    sha256: str,
    engine: str,
    device: Mapping[str, object],
    incumbent: str,
) -> dict[str, object]:
    """Return the conditions of outcomes; for engines, `method` is the name of the model."""
    executor: list[object] | None = None
    if base.backend is None:
        installation = workplace.installation
        texts = (*installation.executor_texts, *base.executor_texts)
        name = choose_executor(installation, base.executor)
        given = executor_with_options(installation.with_executor_texts(texts), name)[1]
        executor = [name, None if given is None else given.to_jsonable()]
    made_up = {"shapes": sorted(base.shapes), "seed": options.limits.seed}
    return {
        "model": sha256,
        "data": [file_sha256(Path(each)) for each in base.data],
        "method": base.method,
        "instance": base.instance,
        "executor": executor,
        "engine": engine,
        "device": device,
        "incumbent": incumbent,
        "objective": options.objective,
        "bounds": sorted(options.bounds),
        "tolerance": float(options.tolerance),
        "inputs": made_up if options.inputs is None else content_hash(options.inputs),
        "reference": None if options.reference is None else content_hash(options.reference),
    }


def resolve_model(workplace: Workplace, request: SubjectRequest) -> tuple[Resolution, str]:
    """Return the arguments of a model, and the hash of its content.

    Raises:
        EtconfigError: it cannot be opened, or has no valid arguments.
        OSError: the file cannot be read.
    """
    if request.backend is not None:
        if not Path(request.model).is_file():
            raise MeasurementError(label=request.model, reason="there is no such file")
        resolution = workplace.resolve(request, workplace.engine_model(request))
        return resolution, f"sha256:{file_sha256(Path(request.model))}"
    with workplace.open_program(request) as program:
        return workplace.resolve(request, program), model_hash(program.program.whole())


def _contest(
    workplace: Workplace, base: SubjectRequest, options: TuneOptions, space: Space, resolution: Resolution
) -> Contest:
    """Return the rules of all comparisons. Memory and options of a whole process need processes.

    Raises:
        TuningError, ValueError: as for `make_objective` and `parse_bound`.
    """
    arguments = resolution.arguments(base.method, base.instance)
    bounds = [parse_bound(each) for each in options.bounds]
    of_process = any(info.scope is Scope.PROCESS for info in _infos(space, arguments))
    needs_memory = options.objective == MEMORY or any(each.name == MEMORY for each in bounds)
    return Contest(
        make=partial(_make, workplace, base, of_process or needs_memory),
        objective=make_objective(options.objective, resolution.facts),
        tolerance=options.tolerance,
        bounds=bounds,
        inputs=options.inputs,
        reference=options.reference,
    )


def _make(
    workplace: Workplace, base: SubjectRequest, in_own_process: bool, configuration: Combination
) -> MeasuredSubject:
    texts = (*base.overrides, *override_texts(configuration))
    return make_subject(workplace, replace(base, overrides=texts), in_own_process=in_own_process)


def make_objective(name: str, facts: FactSheet) -> Objective:
    """Return an objective.

    Raises:
        TuningError: it cannot be measured here.
        ValueError: there is none of this name.
    """
    if name == "throughput":
        return Objective(name, max(2, cores_of(facts)))
    if name == "energy":
        raise TuningError(
            problem="no fact of this device has the energy of a run, so it cannot be measured",
            help="tune for --objective latency: at the same clock, less time is less energy",
        )
    if name not in OBJECTIVES:
        raise ValueError(f"objective is {name!r}; expected one of {', '.join(OBJECTIVES)}")
    return Objective(name)


def cores_of(facts: FactSheet) -> int:
    """Return the number of cores that threads may use."""
    return int(str(facts.values.get(CORES, os.cpu_count() or 1)))


def _infos(space: Space, arguments: Arguments) -> Iterator[OptionInfo]:
    """Yield the declaration of each option of a space."""
    for each in space.dimensions:
        backend, _, option = each.path.partition(".")
        yield arguments.backends[backend].options.option_infos()[option]


def _check_not_in_force(
    workplace: Workplace, base: SubjectRequest, resolution: Resolution, output: Path
) -> None:
    """Raise TuningError if the new profile would replace one that is in force, and so extend itself."""
    chosen = resolution.selection or choose_profile(workplace.installation, base.profile, resolution.facts)
    for profile in chosen.chain:
        if profile.path is not None and output.exists() and output.samefile(profile.path):
            raise TuningError(
                problem=f"{output} is in force, so the new profile would extend itself",
                help=f"tune from what it extends: --profile {base_of(profile, output)}",
            )


def _notes(found: Found, arguments: Arguments, base: SubjectRequest, options: TuneOptions) -> Sequence[str]:
    """Return what the user must know, such as of a noisy machine, or of settings that beat every profile."""
    limits, output = options.limits, options.output
    notes = [*guessed_note(found.open_inputs)]
    if found.noise is not None and abs(1 - found.noise.ratio) > limits.min_gain:
        notes.append("the machine is noisy: only gains above the noise count; stop what else runs on it")
    for path in found.better:
        backend, _, option = path.partition(".")
        origin = arguments.backends[backend].origin(option)
        if origin.kind is OriginKind.PROJECT:
            notes.append(f"{origin.place} sets {path} and beats every profile: change it there")
    if found.better and base.backend is not None and base.method == "model":
        notes.append(f"the options are for every model of {base.backend}; --method NAME is for one")
    if found.whole is None and output is not None and output.exists():
        notes.append(f"{output} is from an earlier run, and stays as it is")
    return notes


def _control(workplace: Workplace, request: SubjectRequest, contest: Contest, found: Found) -> Trial:
    make = partial(_make, workplace, request, contest.objective.name == MEMORY)
    rules = replace(contest, make=make, inputs=None, reference=None, bounds=())
    return rules.compare(found.better, _CONTROL_PAIRS, repeats=FRESH_LOADS)


def _profile(
    report: TuneReport,
    base: SubjectRequest,
    resolution: Resolution,
    device: Mapping[str, object],
    output: Path,
    name: str,
) -> TunedProfile:
    found, today = report.found, datetime.date.today()
    assert found.whole is not None
    assert found.whole.ratio is not None
    assert found.noise is not None
    is_named = base.method != "model" if base.backend is not None else len(resolution.instances) > 1
    scope = f"methods.{base.method}." if is_named else ""
    if base.instance is not None:
        scope = f"instances.{base.instance}."
    return TunedProfile(
        name=name,
        extends=extended(base.profile, resolution.profile, output),
        scope=scope,
        options=found.better,
        made=today,
        model=report.sha256,
        engine=report.engine,
        device=device,
        noise=found.noise.ratio,
        objective=report.objective,
        backend=base.backend,
        shapes=base.shapes,
        whole=found.whole.ratio,
        gains=found.options,
        comment=(f"{Path(base.model).name}: {report.verdict}",),
    )
