"""`CoreMLBackend`: Core ML on Apple devices. Source: backends/apple/coreml/runtime."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from etconfig.plugin.v1 import BackendOptions, BackendSpec, option
from etconfig_upstream.api import API, specs
from etconfig_upstream.apple_payloads import describe_core_ml

_COMPUTE_UNITS = "compute_units"


class ComputeUnit(enum.Enum):
    """The processors on which Core ML may run a model."""

    CPU_ONLY = "cpu_only"
    CPU_AND_GPU = "cpu_and_gpu"
    CPU_AND_NE = "cpu_and_ne"
    ALL = "all"


class CoreMLOptions(BackendOptions):
    """Options of `CoreMLBackend`."""

    compute_unit: ComputeUnit | None = option(
        None,
        applies="load",
        doc="The processors that may run the model: the CPU only, with the GPU, with the neural engine, or "
        "all of them. By default those of the compile spec compute_units.",
    )
    cache_dir: str | None = option(
        None, applies="load", doc="The directory for compiled models, instead of the app's own cache."
    )
    use_new_cache: bool | None = option(
        None,
        applies="load",
        wire="_use_new_cache",
        doc="Use the new cache of compiled models. This key of ExecuTorch is experimental and temporary.",
    )


def from_program(compile_specs: Mapping[str, bytes]) -> Mapping[str, object]:
    """Return the processors that the model was compiled for; the option replaces them at run time."""
    units = compile_specs.get(_COMPUTE_UNITS)
    return {} if units is None else {"compute_unit": units.decode()}


SPEC = BackendSpec(
    id="CoreMLBackend",
    doc="Core ML: CPU, GPU and neural engine of Apple devices. The size of its cache and prewarming are set "
    "in the app's bundle (com.apple.executorchcoreml_config), not at run time.",
    options=CoreMLOptions,
    api=API,
    compile_specs=specs(
        compute_units=("utf-8", "The processors that may run the model; the option compute_unit replaces it.")
    ),
    from_program=from_program,
    describe_payload=describe_core_ml,
)
