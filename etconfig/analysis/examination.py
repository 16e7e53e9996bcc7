"""`examine_installation`: look for what is broken or missing in an installation."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from etconfig.analysis.plain import plain_data
from etconfig.app.configuring.profile_choice import ProfileChoice, profile_choices
from etconfig.app.configuring.project_programs import read_project_programs
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import (
    NUMPY,
    backend_status,
    choose_executor,
    executor_report,
    executor_with_options,
    ignored_kernel_choice,
)
from etconfig.base.interrupts import is_own_process
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.base.version import __version__
from etconfig.diagnostics import Diagnostic, did_you_mean_backend
from etconfig.errors import ConfigError, EtconfigError, PluginError, PluginLoadError
from etconfig.facts.detecting.detection import detector_failures
from etconfig.facts.sheet import FactSheet
from etconfig.method import ExecutorReport
from etconfig.plugin import BACKENDS, CONFORMANCE, EXECUTORS, PluginFailure, PluginIndex
from etconfig.plugin.contributions import CONFORMANCE_HOOK
from etconfig.profile.profile import Reference
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text
from etconfig.resolver.deciding.recommendation import ADVICE_INSTEAD, RECOMMEND_DEPRECATED, recommend


def project_findings(installation: Installation) -> Iterator[Finding]:
    """Yield a finding for each thing that the project file and variables name, with the place of its name.

    The plugins and the project file's text can be read.
    """
    for warning in installation.project_warnings:
        yield finding_of("project file", warning)
    yield from (finding_of("profile path", problem) for problem in installation.profile_path_problems)
    for directory in installation.profile_path:
        if directory.problem() is None:
            yield Finding("profile path", "ok", f"{directory.path}, from {directory.named_by}")
    yield from _executor_findings(installation)
    yield from _programs(installation)
    yield from _models(installation)


def _models(installation: Installation) -> Iterator[Finding]:
    try:
        catalog = installation.models
    except ConfigError as error:
        yield from (finding_of("model", problem) for problem in error.diagnostics)
        return
    for model in catalog:
        parts = [count_text(len(model.variants), "variant")] if model.variants else []
        if model.backends:
            parts.append(f"run by {', '.join(each.target for each in model.backends)}")
        kind = ", ".join(parts)
        yield Finding("model", "ok", f"{model.name}, {kind}, from {model.span.place}")


def _executor_findings(installation: Installation) -> Iterator[Finding]:
    try:
        choose_executor(installation)
        reference = installation.executor
        executor_with_options(installation, NUMPY)  # plugins' executors have findings of their own
    except ConfigError as error:
        yield from (finding_of("executor", problem) for problem in error.diagnostics)
        return
    except PluginError:  # the executor's own finding says what is wrong
        named = installation.executor
        place = "" if named is None else f"{named.target}, from {named.span.place}, "
        yield Finding("executor", "error", f"{place}has a broken plugin")
        return
    if reference is not None:
        yield Finding("executor", "ok", f"{reference.target}, from {reference.span.place}")


def _programs(installation: Installation) -> Iterator[Finding]:
    try:
        programs = read_project_programs(installation)
    except ConfigError as error:
        yield from (finding_of("program", problem) for problem in error.diagnostics)
        return
    for program in programs:
        if program.problem is not None:
            yield finding_of("program", program.problem)
        else:
            yield Finding("program", "ok", f"{program.name}, from {program.reference.span.place}")


FindingStatus: TypeAlias = Literal["ok", "warning", "error"]
"""`warning`: something is not available. `error`: something is broken."""


@record(frozen=True)
class Finding:
    """The result of one check of an installation.

    Attributes:
        subject: What was checked, such as `profiles` or `backend ReferenceNpuBackend`.
        status: `ok`, `warning` (something is not available) or `error` (something is broken).
        detail: What was found.
        help: What to do about it, or None.
    """

    subject: str
    status: FindingStatus
    detail: str
    help: str | None = None


def finding_of(subject: str, problem: Diagnostic) -> Finding:
    """Return a diagnostic as a finding; a note counts as a warning."""
    return Finding(subject, "error" if problem.is_error else "warning", str(problem), problem.help)


FactsOfDevice: TypeAlias = "Callable[[], FactSheet]"
"""Returns the facts of this device, with the project file's facts; see `_known_facts`."""


@record(frozen=True)
class InstallationReport(HasView):
    """The findings of an examination, in the order of the checks."""

    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """True if nothing is broken. Backends that cannot run here are warnings, and do not count."""
        return not any(finding.status == "error" for finding in self.findings)

    def _view(self) -> View:
        counts = Counter(each.status for each in self.findings)
        rows = [(each.status, each.subject, each.detail, each.help or "") for each in self.findings]
        return View(
            title=", ".join(f"{count} {status}" for status, count in counts.items()),
            tables=(Table(headers=("STATUS", "WHAT", "FOUND", "HELP"), rows=rows),),
        )

    def to_jsonable(self) -> list[dict[str, Any]]:
        """The findings as plain data, as `etconfig doctor --json` prints them."""
        findings: list[dict[str, Any]] = plain_data(self.findings)
        return findings


def examine_installation(installation: Installation | None = None) -> InstallationReport:
    """Check everything that is installed and configured here; a broken part does not hide the others.

    Imports every plugin.

    Args:
        installation: What is checked; by default what is found from the current directory.

    Returns:
        A finding for each check. No problem is raised: each is a finding of its own.

    Example:
        >>> report = etconfig.examine_installation()
        >>> report.is_sound, report.findings[0].subject
        (True, 'etconfig')
    """
    if installation is None:
        installation = Installation(Path.cwd())
    return InstallationReport(tuple(_findings(installation)))


def _findings(installation: Installation) -> Iterator[Finding]:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("etconfig", "ok", f"{__version__}, {python}, {sys.platform}")
    project = _checked("project file", lambda: _project(installation))
    yield project
    try:
        index = installation.index
    except EtconfigError:
        return  # the plugins cannot be known without the project file, which was reported
    if is_own_process():
        installation.plugins.try_imports()
    yield from project_findings(installation)
    device = cache(partial(_known_facts, installation))  # detected once: a detector may start an engine
    yield _checked("facts", lambda: _facts(device))
    yield from _detectors(device)
    if project.status == "ok":
        yield from _profiles(installation, device)
    else:
        yield _checked("profiles", lambda: f"{len(installation.profiles.names)}")
    yield from _kernels(installation)
    runtimes: dict[str, ExecutorReport] = {}
    for executor in _names(index, EXECUTORS):
        yield _checked(f"executor {executor}", partial(_executor, installation, executor, runtimes))
    for executor, runtime in runtimes.items():
        yield from _runtime_backends(installation, executor, runtime)
    for backend in _names(index, BACKENDS):
        yield _backend(installation, backend, runtimes, device)
        yield from _advice(installation, backend)
    yield from _contributions_to_kit(installation)
    reported = (BACKENDS, EXECUTORS)  # one by one, above
    yield from (_failure(f) for f in installation.plugins.failures if f.group not in reported)
    warned = {each.message for each in installation.project_warnings}
    for name in index.policy.unmatched(index.installed):
        detail = f"{name!r} names no installed plugin"
        if detail not in warned:
            yield Finding("plugin choice", "warning", detail, "check its spelling")


def _kernels(installation: Installation) -> Iterator[Finding]:
    yield _checked("kernels", lambda: _kernel_summary(installation))
    with suppress(EtconfigError):  # it was reported
        kernels = installation.kernels
        for operator in sorted(kernels.contested.keys() - installation.kernel_problems.keys()):
            conflict = kernels.conflict(operator)
            yield Finding("kernels", "error", conflict.message, conflict.help)
        for problem in (*installation.kernel_problems.values(), *ignored_kernel_choice(installation)):
            yield finding_of("kernels", problem)


def _kernel_summary(installation: Installation) -> str:
    kernels = installation.kernels
    served = Counter(map(kernels.source, kernels))
    others = ", ".join(f"{served[source]} of them by {source}" for source in kernels.sources())
    return f"{len(kernels)} operators" + (f", {others}" if others else "")


def _names(index: PluginIndex, group: str) -> list[str]:
    return sorted({entry.name for entry in index.entries(group)})


def _checked(subject: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, "ok", look())
    except EtconfigError as error:
        return Finding(subject, "error", error.message, error.help)


def _project(installation: Installation) -> str:
    project = installation.project
    return "none" if project is None else project.name


def _known_facts(installation: Installation) -> FactSheet:
    """Return the facts on which profiles are selected; without a usable project file, those measured."""
    try:
        return installation.known_facts()
    except ConfigError:
        return installation.detect_facts()  # what is wrong with the project file was reported


def _facts(device: FactsOfDevice) -> str:
    sheet = device()
    by_hand = sum(fact.origin.kind is OriginKind.PROJECT for fact in sheet.facts.values())
    corrected = f", {by_hand} of them set by the project file" if by_hand else ""
    return f"{len(sheet.values)} known{corrected}, {len(sheet) - len(sheet.values)} unknown"


def _detectors(device: FactsOfDevice) -> Iterator[Finding]:
    """Yield a finding for each detector with a mistake: the facts that it provides stay unknown."""
    with suppress(EtconfigError):  # it was reported
        for failure in detector_failures(device()):
            help_text = (
                "correct it, or report it to the author of its plugin: a detector gives unknown readings"
            )
            yield Finding("facts", "warning", failure, help_text)


def _profiles(installation: Installation, device: FactsOfDevice) -> Iterator[Finding]:
    """Yield a finding for the profile that the project file names, and one for the choice of `auto`."""
    try:
        count = len(installation.profiles.names)
        choices = profile_choices(installation, device())
    except EtconfigError as error:
        yield Finding("profiles", "error", error.message, error.help)
        return
    if choices.named_by is not None:
        yield _named_profile(choices.named_by, choices.named)
    verb = "selects" if choices.named_by is None else "would select"
    if isinstance(choices.auto, ConfigError):
        yield Finding("profiles", "error", choices.auto.message, choices.auto.help)
    elif choices.auto.note is not None:
        detail = f"{count}, {choices.auto.note.message}"
        yield Finding("profiles", "warning", detail, "write a profile for this device, or name one")
    else:
        yield Finding("profiles", "ok", f"{count}, auto {verb} {choices.auto.profile.name}")


def _named_profile(named_by: Reference, named: ProfileChoice | ConfigError | None) -> Finding:
    if isinstance(named, ConfigError):
        return Finding("profile", "error", named.message, named.help)
    return Finding("profile", "ok", f"{named_by.target}, named by {named_by.span.place}")


def _executor(installation: Installation, name: str, runtimes: dict[str, ExecutorReport]) -> str:
    """Describe an executor, and add the contents of its runtime to `runtimes`."""
    runtime = runtimes[name] = executor_report(installation, name)
    source = installation.index.find(EXECUTORS, name).source
    return source if runtime.version is None else f"{source}, with {runtime.version}"


def _runtime_backends(
    installation: Installation, executor: str, runtime: ExecutorReport
) -> Iterator[Finding]:
    """Yield a finding for each backend of an executor's own runtime."""
    declared = installation.backend_ids
    for backend in runtime.backends:
        subject = f"executor {executor}, backend {backend.id}"
        status = backend_status(installation, backend.id, executor, runtime)
        version = "" if status.version is None else f", {status.version}"
        undeclared = "" if backend.id in declared else "; no plugin declares its options"
        if status.is_available:
            yield Finding(subject, "ok", f"can run here{version}{undeclared}")
        else:
            detail = f"cannot run here: {status.reason}{undeclared}"
            yield Finding(subject, "warning", detail, status.help)


def _backend(
    installation: Installation, backend: str, runtimes: Mapping[str, ExecutorReport], device: FactsOfDevice
) -> Finding:
    subject = f"backend {backend}"
    try:
        spec = installation.plugins.backend_spec(backend)
        with suppress(ConfigError, PluginLoadError):  # without its facts, this device cannot be tried
            recommend(spec, device().values)
        if spec.factory is None:
            source = installation.plugins.backend_entry(backend).source
            own = [name for name, runtime in runtimes.items() if runtime.backend(backend) is not None]
            where = f"; the runtime of executor {', '.join(own)} has one" if own else ""
            return Finding(subject, "ok", f"declared without an implementation by {source}{where}")
        status = backend_status(installation, backend, NUMPY, ExecutorReport())
    except PluginError as error:
        return Finding(subject, "error", error.message, error.help)
    if status.is_available:
        return Finding(subject, "ok", "can run here")
    return Finding(subject, "warning", f"cannot run here: {status.reason}", status.help)


def _advice(installation: Installation, backend: str) -> Iterator[Finding]:
    """Yield what is wrong with a backend's recommendations, on some device or on all."""
    try:
        spec = installation.plugins.backend_spec(backend)
    except PluginError:
        return  # the backend was reported
    if spec.recommend is not None:
        yield Finding(
            f"recommendations of backend {backend}", "warning", RECOMMEND_DEPRECATED, ADVICE_INSTEAD
        )
    if spec.advice:
        from etconfig.resolver.proving.advice_check import verify_advice

        for problem in verify_advice(spec, installation.advice):
            yield finding_of(f"advice of backend {backend}", problem)


def _contributions_to_kit(installation: Installation) -> Iterator[Finding]:
    """Load every contribution to the kit, and yield a finding for each that no backend can get."""
    for backend in _names(installation.index, CONFORMANCE):
        with suppress(PluginError):  # it is among the failures
            installation.plugins.contribution(CONFORMANCE_HOOK, backend)
        if backend not in installation.backend_ids:
            source = installation.index.find(CONFORMANCE, backend).source
            detail = f"{source} contributes to its conformance, but no installed plugin declares it"
            guess = did_you_mean_backend(backend, installation.backend_ids)
            yield Finding(f"backend {backend}", "warning", detail, guess or "declare it in etconfig.backends")


def _failure(failure: PluginFailure) -> Finding:
    subject = f"plugin {failure.distribution} {failure.version}"
    detail = failure.cause if failure.name is None else f"{failure.name}: {failure.cause}"
    return Finding(subject, "error", detail, failure.help)
