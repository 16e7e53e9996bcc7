"""A small engine in the manner of an inference library, and the declaration of its backend.

The engine has the faults of real ones: it clamps threads without a word, and takes changes of what is
fixed without effect. Its sessions take a list of numbers and return it scaled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from etconfig.plugin.v1 import (
    ApiRange,
    BackendOptions,
    BackendSpec,
    EffectiveOption,
    ModelInput,
    ModelRunner,
    option,
)

MOST_THREADS = 4
MOST_SCALE = 100


class TinyOptions(BackendOptions):
    """The options of the engine."""

    threads: int = option(1, applies="load", doc="The number of threads.")
    precision: Literal["f32", "bf16"] = option("f32", applies="load", doc="The precision.")
    scale: int = option(1, applies="execute", doc="The factor of each run.")
    label: str = option("", applies="execute", doc="A name for logs.")


class TinySession:
    """A session of the engine, for one model file."""

    def __init__(self, path: str, *, threads: int, precision: str, verbose: bool = False) -> None:
        if not Path(path).is_file():
            raise FileNotFoundError(path)
        self.path = path
        self.threads = min(threads, MOST_THREADS)
        self.precision = precision
        self.verbose = verbose
        self.scale = 1

    def run(self, values: list[float]) -> list[float]:
        """Return each value times the scale."""
        return [self.scale * value for value in values]


def build(options: TinyOptions, path: str | None = None, *, verbose: bool = False) -> object:
    """Return a session, or without a file the settings that the engine takes."""
    if path is None:
        return {"threads": options.threads, "precision": options.precision}
    session = TinySession(path, threads=options.threads, precision=options.precision, verbose=verbose)
    session.scale = options.scale
    return session


def effective(session: TinySession) -> Mapping[str, EffectiveOption]:
    """Return what the engine reports: everything but the label."""
    return {
        "threads": EffectiveOption.read_back(session.threads),
        "precision": EffectiveOption.read_back(session.precision),
        "scale": EffectiveOption.read_back(session.scale),
    }


def update(session: Any, options: TinyOptions, previous: TinyOptions, changed: frozenset[str]) -> None:
    """Bring the scale into force; the engine refuses a large one."""
    if "scale" in changed:
        if options.scale > MOST_SCALE:
            raise RuntimeError("the scale is over 100")
        session.scale = options.scale


def runner(session: TinySession) -> ModelRunner:
    """Return how to run a session: it takes two arrays, of which it scales the first."""

    def run(values: Sequence[Any]) -> Sequence[Any]:
        return [np.asarray(session.run(values[0])), values[1]]

    inputs = (
        ModelInput(name="values", dtype="float32", shape=(None, 3)),
        ModelInput(name="flags", dtype="bool", shape=(2,)),
    )
    return ModelRunner(inputs=inputs, run=run)


SPEC = BackendSpec(
    id="TinyEngine",
    doc="Runs models of the tiny engine.",
    options=TinyOptions,
    api=ApiRange(min=1, built=1),
    build=build,
    effective=effective,
    update=update,
    runner=runner,
    model_files=(".tiny",),
)

OTHER = BackendSpec(
    id="OtherEngine", doc="An engine that declares options only.", options=TinyOptions, api=ApiRange(1, 1)
)


def etconfig_backends() -> list[BackendSpec]:
    """Return the declarations, as an entry point of a plugin does."""
    return [SPEC, OTHER]
