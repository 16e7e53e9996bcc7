"""A report of `etconfig inspect` as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from etconfig.analysis.memory_picture import use_text
from etconfig.app.programs.executors import NUMPY
from etconfig.base.number_text import format_bytes
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import print_table, show

if TYPE_CHECKING:
    from etconfig.analysis import MethodReport, ProgramReport
    from etconfig.analysis.program_report import DelegateReport


def print_program(report: ProgramReport) -> None:
    """Print a report on stdout."""
    show(
        f"{report.path}: {format_bytes(report.size_bytes)}, "
        f"constants {format_bytes(report.constant_bytes)}, {format_count(len(report.segments), 'segment')}"
    )
    for gap in report.unclaimed:
        size = format_bytes(gap.size_bytes)
        show(f"unclaimed: {size} at byte {gap.offset}, to which nothing refers")
    for file in report.data_files:
        show(f"{file.path}: {format_bytes(file.size_bytes)}, {format_count(file.keys, 'key')}")
    constants = report.constants
    if constants.count:
        dtypes = ", ".join(f"{count} {dtype}" for dtype, count in constants.dtypes.items())
        shared = f", {constants.shared} in several methods" if constants.shared else ""
        show(f"constant tensors: {dtypes}{shared}")
    if report.named_data:
        size = format_bytes(sum(entry.size_bytes for entry in report.named_data))
        show(f"named data: {format_count(len(report.named_data), 'key')}, {size}")
    for state in report.shared_state:
        show(f"shared state: {state.name}, of {', '.join(state.methods)}")
    if report.shared_state:
        show("  load the program with share_memory_arenas=True, so that its methods share it")
    for method in report.methods:
        _print_method(method, report.executor)


def _print_method(method: MethodReport, executor: str) -> None:
    show()
    show(
        f"method {method.name}: {format_count(method.instructions, 'instruction')}, "
        f"{format_bytes(sum(method.planned_memory_bytes))} planned"
    )
    for role, values in (("inputs", method.inputs), ("outputs", method.outputs)):
        show(f"  {role}: {'; '.join(values) or 'none'}")
    if method.attributes:
        show(f"  attributes: {'; '.join(f'{each.name}: {each.tensor}' for each in method.attributes)}")
    for memory_id in method.memory_plan.arena_bytes:
        show(f"  memory {memory_id}: {use_text(method.memory_plan, memory_id)}")
    missing = set(method.missing_operators)
    if method.operators:
        rows = [("  " + n, str(c), "no" if n in missing else "yes") for n, c in method.operators.items()]
        headers: tuple[str, ...] = ("  OPERATOR", "CALLS", "RUNS HERE")
        sources = method.kernel_sources
        if len({*sources.values()}) > 1:  # else all kernels are etconfig's own
            headers = (*headers, "KERNEL FROM")
            named = [sources.get(operator, "") for operator in method.operators]
            print_table(headers, [(*row, source) for row, source in zip(rows, named, strict=True)])
        else:
            print_table(headers, rows)
    if method.delegates:
        _print_delegates(method.delegates)
    for line in method.payload_lines:
        show(f"  {line}")
    if method.external_tensors:
        print_table(
            ("  EXTERNAL TENSOR", "TYPE", "FILE"),
            [(f"  {each.key}", each.tensor, each.file or "not given") for each in method.external_tensors],
        )
    if method.obstacles:
        which = "the built-in executor" if executor == NUMPY else f"executor {executor}"
        show(f"  cannot run here with {which}:")
    for obstacle in method.obstacles:
        help_note = f" ({obstacle.help})" if obstacle.help else ""
        show(f"    {obstacle.what}: {obstacle.why}{help_note}")


def _print_delegates(delegates: Sequence[DelegateReport]) -> None:
    print_table(
        ("  DELEGATE", "CALLS", "PAYLOAD", "STORED", "INSTALLED"),
        [
            (
                f"  {each.backend}",
                str(each.calls),
                format_bytes(each.payload_bytes),
                each.stored,
                "yes" if each.installed else "no",
            )
            for each in delegates
        ],
    )
    for index, delegate in enumerate(delegates):
        for spec in delegate.compile_specs:
            shown = format_bytes(spec.size_bytes) if spec.text is None else repr(spec.text)
            show(f"  compile spec of {delegate.backend} #{index}: {spec.key} = {shown}")
