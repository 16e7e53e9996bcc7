"""Executors: the one to use, the contents of its runtime, and whether a backend can run with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from etconfig.app.configuring.targets import find_spec
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executor_options import (
    check_no_options,
    executor_options,
    table_problems,
    without_options,
)
from etconfig.base.packages import how_to_install
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, guessed_fix, nearest
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import (
    BackendUnavailableError,
    EtconfigError,
    OptionError,
    PluginCallError,
    PluginError,
    ProfileError,
    UnknownPluginError,
)
from etconfig.plugin import EXECUTORS

if TYPE_CHECKING:
    from etconfig.backend import Backend
    from etconfig.method import Executor, ExecutorReport
    from etconfig.plugin.hookspecs import ExecutorContribution
    from etconfig.profile.profile import Reference
    from etconfig.profile.project import ExecutorTable
    from etconfig.schema.spec import BackendSpec

NUMPY = "numpy"
"""The name of the built-in executor."""

_REAL = "executorch"


@record(frozen=True, kw_only=True)
class BackendStatus:
    """The answer to whether a backend can run here with an executor.

    Attributes:
        backend: Its id.
        is_available: True if it can.
        reason: Why not, or None.
        help: What to do about it, or None.
        version: What it runs on, such as `OpenVINO 2026.4.1`, if the executor's runtime has it and says so.
    """

    backend: str
    is_available: bool
    reason: str | None = None
    help: str | None = None
    version: str | None = None


def backend_status(
    installation: Installation, backend_id: str, executor: str, runtime: ExecutorReport
) -> BackendStatus:
    """Check whether a backend can run here; every command and report has its answer from this function.

    Imports the plugin of the backend, unless the executor's runtime has the backend itself.

    Args:
        installation: The plugins.
        backend_id: The id of the backend.
        executor: The name of the executor.
        runtime: Its report, from `executor_report`.

    Raises:
        PluginError: the plugin of the backend is broken.
    """
    own = runtime.backend(backend_id)
    if own is not None:
        here = own.availability
        return BackendStatus(
            backend=backend_id,
            is_available=here.is_available,
            reason=here.reason,
            help=here.fix,
            version=own.version,
        )
    try:
        create_backend(installation, find_spec(installation, backend_id), executor)
    except BackendUnavailableError as error:
        return BackendStatus(backend=backend_id, is_available=False, reason=error.reason, help=error.help)
    return BackendStatus(backend=backend_id, is_available=True)


def create_backend(installation: Installation, spec: BackendSpec, executor: str) -> Backend[Any, Any]:
    """Return a new backend of a plugin, for the delegates that the executor's runtime leaves to etconfig.

    Raises:
        BackendUnavailableError: the backend cannot run here, or its plugin only declares its options.
        PluginError: its plugin is broken.
    """
    if spec.factory is None and executor != NUMPY:
        source = installation.plugins.backend_entry(spec.id).source
        raise BackendUnavailableError(
            backend=spec.id,
            reason=f"the runtime of executor {executor!r} does not have it, and {source} only declares "
            "its options",
            help="resolve or pack the arguments for the device that has it",
        )
    return installation.plugins.create_backend(spec.id)


def records_events(installation: Installation, name: str) -> bool:
    """Return True if an executor records events with a tracer.

    Raises:
        UnknownPluginError: no such executor is installed.
        PluginError: its plugin is broken.
    """
    return name == NUMPY or bool(getattr(find_executor(installation, name), "records_events", False))


def executor_report(
    installation: Installation, name: str, given: Mapping[str, object] | None = None
) -> ExecutorReport:
    """Return the contents of the runtime of an executor; of the built-in one, the operators.

    Args:
        installation: The plugins and the project file.
        name: The name of the executor.
        given: Options of the executor that win over the options of the project file.

    Raises:
        UnknownPluginError: no such executor is installed.
        PluginError: its plugin is broken.
        ConfigError: the options of the executor are wrong.
        LibraryError: a library among them cannot be loaded.
    """
    from etconfig.method import ExecutorReport

    executor, options = executor_with_options(installation, name, given)
    if executor is None:
        return ExecutorReport(operators=frozenset(installation.kernels))
    try:
        report: object = executor.report(options)
    except EtconfigError:
        raise
    except Exception as error:
        cause = error_text(error)
        raise PluginCallError(group=EXECUTORS, name=name, call="report()", cause=cause) from error
    if not isinstance(report, ExecutorReport):
        cause = f"it returned a {type(report).__name__}, not an ExecutorReport"
        raise PluginCallError(group=EXECUTORS, name=name, call="report()", cause=cause)
    return report


def executor_with_options(
    installation: Installation, name: str, given: Mapping[str, object] | None = None
) -> tuple[Executor | None, Any]:
    """Return an executor and its typed options; for the built-in one, None and None.

    Args:
        installation: The plugins and the project file.
        name: The name of the executor.
        given: Options that win over the options of the project file.

    Raises:
        UnknownPluginError: no such executor is installed.
        PluginError: its plugin is broken.
        ConfigError: the options are wrong; the error has every problem.
        TypeError: `given` is not a mapping.
    """
    if given is not None:
        check_type("executor_options", given, Mapping, "a mapping of values by the name of the option")
    if name != NUMPY:
        contribution = _contribution(installation, name)
        return contribution.executor, executor_options(installation, name, contribution, given)
    if given:
        check_no_options(given)
    problems = [each for table in installation.executor_tables for each in _of_numpy(table)]
    if problems:
        raise OptionError(diagnostics=tuple(problems))
    return None, None


def _of_numpy(table: ExecutorTable) -> tuple[Diagnostic, ...]:
    return without_options(NUMPY, table) if table.executor.target == NUMPY else ()


def check_executor_tables(installation: Installation) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the options of executors in the project file.

    An executor that is not installed is a warning, or an error if the name looks like a typing error.

    Raises:
        ProfileError: they are not tables.
    """
    known = sorted({entry.name for entry in installation.index.entries(EXECUTORS)})
    problems: list[Diagnostic] = []
    for table in installation.executor_tables:
        name = table.executor.target
        if name == NUMPY:
            problems += without_options(NUMPY, table)
        elif name in known:
            with suppress(PluginError):  # a broken plugin is reported elsewhere
                problems += table_problems(name, _contribution(installation, name), table)
        else:
            problems.append(missing_executor(table.executor, known))
    return tuple(problems)


def ignored_kernel_choice(installation: Installation) -> tuple[Diagnostic, ...]:
    """Return a warning if the project file chooses kernels, but names an executor that brings its own.

    Raises:
        ProfileError: `executor` or `[kernels.prefer]` is malformed.
    """
    executor, prefer = installation.executor, installation.kernel_preferences
    if executor is None or not prefer or NUMPY in (executor.target, nearest(executor.target, (NUMPY,))):
        return ()  # a misspelled name is a problem of its own
    first = next(iter(prefer.values()))
    warning = Diagnostic(
        code="ignored-kernel-choice",
        message=f"[kernels.prefer] has no effect: executor {executor.target!r} brings its own kernels",
        spans=(first.span, executor.span),
        help=f"remove the table, or keep it for commands with `--executor {NUMPY}`, which follow it",
        severity=Severity.WARNING,
    )
    return (warning,)


def missing_executor(reference: Reference, known: Sequence[str]) -> Diagnostic:
    """Return the problem of an executor that may be missing here only: a warning, unless it is misspelled.

    A name that is empty or has characters that nobody can see counts as misspelled.
    """
    name = reference.target
    is_wrong = not name.strip() or not name.isprintable() or _guess(name, known) is not None
    severity = Severity.ERROR if is_wrong else Severity.WARNING
    return replace(unknown_executor(reference, known), severity=severity)


def choose_executor(installation: Installation, name: str | None = None) -> str:
    """Return the name of the executor to use: `name`, else the project file's, else `numpy`.

    Raises:
        ConfigError: the project file's executor is not installed, or the file is malformed.
    """
    in_project = installation.executor if name is None else None
    if in_project is None:
        return NUMPY if name is None else name
    if in_project.target != NUMPY:
        try:
            find_executor(installation, in_project.target)
        except UnknownPluginError as error:
            raise ProfileError(diagnostics=(unknown_executor(in_project, error.known),)) from error
    return in_project.target


def find_executor(installation: Installation, name: str) -> Executor:
    """Return the executor of a plugin. Raises as `PluginRegistry.contribution`, with help on getting one."""
    return _contribution(installation, name).executor


def _contribution(installation: Installation, name: str) -> ExecutorContribution:
    from etconfig.plugin.contributions import EXECUTOR_HOOK

    try:
        return installation.plugins.contribution(EXECUTOR_HOOK, name)
    except UnknownPluginError as error:
        error.help = error.help or _executor_help(name, error.known)
        raise


def unknown_executor(reference: Reference, known: Sequence[str]) -> Diagnostic:
    """Return the problem of a project file whose executor no plugin declares.

    Args:
        reference: The executor, as the project file names it.
        known: The executors of plugins.
    """
    name, span = reference.target, reference.span
    guess = _guess(name, known)
    return Diagnostic(
        code="unknown-executor",
        message=f"no installed plugin declares an executor {name!r}",
        spans=(span,),
        notes=(f"installed: {', '.join((NUMPY, *known))}",),
        help=_executor_help(name, known),
        fix=guessed_fix(name, guess, (NUMPY, _REAL, *known), span),
    )


def _executor_help(name: str, known: Sequence[str]) -> str:
    guess = _guess(name, known)
    if guess is not None:
        return f"did you mean {guess!r}?"
    return f"{NUMPY!r} is built in; for {_REAL!r}, {how_to_install('etconfig-executorch')}"


def _guess(name: str, known: Sequence[str]) -> str | None:
    """Return the executor that was probably meant, also if it is not installed here."""
    return None if name == _REAL else nearest(name, (NUMPY, _REAL, *known))
