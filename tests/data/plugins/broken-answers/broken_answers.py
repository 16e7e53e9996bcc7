"""One answer for each way in which an answer can be wrong."""

from etconfig.plugin.v1 import Advice, ApiRange, BackendOptions, BackendSpec, hookimpl


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
    "BadAdvice": spec("BadAdvice", advice={"num_threads": "4"}),
    "OneAdvice": spec("OneAdvice", advice=Advice("num_threads", expr="4")),
    "AdviceText": spec("AdviceText", advice=["num_threads = 4"]),
    "BadRecommend": spec("BadRecommend", recommend=recommend_nothing),
}


@hookimpl
def etconfig_backend(request):
    return ANSWERS[request.name]


@hookimpl
def etconfig_facts(request):
    return []
