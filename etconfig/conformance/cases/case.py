"""`Case`: a tiny program with frozen inputs and outputs, so that no vendor needs torch to check a backend."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from etconfig.records import record


@record(frozen=True, kw_only=True)
class CaseRun:
    """One execute: what goes in, and what eager PyTorch answered.

    Attributes:
        inputs: numpy arrays, ints, floats and bools, in order.
        outputs: numpy arrays, or numbers, in order.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@record(frozen=True, kw_only=True)
class Case:
    """A program of the kit, by its answers; vendors have it as `<name>.pte`.

    Attributes:
        name: Its name, such as `add`.
        doc: What it is, in a few words.
        dtypes: The element types of its tensors, by numpy name; the backend must declare them.
        dim_orders: The dim orders that it needs: `contiguous`, `channels_last`.
        requires: The capabilities that it needs besides, as attributes of `Capabilities`.
        runs: What each method does, by the method's name; several runs for dynamic shapes.
    """

    name: str
    doc: str
    dtypes: frozenset[str]
    dim_orders: frozenset[str]
    requires: frozenset[str]
    runs: Mapping[str, tuple[CaseRun, ...]]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in order."""
        return tuple(self.runs)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it needs nothing but contiguous float32 tensors, which every backend is to have."""
        return self.dtypes == {"float32"} and self.dim_orders == {"contiguous"} and not self.requires

    @cached_property
    def is_ordinary(self) -> bool:
        """Whether it is plain, and its inputs and outputs are nothing that has a check of its own."""
        is_special = self.has_several_outputs or self.has_equal_inputs or not self.is_finite
        return self.is_plain and not is_special

    @cached_property
    def has_several_outputs(self) -> bool:
        """Whether a method answers more than one value."""
        return any(len(run.outputs) > 1 for run in self._all_runs)

    @cached_property
    def has_equal_inputs(self) -> bool:
        """Whether two inputs of a run are equal arrays."""
        pairs = (pair for run in self._all_runs for pair in combinations(run.inputs, 2))
        return any(np.array_equal(left, right) for left, right in pairs)

    @cached_property
    def is_finite(self) -> bool:
        """Whether there are no infinities and no NaN."""
        values = (value for run in self._all_runs for value in (*run.inputs, *run.outputs))
        return all(np.isfinite(np.asarray(value, np.float64)).all() for value in values)

    @property
    def _all_runs(self) -> tuple[CaseRun, ...]:
        return tuple(run for runs in self.runs.values() for run in runs)
