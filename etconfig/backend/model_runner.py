"""`ModelRunner`: a way to run the engine's own object of a model, for measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etconfig.base.records import record


@record(frozen=True, kw_only=True)
class ModelInput:
    """An input of a model.

    Attributes:
        name: Its name.
        dtype: The name of its element type, as numpy has it.
        shape: Its shape; None for a size that is open.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@record(frozen=True, kw_only=True)
class ModelRunner:
    """The inputs of a model, and a function that runs it as an application would.

    Attributes:
        inputs: The inputs, in the order in which `run` takes them.
        run: Takes an array for each input and returns the outputs, as numpy arrays of their own.
    """

    inputs: tuple[ModelInput, ...]
    run: Callable[[Sequence[Any]], Sequence[Any]]
