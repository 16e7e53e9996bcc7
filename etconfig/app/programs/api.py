"""Entry points of the Python API: opening a program and detecting facts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from etconfig.app.configuring.targets import find_installation
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import NUMPY, choose_executor, executor_report, executor_with_options
from etconfig.app.programs.loaded_program import LoadedProgram, check_tracer
from etconfig.base.parameters import check_type
from etconfig.errors import UnusedKernelsWarning
from etconfig.facts.sheet import FactSheet
from etconfig.method import ProgramRequest
from etconfig.program.external_data import DataSources
from etconfig.program.metadata import called_operators, delegated_backends
from etconfig.program.program import Verification, open_program
from etconfig.program.source import LoadMode

if TYPE_CHECKING:
    from etconfig.app.installation.kernel_choice import GivenKernels
    from etconfig.kernel.registry import Kernel
    from etconfig.plugin.code_backends import GivenBackends
    from etconfig.program.program import Program
    from etconfig.program.source import ProgramSource
    from etconfig.tracing import RecordingTracer


def load_program(
    source: ProgramSource,
    *,
    data: DataSources = (),
    verification: Verification = Verification.InternalConsistency,
    executor: str | None = None,
    executor_options: Mapping[str, object] | None = None,
    installation: Installation | None = None,
    backends: GivenBackends | None = None,
    kernels: GivenKernels | None = None,
    tracer: RecordingTracer | None = None,
    share_memory_arenas: bool = False,
    load_mode: LoadMode = LoadMode.File,
) -> LoadedProgram:
    """Open and verify a program.

    Example:
        >>> with etconfig.load_program("model.pte") as program:
        ...     print(program.method_names, program.backends("forward"))
        ('embed', 'forward') ('ReferenceNpuBackend', 'ReferenceCpuBackend')

    Args:
        source: The path of a .pte or .bpte, its bytes, an open binary file, or an object with `size()` and
            `load(offset, size)`.
        data: The data files (.ptd) with the tensors that lie outside the program: one or several.
        verification: When to verify the methods: all at once, or each before it is used.
        executor: The executor that will run it: `numpy`, or the name of an installed plugin. By default
            the project file's, else `numpy`.
        executor_options: Options of the executor, by name; they win over `[executor.NAME]` of the project
            file.
        installation: Plugins, profiles and project file; by default those found from the current
            directory.
        backends: Backends given in code, as for `Installation.with_backends`: `{"MyBackend": MyBackend()}`.
        kernels: Kernels given in code for this program; they win over all others, also for operators that
            etconfig has kernels for. The built-in executor calls them. Give kernels that several programs
            share to `Installation.with_kernels` instead.
        tracer: Records how long the phases of opening take.
        share_memory_arenas: Load all methods into one set of arenas, so that they share the mutable buffers
            that the program was exported to share, such as the key-value cache of `prefill` and `decode`. One
            of them executes at a time.
        load_mode: Whether the files are read, by default, or mapped into memory. Map only files that nobody
            else writes.

    Returns:
        The program, from which methods can be loaded.

    Raises:
        ProgramError: a file cannot be read, is not a program or data file, or is malformed.
        UnknownPluginError: no such executor is installed.
        ConfigError: the project file chooses the executor, and it is not installed or malformed; or its
            options are wrong.
        LibraryError: a library that the executor is to load cannot be loaded.
        PluginLoadError: the core cannot use one of `backends`.
        TypeError: an argument is of a wrong type.
        ValueError: `load_mode` maps files, but `source` is not a path; or two of `kernels` claim one
            operator, one is for an operator that the program does not call and nobody else has a kernel for,
            or the executor brings its own kernels.

    Warns:
        UnusedKernelsWarning: the program calls no operator of `kernels`.
    """
    check_type("share_memory_arenas", share_memory_arenas, bool, "True or False")
    check_type("verification", verification, Verification, "a member of etconfig.Verification")
    check_tracer(tracer)
    if executor is not None:
        check_type("executor", executor, str, f"{NUMPY!r}, or the name of an installed executor")
    installation = find_installation(installation)
    if backends is not None:
        installation = installation.with_backends(backends)
    executor = choose_executor(installation, executor)
    given: Sequence[Kernel] = ()
    if kernels is not None:
        if executor != NUMPY:
            raise ValueError(
                f"kernels: executor {executor!r} brings its own kernels; leave out kernels=, or load the "
                f"program with executor={NUMPY!r}"
            )
        from etconfig.app.installation.kernel_choice import given_kernels

        given = given_kernels(kernels)
        installation = installation.with_kernels(given)
    runner, options = executor_with_options(installation, executor, executor_options)
    phase: Callable[[str], AbstractContextManager[object]] = nullcontext if tracer is None else tracer.phase
    program = open_program(source, data=data, verification=verification, load_mode=load_mode, phase=phase)
    if given:
        try:
            _check_kernels(given, installation, program)
        except BaseException:
            program.close()
            raise
    opened = None if runner is None else runner.open_program(ProgramRequest(program=program, options=options))
    missing = set() if runner is None else delegated_backends(program) - set(installation.backend_ids)
    if missing:
        from etconfig.app.installation.undeclared import undeclared_specs  # imports pydantic

        runtime = executor_report(installation, executor, executor_options)
        installation = installation.with_backends(undeclared_specs(sorted(missing), runtime))
    return LoadedProgram(program, installation, opened, executor, share_memory_arenas=share_memory_arenas)


def _check_kernels(kernels: Sequence[Kernel], installation: Installation, program: Program) -> None:
    """Refuse kernels for misspelled operators, and warn if the program calls none of their operators.

    Raises:
        ValueError: an operator is neither called by the program nor known otherwise.
    """
    from etconfig.app.installation.kernel_choice import uncalled_operators, unknown_operator

    called = called_operators(program)
    if called is None:
        return  # a malformed method, which is verified later, may call them
    operators = [operator for each in kernels for operator in each.operators]
    problem = unknown_operator(operators, called, installation.kernels.known)
    if problem is not None:
        raise ValueError(problem)
    if operators and called.isdisjoint(operators):
        warnings.warn(uncalled_operators(operators, called), UnusedKernelsWarning, stacklevel=3)


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
