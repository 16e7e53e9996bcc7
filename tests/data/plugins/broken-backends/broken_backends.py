"""One backend for each way in which a backend can break the contract."""

import sys

from etconfig.plugin.v1 import ApiRange, Backend, BackendOptions, BackendSpec, hookimpl


class Options(BackendOptions):
    pass


class Good(Backend):
    def init(self, context, processed, compile_specs):
        return None

    def execute(self, context, handle, args):
        pass


class Abstract(Backend):
    def init(self, context, processed, compile_specs):
        return None


class AsyncExecute(Good):
    async def execute(self, context, handle, args):
        pass


class ShortInit(Good):
    def init(self, context, processed):
        return None


class AvailabilityRaises(Good):
    def availability(self):
        raise OSError("libacme.so: cannot open shared object file")


class AvailabilityIsBool(Good):
    def availability(self):
        return True


def raising_factory():
    raise RuntimeError("no license")


FACTORIES = {
    "FactoryRaises": raising_factory,
    "FactoryExits": sys.exit,
    "NotABackend": dict,
    "Abstract": Abstract,
    "AsyncExecute": AsyncExecute,
    "ShortInit": ShortInit,
    "AvailabilityRaises": AvailabilityRaises,
    "AvailabilityIsBool": AvailabilityIsBool,
}


@hookimpl
def etconfig_backend(request):
    factory = FACTORIES[request.name]
    return BackendSpec(id=request.name, doc="A fixture.", options=Options, api=ApiRange(1, 1), factory=factory)
