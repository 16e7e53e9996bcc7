"""`compare`: measure configurations of a model in turns with the configuration that resolves now."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from etconfig.analysis.instruction_times import InstructionTime
from etconfig.analysis.machine import describe_machine
from etconfig.app.installation.installation import Installation
from etconfig.base.fingerprint import file_sha256
from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.parameters import AnyPath
from etconfig.base.records import record
from etconfig.errors import MeasurementError, RemoteDeviceError
from etconfig.facts.facts_by_hand import FactOverrides
from etconfig.facts.sheet import FactSheet
from etconfig.measuring.comparison_report import (
    ComparisonReport,
    MeasuredRow,
    noise_notes,
    output_error,
    output_notes,
    quantiles_s,
)
from etconfig.measuring.input_shapes import Shapes, guessed_note
from etconfig.measuring.measurement_requests import Values, Variant, changed, subject_of, swept
from etconfig.measuring.pairs import MIN_PAIRS, PairSample, block_size, check_effort, measure_blocks
from etconfig.measuring.processes import make_subject
from etconfig.measuring.subjects import LoadedSubject, MeasuredSubject, arranged, reason_of
from etconfig.measuring.workplace import ResolvedOptions, SubjectRequest, Workplace

CompareProgress: TypeAlias = Callable[[str, float], object]
"""Called with the label of what is measured, and the share of all that is done, from 0 to 1."""

_WARM_UP_RUNS = 5
_WARM_UP_NS = 20_000_000
_MOST_WARM_UP_RUNS = 1000
_NOISE, _RESOLVING = "the noise floor", "resolving all configurations"


@record(frozen=True, kw_only=True)
class Effort:
    """The size of a measurement: a number of pairs, or the seconds for the pairs of one configuration."""

    pairs: int | None = None
    seconds: float = 0.4


def compare(
    model: AnyPath,
    *,
    sweep: Values = (),
    against: Variant | Sequence[Variant] = (),
    backend: str | None = None,
    method: str | None = None,
    instance: str | None = None,
    inputs: Sequence[Any] | None = None,
    shapes: Shapes = (),
    seed: int = 0,
    reference: Sequence[Any] | None = None,
    data: AnyPath | Sequence[AnyPath] = (),
    executor: str | None = None,
    optimize: bool = True,
    pairs: int | None = None,
    seconds: float = 0.4,
    own_processes: bool = False,
    on: str | None = None,
    models: AnyPath | None = None,
    profile: AnyPath | None = None,
    require_match: bool = False,
    facts: FactSheet | None = None,
    fact_overrides: FactOverrides | None = None,
    overrides: Mapping[str, object] | Sequence[str] = (),
    installation: Installation | None = None,
    progress: CompareProgress | None = None,
) -> ComparisonReport:
    """Measure configurations of a model, each in turns with the incumbent, which resolves now.

    Two equal objects are measured first: the noise floor. A configuration that cannot be loaded or run is a
    row with the reason. Ctrl-C keeps what was measured.

    Example:
        >>> report = etconfig.compare("model.pte", sweep={"ReferenceCpuBackend.num_threads": [1, 2]}, pairs=6)
        >>> [row.label for row in report.rows]
        ['num_threads=1', 'num_threads=2']

    Args:
        model: The path of a program, of a model that an engine runs, or a name of the models file.
        sweep: Values to try by option path; all combinations are measured.
        against: Further configurations, each as a mapping of option paths to values, with the keys `model`,
            `backend`, `profile`, `instance` and `executor` for all else; or as a text `KEY=VALUE`.
        backend: The id of the backend whose engine runs the model; needed only if several installed ones do.
        method: The method of a program, by default `forward`; of an engine's model, its name in profiles.
        instance: The named instance, or None for the default one.
        inputs: The inputs, in order; by default they are made up from `seed`.
        shapes: The shapes of made up inputs where an engine's model leaves sizes open, by name; else 1.
        seed: The seed of inputs that are made up.
        reference: The outputs to compare with; by default the incumbent's outputs.
        data: The data files (.ptd) of a program.
        executor: The executor of a program; by default the project file's, else `numpy`.
        optimize: False runs every instruction of a program as it says.
        pairs: The number of pairs for each configuration, at least 6; None for as many as `seconds` allows.
        seconds: The time for each configuration, from 0 on.
        own_processes: Give each configuration a process of its own. Those that differ in an option of the
            whole process always have one.
        on: The device that measures, as `ssh://[user@]host[:port][/path]` or `adb://[serial]/path`; None for
            this one. The path is of etrunner, or of a Python with etconfig and plugins in the same versions.
        models: A file of models; by default the models of the project file.
        profile: As for `configure`; so are the following.
        require_match: As for `configure`.
        facts: As for `configure`.
        fact_overrides: As for `configure`.
        overrides: Options that win over all others: values by option path, or texts `PATH=VALUE`.
        installation: As for `configure`.
        progress: Called before each pair.

    Raises:
        MeasurementError: no installed engine runs the model, or several do; or the incumbent fails in a
            process of its own.
        RemoteDeviceError: the device cannot be reached, or lacks what is needed.
        ValueError: `sweep`, `against` or `on` is malformed, `facts` are given beside `on`, there are too few
            pairs, or `seconds` is negative or not finite.
        EtconfigError: the incumbent does not resolve, load or run.
    """
    check_effort(pairs, seconds)
    variants = [against] if isinstance(against, (str, Mapping)) else against
    with subject_of(
        model,
        installation=installation,
        on=on,
        facts=facts,
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
        optimize=optimize,
        require_match=require_match,
    ) as (workplace, request):
        return compare_requests(
            workplace,
            request,
            [*swept(request, sweep), *(changed(workplace, request, each) for each in variants)],
            inputs=inputs,
            seed=seed,
            reference=reference,
            effort=Effort(pairs=pairs, seconds=seconds),
            own_processes=own_processes,
            progress=progress,
        )


def compare_requests(
    workplace: Workplace,
    base: SubjectRequest,
    others: Sequence[SubjectRequest],
    *,
    inputs: Sequence[Any] | None = None,
    seed: int = 0,
    reference: Sequence[Any] | None = None,
    effort: Effort | None = None,
    own_processes: bool = False,
    progress: CompareProgress | None = None,
) -> ComparisonReport:
    """Do the same as `compare` for requests.

    Args:
        workplace: The plugins and the device.
        base: The incumbent.
        others: The others; labels differ.
        inputs: The inputs, or None for those made up from `seed`.
        seed: The seed.
        reference: The outputs to compare with; None for the incumbent's outputs.
        effort: The pairs or the time for each; by default as for `compare`.
        own_processes: True for a process for each, also where none is needed.
        progress: As for `compare`.

    Raises:
        EtconfigError: the incumbent does not resolve, load or run.
    """
    incumbent = workplace.resolved(base)
    resolved = _all_resolved(workplace, others, progress)
    needed = any(isinstance(each, ResolvedOptions) and each.needs_own_process(incumbent) for each in resolved)
    own_processes = own_processes or needed or workplace.device is not None
    make = partial(make_subject, workplace, in_own_process=own_processes)
    rows: list[MeasuredRow] = []
    noise, is_interrupted = None, False
    instructions: tuple[InstructionTime, ...] = ()
    with make(base) as first:
        values = first.generate(seed) if inputs is None else list(inputs)
        outputs = first.run(values)
        expected = outputs if reference is None else list(reference)
        own_error = None if reference is None else _checked_error(base, outputs, expected)
        measured = _Measured(first, values, expected, effort or Effort(), [])
        own = first
        try:
            with make(base) as own:  # the first one may also have loaded the engine's library
                sample, _ = measured.against(own, _shown(progress, _NOISE, 0, len(others) + 1))
            noise, is_interrupted = _ratio(sample), sample.is_interrupted
            for index, (request, found) in enumerate(zip(others, resolved, strict=True), 1):
                if is_interrupted:
                    break
                shown = _shown(progress, request.label, index, len(others) + 1)
                row, is_interrupted = _row(make, request, found, incumbent, measured, shown)
                rows.append(row)
            if not others and not is_interrupted and isinstance(first, LoadedSubject):
                instructions = first.instruction_times(len(measured.times_ns))
        except KeyboardInterrupt:
            is_interrupted = True
        own_row = _own_row(base, incumbent, own, measured.times_ns, own_error)
    made_up = guessed_note(own.open_inputs) if inputs is None else ()
    return ComparisonReport(
        model=base.model,
        sha256=_sha256(Path(base.model)),
        method=base.method,
        instance=base.instance,
        runs_on=incumbent.runs_on,
        seed=seed if inputs is None else None,
        inputs=tuple(map(_form, values)),
        in_own_processes=own_processes,
        noise=noise,
        incumbent=own_row,
        rows=tuple(rows),
        instructions=instructions,
        notes=(*workplace.notes, *made_up, *noise_notes(noise), *output_notes([own_row, *rows])),
        is_interrupted=is_interrupted,
        machine=describe_machine() if workplace.device is None else workplace.device.machine,
    )


def measure_subjects(
    first: MeasuredSubject,
    second: MeasuredSubject,
    effort: Effort,
    progress: Callable[[float], object] | None = None,
) -> PairSample:
    """Measure two subjects in turns, each on the inputs that it ran on last."""
    run_ns = round(max(map(_warmed_up, (first, second))))
    return measure_blocks(
        first.time_block,
        second.time_block,
        pairs=effort.pairs,
        seconds=effort.seconds if effort.pairs is None else None,
        block=block_size(run_ns, effort.seconds),
        progress=progress,
    )


@record(frozen=True)
class _Measured:
    """The incumbent, what it ran on, and the outputs to compare with; collects the times of its runs."""

    subject: MeasuredSubject
    values: Sequence[Any]
    expected: Sequence[Any]
    effort: Effort
    times_ns: list[int]

    def against(
        self, other: MeasuredSubject, progress: Callable[[float], object]
    ) -> tuple[PairSample, float]:
        """Measure another subject; return the sample, and the error of its outputs."""
        outputs = other.run(arranged(self.values, self.subject.input_names, other))
        try:
            error = output_error(outputs, self.expected)
        except Exception as problem:  # of outputs, which may be any objects
            raise MeasurementError(label=other.label, reason=reason_of(problem)) from problem
        sample = measure_subjects(self.subject, other, self.effort, progress)
        self.times_ns.extend(sample.all_first_ns)
        return sample, error


def _own_row(
    base: SubjectRequest,
    incumbent: ResolvedOptions,
    subject: MeasuredSubject,
    times_ns: Sequence[int],
    error: float | None,
) -> MeasuredRow:
    """Return the row of the incumbent."""
    return MeasuredRow(
        label=base.label,
        options=incumbent.values,
        profile=incumbent.profile,
        fingerprint=incumbent.fingerprint,
        load_s=subject.load_s,
        runs=len(times_ns),
        latency_s=quantiles_s(times_ns),
        peak_bytes=subject.peak_bytes,
        error=error,
    )


def _row(
    make: Callable[[SubjectRequest], MeasuredSubject],
    request: SubjectRequest,
    found: ResolvedOptions | str,
    incumbent: ResolvedOptions,
    measured: _Measured,
    progress: Callable[[float], object],
) -> tuple[MeasuredRow, bool]:
    """Return the row of a configuration, and True if Ctrl-C ended its measurement."""
    if isinstance(found, str):
        return MeasuredRow(label=request.label, options={}, failure=found, latency_s={}), False
    row = MeasuredRow(
        label=request.label,
        options=found.differing(incumbent),
        profile=found.profile,
        fingerprint=found.fingerprint,
        latency_s={},
    )
    try:
        with make(request) as subject:
            sample, error = measured.against(subject, progress)
            load_s, peak_bytes = subject.load_s, subject.peak_bytes
    except Exception as problem:
        is_incumbent = isinstance(problem, MeasurementError) and problem.label == measured.subject.label
        if is_incumbent or isinstance(problem, RemoteDeviceError):
            raise
        return replace(row, failure=reason_of(problem)), False
    ratio = _ratio(sample)
    if ratio is None:
        return replace(row, failure="interrupted"), True
    times = sample.all_second_ns
    return replace(
        row,
        ratio=ratio,
        load_s=load_s,
        runs=len(times),
        latency_s=quantiles_s(times),
        peak_bytes=peak_bytes,
        error=error,
    ), sample.is_interrupted


def _all_resolved(
    workplace: Workplace, requests: Iterable[SubjectRequest], progress: CompareProgress | None
) -> list[ResolvedOptions | str]:
    """Resolve all configurations, before it is known whether they need processes; see `_resolved`."""
    resolved = []
    for each in requests:
        _shown(progress, _RESOLVING, 0, 1)(0)
        resolved.append(_resolved(workplace, each))
    return resolved


def _resolved(workplace: Workplace, request: SubjectRequest) -> ResolvedOptions | str:
    """Return the options of a configuration, or the reason why it has none."""
    try:
        return workplace.resolved(request)
    except Exception as error:  # of a plugin, which may raise anything
        return reason_of(error) + _hint(workplace, request)


def _hint(workplace: Workplace, request: SubjectRequest) -> str:
    """Return what to do about an option of another engine; empty if there is none."""
    named = {text.partition(".")[0] for text in request.overrides}
    others = sorted(named & {*workplace.installation.backend_ids} - {request.backend})
    return f"; add backend={others[0]}" if request.backend is not None and others else ""


def _sha256(path: Path) -> str | None:
    """Return the hash of a file; None for a directory, or if it cannot be read any more."""
    try:
        return file_sha256(path) if path.is_file() else None
    except OSError:
        return None


def _checked_error(base: SubjectRequest, outputs: Sequence[Any], reference: Sequence[Any]) -> float:
    try:
        return output_error(outputs, reference)
    except ValueError as error:
        advice = "give the outputs of this model, as `etconfig run --output` writes them"
        raise MeasurementError(label=base.label, reason=str(error), help=advice) from error


def _ratio(sample: PairSample) -> PairedRatio | None:
    return sample.ratio() if len(sample.first_runs_ns) >= MIN_PAIRS else None


def _warmed_up(subject: MeasuredSubject) -> float:
    """Run for some milliseconds, at least once; return the mean time in nanoseconds.

    The mean, unlike the least time, contains what other programs take: blocks are smaller on a busy machine.
    """
    times = [*subject.time_block(1)]
    while sum(times) < _WARM_UP_NS and len(times) < _MOST_WARM_UP_RUNS:
        times += subject.time_block(_WARM_UP_RUNS)
    return statistics.mean(times)


def _shown(progress: CompareProgress | None, label: str, index: int, count: int) -> Callable[[float], object]:
    if progress is None:
        return lambda share: None
    return lambda share: progress(label, (index + share) / count)


def _form(value: object) -> str:
    return (
        f"{value.dtype.name} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
    )
