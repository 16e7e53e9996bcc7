"""Backends that read nothing at run time but what was fixed ahead of time, and environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import BackendSpec
from etconfig_upstream.api import API, NoOptions, specs

SPECS: Mapping[str, BackendSpec] = {
    spec.id: spec
    for spec in (
        # Source: backends/openvino/runtime
        BackendSpec(
            id="OpenvinoBackend",
            doc="OpenVINO: Intel's CPUs, GPUs and NPUs.",
            options=NoOptions,
            api=API,
            compile_specs=specs(device=("utf-8", "The device, as OpenVINO names it; CPU if it is absent.")),
            environment={"OPENVINO_LIB_PATH": "The library libopenvino_c; read once in a process."},
        ),
        # Source: backends/mediatek/runtime
        BackendSpec(
            id="NeuropilotBackend",
            doc="MediaTek NeuroPilot: the NPU of Dimensity chips.",
            options=NoOptions,
            api=API,
            compile_specs=specs(
                HighAddr=("bool", "Whether buffers may lie at high addresses."),
                ImportForever=("bool", "Whether buffers stay imported."),
                ExtractSharedBlobKey=("utf-8", "The key of the data that methods share."),
            ),
        ),
        # Source: backends/arm/runtime, for Linux; on Cortex-M nothing is read
        BackendSpec(
            id="EthosUBackend",
            doc="Arm Ethos-U: NPUs of embedded devices.",
            options=NoOptions,
            api=API,
            compile_specs={
                **specs(
                    ethosu__device=("utf-8", "The device file; /dev/ethosu0 if it is absent."),
                    ethosu__timeout_ns=("int64", "How long an inference may take; 60 s if it is absent."),
                    ethosu__enable_cycle_counter=("bool", "Whether cycles are counted; they are if absent."),
                ),
                **specs(
                    **{f"ethosu__pmu_event{n}": ("uint32", f"What counter {n} counts.") for n in range(8)}
                ),
            },
        ),
        # Source: backends/arm/runtime
        BackendSpec(
            id="VgfBackend",
            doc="VGF: Arm's neural graphics through Vulkan.",
            options=NoOptions,
            api=API,
            environment={
                "EXECUTORCH_VGF_DUMP_INPUTS_DIR": "A directory for the inputs of every execute.",
                "EXECUTORCH_VGF_DUMP_INPUTS_AND_EXIT": "Stop after the inputs are written.",
                "EXECUTORCH_VGF_ENABLE_NEURAL_STATISTICS": "Gather the device's statistics.",
                "EXECUTORCH_VGF_ENABLE_TIMESTAMP_QUERIES": "Time the work on the device.",
            },
        ),
        # Source: backends/samsung/runtime
        BackendSpec(id="EnnBackend", doc="Samsung ENN: the NPU of Exynos chips.", options=NoOptions, api=API),
        # Source: backends/nxp/runtime
        BackendSpec(
            id="NeutronBackend", doc="NXP eIQ Neutron: NPUs of i.MX chips.", options=NoOptions, api=API
        ),
        # Source: backends/apple/metal/runtime
        BackendSpec(
            id="MetalBackend",
            doc="Metal: GPUs of Apple devices through AOTInductor.",
            options=NoOptions,
            api=API,
            compile_specs=specs(method_name=("utf-8", "The method that was compiled.")),
            environment={
                "ET_METAL_FLUSH_INTERVAL": "After how many kernels to submit work; 0 or more.",
                "ET_METAL_BUFFER_POOL_SIZE_MB": "How much memory to keep for reuse, in MB.",
            },
        ),
    )
}
