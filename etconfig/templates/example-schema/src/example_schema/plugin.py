"""The spec, which etconfig loads. It has no factory: an ExecuTorch runtime contains the backend."""

from __future__ import annotations

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    BackendRequest,
    BackendSpec,
    CompileSpecEncoding,
    CompileSpecInfo,
    hookimpl,
)

from example_schema.options import ExampleSchemaOptions

ADVICE = (
    Advice(
        "num_threads",
        expr="min(cpu.available_cores, cpu.performance_cores, 64)",
        reason="Slow cores hold the others up.",
    ),
    Advice("num_threads", expr="min(cpu.available_cores, 64)"),
)
"""The values that suit a device: of an option, the first whose facts are known."""

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
    advice=ADVICE,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of the backend whose id is `request.name`."""
    return SPEC
