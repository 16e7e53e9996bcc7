"""`memory_need`: the memory that a program needs with the options of a configuration."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.app.configuring.configuration import resolve_defaults
from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating
from etconfig.base.parameters import check_type
from etconfig.diagnostics import Diagnostic
from etconfig.errors import BackendUnavailableError, ConfigError
from etconfig.facts.sheet import FactSheet
from etconfig.memory.fitting import memory_problem
from etconfig.memory.need import MemoryNeed, needs_together
from etconfig.memory.planning import PlannedInstance, plan_memory
from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution


def memory_need(program: OpenedProgram, resolution: Resolution | None = None) -> MemoryNeed:
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

    Raises:
        PluginError: a plugin is broken, or a backend's `memory` failed.
        ProgramError: the program is malformed, or was closed.
        TypeError: `program` is not a loaded program, or `resolution` not a resolution.
    """
    check_type("program", program, OpenedProgram, "what etconfig.load_program returns")
    if resolution is not None:
        check_type("resolution", resolution, Resolution, "what etconfig.resolve returns")
    instances = _by_default(program) if resolution is None else _together(program, resolution)
    share_memory_arenas = getattr(program, "share_memory_arenas", False)
    return plan_memory(program.program, instances, share_memory_arenas=share_memory_arenas)


def memory_problems(program: Delegating, resolution: Resolution) -> Iterator[Diagnostic]:
    """Yield the problem if programs need more memory than the device of a resolution has.

    Raises:
        PluginError: a backend's `memory` failed.
    """
    facts = resolution.facts.values
    if "memory.total" in facts or "memory.available" in facts:
        need = need_of_programs(program, resolution)
        problem = None if need is None else memory_problem(need, facts)
        if problem is not None:
            yield problem


def need_of_programs(program: Delegating | None, resolution: Resolution) -> MemoryNeed | None:
    """Return the need of one or several programs together; None without one that is read from a file.

    Raises:
        PluginError: a backend's `memory` failed.
    """
    programs = program.programs if isinstance(program, SeveralPrograms) else (program,)
    needs = [memory_need(each, resolution) for each in programs if isinstance(each, OpenedProgram)]
    return needs_together(needs) if needs else None


def _together(program: OpenedProgram, resolution: Resolution) -> Iterator[PlannedInstance]:
    found = [each for each in resolution if each.method in program.method_names]
    with_instances = {each.method for each in found if each.instance is not None}
    for arguments in found:
        if arguments.instance is not None or arguments.method not in with_instances:
            yield _planned(arguments.method, arguments)


def _by_default(program: OpenedProgram) -> Iterator[PlannedInstance]:
    for method in program.method_names:
        try:
            arguments = resolve_defaults(program, method, facts=FactSheet.empty())
        except (BackendUnavailableError, ConfigError):  # not installed, or has no defaults
            arguments = None
        yield _planned(method, arguments)


def _planned(method: str, arguments: Arguments | None) -> PlannedInstance:
    backends = {} if arguments is None else arguments.backends
    return PlannedInstance(
        method=method,
        label=method if arguments is None else arguments.label,
        backends={name: (each.spec, each.options) for name, each in backends.items()},
    )
