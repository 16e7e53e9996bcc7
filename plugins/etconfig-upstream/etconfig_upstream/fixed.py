"""Backends without runtime options: they read only compile specs and environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import BackendSpec
from etconfig_upstream.api import API, NoOptions, specs
from etconfig_upstream.apple_payloads import describe_core_ai
from etconfig_upstream.ethosu_payload import describe as describe_ethosu

SPECS: Mapping[str, BackendSpec] = {
    spec.id: spec
    for spec in (
        # Source: backends/openvino/runtime
        BackendSpec(
            id="OpenvinoBackend",
            doc="OpenVINO: Intel's CPUs, GPUs and NPUs.",
            options=NoOptions,
            api=API,
            compile_specs=specs(device=("utf-8", "OpenVINO's name of the device; by default the CPU.")),
            environment={"OPENVINO_LIB_PATH": "The library libopenvino_c; read once per process."},
        ),
        # Source: backends/mediatek/runtime
        BackendSpec(
            id="NeuropilotBackend",
            doc="MediaTek NeuroPilot: the NPU of Dimensity chips.",
            options=NoOptions,
            api=API,
            compile_specs=specs(
                HighAddr=("bool", "Allow buffers at high addresses."),
                ImportForever=("bool", "Keep buffers imported."),
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
                    ethosu__device=("utf-8", "The device file; by default /dev/ethosu0."),
                    ethosu__timeout_ns=("int64", "The time limit of an inference; by default 60 s."),
                    ethosu__enable_cycle_counter=("bool", "Count cycles; this is the default."),
                ),
                **specs(
                    **{f"ethosu__pmu_event{n}": ("uint32", f"The event of counter {n}.") for n in range(8)}
                ),
            },
            describe_payload=describe_ethosu,
        ),
        # Source: backends/apple/coreai, which has no runtime in 1.5.1
        BackendSpec(
            id="CoreAIBackend",
            doc="Core AI on Apple devices.",
            options=NoOptions,
            api=API,
            describe_payload=describe_core_ai,
        ),
        # Source: backends/arm/runtime
        BackendSpec(
            id="VgfBackend",
            doc="VGF: Arm's neural graphics through Vulkan.",
            options=NoOptions,
            api=API,
            environment={
                "EXECUTORCH_VGF_DUMP_INPUTS_DIR": "A directory for the inputs of every execute.",
                "EXECUTORCH_VGF_DUMP_INPUTS_AND_EXIT": "Exit after writing the inputs.",
                "EXECUTORCH_VGF_ENABLE_NEURAL_STATISTICS": "Collect the device's statistics.",
                "EXECUTORCH_VGF_ENABLE_TIMESTAMP_QUERIES": "Measure the time of work on the device.",
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
                "ET_METAL_FLUSH_INTERVAL": "The number of kernels after which work is submitted; 0 or more.",
                "ET_METAL_BUFFER_POOL_SIZE_MB": "The memory to keep for reuse, in MB.",
            },
        ),
    )
}
