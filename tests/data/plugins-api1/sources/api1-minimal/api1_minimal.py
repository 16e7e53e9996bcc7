"""The least code that is a backend."""

from etconfig.plugin.v1 import ApiRange, Backend, BackendOptions, BackendSpec, hookimpl


class MinimalOptions(BackendOptions):
    """There are none."""


class MinimalBackend(Backend):
    """Gives twice its input."""

    def init(self, context, processed, compile_specs):
        return None

    def execute(self, context, handle, args):
        args[1][...] = 2 * args[0]


@hookimpl
def etconfig_backend(request):
    """The spec."""
    return BackendSpec(
        id="Api1Minimal",
        doc="Gives twice its input.",
        options=MinimalOptions,
        api=ApiRange(min=1, built=1),
        factory=MinimalBackend,
    )
