"""Checks of shapes, strides and numbers that are known only at run time, if the backend declares them."""

from __future__ import annotations

from typing import Any

import numpy as np

from etconfig.conformance.cases.case import CaseRun
from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcomes import suggesting
from etconfig.conformance.subject.subject import Subject


@check(
    "dim-order-strides", level=3, rests_on=("answers",), requires=("channels_last",), prevents="permuted data"
)
def dim_order_strides(subject: Subject) -> None:
    """Channels-last tensors are read and written as such, whatever strides the caller's arrays have."""
    for case in subject.cases("channels_last"):
        with suggesting("read and write arrays by their strides, or do not declare channels_last"):
            subject.check_case(case)
            for name in case.case.methods:
                with subject.load(case, name) as method:
                    for run in case.runs(name):
                        outputs = method.execute([_spread(value) for value in run.inputs])
                        subject.check_outputs(case, run, outputs, name)


def _spread(value: Any) -> Any:
    """Return an array with gaps between its elements, in C order."""
    return np.repeat(value, 2, axis=-1)[..., ::2] if isinstance(value, np.ndarray) else value


@check(
    "dynamic",
    level=3,
    rests_on=("answers",),
    requires=("supports_dynamic_shapes",),
    prevents="outputs of the size of another run",
)
def dynamic(subject: Subject) -> None:
    """Inputs of every size up to the declared one give outputs of the right size, whatever ran before."""
    for case in subject.cases("supports_dynamic_shapes"):
        for name in case.case.methods:
            with subject.load(case, name) as method:
                before: CaseRun | None = None
                for run in (*case.runs(name), *reversed(case.runs(name))):
                    with suggesting(_resize_fix(run, before)):
                        subject.check_outputs(case, run, method.execute(list(run.inputs)), name)
                    before = run


def _resize_fix(run: CaseRun, before: CaseRun | None) -> str:
    now = f"the inputs had the shapes {_shapes(run)}"
    earlier = "in the first run" if before is None else f"after a run with {_shapes(before)}"
    return f"{now}, {earlier}; set the size of outputs with context.resize_output"


def _shapes(run: CaseRun) -> str:
    return ", ".join(str(np.shape(value)) for value in run.inputs)


@check(
    "zero-size",
    level=3,
    rests_on=("answers",),
    requires=("supports_zero_size",),
    prevents="crashes on empty tensors",
)
def zero_size(subject: Subject) -> None:
    """Inputs and outputs may have no elements."""
    for case in subject.cases("supports_zero_size"):
        with suggesting("return without computing anything, or do not declare supports_zero_size"):
            subject.check_case(case)


@check(
    "scalars",
    level=3,
    rests_on=("answers",),
    requires=("supports_scalars",),
    prevents="numbers that are fixed at export",
)
def scalars(subject: Subject) -> None:
    """Number arguments take effect, and may change in each run."""
    for case in subject.cases("supports_scalars"):
        with suggesting(
            "read numbers from the arguments of each execute, or do not declare supports_scalars"
        ):
            subject.check_case(case)
