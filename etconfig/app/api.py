"""The composition root: the one place where plugins, resolver, kernels and executor meet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.app.installation import Installation
from etconfig.app.loaded_program import LoadedProgram
from etconfig.diagnostics import did_you_mean
from etconfig.errors import UnknownPluginError
from etconfig.facts import FactSheet
from etconfig.method import Executor, ProgramRequest
from etconfig.program import DataSources, Verification, open_program

if TYPE_CHECKING:
    from etconfig.program.source import ProgramSource
    from etconfig.tracing import RecordingTracer

NUMPY = "numpy"
"""The built-in executor."""


def load_program(
    source: ProgramSource,
    *,
    data: DataSources = (),
    verification: Verification = Verification.InternalConsistency,
    executor: str = NUMPY,
    installation: Installation | None = None,
    tracer: RecordingTracer | None = None,
) -> LoadedProgram:
    """Open and verify a program.

    Example:
        >>> with etconfig.load_program("model.pte") as program:
        ...     print(program.method_names, program.backends("forward"))
        ('embed', 'forward') ('ReferenceNpuBackend', 'ReferenceCpuBackend')

    Args:
        source: The path of a .pte or .bpte, or its bytes.
        data: The data files (.ptd) that hold what lies outside the program: one or several.
        verification: When the methods are verified; everything is verified before it is used.
        executor: What will run it: `numpy`, or an installed executor plugin.
        installation: What is installed; by default what is found from the current directory.
        tracer: Where to record what opening takes; only of the built-in executor.

    Raises:
        ProgramError: a file cannot be read, is no program or data file, or is malformed.
        UnknownPluginError: no such executor is installed.
    """
    installation = installation or Installation(Path.cwd())
    runner = None if executor == NUMPY else find_executor(installation, executor)
    phase: Callable[[str], AbstractContextManager[object]] = nullcontext if tracer is None else tracer.phase
    program = open_program(source, data=data, verification=verification, phase=phase)
    opened = None if runner is None else runner.open_program(ProgramRequest(program=program))
    return LoadedProgram(program, installation, opened)


def detect_facts(*, installation: Installation | None = None) -> FactSheet:
    """Detect what is known about this device, also by the detectors of plugins.

    Example:
        >>> facts = etconfig.detect_facts()
        >>> facts["cpu.available_cores"].value >= 1
        True

    Args:
        installation: The plugins; by default those found from the current directory.

    Returns:
        Every fact that can be known, with its origin; unknown ones have a reason.
    """
    return (installation or Installation(Path.cwd())).detect_facts()


def find_executor(installation: Installation, name: str) -> Executor:
    """An executor that a plugin has. Raises as `PluginRegistry.contribution`, and says where to find one."""
    from etconfig.plugin.contributions import EXECUTOR_HOOK

    try:
        return installation.plugins.contribution(EXECUTOR_HOOK, name).executor
    except UnknownPluginError as error:
        guess = did_you_mean(name, (NUMPY, *error.known))
        error.help = error.help or guess or f"{NUMPY!r} is built in; 'executorch' is in etconfig-executorch"
        raise
