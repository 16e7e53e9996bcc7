"""A good plugin but for one check: its options show what the reference backends have no use for."""

from typing import Annotated

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Ge, hookimpl, model_validator, option


_ALIGNMENT_BYTES = {1: 1, 2: 4096, 4: 8192}
"""By the number of parts."""


class AcmeDspOptions(BackendOptions):
    library: str = option(applies="load", doc="The library of kernels to run, as the SDK names it.")
    log_level: Annotated[int, Ge(0)] = option(
        0, applies="load", scope="process", doc="How much the driver logs."
    )
    heap_bytes: Annotated[int, Ge(0)] = option(
        "1 MiB", applies="load", unit="bytes", renamed_from="heap_size", doc="The size of the heap."
    )
    heap_parts: Annotated[int, Ge(0)] = option(1, applies="load", doc="How many parts the heap has.")

    @model_validator(mode="after")
    def _check_parts(self):
        if self.heap_bytes % _ALIGNMENT_BYTES[self.heap_parts]:  # the bug: not every number is in there
            raise ValueError("heap_bytes must be aligned for heap_parts")
        return self


@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc="A DSP.", options=AcmeDspOptions, api=ApiRange(1, 1))
