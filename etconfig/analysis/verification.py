"""`verify_program`: run the recorded cases of a bundled program, and compare the outputs."""

from __future__ import annotations

import math
from typing import Any

from etconfig.app.configuring.configuration import resolve
from etconfig.app.programs.loaded_program import LoadedProgram
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.method.bundled_cases import CaseResult, OutputResult, Tolerance
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, part_text
from etconfig.resolver.deciding.resolution import Resolution


@record(frozen=True, kw_only=True)
class VerifiedCase:
    """A recorded case that was run.

    Attributes:
        method: The method.
        index: The position among the cases of that method, from 0.
        result: How its outputs compare with the recorded ones.
    """

    method: str
    index: int
    result: CaseResult

    def to_jsonable(self) -> dict[str, Any]:
        """The case as plain data."""
        return {
            "method": self.method,
            "case": self.index,
            "agrees": self.result.agrees,
            "problem": self.result.problem,
            "outputs": [_output_jsonable(output) for output in self.result.outputs],
        }


@record(frozen=True)
class VerificationReport(HasView):
    """The recorded cases of a program that were run, in the order of the file."""

    cases: tuple[VerifiedCase, ...]

    @property
    def agrees(self) -> bool:
        """True if every case ran and gave the recorded outputs."""
        return all(case.result.agrees for case in self.cases)

    def _view(self) -> View:
        rows = [
            (each.method, each.index, "yes" if each.result.agrees else "no", each.result.problem or "")
            for each in self.cases
        ]
        agreeing = part_text(sum(each.result.agrees for each in self.cases), len(rows), "case", "agree")
        return View(
            title=agreeing, tables=(Table(headers=("METHOD", "CASE", "AGREES", "PROBLEM"), rows=rows),)
        )

    def to_jsonable(self) -> dict[str, Any]:
        """The report as plain data, as `etconfig verify --json` prints it."""
        return {"cases": [case.to_jsonable() for case in self.cases]}


def methods_with_cases(program: LoadedProgram, method: str | None = None) -> tuple[str, ...]:
    """Return the methods of a bundled program that have recorded cases.

    Args:
        program: The program.
        method: If given, only this method.

    Raises:
        ValueError: there are none.
    """
    cases = program.program.bundled_cases
    names = tuple(name for name in cases if method in (None, name))
    if names:
        return names
    path = program.program.path or "the program"
    if not cases:
        help_line = "bundle them with executorch.devtools.BundledProgram"
        raise ValueError(f"{path} has no recorded cases; {help_line}")
    known = ", ".join(map(repr, cases))
    raise ValueError(f"{path} has no recorded cases for method {method!r}; it has some for {known}")


def verify_program(
    program: LoadedProgram,
    resolution: Resolution | None = None,
    *,
    method: str | None = None,
    tolerance: Tolerance | None = None,
) -> VerificationReport:
    """Run the recorded cases of a bundled program (.bpte), each in the initial state.

    Args:
        program: The program, as `load_program` returns it.
        resolution: The arguments of its methods; by default `etconfig.resolve(program)` resolves them.
        method: The method; by default every method that has cases.
        tolerance: For all floating-point outputs; by default the tolerance of `torch.testing.assert_close`
            for each element type.

    Returns:
        The result of each case. A run that fails is the problem of its case, not an exception.

    Raises:
        ValueError: the program, or `method`, has no recorded cases.
        TypeError: `program` is not a loaded program, but for example a path.
        EtconfigError: as `etconfig.resolve` and `LoadedProgram.load_method` raise it.

    Example:
        >>> with etconfig.load_program("bundled.bpte") as program:
        ...     report = etconfig.verify_program(program)
        >>> [(case.method, case.result.agrees) for case in report.cases]
        [('forward', True), ('forward', True), ('forward', False), ('sine', True)]
    """
    check_type("program", program, LoadedProgram, "what etconfig.load_program returns")
    names = methods_with_cases(program, method)
    resolution = resolve(program) if resolution is None else resolution
    return VerificationReport(
        tuple(
            VerifiedCase(method=name, index=index, result=result)
            for name in names
            for index, result in enumerate(
                program.verify_bundled(name, resolution.arguments(name), tolerance=tolerance)
            )
        )
    )


def _output_jsonable(output: OutputResult) -> dict[str, Any]:
    return {
        "agrees": output.agrees,
        "max_absolute_error": _finite(output.max_absolute_error),
        "max_relative_error": _finite(output.max_relative_error),
        "problem": output.problem,
    }


def _finite(error: float | None) -> float | None:
    """Return a finite error, None for others: JSON has neither NaN nor infinity."""
    return error if error is not None and math.isfinite(error) else None
