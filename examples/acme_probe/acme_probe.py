"""A backend that multiplies its input and prints each call."""

import numpy as np

from etconfig.plugin.v1 import ApiRange, Availability, Backend, BackendOptions, BackendSpec, hookimpl, option


class ProbeOptions(BackendOptions):
    """Options of the probe."""

    gain: float = option(1.0, applies="execute", doc="A factor of all results. Above 9 it fails.")
    bank: int = option(0, applies="load", doc="A number that the handle remembers.")


class ProbeBackend(Backend):
    """Keeps the state of each delegate in its handle, here a dictionary, and none in itself."""

    def availability(self):
        print("availability")
        return Availability.yes()

    def init(self, context, processed, compile_specs):
        print("init, delegate", context.delegate_index, "of", context.method_name)
        return {"bank": context.options.bank, "payload": processed.data}

    def execute(self, context, handle, args):
        print("execute, gain", context.options.gain, "resource", context.resource)
        if context.options.gain > 9:
            raise RuntimeError("the unit is too hot")
        source, result = args
        np.multiply(source, context.options.gain, out=result)

    def update(self, context, handle, changed):
        print("update", sorted(changed), "from", context.previous.gain, "to", context.options.gain)
        if context.options.gain < 0:
            raise ValueError("the unit cannot change signs")

    def effective_options(self, handle):
        return {"bank": handle["bank"]}

    def destroy(self, handle):
        print("destroy")


SPEC = BackendSpec(
    id="AcmeVectorBackend",
    doc="Prints each call.",
    options=ProbeOptions,
    api=ApiRange(min=1, built=1),
    factory=ProbeBackend,
)


@hookimpl
def etconfig_backend(request):
    return SPEC
