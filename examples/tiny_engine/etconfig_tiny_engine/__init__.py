"""A tiny engine that scales numbers, and the plugin that declares its options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from etconfig.plugin.v1 import (
    ApiRange,
    BackendOptions,
    BackendRequest,
    BackendSpec,
    EffectiveOption,
    ModelInput,
    ModelRunner,
    hookimpl,
    option,
)


class TinySession:
    """A session of the engine. It runs 4 threads at most, and says nothing if more were asked for."""

    def __init__(self, path: str, threads: int | None = None, precision: str = "f32") -> None:
        self.path = path
        self.threads = min(threads or int(os.environ.get("TINY_THREADS", "1")), 4)
        self.precision = precision
        self.scale = 1

    def run(self, values: Sequence[float]) -> list[float]:
        """Return each value times the scale."""
        return [self.scale * value for value in values]


class TinyOptions(BackendOptions):
    """The options of the engine."""

    threads: Annotated[int, Ge(1)] = option(
        1, applies="load", env="TINY_THREADS", doc="The number of threads."
    )
    precision: Literal["f32", "bf16"] = option("f32", applies="load", doc="The precision.")
    scale: int = option(1, applies="execute", doc="The factor of each run.")


def build(options: TinyOptions, path: str) -> TinySession:
    """Create a session for a model file."""
    session = TinySession(path, options.threads, options.precision)
    session.scale = options.scale
    return session


def effective(session: TinySession) -> Mapping[str, EffectiveOption]:
    """Return what the session reports."""
    names = ("threads", "precision", "scale")
    return {name: EffectiveOption.read_back(getattr(session, name)) for name in names}


def read_environment() -> Mapping[str, EffectiveOption]:
    """Return what the engine takes from the environment."""
    return {"threads": EffectiveOption.read_back(TinySession("").threads)}


def update(
    session: TinySession, options: TinyOptions, previous: TinyOptions, changed: frozenset[str]
) -> None:
    """Bring the scale into force, the only option that may change in a session."""
    session.scale = options.scale


def runner(session: TinySession) -> ModelRunner:
    """Return how `etconfig bench` runs a session."""

    def run(values: Sequence[Any]) -> Sequence[Any]:
        return [np.asarray(session.run(values[0]), np.float32)]

    return ModelRunner(inputs=(ModelInput(name="values", dtype="float32", shape=(8,)),), run=run)


SPEC = BackendSpec(
    id="TinyEngine",
    doc="Scales numbers.",
    options=TinyOptions,
    api=ApiRange(min=1, built=1),
    build=build,
    effective=effective,
    environment={"TINY_THREADS": "The number of threads of sessions that name none."},
    read_environment=read_environment,
    update=update,
    runner=runner,
    model_files=(".tiny",),
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the declaration."""
    return SPEC
