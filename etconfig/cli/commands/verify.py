"""`etconfig verify`: run the cases of a bundled program and compare with what was recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.options import (
    ConfigurationRequest,
    configuration_options,
    data_option,
    executor_option,
    json_option,
    locked_option,
    program_argument,
)
from etconfig.cli.shared.output import print_json, print_table
from etconfig.cli.startup.completion import complete_method

if TYPE_CHECKING:
    from etconfig.method.bundled import CaseResult, OutputResult

Results = Mapping[str, "Sequence[CaseResult]"]
"""The results of each method's cases."""

_TOLERANCE = click.FloatRange(min=0)
_TOLERANCE.name = "number"  # or click would say: 'x' is not a valid float range


@click.command("verify")
@program_argument
@click.option(
    "--method", shell_complete=complete_method, help="The method; by default every method that has cases."
)
@click.option("--rtol", type=_TOLERANCE, help="Allowed difference in relation to the expected value.")
@click.option("--atol", type=_TOLERANCE, help="Allowed difference in addition.")
@data_option
@executor_option
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
    executor: str,
    request: ConfigurationRequest,
    as_json: bool,
) -> None:
    """Run a bundled program's cases; exit with 1 if outputs differ.

    Every case starts in the initial state. Without --rtol and --atol, floating-point outputs may
    differ as much as torch.testing.assert_close allows for their type; others must be equal.

    \b
    Examples:
      etconfig verify model.bpte
      etconfig verify model.bpte --method forward --rtol 1e-3 --atol 1e-4
    """
    from etconfig.app.api import load_program
    from etconfig.method.bundled import Tolerance

    tolerance = None
    if rtol is not None or atol is not None:
        tolerance = Tolerance(relative=rtol or 0, absolute=atol or 0)
    installation = request.installation
    with load_program(program, data=data, executor=executor, installation=installation) as loaded:
        methods = _methods_with_cases(loaded.program.bundled_cases, method, program)
        resolution = request.resolve(loaded)
        results = {
            name: loaded.verify_bundled(name, resolution.arguments(name), tolerance=tolerance)
            for name in methods
        }
    if as_json:
        print_json({"cases": [_describe(*row) for row in _rows(results)]})
    else:
        _print(results)
    if not all(case.agrees for cases in results.values() for case in cases):
        context.exit(1)


def _methods_with_cases(cases: Mapping[str, object], method: str | None, program: Path) -> Sequence[str]:
    names = [name for name in cases if method in (None, name)]
    if names:
        return names
    if not cases:
        hint = "bundle them with executorch.devtools.BundledProgram"
        raise click.ClickException(f"{program} holds no recorded cases; {hint}")
    known = ", ".join(map(repr, cases))
    raise click.ClickException(
        f"{program} holds no recorded cases for method {method!r}; it has some for {known}"
    )


def _rows(results: Results) -> list[tuple[str, int, CaseResult]]:
    return [(name, index, case) for name, cases in results.items() for index, case in enumerate(cases)]


def _describe(method: str, index: int, case: CaseResult) -> dict[str, Any]:
    return {
        "method": method,
        "case": index,
        "agrees": case.agrees,
        "problem": case.problem,
        "outputs": [
            {
                "agrees": output.agrees,
                "max_absolute_error": _finite(output.max_absolute_error),
                "max_relative_error": _finite(output.max_relative_error),
                "problem": output.problem,
            }
            for output in case.outputs
        ],
    }


def _finite(error: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return error if error is not None and math.isfinite(error) else None


def _print(results: Results) -> None:
    rows = _rows(results)
    print_table(
        ("METHOD", "CASE", "RESULT", "MAX ERROR", "MAX RELATIVE ERROR"),
        [(name, str(index), _verdict(case), *_largest_errors(case.outputs)) for name, index, case in rows],
    )
    for name, index, case in rows:
        for problem in _problems(case):
            click.echo(f"{name}, case {index}: {problem}")
    agreeing = sum(case.agrees for _, _, case in rows)
    click.echo(f"{agreeing} of {format_count(len(rows), 'case')} as recorded")


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
