"""`etconfig verify`: run the cases of a bundled program and compare with what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from etconfig.cli.shared.command_options import (
    FiniteNumber,
    data_option,
    executor_option,
    json_option,
    locked_option,
    no_models_option,
    program_argument,
)
from etconfig.cli.shared.completion import complete_method
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import print_json, print_table, show
from etconfig.cli.shared.requests import ConfigurationRequest, configuration_options
from etconfig.cli.shared.usage import StrictCommand

if TYPE_CHECKING:
    from etconfig.analysis import VerificationReport
    from etconfig.method.bundled_cases import CaseResult, OutputResult

_TOLERANCE = FiniteNumber()


@click.command("verify", cls=StrictCommand)
@program_argument
@click.option(
    "--method", shell_complete=complete_method, help="The method; by default every method that has cases."
)
@click.option("--rtol", type=_TOLERANCE, help="Allowed difference relative to the expected value.")
@click.option("--atol", type=_TOLERANCE, help="Allowed absolute difference, in addition.")
@data_option
@executor_option
@no_models_option
@configuration_options
@locked_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    program: Path,
    method: str | None,
    rtol: float | None,
    atol: float | None,
    data: Sequence[Path],
    executor: str | None,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Run a bundled program's cases; exit with 1 if outputs differ.

    A bundled program (executorch.devtools.BundledProgram) contains a program, inputs and the outputs of
    PyTorch for them. Other commands accept it in place of a program.

    Every case starts in the initial state. Without --rtol and --atol, floating-point outputs may
    differ as much as torch.testing.assert_close allows for their type; others must be equal.

    \b
    Examples:
      etconfig verify model.bpte
      etconfig verify model.bpte --method forward --rtol 1e-3 --atol 1e-4
    """
    from etconfig.analysis.verification import methods_with_cases, verify_program
    from etconfig.app.programs.api import load_program
    from etconfig.method.bundled_cases import Tolerance

    tolerance = None
    if rtol is not None or atol is not None:
        tolerance = Tolerance(relative=rtol or 0, absolute=atol or 0)
    chosen = request.executor(executor)
    with load_program(program, data=data, executor=chosen, installation=request.installation) as loaded:
        try:
            methods_with_cases(loaded, method)
        except ValueError as error:
            raise click.ClickException(str(error)) from error
        report = verify_program(loaded, request.resolve(loaded), method=method, tolerance=tolerance)
    if as_json:
        print_json(report.to_jsonable())
    else:
        _print(report)
    if not report.agrees:
        context.exit(1)


def _print(report: VerificationReport) -> None:
    print_table(
        ("METHOD", "CASE", "RESULT", "MAX ERROR", "MAX RELATIVE ERROR"),
        [
            (case.method, str(case.index), _verdict(case.result), *_largest_errors(case.result.outputs))
            for case in report.cases
        ],
    )
    for case in report.cases:
        for problem in _problems(case.result):
            show(f"{case.method}, case {case.index}: {problem}")
    agreeing = sum(case.result.agrees for case in report.cases)
    show(f"{agreeing} of {format_count(len(report.cases), 'case')} gave the recorded outputs")


def _verdict(case: CaseResult) -> str:
    if case.problem:
        return "failed"
    if not case.outputs:
        return "ran, no outputs recorded"
    return "ok" if case.agrees else "differs"


def _largest_errors(outputs: Sequence[OutputResult]) -> tuple[str, str]:
    errors = [(each.max_absolute_error, each.max_relative_error) for each in outputs]
    known = [(a, r) for a, r in errors if a is not None and r is not None]
    return (f"{max(a for a, _ in known):.3g}", f"{max(r for _, r in known):.3g}") if known else ("-", "-")


def _problems(case: CaseResult) -> list[str]:
    if case.problem:
        return [case.problem]
    return [f"out{at}: {output.problem}" for at, output in enumerate(case.outputs) if output.problem]
