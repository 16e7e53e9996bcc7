"""The spec, which etconfig loads. It has no factory: an ExecuTorch runtime contains the backend."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import (
    ApiRange,
    BackendRequest,
    BackendSpec,
    CompileSpecEncoding,
    CompileSpecInfo,
    hookimpl,
)

from example_schema.options import ExampleSchemaOptions


def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Recommend one thread per performance core, but no more than the process may use."""
    available = facts.get("cpu.available_cores")
    fast = facts.get("cpu.performance_cores", available)
    known = [count for count in (available, fast) if isinstance(count, int)]
    return {"num_threads": max(1, min(*known, 64))} if known else {}


SPEC = BackendSpec(
    id="ExampleSchemaBackend",
    doc="Runs on the accelerator of example-schema, in runtimes that contain it.",
    options=ExampleSchemaOptions,
    api=ApiRange(min=1, built=1),
    compile_specs={
        "target": CompileSpecInfo(
            doc="The device that the payload was compiled for.", encoding=CompileSpecEncoding.UTF8
        )
    },
    recommend=recommend,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of the backend whose id is `request.name`."""
    return SPEC
