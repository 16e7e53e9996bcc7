"""Entry points of the Python API: opening a program and detecting facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from etconfig.app.installation import Installation
from etconfig.app.loaded_program import LoadedProgram
from etconfig.app.targets import find_installation
from etconfig.diagnostics import Diagnostic, Respelling, did_you_mean, nearest
from etconfig.errors import ProfileError, UnknownPluginError
from etconfig.facts import FactSheet
from etconfig.method import Executor, ProgramRequest
from etconfig.packages import how_to_install
from etconfig.program import DataSources, Verification, open_program

if TYPE_CHECKING:
    from etconfig.plugin.given import GivenBackends
    from etconfig.profile import Reference
    from etconfig.program.source import ProgramSource
    from etconfig.tracing import RecordingTracer

NUMPY = "numpy"
"""The name of the built-in executor."""


def load_program(
    source: ProgramSource,
    *,
    data: DataSources = (),
    verification: Verification = Verification.InternalConsistency,
    executor: str | None = None,
    installation: Installation | None = None,
    backends: GivenBackends | None = None,
    tracer: RecordingTracer | None = None,
    share_memory_arenas: bool = False,
) -> LoadedProgram:
    """Open and verify a program.

    Example:
        >>> with etconfig.load_program("model.pte") as program:
        ...     print(program.method_names, program.backends("forward"))
        ('embed', 'forward') ('ReferenceNpuBackend', 'ReferenceCpuBackend')

    Args:
        source: The path of a .pte or .bpte, or its bytes.
        data: The data files (.ptd) with the tensors that lie outside the program: one or several.
        verification: When to verify the methods: all at once, or each before it is used.
        executor: The executor that will run it: `numpy`, or the name of an installed plugin. By default
            that of the project file, else `numpy`.
        installation: Plugins, profiles and project file; by default those found from the current
            directory.
        backends: Backends given in code, as for `Installation.with_backends`: `{"MyBackend": MyBackend()}`.
        tracer: Records how long the phases of opening take, with the built-in executor only.
        share_memory_arenas: Load all methods into one set of arenas, so that they share the mutable buffers
            that the program was exported to share, such as the key-value cache of `prefill` and `decode`. One
            of them executes at a time.

    Returns:
        The program, from which methods can be loaded.

    Raises:
        ProgramError: a file cannot be read, is not a program or data file, or is malformed.
        UnknownPluginError: no such executor is installed.
        ConfigError: the executor is that of the project file, and it is not installed or malformed.
        PluginLoadError: the core cannot use one of `backends`.
        TypeError: an argument is of a wrong type.
    """
    installation = find_installation(installation)
    if backends is not None:
        installation = installation.with_backends(backends)
    executor = choose_executor(installation, executor)
    runner = None if executor == NUMPY else find_executor(installation, executor)
    phase: Callable[[str], AbstractContextManager[object]] = nullcontext if tracer is None else tracer.phase
    program = open_program(source, data=data, verification=verification, phase=phase)
    opened = None if runner is None else runner.open_program(ProgramRequest(program=program))
    return LoadedProgram(program, installation, opened, share_memory_arenas=share_memory_arenas)


def choose_executor(installation: Installation, name: str | None = None) -> str:
    """Return the name of the executor to use: `name`, else that of the project file, else `numpy`.

    Raises:
        ConfigError: that of the project file is not installed, or the file is malformed.
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


def detect_facts(*, installation: Installation | None = None) -> FactSheet:
    """Detect the facts of this device, with the detectors of plugins, too; no file changes them.

    Example:
        >>> facts = etconfig.detect_facts()
        >>> facts["cpu.available_cores"].value >= 1
        True

    Args:
        installation: The plugins; by default those found from the current directory.

    Returns:
        Every fact with its value and origin, or with the reason why it is unknown.
    """
    return find_installation(installation).detect_facts()


def find_executor(installation: Installation, name: str) -> Executor:
    """Return the executor of a plugin. Raises as `PluginRegistry.contribution`, with help on getting one."""
    from etconfig.plugin.contributions import EXECUTOR_HOOK

    try:
        return installation.plugins.contribution(EXECUTOR_HOOK, name).executor
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
    guess = nearest(name, (NUMPY, *known))
    return Diagnostic(
        code="unknown-executor",
        message=f"no installed plugin declares an executor {name!r}",
        spans=(span,),
        notes=(f"installed: {', '.join((NUMPY, *known))}",),
        help=_executor_help(name, known),
        fix=Respelling(name, guess).at(span) if guess else None,
    )


def _executor_help(name: str, known: Sequence[str]) -> str:
    guess = did_you_mean(name, (NUMPY, *known))
    return guess or f"{NUMPY!r} is built in; for 'executorch', {how_to_install('etconfig-executorch')}"
