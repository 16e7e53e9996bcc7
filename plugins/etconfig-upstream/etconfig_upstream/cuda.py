"""`CudaBackend`: NVIDIA GPUs through AOTInductor. Source: backends/cuda/runtime."""

from __future__ import annotations

from etconfig.plugin.v1 import BackendOptions, BackendSpec, Wire, option
from etconfig_upstream.api import API, specs


class CudaOptions(BackendOptions):
    """Options of `CudaBackend`. All of them apply to the whole process."""

    use_shared_cuda_stream: bool | None = option(
        None,
        applies="load",
        scope="process",
        doc="Let all methods use one CUDA stream. Once on, it stays on in this process.",
    )
    weight_sharing_across_methods: bool | None = option(
        None, applies="load", scope="process", doc="Store weights that several methods use only once."
    )
    enable_cuda_graph_for_method: tuple[str, ...] | None = option(
        None,
        applies="load",
        scope="process",
        wire=Wire(key="enable_cuda_graph_for_method", separator=","),
        names_methods=True,
        doc="The methods whose work is recorded as a CUDA graph and replayed. Not on AMD GPUs.",
    )
    skip_copy_output_to_cpu_for_method: tuple[str, ...] | None = option(
        None,
        applies="load",
        scope="process",
        wire=Wire(key="skip_copy_output_to_cpu_for_method", separator=","),
        names_methods=True,
        deprecated="it no longer has an effect; choose the device of outputs when you export the program",
        doc="The methods whose outputs stay on the GPU.",
    )


SPEC = BackendSpec(
    id="CudaBackend",
    doc="CUDA: NVIDIA GPUs through AOTInductor.",
    options=CudaOptions,
    api=API,
    compile_specs=specs(
        method_name=("utf-8", "The method that was compiled."),
        platform=("utf-8", "The platform that it was compiled for."),
    ),
)
