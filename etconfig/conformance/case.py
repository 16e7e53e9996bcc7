"""`Case`: a tiny program with frozen inputs and outputs, so that no vendor needs torch to check a backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etconfig.records import record


@record(frozen=True, kw_only=True)
class Run:
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
    runs: Mapping[str, tuple[Run, ...]]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in order."""
        return tuple(self.runs)
