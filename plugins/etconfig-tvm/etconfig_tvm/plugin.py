"""The declaration of `TvmBackend`, which etconfig loads. Nothing of TVM is imported here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    EffectiveOption,
    ModelRunner,
    hookimpl,
)
from etconfig_tvm.options import TvmOptions
from etconfig_tvm.payload import BACKEND_ID, COMPILE_SPECS, describe

_API = ApiRange(min=1, built=1)


def build(options: TvmOptions, path: str | os.PathLike[str]) -> object:
    """Return a virtual machine for a compiled library; see `etconfig_tvm.engine.build`."""
    from etconfig_tvm import engine

    return engine.build(options, path)


def effective(session: object) -> Mapping[str, EffectiveOption]:
    """Return what can be known about a session; see `etconfig_tvm.engine.effective`."""
    from etconfig_tvm import engine

    return engine.effective(session)


def update(session: object, options: TvmOptions, previous: TvmOptions, changed: frozenset[str]) -> None:
    """Change the threads of the session's next calls; see `etconfig_tvm.engine.update`."""
    from etconfig_tvm import engine

    engine.update(session, options, previous, changed)


def read_environment() -> Mapping[str, EffectiveOption]:
    """Return the threads of a pool that TVM makes; see `etconfig_tvm.threads.threads_of_environment`."""
    from etconfig_tvm.runtime import load_runtime
    from etconfig_tvm.threads import threads_of_environment

    return threads_of_environment(load_runtime())


def runner(session: object) -> ModelRunner:
    """Return how to run a session; see `session_runner`."""
    from etconfig_tvm.runner import session_runner

    return session_runner(session)


ENVIRONMENT = {
    "TVM_NUM_THREADS": "The most threads of a pool that TVM makes before etconfig does; read when the "
    "pool is made. `num_threads` needs it only for threads that ran TVM before.",
    "OMP_NUM_THREADS": "The same, where TVM_NUM_THREADS is not set.",
    "TVM_BIND_THREADS": "`0` lets the system place the threads of pools that etconfig did not set up.",
    "TVM_THREAD_POOL_SPIN_COUNT": "How often an idle worker looks for work before it sleeps; 0 saves power.",
    "TMPDIR": "Where a copy of a library is loaded from; on Linux, there is a link to memory, for a moment.",
}
"""The environment variables that TVM reads."""

CAPABILITIES = Capabilities(
    dtypes=frozenset({"float32"}), frees_processed=True, is_deterministic=True, is_bound_to_host=True
)
"""The abilities of delegates."""


def make_backend() -> Backend[Any, Any]:
    """Return a `TvmBackend`."""
    from etconfig_tvm.backend import TvmBackend

    return TvmBackend()


ADVICE = (
    Advice(
        "num_threads",
        expr="max(1, min(cpu.available_cores, cpu.performance_cores))",
        reason="The work is cut into equal parts, so slow cores hold the others up.",
    ),
    Advice(
        "num_threads",
        expr="max(1, cpu.available_cores)",
        reason="On x86, TVM by itself takes half of the hardware threads of the machine, whatever its "
        "container may use.",
    ),
)
"""The recommendations; the first whose facts are known counts."""

SPEC = BackendSpec(
    id=BACKEND_ID,
    doc="Runs models that Apache TVM compiled ahead of time to machine code.",
    options=TvmOptions,
    api=_API,
    factory=make_backend,
    capabilities=CAPABILITIES,
    compile_specs=COMPILE_SPECS,
    environment=ENVIRONMENT,
    advice=ADVICE,
    build=build,
    effective=effective,
    update=update,
    read_environment=read_environment,
    engine=("apache-tvm",),
    runner=runner,
    model_files=(".so",),
    describe_payload=describe,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the declaration."""
    return SPEC
