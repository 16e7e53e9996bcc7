"""`etconfig inspect`: what a program holds, and what it needs to run here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.format import format_bytes, format_count
from etconfig.cli.options import data_option, json_option, make_installation, program_argument
from etconfig.cli.output import print_json, print_table

if TYPE_CHECKING:
    from etconfig.api import LoadedProgram
    from etconfig.program.model import EValue, ExecutionPlan


@click.command("inspect")
@program_argument
@data_option
@json_option
def command(program: Path, data: Sequence[Path], as_json: bool) -> None:
    """Show what a program holds and what it needs to run here.

    \b
    Examples:
      etconfig inspect model.pte
      etconfig inspect model.pte --data weights.ptd
    """
    from etconfig.api import load_program

    with load_program(program, data=data, installation=make_installation()) as loaded:
        description = describe_program(loaded)
    if as_json:
        print_json(description)
    else:
        _print(description)


def describe_program(loaded: LoadedProgram) -> dict[str, Any]:
    """The program as plain data."""
    program = loaded.program
    return {
        "path": program.path,
        "size_bytes": program.size_bytes,
        "version": program.version,
        "constant_bytes": program.constant_bytes,
        "data_files": [
            {"path": file.path, "size_bytes": file.size_bytes, "keys": len(file.blobs)}
            for file in program.data_files
        ],
        "segments": [segment.size_bytes for segment in program.segments],
        "methods": [_describe_method(loaded, name) for name in loaded.method_names],
    }


def _describe_method(loaded: LoadedProgram, name: str) -> dict[str, Any]:
    from etconfig.program.model import DelegateCall, KernelCall

    plan = loaded.program.plan(name)
    steps = [step for chain in plan.chains for step in chain.instructions]
    operators = Counter(
        plan.operators[step.op_index].full_name for step in steps if isinstance(step, KernelCall)
    )
    calls = Counter(step.delegate_index for step in steps if isinstance(step, DelegateCall))
    return {
        "name": name,
        "inputs": [_describe_value(plan.values[index]) for index in plan.inputs],
        "outputs": [_describe_value(plan.values[index]) for index in plan.outputs],
        "instructions": len(steps),
        "operators": dict(sorted(operators.items())),
        "missing_operators": sorted(set(operators) - set(loaded.installation.kernels)),
        "delegates": list(_describe_delegates(loaded, plan, calls)),
        "external_tensors": list(_describe_external(loaded, plan)),
        "planned_memory_bytes": list(plan.non_const_buffer_sizes[1:]),
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
            "compile_specs": [spec.key for spec in delegate.compile_specs],
        }


def _describe_external(loaded: LoadedProgram, plan: ExecutionPlan) -> Iterator[dict[str, Any]]:
    """The tensors that lie in data files: where each was found, None if nowhere."""
    from etconfig.program.model import Tensor

    homes = {key: file.path for file in loaded.program.data_files for key in file.blobs}
    tensors = {
        value.fully_qualified_name: value
        for value in plan.values
        if isinstance(value, Tensor) and value.external
    }
    for key, tensor in tensors.items():
        yield {"key": key, "tensor": _describe_value(tensor), "file": homes.get(str(key))}


def _describe_value(value: EValue) -> str:
    from etconfig.program.model import Tensor, TensorShapeDynamism

    if not isinstance(value, Tensor):
        return "None" if value is None else type(value).__name__
    sizes = ", ".join(map(str, value.sizes))
    if value.shape_dynamism is TensorShapeDynamism.DYNAMIC_BOUND:
        sizes = f"at most {sizes}"
    order = "" if list(value.dim_order) == sorted(value.dim_order) else f", dim order {list(value.dim_order)}"
    return f"{value.scalar_type.dtype_name} [{sizes}]{order}"


def _print(data: dict[str, Any]) -> None:
    click.echo(
        f"{data['path']}: {format_bytes(data['size_bytes'])}, "
        f"constants {format_bytes(data['constant_bytes'])}, {format_count(len(data['segments']), 'segment')}"
    )
    for file in data["data_files"]:
        click.echo(f"{file['path']}: {format_bytes(file['size_bytes'])}, {format_count(file['keys'], 'key')}")
    for method in data["methods"]:
        _print_method(method)


def _print_method(method: dict[str, Any]) -> None:
    memory = sum(method["planned_memory_bytes"])
    click.echo(
        f"\nmethod {method['name']}: {format_count(method['instructions'], 'instruction')}, "
        f"{format_bytes(memory)} planned"
    )
    for role in ("inputs", "outputs"):
        click.echo(f"  {role}: {'; '.join(method[role]) or 'none'}")
    missing = set(method["missing_operators"])
    if method["operators"]:
        rows = [(n, str(c), "no" if n in missing else "yes") for n, c in method["operators"].items()]
        print_table(("  OPERATOR", "CALLS", "RUNS HERE"), [("  " + n, c, h) for n, c, h in rows])
    if method["delegates"]:
        print_table(
            ("  DELEGATE", "CALLS", "PAYLOAD", "STORED", "INSTALLED"),
            [
                (
                    f"  {d['backend']}",
                    str(d["calls"]),
                    format_bytes(d["payload_bytes"]),
                    d["stored"],
                    "yes" if d["installed"] else "no",
                )
                for d in method["delegates"]
            ],
        )
    if method["external_tensors"]:
        print_table(
            ("  EXTERNAL TENSOR", "TYPE", "FILE"),
            [(f"  {t['key']}", t["tensor"], t["file"] or "not given") for t in method["external_tensors"]],
        )
