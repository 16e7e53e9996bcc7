"""`inspect_program`: read what a program contains, and find what keeps it from running here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from etconfig.analysis.plain import describe_value
from etconfig.analysis.program_report import (
    AttributeReport,
    CompileSpecReport,
    ConstantsReport,
    DataFileReport,
    DelegateReport,
    ExternalTensorReport,
    MethodReport,
    NamedDataReport,
    ProgramReport,
    RunObstacle,
    SharedStateReport,
    UnclaimedBytes,
)
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import NUMPY, backend_status, executor_report
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.app.programs.payloads import payload_readings
from etconfig.base.parameters import check_type
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginCallError, PluginError
from etconfig.kernel.registry import ENTRY_POINT_GROUP
from etconfig.method import ExecutorReport
from etconfig.plugin.entry_points import BACKENDS
from etconfig.program.memory_plan import read_memory_plan
from etconfig.program.model import DelegateCall, ExecutionPlan, KernelCall, SerializedTensor
from etconfig.program.shared_state import shared_state_of

_MAX_TEXT = 40
"""The length up to which the value of a compile spec is shown as text, in bytes."""
_MAX_NAMES = 3
"""The most names of missing data that are listed."""


def inspect_program(program: LoadedProgram, *, executor: str | None = None) -> ProgramReport:
    """Describe a program: its methods, constants, delegates and memory, and what it lacks to run here.

    The installed plugins of its backends are imported to find out whether they can run here.

    Args:
        program: The program, as `load_program` returns it.
        executor: The executor that shall run it; by default the program's.

    Returns:
        The report. `report.methods[0].obstacles` is empty if the executor can run that method.

    Raises:
        PluginError: no such executor is installed, or its plugin is broken.
        ProgramError: the program is malformed.
        TypeError: `program` is not a loaded program, but for example a path.

    Example:
        >>> with etconfig.load_program("model.pte") as program:
        ...     report = etconfig.inspect_program(program)
        >>> [(method.name, method.instructions) for method in report.methods]
        [('embed', 4), ('forward', 5)]
    """
    check_type("program", program, LoadedProgram, "what etconfig.load_program returns")
    file = program.program
    executor = program.executor if executor is None else executor
    runtime = executor_report(program.installation, executor)
    return ProgramReport(
        executor=executor,
        path=file.path,
        size_bytes=file.size_bytes,
        version=file.version,
        constant_bytes=file.constant_bytes,
        constants=_report_constants(program),
        named_data=tuple(
            NamedDataReport(key=key, size_bytes=file.named_data_size(key) or 0)
            for key in sorted(file.named_data)
        ),
        data_files=tuple(
            DataFileReport(path=each.path, size_bytes=each.size_bytes, keys=len(each.blobs))
            for each in file.data_files
        ),
        segments=tuple(segment.size_bytes for segment in file.segments),
        unclaimed=tuple(
            UnclaimedBytes(offset=gap.start, size_bytes=gap.size_bytes) for gap in file.unclaimed()
        ),
        shared_state=tuple(
            SharedStateReport(name=name, methods=methods)
            for name, methods in shared_state_of(map(file.plan, program.method_names)).items()
        ),
        methods=tuple(_report_method(program, name, executor, runtime) for name in program.method_names),
    )


def _report_constants(program: LoadedProgram) -> ConstantsReport:
    tensors: dict[object, SerializedTensor] = {}
    users: dict[object, set[str]] = {}
    for name in program.method_names:
        for value in program.program.plan(name).values:
            if isinstance(value, SerializedTensor) and value.is_constant:
                tensors[value.constant_key] = value
                users.setdefault(value.constant_key, set()).add(name)
    dtypes = Counter(tensor.scalar_type.dtype_name for tensor in tensors.values())
    return ConstantsReport(
        count=len(tensors),
        size_bytes=sum(tensor.size_bytes for tensor in tensors.values()),
        dtypes=dict(sorted(dtypes.items())),
        shared=sum(len(methods) > 1 for methods in users.values()),
    )


def _report_method(program: LoadedProgram, name: str, executor: str, runtime: ExecutorReport) -> MethodReport:
    plan = program.program.plan(name)
    instructions = [each for chain in plan.chains for each in chain.instructions]
    operators = Counter(
        plan.operators[each.op_index].full_name for each in instructions if isinstance(each, KernelCall)
    )
    calls = Counter(each.delegate_index for each in instructions if isinstance(each, DelegateCall))
    missing = () if runtime.operators is None else tuple(sorted(set(operators) - runtime.operators))
    external = tuple(_external_tensors(program, plan))
    return MethodReport(
        name=name,
        inputs=tuple(describe_value(plan.values[index]) for index in plan.inputs),
        outputs=tuple(describe_value(plan.values[index]) for index in plan.outputs),
        attributes=tuple(
            AttributeReport(name=each, tensor=describe_value(tensor))
            for each, tensor in plan.attributes().items()
        ),
        instructions=len(instructions),
        operators=dict(sorted(operators.items())),
        missing_operators=missing,
        kernel_sources=_kernel_sources(program, operators, missing, executor),
        delegates=tuple(_delegates(program, plan, calls, runtime)),
        external_tensors=external,
        planned_memory_bytes=tuple(plan.non_const_buffer_sizes[1:]),
        memory_plan=read_memory_plan(plan),
        obstacles=(
            *_missing_kernels(program, missing, executor, runtime),
            *_unavailable_backends(program, plan, executor, runtime),
            *_missing_data(external),
            *_missing_delegate_data(program, plan),
        ),
    )


def _delegates(
    program: LoadedProgram, plan: ExecutionPlan, calls: Counter[int], runtime: ExecutorReport
) -> Iterator[DelegateReport]:
    installed = {*program.installation.backend_ids, *(each.id for each in runtime.backends)}
    for index, (delegate, read) in enumerate(
        zip(plan.delegates, payload_readings(program, plan.name), strict=True)
    ):
        declared = _compile_specs(program.installation, delegate.id)
        yield DelegateReport(
            backend=delegate.id,
            installed=delegate.id in installed,
            calls=calls[index],
            payload_bytes=len(program.program.delegate_data(delegate)),
            stored=delegate.processed.location.name.lower(),
            compile_specs=tuple(
                CompileSpecReport(
                    key=spec.key, size_bytes=len(spec.value), text=_shown(declared.get(spec.key), spec.value)
                )
                for spec in delegate.compile_specs
            ),
            payload=read.description,
            payload_problem=read.problem,
        )


def _compile_specs(installation: Installation, backend: str) -> Mapping[str, Any]:
    """Return what a backend declares about its compile specs; nothing without a working plugin."""
    if backend not in installation.backend_ids:
        return {}
    try:
        return installation.plugins.backend_spec(backend).compile_specs
    except PluginError:  # `doctor` reports it
        return {}


def _shown(declared: Any, value: bytes) -> str | None:
    """Return a value as its backend declares it, or as short printable text, or None for anything else."""
    try:
        known = None if declared is None else declared.decode(value)
    except ValueError:  # not what the backend declares
        known = None
    return str(known).lower() if isinstance(known, int) else _as_text(value)


def _as_text(value: bytes) -> str | None:
    """Return short printable text, or None for anything else."""
    text = value[:_MAX_TEXT].decode(errors="replace")
    return text if len(value) <= _MAX_TEXT and text.isprintable() and "\ufffd" not in text else None


def _external_tensors(program: LoadedProgram, plan: ExecutionPlan) -> Iterator[ExternalTensorReport]:
    """Find each tensor of a data file, once, and the opened file that contains it."""
    files = {key: file.path for file in program.program.data_files for key in file.blobs}
    tensors = {
        value.fully_qualified_name: value
        for value in plan.values
        if isinstance(value, SerializedTensor) and value.external
    }
    for key, tensor in tensors.items():
        yield ExternalTensorReport(key=key, tensor=describe_value(tensor), file=files.get(str(key)))


def _kernel_sources(
    program: LoadedProgram, operators: Iterable[str], missing: Iterable[str], executor: str
) -> dict[str, str]:
    if executor != NUMPY:
        return {}
    kernels = program.installation.kernels
    return {each: kernels.source(each) for each in sorted(set(operators).difference(missing))}


def _missing_kernels(
    program: LoadedProgram, operators: Iterable[str], executor: str, runtime: ExecutorReport
) -> Iterator[RunObstacle]:
    for operator in operators:
        if executor == NUMPY:
            kernels = program.installation.kernels
            if operator in kernels.contested:
                conflict = kernels.conflict(operator)
                claims = " and ".join(conflict.distributions)
                yield RunObstacle(
                    what=f"operator {operator}", why=f"its kernel is claimed by {claims}", help=conflict.help
                )
                continue
            why = "no installed package has a kernel for it"
            help_text = f"install one that provides it in the entry-point group {ENTRY_POINT_GROUP!r}"
        else:
            why = f"the runtime of executor {executor!r} has no kernel for it"
            otherwise = "export the method without it, or use another executor"
            help_text = runtime.further_operators.get(operator, otherwise)
        yield RunObstacle(what=f"operator {operator}", why=why, help=help_text)


def _unavailable_backends(
    program: LoadedProgram, plan: ExecutionPlan, executor: str, runtime: ExecutorReport
) -> Iterator[RunObstacle]:
    """Find the backends that are not installed, broken, or cannot run here. Imports the installed ones."""
    for backend in dict.fromkeys(delegate.id for delegate in plan.delegates):
        try:
            status = backend_status(program.installation, backend, executor, runtime)
        except PluginError as error:
            yield RunObstacle(what=f"backend {backend}", why=error.message, help=error.help)
        else:
            if not status.is_available:
                yield RunObstacle(what=f"backend {backend}", why=status.reason or "", help=status.help)


def _missing_data(external: Iterable[ExternalTensorReport]) -> Iterator[RunObstacle]:
    for tensor in external:
        if tensor.file is None:
            yield RunObstacle(
                what=f"tensor {tensor.key}",
                why="its data are in a data file that was not given",
                help="give the file: --data FILE.ptd",
            )


def _missing_delegate_data(program: LoadedProgram, plan: ExecutionPlan) -> Iterator[RunObstacle]:
    """Find the data that payloads leave to data files, and that none of the given files has."""
    given = program.program.named_data
    for backend in dict.fromkeys(delegate.id for delegate in plan.delegates):
        names = _data_names(program, plan, backend)
        missing = [name for name in names if name not in given]
        if missing:
            shown = ", ".join(missing[:_MAX_NAMES])
            more = len(missing) - _MAX_NAMES
            yield RunObstacle(
                what=f"data of {backend}",
                why=f"{len(missing)} of {len(names)} weights are in a data file that was not given: "
                f"{shown}{f' and {more} more' if more > 0 else ''}",
                help="give the .ptd of this export: --data FILE.ptd",
            )


def _data_names(program: LoadedProgram, plan: ExecutionPlan, backend: str) -> Sequence[str]:
    """Return the names of data outside of the payloads of a backend, each once."""
    installation = program.installation
    try:
        spec = installation.plugins.backend_spec(backend) if backend in installation.backend_ids else None
    except PluginError:  # `doctor` reports it
        spec = None
    if spec is None or spec.data_names is None:
        return ()
    payloads = (program.program.delegate_data(each) for each in plan.delegates if each.id == backend)
    try:
        return list(dict.fromkeys(name for each in payloads for name in spec.data_names(bytes(each))))
    except Exception as error:
        raise PluginCallError(
            group=BACKENDS,
            name=backend,
            call="data_names",
            cause=error_text(error),
            help="return no names for a payload that it cannot read",
        ) from error
