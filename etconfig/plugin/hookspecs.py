"""The hooks that a plugin implements: what each is asked and what it answers.

Requests and answers are frozen and grow by fields with defaults, so that a plugin built for
an older version keeps working.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pluggy

from etconfig.facts.detector import Detector
from etconfig.facts.registry import FactInfo
from etconfig.method import Executor
from etconfig.records import record
from etconfig.schema import ApiRange, BackendSpec

PROJECT = "etconfig"
"""The name under which pluggy marks hooks."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@record(frozen=True, kw_only=True)
class PluginRequest:
    """What every hook is told.

    Attributes:
        name: The name of the entry point that is needed; for a backend, its id.
        core_api: The plugin API version of this etconfig.
    """

    name: str
    core_api: int


class BackendRequest(PluginRequest):
    """Asks for the spec of the backend whose id is `name`."""


class FactsRequest(PluginRequest):
    """Asks for facts and detectors."""


class KernelsRequest(PluginRequest):
    """Asks for kernels."""


class ExecutorRequest(PluginRequest):
    """Asks for the executor called `name`."""


class ConformanceRequest(PluginRequest):
    """Asks for what the conformance kit needs to check the backend whose id is `name`."""


@record(frozen=True, kw_only=True)
class FactsContribution:
    """Facts of a plugin's own, and detectors that find them.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        facts: The facts, in a namespace of the plugin's own.
        detectors: Who looks for them.
    """

    api: ApiRange
    facts: tuple[FactInfo, ...] = ()
    detectors: tuple[Detector, ...] = ()


@record(frozen=True, kw_only=True)
class KernelsContribution:
    """Kernels of a plugin.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        table: An `etconfig.plugin.v1_kernels.KernelTable`; not named as a type here, since the
            plugin API loads no numpy.
    """

    api: ApiRange
    table: object


@record(frozen=True, kw_only=True)
class ExecutorContribution:
    """Another executor than the built-in one.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        executor: The executor.
    """

    api: ApiRange
    executor: Executor


@record(frozen=True, kw_only=True)
class LoweringRequest:
    """A program of the conformance kit that shall delegate to the vendor's backend.

    Attributes:
        case: The name of the kit's case.
        methods: The methods to lower, by name; each a `torch.export.ExportedProgram`, not named as a
            type here, since the plugin API loads no torch.
    """

    case: str
    methods: Mapping[str, Any]


@record(frozen=True, kw_only=True)
class ConformanceContribution:
    """What a vendor gives the conformance kit.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        programs: The directory of golden programs, `<case>.pte` each; None when there are none.
        lower: Makes the program of a case with the vendor's ahead-of-time half, and answers the bytes
            of the .pte. It may import torch and executorch when it is called, not before.
    """

    api: ApiRange
    programs: Path | None = None
    lower: Callable[[LoweringRequest], bytes] | None = None


@hookspec
def etconfig_backend(request: BackendRequest) -> BackendSpec:  # type: ignore[empty-body]  # a declaration
    """The spec of one backend. Entry-point group: `etconfig.backends`."""


@hookspec
def etconfig_facts(request: FactsRequest) -> FactsContribution:  # type: ignore[empty-body]  # a declaration
    """Facts and detectors. Entry-point group: `etconfig.facts`."""


@hookspec
def etconfig_kernels(request: KernelsRequest) -> KernelsContribution:  # type: ignore[empty-body]  # a declaration
    """Kernels. Entry-point group: `etconfig.kernels`."""


@hookspec
def etconfig_executor(request: ExecutorRequest) -> ExecutorContribution:  # type: ignore[empty-body]  # a declaration
    """An executor. Entry-point group: `etconfig.executors`."""


@hookspec
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:  # type: ignore[empty-body]  # a declaration
    """Programs for the conformance kit. Entry-point group: `etconfig.conformance`, named after the id."""
