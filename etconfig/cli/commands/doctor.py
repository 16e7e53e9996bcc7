"""`etconfig doctor`: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial

import click

from etconfig.app.installation import Installation
from etconfig.cli.shared.options import json_option, make_installation
from etconfig.cli.shared.output import print_json, style_for
from etconfig.errors import BackendUnavailableError, EtconfigError, PluginError
from etconfig.plugin import BACKENDS, CONFORMANCE, EXECUTORS, PluginFailure, PluginIndex
from etconfig.plugin.contributions import CONFORMANCE_HOOK, EXECUTOR_HOOK
from etconfig.records import record
from etconfig.version import __version__


@record(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: What.
        status: `ok`, `warning` (something is not to be had) or `error` (something is broken).
        detail: What was found.
        help: What to do about it.
    """

    subject: str
    status: str
    detail: str
    help: str | None = None


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Check this installation; say what to do about what is wrong.

    Imports every plugin. Exits with 1 if something is broken.

    \b
    Example:
      etconfig doctor
    """
    findings = list(examine(make_installation()))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    return 1 if any(finding.status == "error" for finding in findings) else 0


def examine(installation: Installation) -> Iterator[Finding]:
    """Look at everything, one thing after the other; nothing that is broken hides the rest."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("etconfig", "ok", f"{__version__}, {python}, {sys.platform}")
    yield _checked("project file", lambda: _project(installation))
    try:
        index = installation.index
    except EtconfigError:
        return  # the plugins cannot be known without the project file, which was reported
    yield _checked("facts", lambda: _facts(installation))
    yield _checked("profiles", lambda: _profiles(installation))
    yield _checked("kernels", lambda: f"{len(installation.kernels)} operators")
    for executor in _names(index, EXECUTORS):
        yield _checked(f"executor {executor}", partial(_executor, installation, executor))
    for backend in _names(index, BACKENDS):
        yield _backend(installation, backend)
    for backend in _names(index, CONFORMANCE):
        with suppress(PluginError):  # it is among the failures
            installation.plugins.contribution(CONFORMANCE_HOOK, backend)
    told = (BACKENDS, EXECUTORS)  # one by one
    yield from (_failure(f) for f in installation.plugins.failures if f.group not in told)
    for name in index.policy.unmatched(index.installed):
        yield Finding("plugin choice", "warning", f"{name!r} names no installed plugin", "check its spelling")


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


def _facts(installation: Installation) -> str:
    sheet = installation.detect_facts()
    return f"{len(sheet.values)} known, {len(sheet) - len(sheet.values)} unknown"


def _profiles(installation: Installation) -> str:
    from etconfig.profile import select_profile

    facts = installation.detect_facts().values
    selected = select_profile(installation.profiles, facts).profile.name
    return f"{len(installation.profiles.names)}, auto selects {selected}"


def _executor(installation: Installation, name: str) -> str:
    installation.plugins.contribution(EXECUTOR_HOOK, name)
    return installation.index.find(EXECUTORS, name).source


def _backend(installation: Installation, backend: str) -> Finding:
    subject = f"backend {backend}"
    try:
        if installation.plugins.backend_spec(backend).factory is None:
            source = installation.index.find(BACKENDS, backend).source
            return Finding(subject, "ok", f"declared without an implementation by {source}")
        installation.plugins.create_backend(backend)
    except BackendUnavailableError as error:
        return Finding(subject, "warning", f"cannot run here: {error.reason}", error.help)
    except PluginError as error:
        return Finding(subject, "error", error.message, error.help)
    return Finding(subject, "ok", "can run here")


def _failure(failure: PluginFailure) -> Finding:
    subject = f"plugin {failure.distribution} {failure.version}"
    detail = failure.cause if failure.name is None else f"{failure.name}: {failure.cause}"
    return Finding(subject, "error", detail, failure.help)


def _print(findings: list[Finding]) -> None:
    style = style_for(sys.stdout)
    roles = {"ok": "help", "warning": "warning", "error": "error"}
    for finding in findings:
        status = style(roles[finding.status], finding.status.rjust(7))
        click.echo(f"{status}  {finding.subject}: {finding.detail}")
        if finding.help:
            click.echo(f"         {style('help', 'help')}: {finding.help}")
