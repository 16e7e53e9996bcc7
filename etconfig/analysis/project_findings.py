"""Findings about what a project file and variables name: directories, an executor, programs and models."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.analysis.finding import Finding, finding_of
from etconfig.app.configuring.project_programs import read_project_programs
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import NUMPY, choose_executor, executor_with_options
from etconfig.errors import ConfigError, PluginError
from etconfig.report.model import count_text


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
    yield from _executor(installation)
    yield from _programs(installation)
    yield from _models(installation)


def _models(installation: Installation) -> Iterator[Finding]:
    try:
        catalog = installation.models
    except ConfigError as error:
        yield from (finding_of("model", problem) for problem in error.diagnostics)
        return
    for model in catalog:
        variants = count_text(len(model.variants), "variant")
        yield Finding("model", "ok", f"{model.name}, {variants}, from {model.span.place}")


def _executor(installation: Installation) -> Iterator[Finding]:
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
