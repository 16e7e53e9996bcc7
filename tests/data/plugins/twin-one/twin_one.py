"""One of two distributions that claim the same backend id."""

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl


class Options(BackendOptions):
    pass


@hookimpl
def etconfig_backend(request):
    return BackendSpec(id="TwinNpu", doc="Twin one.", options=Options, api=ApiRange(1, 1))
