"""Facts about the installed TVM, read from the metadata of packages and the names of files."""

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
from etconfig_tvm.installed import COMPILER, FFI, runtime_libraries, version_of

VERSION = FactInfo(
    name="tvm.version",
    type=FactType.STRING,
    doc="The version of apache-tvm, which compiles models and brings the runtime library.",
    volatility=Volatility.BOOT,
    is_identifying=False,
)
FFI_VERSION = FactInfo(
    name="tvm.ffi_version",
    type=FactType.STRING,
    doc="The version of apache-tvm-ffi, which is enough to run models beside a runtime library.",
    volatility=Volatility.BOOT,
    is_identifying=False,
)
LIBRARIES = FactInfo(
    name="tvm.libraries",
    type=FactType.STRING_LIST,
    doc="The libraries of apache-tvm: `compiler`, `runtime`, and one for each kind, `runtime_cuda`.",
    volatility=Volatility.BOOT,
    is_identifying=False,
)


def read_facts(system: System) -> list[Reading]:
    """Read the versions of both packages, and the libraries that apache-tvm brings."""
    source = "metadata of installed packages"
    no_compiler, no_ffi = f"{COMPILER} is not installed", f"{FFI} is not installed"
    return [
        Reading.of(VERSION.name, version_of(COMPILER), source, otherwise=no_compiler),
        Reading.of(FFI_VERSION.name, version_of(FFI), source, otherwise=no_ffi),
        Reading.of(LIBRARIES.name, runtime_libraries() or None, "tvm/lib", otherwise=no_compiler),
    ]


FACTS = (VERSION, FFI_VERSION, LIBRARIES)
DETECTOR = FunctionDetector(name="tvm", provides=tuple(info.name for info in FACTS), function=read_facts)


@hookimpl
def etconfig_facts(request: FactsRequest) -> FactsContribution:
    """Return the facts and their detector."""
    return FactsContribution(api=ApiRange(min=1, built=1), facts=FACTS, detectors=(DETECTOR,))
