"""`memory_need`: the memory that a program needs with the options of a configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from etconfig.app.configuring.configuration import resolve_defaults
from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.engine_models import Models
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import NUMPY
from etconfig.base.number_text import format_bytes
from etconfig.base.parameters import check_type
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import BackendUnavailableError, ConfigError, ExecutionError
from etconfig.expression import Expression, ExpressionType, parse_expression
from etconfig.facts.memory_fit import MemoryFit
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet
from etconfig.memory.need import MemoryNeed
from etconfig.memory.planning import PlannedInstance, PlannedModel, plan_memory
from etconfig.numpy_executor.working_memory import working_memory
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import BackendSpec

_MAX_HOLDERS = 4
"""The most holders of memory that a note names."""

_HELP = "load fewer instances together, choose a smaller variant, or options that take less memory"


def memory_need(
    program: OpenedProgram, resolution: Resolution | None = None, *, executor: str | None = None
) -> MemoryNeed:
    """Return the memory that the instances of a program need together, before any is loaded.

    Sizes are read from the program, and declared by the backends: `BackendSpec.memory`. What a backend that
    declares nothing takes is assumed to be as much as its payload. If a method has named instances, these are
    counted; otherwise the method is counted once.

    Example:
        >>> program = etconfig.load_program("model.pte")
        >>> need = etconfig.memory_need(program, etconfig.resolve(program))
        >>> need.peak.size_bytes <= 2**20, need.backend.origin
        (True, 'declared')

    Args:
        program: The program, as `load_program` returns it.
        resolution: The options of its instances, as `resolve` returns them; by default every method once,
            with the defaults of its backends.
        executor: The executor that runs it; by default the program's.

    Raises:
        PluginError: a plugin is broken, or a backend's `memory` failed.
        ProgramError: the program is malformed, or was closed.
        TypeError: `program` is not a loaded program, or `resolution` not a resolution.
    """
    check_type("program", program, OpenedProgram, "what etconfig.load_program returns")
    if resolution is not None:
        check_type("resolution", resolution, Resolution, "what etconfig.resolve returns")
    runs_on = getattr(program, "executor", NUMPY) if executor is None else executor
    return plan_memory(_instances(program, resolution, runs_on))


def need_of_engine_file(path: Path, backend: str, installation: Installation) -> MemoryNeed:
    """Return the need of a file that an engine runs, with the defaults of its backend.

    Raises:
        BackendUnavailableError, PluginError: no plugin declares the backend, or it is broken.
        ConfigError: the backend has an option that must be set.
        ProgramError: the file cannot be read.
    """
    models = Models({"model": backend}, installation)
    resolved = resolve_defaults(models, "model", facts=FactSheet.empty()).backends[backend]
    planned = PlannedModel(path=path, label="model", spec=resolved.spec, options=resolved.options)
    return plan_memory([planned])


def need_of_programs(
    program: Delegating | None, resolution: Resolution, labels: Collection[str] | None = None
) -> MemoryNeed | None:
    """Return the need of programs and models of engines together; None without one that is in a file.

    Args:
        program: The program or programs.
        resolution: The options of their instances.
        labels: The instances that count, as option paths spell them; by default all.

    Raises:
        PluginError: a backend's `memory` failed.
    """
    programs = program.programs if isinstance(program, SeveralPrograms) else (program,)
    planned: list[PlannedInstance | PlannedModel] = []
    for each in programs:
        if isinstance(each, OpenedProgram):
            planned += _instances(each, resolution, _executor_of_project(each))
        elif isinstance(each, Models):
            planned += _models(each, resolution)
    counted = [each for each in planned if labels is None or each.label in labels]
    return plan_memory(counted) if planned else None


def _budget_excesses(program: Delegating, resolution: Resolution) -> Iterator[Diagnostic]:
    """Yield an error for each group of instances that needs more memory than the budget, by the estimate.

    Raises:
        PluginError: a backend's `memory` failed.
    """
    for use in () if resolution.budget is None else resolution.budget.uses:
        if use.resource == "memory" and use.limit is not None:
            need = need_of_programs(program, resolution, use.members)
            if need is not None and need.peak.size_bytes > use.limit:
                yield Diagnostic(
                    code="budget-exceeded",
                    message=f"{need.program} needs {need.peak}, and the budget is {format_bytes(use.limit)}",
                    spans=(use.budget.find_span(),),
                    notes=(f"the largest holders: {_holders_text(need)}", *need.notes),
                    help=_HELP,
                )


def memory_problems(program: Delegating, resolution: Resolution) -> Iterator[Diagnostic]:
    """Yield an error if a device can never have the memory of programs, a warning if it has too little now.

    It is an error, too, if they need more than their budget.

    Raises:
        PluginError: a backend's `memory` failed.
    """
    need, facts = need_of_programs(program, resolution), resolution.facts.values
    if need is None:
        return
    yield from _budget_excesses(program, resolution)
    fit = MemoryFit.of(need.peak.size_bytes, {"memory.total": facts.get("memory.total")})
    fit = fit if fit.fits is False else need.fit(resolution.facts)
    if fit.fits is False:
        yield Diagnostic(
            code="memory-exceeded",
            message=f"{need.program} {fit}",
            notes=(f"the largest holders: {_holders_text(need)}", *need.notes),
            help=_HELP,
            severity=Severity.ERROR if fit.kind == "in total" else Severity.WARNING,
        )


def _holders_text(need: MemoryNeed) -> str:
    return ", ".join(f"{name} {each}" for name, each in islice(need.holders.items(), _MAX_HOLDERS))


def fit_condition(needed_bytes: int, registry: FactRegistry, when: Expression | None = None) -> Expression:
    """Return the condition that a device has so much memory, by the facts that `MemoryFit` reads.

    Args:
        needed_bytes: The memory.
        registry: The known facts.
        when: Another condition that must hold.
    """
    enough = f"memory.available >= {needed_bytes} : memory.total >= {needed_bytes}"
    text = f"(has(memory.available) ? {enough})"
    text = text if when is None else f"({when}) && {text}"
    span = None if when is None else when.span
    return parse_expression(text, registry, span=span, expect=ExpressionType.BOOL)


def _executor_of_project(program: OpenedProgram) -> str:
    """Return the executor that will run a program; to be configured, it may have been opened without it."""
    named = program.installation.executor
    return NUMPY if named is None else named.target


def _instances(
    program: OpenedProgram, resolution: Resolution | None, executor: str
) -> Iterator[PlannedInstance]:
    """Yield the named instances of each method, or the method itself if it has none."""

    def planned(method: str, label: str, arguments: Arguments | None) -> PlannedInstance:
        return PlannedInstance(
            program=program.program,
            method=method,
            label=label,
            backends={} if arguments is None else _declarations(arguments),
            share_memory_arenas=getattr(program, "share_memory_arenas", False),
            **(_on_numpy(program, method) if executor == NUMPY else {}),
        )

    if resolution is None:
        for method in program.method_names:
            try:
                arguments = resolve_defaults(program, method, facts=FactSheet.empty())
            except (BackendUnavailableError, ConfigError):  # not installed, or has no defaults
                yield planned(method, method, None)
            else:
                yield planned(method, method, arguments)
        return
    for each in _counted(resolution):
        if each.method in program.method_names:
            yield planned(each.method, each.label, each)


def _models(models: Models, resolution: Resolution) -> Iterator[PlannedModel]:
    """Yield the instances of models whose files are known, or the model itself if it has none."""
    for each in _counted(resolution):
        if each.method in models.files:
            for resolved in each.backends.values():
                yield PlannedModel(
                    path=models.files[each.method],
                    label=each.label,
                    spec=resolved.spec,
                    options=resolved.options,
                )


def _counted(resolution: Resolution) -> Iterator[Arguments]:
    """Yield the arguments of named instances, and of each method that has none."""
    named = {each.method for each in resolution if each.instance is not None}
    return (each for each in resolution if each.instance is not None or each.method not in named)


def _on_numpy(program: OpenedProgram, method: str) -> Mapping[str, Any]:
    """Return what the numpy executor takes for a method, for `PlannedInstance`; found once."""
    if method not in program.numpy_memory:
        plan, known = program.program.plan(method), dict[str, Any]()
        try:
            found = working_memory(program.program, plan, program.installation.kernels)
        except (ExecutionError, MemoryError) as error:  # it could not be loaded here either
            reason = error.message if isinstance(error, ExecutionError) else "they take too much"
            known["note"] = f"nothing is known of the memory of the kernels of {method}: {reason}"
        else:
            known.update(vars(found))
        program.numpy_memory[method] = known
    return program.numpy_memory[method]


def _declarations(arguments: Arguments) -> dict[str, tuple[BackendSpec, BackendOptions]]:
    return {name: (each.spec, each.options) for name, each in arguments.backends.items()}
