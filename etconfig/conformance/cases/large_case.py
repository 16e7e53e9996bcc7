"""The large case: a layer with enough work to share between threads, for evidence of options alone."""

from __future__ import annotations

import numpy as np

from etconfig.conformance.cases.case import Case, CaseRun

LARGE = "large_linear"
"""Its name. Its answers are not stored, since no check compares them."""

ROWS, INPUTS, OUTPUTS = 64, 32, 48
"""The rows of its input, and the inputs and outputs of each."""


def large_case() -> Case:
    """Return the case with one run of random input."""
    rows = np.random.default_rng(0).standard_normal((ROWS, INPUTS), np.float32)
    return Case(
        name=LARGE,
        doc=f"a layer of {INPUTS} inputs and {OUTPUTS} outputs for {ROWS} rows, for evidence of options",
        dtypes=frozenset({"float32"}),
        dim_orders=frozenset({"contiguous"}),
        requires=frozenset(),
        runs={"forward": (CaseRun(inputs=(rows,), outputs=()),)},
    )
