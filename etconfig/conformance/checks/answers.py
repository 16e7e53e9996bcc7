"""Checks of answers: outputs equal eager PyTorch's, as precisely as declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from etconfig.base.scalar_types import ScalarType
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import (
    CheckFailedError,
    NotApplicableError,
    NotDelegatedError,
    suggesting,
)
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject
from etconfig.diagnostics import did_you_mean

_REPEATS = 20


@check(
    "runs",
    level=1,
    rests_on=(
        "signature-bind",
        "aot-id-match",
        "defaults-valid",
        "recommend-valid",
        "program-values",
    ),
    prevents="programs that cannot be loaded or executed",
    isolated=True,
)
def runs(subject: Subject) -> None:
    """Every method of an ordinary program can be loaded and executed, whatever it answers."""
    for case in subject.ordinary_cases():
        for name in case.case.methods:
            with subject.load(case, name) as method:
                for run in case.runs(name):
                    method.execute(list(run.inputs))


@check("answers", level=1, rests_on=("runs",), prevents="wrong results")
def answers(subject: Subject) -> None:
    """Every method gives the answers of eager PyTorch, in float32 or the dtypes of a backend without it."""
    earlier: list[tuple[str, Sequence[Any]]] = []
    for case in subject.ordinary_cases():
        for name in case.case.methods:
            with subject.load(case, name) as method:
                for number, run in enumerate(case.runs(name)):
                    outputs = method.execute(list(run.inputs))
                    try:
                        subject.check_outputs(case, run, outputs, name)
                    except CheckFailedError as error:
                        raise CheckFailedError(f"{error}; {_advice(outputs, earlier)}") from None
                    earlier.append((f"run {number + 1} of {case.name}.{name}", run.outputs))


def _advice(outputs: Sequence[Any], earlier: Sequence[tuple[str, Sequence[Any]]]) -> str:
    """Return what to do about wrong outputs: they may be the outputs of an earlier run."""
    for label, others in earlier:
        is_same = len(others) == len(outputs) and all(map(_is_same, outputs, others))
        if is_same:
            return (
                f"this is the answer of {label}, so something is kept from one run to another, such as in a "
                "cache of the process; keep it in the handle, by all that it was computed from"
            )
    return "compute what the program asks for, or leave it out of the delegate"


def _is_same(output: Any, other: Any) -> bool:
    ours, theirs = np.asarray(output), np.asarray(other)
    is_alike = ours.shape == theirs.shape and ours.size > 0 and bool(np.any(theirs != 0))
    return is_alike and bool(np.allclose(ours, theirs, rtol=1e-3, atol=1e-6))


@check("tolerance", level=1, rests_on=("answers",), prevents="sums in a narrower type than the vendor claims")
def tolerance(subject: Subject) -> None:
    """Right answers are as precise as the backend declares, or else as the kit requires by default."""
    measured = 0
    for case in subject.ordinary_cases():
        try:
            subject.check_case(case)
        except CheckFailedError:
            continue  # a wrong answer, which `answers` reports
        with suggesting("sum in a wider type, or declare the actual `precision`"):
            subject.check_case(case, precisely=True)
        measured += 1
    if not measured:
        raise CheckFailedError(
            "no answer is right, so their precision cannot be measured; fix what the check `answers` reports"
        )


@check("dtype-matrix", level=1, rests_on=("answers",), prevents="silent casts")
def dtype_matrix(subject: Subject) -> None:
    """Each declared dtype has a program, and is right in sums that a wider or narrower type would change.

    Dtypes without a case in the kit, such as `int16`, are not checked.
    """
    if subject.is_native and not subject.programs:
        next(subject.cases())  # says why nothing can run
    known = {scalar.dtype_name for scalar in ScalarType}
    problems = []
    for dtype in sorted(subject.capabilities.dtypes):
        if dtype not in known:
            guess = did_you_mean(dtype, known) or "such as float32"
            problems.append(f"{subject.backend_id} declares {dtype!r}, which is not a dtype; {guess}")
        try:
            for case in _cases_of(subject, dtype):
                with suggesting(f"compute in {dtype}, or do not declare it"):
                    subject.check_case(case, precisely=dtype != "float32")
        except NotApplicableError:
            continue  # the kit has no case of this dtype
        except NotDelegatedError as error:
            problems.append(f"{dtype} is declared, but {error}")
    if problems:
        raise CheckFailedError("; ".join(problems))


def _cases_of(subject: Subject, dtype: str) -> Iterator[DelegatedCase]:
    """Return the cases of one dtype. Other checks are about the many of float32: one is enough here."""
    cases = subject.cases(where=lambda case: dtype in case.dtypes and not case.requires)
    return islice(cases, 1) if dtype == "float32" else cases


@check("signature", level=1, rests_on=("aliasing",), prevents="outputs bound to the wrong arguments")
def signature(subject: Subject) -> None:
    """Several outputs are in the order of the program, and one of them can be an input."""
    for case in subject.cases(
        where=lambda case: case.is_plain and case.is_finite and case.has_several_outputs
    ):
        with suggesting("take arguments in the order of the program: inputs, then outputs"):
            subject.check_case(case)


@check("nan-inf", level=1, rests_on=("aliasing",), prevents="arithmetic for finite numbers only")
def nan_inf(subject: Subject) -> None:
    """NaN and infinities are in the same places as with eager PyTorch."""
    for case in subject.cases(where=lambda case: case.is_plain and not case.is_finite):
        with suggesting("compile without fast-math, and do not clamp values"):
            subject.check_case(case)


@check(
    "determinism",
    level=3,
    rests_on=("answers",),
    requires=("is_deterministic",),
    prevents="results that cannot be reproduced",
)
def determinism(subject: Subject) -> None:
    """Equal inputs give bit-identical outputs, in each run and after each load."""
    simplest = subject.simplest
    with subject.load(simplest) as method:
        subject.check_runs(method, simplest)
    for case in subject.ordinary_cases():
        for name in case.case.methods:
            runs = _bits_of_runs(subject, case, name)
            first = next(runs)
            for number, bits in enumerate(runs, 2):
                if bits != first:
                    raise CheckFailedError(
                        f"{case.name}.{name}: run {number} gave other bits than run 1 with equal inputs; "
                        "sum in a fixed order, or do not declare is_deterministic"
                    )


def _bits_of_runs(subject: Subject, case: DelegatedCase, name: str) -> Iterator[list[bytes]]:
    """Yield the outputs of equal runs, from two loads."""
    for _ in range(2):
        with subject.load(case, name) as method:
            for _ in range(_REPEATS // 2):
                yield [np.asarray(output).tobytes() for output in method.execute(case.inputs(name))]
