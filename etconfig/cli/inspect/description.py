"""A program as plain data: what `etconfig inspect` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from etconfig.errors import BackendUnavailableError, EtconfigError, PluginError

if TYPE_CHECKING:
    from etconfig.app.loaded_program import LoadedProgram
    from etconfig.program.memory_plan import MemoryPlan
    from etconfig.program.model import EValue, ExecutionPlan, SerializedTensor

_MAX_TEXT = 40
"""How many bytes of a compile spec are shown, if they are text."""


def describe_program(loaded: LoadedProgram, plans: Mapping[str, MemoryPlan]) -> dict[str, Any]:
    """The program; `plans` are the memory plans of its methods."""
    program = loaded.program
    return {
        "path": program.path,
        "size_bytes": program.size_bytes,
        "version": program.version,
        "constant_bytes": program.constant_bytes,
        "constants": _describe_constants(loaded),
        "named_data": [
            {"key": key, "size_bytes": len(data)} for key, data in sorted(program.named_data.items())
        ],
        "data_files": [
            {"path": file.path, "size_bytes": file.size_bytes, "keys": len(file.blobs)}
            for file in program.data_files
        ],
        "segments": [segment.size_bytes for segment in program.segments],
        "unclaimed": [{"offset": gap.start, "size_bytes": gap.size_bytes} for gap in program.unclaimed()],
        "methods": [_describe_method(loaded, name, plans[name]) for name in loaded.method_names],
    }


def _describe_constants(loaded: LoadedProgram) -> dict[str, Any]:
    """The constants that tensors refer to, each once; shared ones are those of several methods."""
    from etconfig.program.model import SerializedTensor

    tensors: dict[object, SerializedTensor] = {}
    users: dict[object, set[str]] = {}
    for name in loaded.method_names:
        for value in loaded.program.plan(name).values:
            if isinstance(value, SerializedTensor) and value.is_constant:
                key = value.fully_qualified_name if value.external else value.data_buffer_idx
                tensors[key] = value
                users.setdefault(key, set()).add(name)
    dtypes = Counter(tensor.scalar_type.dtype_name for tensor in tensors.values())
    return {
        "count": len(tensors),
        "size_bytes": sum(tensor.size_bytes for tensor in tensors.values()),
        "dtypes": dict(sorted(dtypes.items())),
        "shared": sum(len(methods) > 1 for methods in users.values()),
    }


def _describe_method(loaded: LoadedProgram, name: str, memory: MemoryPlan) -> dict[str, Any]:
    from etconfig.program.model import DelegateCall, KernelCall

    plan = loaded.program.plan(name)
    steps = [step for chain in plan.chains for step in chain.instructions]
    operators = Counter(
        plan.operators[step.op_index].full_name for step in steps if isinstance(step, KernelCall)
    )
    calls = Counter(step.delegate_index for step in steps if isinstance(step, DelegateCall))
    missing = sorted(set(operators) - set(loaded.installation.kernels))
    external = list(_describe_external(loaded, plan))
    return {
        "name": name,
        "inputs": [describe_value(plan.values[index]) for index in plan.inputs],
        "outputs": [describe_value(plan.values[index]) for index in plan.outputs],
        "attributes": [
            {"name": each, "tensor": describe_value(tensor)} for each, tensor in plan.attributes().items()
        ],
        "instructions": len(steps),
        "operators": dict(sorted(operators.items())),
        "missing_operators": missing,
        "delegates": list(_describe_delegates(loaded, plan, calls)),
        "external_tensors": external,
        "planned_memory_bytes": list(plan.non_const_buffer_sizes[1:]),
        "memory": [_describe_arena(memory, memory_id) for memory_id in memory.arena_bytes],
        "obstacles": [
            *_missing_kernels(missing),
            *_unavailable_backends(loaded, plan),
            *_missing_data(external),
        ],
    }


def _describe_delegates(
    loaded: LoadedProgram, plan: ExecutionPlan, calls: Counter[int]
) -> Iterator[dict[str, Any]]:
    installed = set(loaded.installation.backend_ids)
    for index, delegate in enumerate(plan.delegates):
        yield {
            "backend": delegate.id,
            "installed": delegate.id in installed,
            "calls": calls[index],
            "payload_bytes": len(loaded.program.delegate_data(delegate)),
            "stored": delegate.processed.location.name.lower(),
            "compile_specs": [
                {"key": spec.key, "size_bytes": len(spec.value), "text": _as_text(spec.value)}
                for spec in delegate.compile_specs
            ],
        }


def _as_text(value: bytes) -> str | None:
    """Short printable text, or None for anything else."""
    text = value[:_MAX_TEXT].decode(errors="replace")
    return text if len(value) <= _MAX_TEXT and text.isprintable() and "\ufffd" not in text else None


def _describe_external(loaded: LoadedProgram, plan: ExecutionPlan) -> Iterator[dict[str, Any]]:
    """The tensors that lie in data files: where each was found, None if nowhere."""
    from etconfig.program.model import SerializedTensor

    homes = {key: file.path for file in loaded.program.data_files for key in file.blobs}
    tensors = {
        value.fully_qualified_name: value
        for value in plan.values
        if isinstance(value, SerializedTensor) and value.external
    }
    for key, tensor in tensors.items():
        yield {"key": key, "tensor": describe_value(tensor), "file": homes.get(str(key))}


def _describe_arena(memory: MemoryPlan, memory_id: int) -> dict[str, Any]:
    most, mean = memory.use(memory_id)
    return {
        "memory_id": memory_id,
        "size_bytes": memory.arena_bytes[memory_id],
        "peak_use": most,
        "mean_use": mean,
        "tensors": [
            {
                "value": each.value,
                "tensor": describe_value(each.tensor),
                "role": each.role,
                "offset": each.offset,
                "size_bytes": each.size_bytes,
                "first_instruction": each.first,
                "last_instruction": each.last,
            }
            for each in memory.of_arena(memory_id)
        ],
    }


def _missing_kernels(operators: list[str]) -> Iterator[dict[str, Any]]:
    from etconfig.kernel.registry import ENTRY_POINT_GROUP

    for operator in operators:
        yield {
            "what": f"operator {operator}",
            "why": "no installed package has a kernel for it",
            "help": f"install one that provides it in the entry-point group {ENTRY_POINT_GROUP!r}",
        }


def _unavailable_backends(loaded: LoadedProgram, plan: ExecutionPlan) -> Iterator[dict[str, Any]]:
    """The backends that are not installed, broken, or cannot run here. Imports the installed ones."""
    from etconfig.app.targets import find_spec

    for backend in dict.fromkeys(delegate.id for delegate in plan.delegates):
        try:
            find_spec(loaded.installation, backend)
            loaded.installation.plugins.create_backend(backend)
        except (BackendUnavailableError, PluginError) as error:
            yield {"what": f"backend {backend}", "why": _reason(error), "help": error.help}


def _reason(error: EtconfigError) -> str:
    return error.reason if isinstance(error, BackendUnavailableError) else error.message


def _missing_data(external: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for tensor in external:
        if tensor["file"] is None:
            yield {
                "what": f"tensor {tensor['key']}",
                "why": "its data lie in a data file that was not given",
                "help": "give the file: --data FILE.ptd",
            }


def describe_value(value: EValue) -> str:
    """A value's type, and of a tensor its shape and dim order, if that is not the usual one."""
    from etconfig.program.model import SerializedTensor, TensorShapeDynamism

    if not isinstance(value, SerializedTensor):
        return "None" if value is None else type(value).__name__
    sizes = ", ".join(map(str, value.sizes))
    if value.shape_dynamism is TensorShapeDynamism.DYNAMIC_BOUND:
        sizes = f"at most {sizes}"
    order = "" if list(value.dim_order) == sorted(value.dim_order) else f", dim order {list(value.dim_order)}"
    return f"{value.scalar_type.dtype_name} [{sizes}]{order}"
