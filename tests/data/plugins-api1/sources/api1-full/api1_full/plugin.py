"""Every hook in one module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from api1_full.backend import CAPABILITIES, AbsentBackend, FullBackend
from api1_full.options import FullOptions
from etconfig.plugin.v1 import (
    ApiRange,
    BackendRequest,
    BackendSpec,
    CompileSpecEncoding,
    CompileSpecInfo,
    ConformanceContribution,
    ConformanceRequest,
    Detector,
    ExecutorContribution,
    ExecutorRequest,
    FactInfo,
    FactsContribution,
    FactsRequest,
    FactType,
    FunctionDetector,
    KernelsContribution,
    KernelsRequest,
    LoweringRequest,
    Reading,
    System,
    Volatility,
    hookimpl,
)

API = ApiRange(min=1, built=1)


def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    """More cache where there are more cores."""
    cores = facts.get("api1.cores")
    return {"cache_bytes": cores * 8192} if isinstance(cores, int) else {}


FACTORIES = {"Api1Full": FullBackend, "Api1Absent": AbsentBackend, "Api1Schema": None}


@hookimpl
def etconfig_backend(request: BackendRequest) -> BackendSpec:
    """One of three: it runs, it cannot run here, it only declares its options."""
    assert request.core_api >= 1
    return BackendSpec(
        id=request.name,
        doc="Multiplies and adds.",
        options=FullOptions,
        api=API,
        compile_specs={
            "device": CompileSpecInfo(doc="The name of the device.", encoding=CompileSpecEncoding.UTF8),
            "version": CompileSpecInfo(doc="The version of the format."),
        },
        environment={"API1_HOME": "The directory of its library."},
        factory=FACTORIES[request.name],
        capabilities=CAPABILITIES,
        recommend=recommend,
    )


class NameDetector:
    """A detector that is a class."""

    name = "api1-name"
    provides = ("api1.name",)

    def detect(self, system: System) -> Iterable[Reading]:
        """The name, or why there is none."""
        line = system.read_line("/proc/device-tree/api1")
        yield Reading.of("api1.name", line, "/proc/device-tree/api1", otherwise="no such device tree")


def detect_cores(system: System) -> Iterable[Reading]:
    """The cores."""
    yield Reading("api1.cores", 8, "driver", detail="asked twice")


@hookimpl
def etconfig_facts(request: FactsRequest) -> FactsContribution:
    """Two facts, and who finds them."""
    cores = FactInfo(
        name="api1.cores", type=FactType.INT, doc="How many cores it has.", volatility=Volatility.STATIC, minimum=1, maximum=64
    )
    name = FactInfo(name="api1.name", type=FactType.STRING, doc="The name of the board.", volatility=Volatility.BOOT)
    by_function: Detector = FunctionDetector("api1-cores", ("api1.cores",), detect_cores)
    return FactsContribution(api=API, facts=(cores, name), detectors=(by_function, NameDetector()))


@hookimpl
def etconfig_kernels(request: KernelsRequest) -> KernelsContribution:
    """Two kernels."""
    from api1_full.kernels import TABLE

    return KernelsContribution(api=API, table=TABLE)


@hookimpl
def etconfig_executor(request: ExecutorRequest) -> ExecutorContribution:
    """An executor of its own."""
    from api1_full.executor import FullExecutor

    return ExecutorContribution(api=API, executor=FullExecutor())


def lower(request: LoweringRequest) -> bytes:
    """Would need an ahead-of-time half."""
    raise NotImplementedError(request.case)


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """For the kit."""
    return ConformanceContribution(api=API, lower=lower)
