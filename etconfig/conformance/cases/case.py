"""`Case`: a tiny program with recorded inputs and outputs, so that checking a backend needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class CaseRun:
    """One execute: its inputs, and the outputs of eager PyTorch.

    Attributes:
        inputs: numpy arrays, ints, floats and bools, in order.
        outputs: numpy arrays, or numbers, in order.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@record(frozen=True, kw_only=True)
class Case:
    """A program of the kit, described by its runs; vendors have it as `<name>.pte`.

    Attributes:
        name: Its name, such as `add`.
        doc: A few words on what it computes.
        dtypes: The element types of its tensors, by numpy name; the backend must declare them.
        dim_orders: The dim orders that it needs: `contiguous`, `channels_last`.
        requires: The other capabilities that it needs, as attributes of `Capabilities`.
        runs: The runs of each method, by its name; with dynamic shapes they differ in shape.
    """

    name: str
    doc: str
    dtypes: frozenset[str]
    dim_orders: frozenset[str]
    requires: frozenset[str]
    runs: Mapping[str, tuple[CaseRun, ...]]

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in order."""
        return tuple(self.runs)

    @cached_property
    def is_plain(self) -> bool:
        """True if it needs only contiguous float32 tensors, which every backend should support."""
        return self.dtypes == {"float32"} and self.dim_orders == {"contiguous"} and not self.requires

    @cached_property
    def is_ordinary(self) -> bool:
        """True if it is plain, and no other check is about what is special in its inputs and outputs."""
        is_special = self.has_several_outputs or self.has_equal_inputs or not self.is_finite
        return self.is_plain and not is_special

    @cached_property
    def has_several_outputs(self) -> bool:
        """True if a method returns more than one value."""
        return any(len(run.outputs) > 1 for run in self._all_runs)

    @cached_property
    def has_equal_inputs(self) -> bool:
        """True if two inputs of a run are equal arrays."""
        pairs = (pair for run in self._all_runs for pair in combinations(run.inputs, 2))
        return any(np.array_equal(left, right) for left, right in pairs)

    @cached_property
    def is_finite(self) -> bool:
        """True if no input or output is infinite or NaN."""
        values = (value for run in self._all_runs for value in (*run.inputs, *run.outputs))
        return all(np.isfinite(np.asarray(value, np.float64)).all() for value in values)

    @property
    def _all_runs(self) -> tuple[CaseRun, ...]:
        return tuple(run for runs in self.runs.values() for run in runs)


LARGE = "large_linear"
"""The name of the large case. Its answers are not stored, since no check compares them."""

ROWS, INPUTS, OUTPUTS = 64, 32, 48
"""The rows of its input, and the inputs and outputs of each."""


def large_case() -> Case:
    """Return a case with enough work to share between threads, and one run of random input."""
    rows = np.random.default_rng(0).standard_normal((ROWS, INPUTS), np.float32)
    return Case(
        name=LARGE,
        doc=f"a layer of {INPUTS} inputs and {OUTPUTS} outputs for {ROWS} rows, for evidence of options",
        dtypes=frozenset({"float32"}),
        dim_orders=frozenset({"contiguous"}),
        requires=frozenset(),
        runs={"forward": (CaseRun(inputs=(rows,), outputs=()),)},
    )
