"""A good plugin: one fact, and who finds it."""

from etconfig.plugin.v1 import (
    ApiRange,
    FactInfo,
    FactsContribution,
    FactType,
    FunctionDetector,
    Reading,
    Volatility,
    hookimpl,
)

CORES = FactInfo(name="acme.cores", type=FactType.INT, doc="Cores.", volatility=Volatility.STATIC)


def detect(system):
    yield Reading("acme.cores", 4, "driver")


@hookimpl
def etconfig_facts(request):
    detector = FunctionDetector("acme", ("acme.cores",), detect)
    return FactsContribution(api=ApiRange(1, 1), facts=(CORES,), detectors=(detector,))
