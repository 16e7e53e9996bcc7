"""The spec of `OpenvinoBackend`, which etconfig loads. Nothing here imports OpenVINO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    CompileSpecs,
    DelegateFacts,
    DelegateMemory,
    EffectiveOption,
    PayloadDescription,
    hookimpl,
)
from etconfig_openvino.declared import CAPABILITIES, COMPILE_SPECS
from etconfig_openvino.installed import BACKEND_ID
from etconfig_openvino.options import OpenvinoOptions

_API = ApiRange(min=1, built=1)


def build(options: OpenvinoOptions, *arguments: object, **named: Any) -> Any:
    """Return a compiled model, or `Settings` without a model; see `etconfig_openvino.engine.build`.

    Raises:
        TypeError: the model is None.
    """
    if arguments[:1] == (None,):
        raise TypeError(
            "the model is None; expected a path, bytes or openvino.Model, or no argument for settings"
        )
    from etconfig_openvino import engine

    return engine.build(options, *arguments, **named)


def effective(compiled: object) -> Mapping[str, EffectiveOption]:
    """Return what is in force in a compiled model, read back from OpenVINO."""
    from etconfig_openvino import readback

    return readback.effective(compiled)


def update(
    compiled: object, options: OpenvinoOptions, previous: OpenvinoOptions, changed: frozenset[str]
) -> None:
    """Give changed options to a compiled model; see `etconfig_openvino.engine.update`."""
    from etconfig_openvino import engine

    engine.update(compiled, options, previous, changed)


def apply(options: OpenvinoOptions, target: Any, names: frozenset[str]) -> Mapping[str, str]:
    """Set properties of a `Core`; see `etconfig_openvino.engine.set_on`."""
    from etconfig_openvino import engine

    return engine.set_on(target, options, names)


def runner(compiled: object) -> Any:
    """Return how to run a compiled model; see `etconfig_openvino.runner`."""
    from etconfig_openvino.runner import model_runner

    return model_runner(compiled)


def make_backend() -> Backend[Any, Any]:
    """Return an `OpenvinoBackend`."""
    from etconfig_openvino.backend import OpenvinoBackend

    return OpenvinoBackend()


def options_of_program(specs: CompileSpecs) -> Mapping[str, object]:
    """Return the device that ExecuTorch's partitioner was given, as the option `device`."""
    device = specs.get("device")
    return {} if device is None else {"device": bytes(device).decode()}


def memory(options: OpenvinoOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate or a file; see `etconfig_openvino.memory`."""
    from etconfig_openvino.memory import model_memory

    return model_memory(delegate)


def describe_payload(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return what can be read of a payload or a file; see `etconfig_openvino.contents`."""
    from etconfig_openvino.contents import describe

    return describe(payload, compile_specs)


def absent_on_device(options: OpenvinoOptions, facts: Mapping[str, object]) -> Iterator[str]:
    """Yield the devices of the options that the OpenVINO of a machine does not find."""
    from etconfig_openvino.devices import is_same, parse_device

    found = facts.get("openvino.devices")
    if not isinstance(found, tuple):
        return
    choice, has = parse_device(options.device), ", ".join(map(repr, found)) or "none"
    absent = [target for target in choice.targets if not any(is_same(target, each) for each in found)]
    if absent:
        yield f"device is {options.device!r}, and openvino.devices of this device has {has}"
    elif not any(map(choice.includes, found)):
        yield f"device is {options.device!r}, which leaves none of openvino.devices, {has}"


_EXACT = (
    "OpenVINO would compute in bfloat16 on this processor, with errors of about 0.4 % of the largest output. "
    "Choose bf16 if the model bears that: depending on processor and model, it took 0.5 to 1.4 times the "
    "time."
)

ADVICE = (
    Advice("cpu_inference_precision", expr='"f32"', when='"amx_bf16" in cpu.features', reason=_EXACT),
    Advice("cpu_inference_precision", expr='"f32"', when='"avx512_bf16" in cpu.features', reason=_EXACT),
)
"""The recommendations; README.md has the measurements behind them.

Float32 on processors on which OpenVINO takes bfloat16 unasked; on all others it computes in float32
anyway.
"""

SPEC = BackendSpec(
    id=BACKEND_ID,
    doc="OpenVINO: Intel's CPUs, GPUs and NPUs, and other CPUs.",
    options=OpenvinoOptions,
    api=_API,
    compile_specs=COMPILE_SPECS,
    factory=make_backend,
    capabilities=CAPABILITIES,
    advice=ADVICE,
    from_program=options_of_program,
    build=build,
    effective=effective,
    update=update,
    apply=apply,
    environment={"OPENVINO_LOG_LEVEL": "From 2 on, AUTO and MULTI log to standard output."},
    engine=("openvino",),
    runner=runner,
    model_files=(".xml", ".onnx", ".tflite", ".pb", ".pdmodel"),
    verify_on_device=absent_on_device,
    memory=memory,
    describe_payload=describe_payload,
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the spec of `OpenvinoBackend`."""
    return SPEC
