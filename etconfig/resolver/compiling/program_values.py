"""Values of options that a program fixes ahead of time, in the compile specs of its delegates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from etconfig.base.compile_specs import CompileSpec, CompileSpecs
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginCallError
from etconfig.schema.problem import OptionProblem
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import check_value, find_option

PROGRAM_IN_MEMORY = "a program in memory"
"""The name of a program without a path."""


def read_program_values(
    spec: BackendSpec, delegates: Sequence[CompileSpecs], program: str | None
) -> Mapping[str, Sourced[object]]:
    """Return the values that all delegates of a backend in one method agree on, by option.

    An option has one value for the whole method. If delegates disagree on it, each keeps its own at run time,
    so the option has none of these values.

    Args:
        spec: The backend.
        delegates: The compile specs of each delegate.
        program: The path of the program, for origins; None if it was read from memory.

    Raises:
        PluginCallError: the backend's `from_program` raises, or names an unknown option or an invalid value.
    """
    distinct = list(dict.fromkeys(delegates))
    first, *others = [_values(spec, compile_specs, program) for compile_specs in distinct] or [{}]
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}


def _values(
    spec: BackendSpec, compile_specs: CompileSpecs, program: str | None
) -> Mapping[str, Sourced[object]]:
    if spec.from_program is None:
        return {}
    reader = _RecordingSpecs(compile_specs.in_order)
    try:
        raw = dict(spec.from_program(reader))
    except Exception as error:
        raise _failed(spec, program, error_text(error)) from error
    read = ", ".join(sorted(reader.read & compile_specs.keys()))
    origin = Origin(
        OriginKind.PROGRAM, program or PROGRAM_IN_MEMORY, detail=f"compile spec {read}" if read else None
    )
    return {name: Sourced(_checked(spec, program, name, value), origin) for name, value in raw.items()}


class _RecordingSpecs(CompileSpecs):
    """The compile specs of a delegate; records which of them are read."""

    def __init__(self, specs: Iterable[CompileSpec]) -> None:
        super().__init__(specs)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> bytes:
        self.read.add(key)
        return super().__getitem__(key)

    def every(self, key: str) -> tuple[bytes, ...]:
        self.read.add(key)
        return super().every(key)

    @property
    def in_order(self) -> tuple[CompileSpec, ...]:
        self.read.update(self)
        return super().in_order


def _checked(spec: BackendSpec, program: str | None, name: str, raw: object) -> object:
    info, problem = find_option(spec, name)
    if info is None or info.name != name:
        raise _failed(spec, program, problem.message if problem else name)
    value = check_value(spec, info, raw)
    if isinstance(value, OptionProblem):
        raise _failed(spec, program, value.message)
    return value


def _failed(spec: BackendSpec, program: str | None, cause: str) -> PluginCallError:
    from etconfig.base.code_symbol import correct_code  # it imports inspect; most programs are read

    way = "" if program is None else f" with `etconfig inspect {program}`"
    rule = "look keys up with get(), and return only values that the options allow"
    return PluginCallError(
        group="etconfig.backends",
        name=spec.id,
        call="from_program",
        cause=cause,
        help=f"look at the compile specs{way}; if they are right, "
        + correct_code(spec.from_program, "from_program", rule),
    )
