"""Facts about the device, and their detectors. Profiles and options may depend on facts."""

from __future__ import annotations

from etconfig.plugin.v1 import (
    ApiRange,
    FactInfo,
    FactsContribution,
    FactsRequest,
    FactType,
    FunctionDetector,
    Reading,
    System,
    Volatility,
    hookimpl,
)

DRIVER = FactInfo(
    name="example_npu.driver",
    type=FactType.STRING,
    doc="The version of the device's driver.",
    volatility=Volatility.BOOT,
    is_identifying=False,
)
_PATH = "/sys/module/example_npu/version"


def read_driver(system: System) -> list[Reading]:
    """Read the driver's version; unknown, with the reason, if the driver is not loaded."""
    version = system.read_line(_PATH)
    return [Reading.of(DRIVER.name, version, _PATH, otherwise="the driver is not loaded")]


@hookimpl
def etconfig_facts(request: FactsRequest) -> FactsContribution:
    """Return the facts and their detector."""
    detector = FunctionDetector(name="example_npu", provides=(DRIVER.name,), function=read_driver)
    return FactsContribution(api=ApiRange(min=1, built=1), facts=(DRIVER,), detectors=(detector,))
