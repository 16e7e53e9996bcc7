"""The backend of ONNX Runtime, which etconfig loads. ONNX Runtime itself is imported later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    Backend,
    BackendRequest,
    BackendSpec,
    Capabilities,
    CompileSpecs,
    DelegateFacts,
    DelegateMemory,
    PayloadDescription,
    hookimpl,
)
from etconfig_onnxruntime.errors import BACKEND_ID
from etconfig_onnxruntime.options import OnnxRuntimeOptions
from etconfig_onnxruntime.provider_tables import provider_names

_API = ApiRange(min=1, built=1)


CAPABILITIES = Capabilities(
    dtypes=frozenset({"float32", "float64", "float16", "int8", "uint8", "int32", "int64"}),
    frees_processed=True,
)
"""What its delegates support."""


def make_backend() -> Backend[Any, Any]:
    """Return an `OnnxRuntimeBackend`."""
    from etconfig_onnxruntime.backend import OnnxRuntimeBackend

    return OnnxRuntimeBackend()


def build(options: OnnxRuntimeOptions, *arguments: Any) -> Any:
    """Return a session, or its settings without a model; see `build_session`.

    Raises:
        TypeError: the model is None.
    """
    if arguments[:1] == (None,):
        raise TypeError("the model is None; expected a path or bytes, or no argument for settings")
    from etconfig_onnxruntime.session import build_session

    return build_session(options, *arguments)


def effective(session: Any) -> Mapping[str, Any]:
    """Return what is in force in a session; see `effective_options`."""
    from etconfig_onnxruntime.effective import effective_options

    return effective_options(session)


def update(
    session: Any, options: OnnxRuntimeOptions, previous: OnnxRuntimeOptions, changed: frozenset[str]
) -> None:
    """Bring changed options into force in a session; see `update_session`."""
    from etconfig_onnxruntime.run_options import update_session

    update_session(session, options, previous, changed)


def apply(options: OnnxRuntimeOptions, target: Any, names: frozenset[str]) -> Mapping[str, str]:
    """Set options on a `SessionOptions`; see `set_on`."""
    from etconfig_onnxruntime.settings import set_on

    return set_on(target, options, names)


def read_environment() -> Mapping[str, Any]:
    """Return the threads that ONNX Runtime starts by itself; see `threads_of_environment`."""
    from etconfig_onnxruntime.pools import threads_of_environment

    return threads_of_environment()


def runner(session: Any) -> Any:
    """Return how to run a session; see `session_runner`."""
    from etconfig_onnxruntime.runner import session_runner

    return session_runner(session)


def memory(options: OnnxRuntimeOptions, delegate: DelegateFacts) -> DelegateMemory:
    """Return the memory of a delegate; see `session_memory`."""
    from etconfig_onnxruntime.memory import session_memory

    return session_memory(options, delegate)


def describe_payload(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the operators and versions of a model; see `etconfig_onnxruntime.contents`."""
    from etconfig_onnxruntime.contents import describe

    return describe(payload, compile_specs)


def absent_on_device(options: OnnxRuntimeOptions, facts: Mapping[str, object]) -> Iterator[str]:
    """Yield the providers of the options that the ONNX Runtime of a device does not have."""
    available = facts.get("onnxruntime.providers")
    names = provider_names(options.providers)
    if not isinstance(available, tuple) or not names:
        return
    absent = [name for name in names if name not in available]
    if absent and (options.absent_providers == "error" or len(absent) == len(names)):
        listed, has = ", ".join(map(repr, absent)), ", ".join(map(repr, available)) or "none"
        yield f"providers names {listed}, and onnxruntime.providers of this device has {has}"


ADVICE = (
    Advice(
        "intra_op_num_threads",
        expr="max(1, min(cpu.available_cores, cpu.performance_cores, 1024))",
        reason="By itself ONNX Runtime counts the cores of the machine, not those that its container may "
        "use, and slow cores hold the others up.",
    ),
    Advice(
        "intra_op_num_threads",
        expr="max(1, min(cpu.available_cores, 1024))",
        reason="By itself ONNX Runtime counts the cores of the machine, not those that its container may "
        "use.",
    ),
    Advice(
        "intra_op_allow_spinning",
        expr="false",
        when='power.source == "battery"',
        reason="Threads that wait in a loop use as much power as those that work.",
    ),
)
"""The recommendations."""

SPEC = BackendSpec(
    id=BACKEND_ID,
    doc="ONNX Runtime: models in ONNX and ORT format, on the CPU and on accelerators through its execution "
    "providers.",
    options=OnnxRuntimeOptions,
    api=_API,
    advice=ADVICE,
    factory=make_backend,
    capabilities=CAPABILITIES,
    build=build,
    effective=effective,
    update=update,
    read_environment=read_environment,
    apply=apply,
    engine=("onnxruntime", "onnxruntime-gpu", "onnxruntime-qnn", "onnxruntime-directml"),
    runner=runner,
    model_files=(".onnx", ".ort"),
    verify_on_device=absent_on_device,
    memory=memory,
    describe_payload=describe_payload,
    environment={
        "ORT_LOAD_CONFIG_FROM_MODEL": "With `1`, sessions take their options from the model: etconfig then "
        "builds none.",
        "ORT_INTRA_OP_NUM_THREADS": "The threads of one operator where intra_op_num_threads is 0. Another "
        "value of the option, also a recommended one, wins, with a warning in the log.",
        "ORT_INTER_OP_NUM_THREADS": "The same for inter_op_num_threads.",
    },
)


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """Return the schema."""
    return SPEC
