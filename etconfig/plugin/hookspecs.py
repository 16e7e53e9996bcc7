"""The hooks that plugins implement, with their requests and answers.

Requests and answers are frozen. New fields have defaults, so that a plugin built for an older version keeps
working.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from etconfig.base.parameters import as_path
from etconfig.base.records import record

if TYPE_CHECKING:
    from etconfig.facts.detecting.detector import Detector
    from etconfig.facts.registry import FactInfo
    from etconfig.method import Executor
    from etconfig.plugin.option_evidence import Evidence
    from etconfig.schema.options import BackendOptions
    from etconfig.schema.spec import ApiRange, BackendSpec

PROJECT = "etconfig"
"""The project name in pluggy's marks on hooks."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@record(frozen=True, kw_only=True)
class PluginRequest:
    """The request that every hook gets.

    Attributes:
        name: The name of the entry point; for a backend, its id.
        core_api: The plugin API version of this etconfig.
    """

    name: str
    core_api: int


class BackendRequest(PluginRequest):
    """A request for the spec of the backend whose id is `name`."""


class FactsRequest(PluginRequest):
    """A request for facts and detectors."""


class KernelsRequest(PluginRequest):
    """A request for kernels."""


class ExecutorRequest(PluginRequest):
    """A request for the executor called `name`."""


class ConformanceRequest(PluginRequest):
    """A request for the programs with which the conformance kit checks the backend whose id is `name`."""


@record(frozen=True, kw_only=True)
class FactsContribution:
    """Facts of a plugin's own, and detectors that find them.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        facts: The facts, in a namespace of the plugin's own.
        detectors: The detectors that find them.
    """

    api: ApiRange
    facts: tuple[FactInfo, ...] = ()
    detectors: tuple[Detector, ...] = ()


@record(frozen=True, kw_only=True)
class KernelsContribution:
    """The kernels of a plugin.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        table: An `etconfig.plugin.v1_kernels.KernelTable`. It is not annotated as one, since this module must
            not import numpy.
    """

    api: ApiRange
    table: object


@record(frozen=True, kw_only=True)
class ExecutorContribution:
    """An executor besides the built-in one.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        executor: The executor.
        options: The class of the executor's own options; None if it has none.
        path_options: The options whose texts are paths. A relative one starts from the project file, or from
            the current directory. A text without a slash and a dot is a name, and stays as it is.
    """

    api: ApiRange
    executor: Executor
    options: type[BackendOptions] | None = None
    path_options: frozenset[str] = frozenset()


@record(frozen=True, kw_only=True)
class LoweringRequest:
    """A program of the conformance kit to be lowered to the vendor's backend.

    Attributes:
        case: The name of the kit's case.
        methods: The methods to lower, by name. Each is a `torch.export.ExportedProgram`, not annotated as
            one, since this module must not import torch.
    """

    case: str
    methods: Mapping[str, Any]


@record(frozen=True, kw_only=True)
class ConformanceContribution:
    """The contribution of a vendor to the conformance kit.

    Attributes:
        api: The plugin API versions that the plugin can work with.
        programs: The directory of golden programs, `<case>.pte` each; None if there are none.
        lower: Lowers a case with the vendor's ahead-of-time half and returns the bytes of the .pte. It may
            import torch and executorch when it is called, but not before.
        evidence: For each option of the backend, the observable that changes with it, or why none does.
    """

    api: ApiRange
    programs: Path | None = None
    lower: Callable[[LoweringRequest], bytes] | None = None
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.programs is not None:
            object.__setattr__(self, "programs", as_path("programs", self.programs))


@hookspec
def etconfig_backend(request: BackendRequest) -> BackendSpec:  # type: ignore[empty-body]  # a declaration
    """Return the spec of one backend. Entry-point group: `etconfig.backends`."""


@hookspec
def etconfig_facts(request: FactsRequest) -> FactsContribution:  # type: ignore[empty-body]  # a declaration
    """Return facts and detectors. Entry-point group: `etconfig.facts`."""


@hookspec
def etconfig_kernels(request: KernelsRequest) -> KernelsContribution:  # type: ignore[empty-body]  # a declaration
    """Return kernels. Entry-point group: `etconfig.kernels`."""


@hookspec
def etconfig_executor(request: ExecutorRequest) -> ExecutorContribution:  # type: ignore[empty-body]  # a declaration
    """Return an executor. Entry-point group: `etconfig.executors`."""


@hookspec
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:  # type: ignore[empty-body]  # a declaration
    """Return programs for the conformance kit. Entry-point group: `etconfig.conformance`, named by the id."""
