"""One answer for each way in which an answer can be wrong."""

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl


class Options(BackendOptions):
    pass


def spec(backend_id, api=ApiRange(1, 1), **fields):
    return BackendSpec(id=backend_id, doc="A fixture.", options=Options, api=api, **fields)


async def async_factory():
    pass


def recommend_nothing():
    return {}


ANSWERS = {
    "ReturnsNone": None,
    "ReturnsDict": {"id": "ReturnsDict"},
    "OtherId": spec("Another"),
    "NoRange": spec("NoRange", api=1),
    "TooNew": spec("TooNew", api=ApiRange(98, 99)),
    "BadCapabilities": spec("BadCapabilities", capabilities={"float32"}),
    "BadFactory": spec("BadFactory", factory=async_factory),
    "BadRecommend": spec("BadRecommend", recommend=recommend_nothing),
}


@hookimpl
def etconfig_backend(request):
    return ANSWERS[request.name]


@hookimpl
def etconfig_facts(request):
    return []
