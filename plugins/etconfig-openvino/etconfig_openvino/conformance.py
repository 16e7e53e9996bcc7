"""The contribution to the conformance kit: golden programs, the function that makes them, and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from etconfig.plugin.v1 import (
    ApiRange,
    ConformanceContribution,
    ConformanceRequest,
    LoweringRequest,
    Observed,
    Unobservable,
    hookimpl,
)
from etconfig_openvino.properties import PROPERTIES

GOLDEN = Path(__file__).parent / "golden"
"""The golden programs: OpenVINO IR, which any OpenVINO can compile."""

_LARGE = "large_linear"
_OTHER_DEVICE = "the device of the option is not in this machine"
_NEEDS = {
    "execution_mode": "the modes differ only on devices whose default precision is not float32",
    "performance_hint": "the hint chooses streams for several requests, and a delegate runs one request",
    "performance_hint_num_requests": "it limits streams for several requests, and a delegate runs one "
    "request",
    "num_streams": "streams run several requests side by side, and a delegate runs one request",
    "perf_count": "times of layers are kept in the request, and only OpenVINO's own API shows them",
    "log_level": "the release build of OpenVINO prints no message for these models at any level",
    "enable_cpu_pinning": "the affinity of OpenVINO's threads changes no output and no number of threads",
    "enable_cpu_reservation": "it takes cores from other models, and the kit loads one at a time",
    "enable_hyper_threading": "the machine may have one thread per core, where it changes nothing",
    "enable_tensor_parallel": "it divides layers among sockets, and most machines have one",
    "enable_weightless": "it changes models that are exported again, which a delegate never is",
    "cpu_denormals_optimization": "no case of the kit has denormal numbers in its outputs",
    "scheduling_core_type": "it chooses among kinds of cores, and most machines have one",
    "model_distribution_policy": "it divides a model among sockets or devices, and most machines have one",
    "tbb_partitioner": "it changes which thread does which part, but neither outputs nor the number of "
    "threads",
    "cpu_sparse_weights_decompression_rate": "it needs int8 weights with many zeros and AMX instructions",
    "dynamic_quantization_group_size": "it needs compressed weights of language models",
    "kv_cache_precision": "it needs stateful attention of language models",
    "key_cache_precision": "it needs stateful attention of language models",
    "value_cache_precision": "it needs stateful attention of language models",
    "key_cache_group_size": "it needs stateful attention of language models",
    "value_cache_group_size": "it needs stateful attention of language models",
    "weights_path": "it needs a model that was exported without its weights",
    "enable_mmap": "it is for models in files, and a delegate's model is in the program",
    "cache_mode": "it changes the contents of files in the cache, not their names",
}


def _evidence() -> dict[str, Observed | Unobservable]:
    found: dict[str, Observed | Unobservable] = {
        "device": Observed("output", values=("CPU", "GPU.7")),
        "adjusted_values": Observed(
            "output", values=("report", "refuse"), beside={"inference_num_threads": 4096}
        ),
        "cache_dir": Observed("files", values=(None, "{tmp}/cache")),
        "cpu_inference_precision": Observed("output", values=("f32", "bf16"), case=_LARGE),
        "inference_num_threads": Observed("output", values=(1, 4096), beside={"adjusted_values": "refuse"}),
    }
    for name, prop in PROPERTIES.items():
        if name not in found:
            is_other = not {"CPU", "core"} & set(prop.devices)
            found[name] = Unobservable(_OTHER_DEVICE if is_other else _NEEDS[name])
    return found


EVIDENCE: Mapping[str, Observed | Unobservable] = _evidence()
"""What changes with each option on a machine whose only device is its CPU."""


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs of `OpenvinoBackend`."""

    def lower(case: LoweringRequest) -> bytes:
        from etconfig_openvino.aot import lower_methods

        return lower_methods(case.methods)

    return ConformanceContribution(
        api=ApiRange(min=1, built=1), programs=GOLDEN, lower=lower, evidence=EVIDENCE
    )
