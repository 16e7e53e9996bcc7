"""A good plugin: four backends from one module, one of them through an object."""

from etconfig.plugin.v1 import (
    ApiRange,
    Availability,
    Backend,
    BackendOptions,
    BackendSpec,
    Capabilities,
    hookimpl,
    option,
)


class AcmeOptions(BackendOptions):
    core: int = option(0, applies="load", doc="Which core.")


class AcmeBackend(Backend):
    def init(self, context, processed, compile_specs):
        return object()

    def execute(self, context, handle, args):
        pass


class OfflineBackend(AcmeBackend):
    def availability(self):
        return Availability.no("no /dev/acme0", "load the acme kernel module")


def make_spec(backend_id, factory):
    return BackendSpec(
        id=backend_id,
        doc="A fixture.",
        options=AcmeOptions,
        api=ApiRange(1, 1),
        factory=factory,
        capabilities=Capabilities(),
    )


SPECS = {
    "AcmeNpu": make_spec("AcmeNpu", AcmeBackend),
    "AcmeDsp": make_spec("AcmeDsp", None),
    "AcmeOffline": make_spec("AcmeOffline", OfflineBackend),
}


@hookimpl
def etconfig_backend(request):
    return SPECS[request.name]


class Plugin:
    @hookimpl
    def etconfig_backend(self, request):
        return make_spec(request.name, AcmeBackend)


PLUGIN = Plugin()
