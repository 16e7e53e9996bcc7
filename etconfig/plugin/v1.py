"""Everything a plugin may import: the plugin API, version 1."""

from typing import TYPE_CHECKING

from etconfig.backend import (
    Allocator,
    Availability,
    Backend,
    BoundBackend,
    Capabilities,
    ExecuteContext,
    InitContext,
    Processed,
    Tracer,
    UpdateContext,
    Value,
)
from etconfig.diagnostics import Diagnostic
from etconfig.errors import (
    BackendUnavailableError,
    DelegateError,
    EtconfigError,
    MissingOperatorError,
    OptionError,
    RuntimeFailedError,
)
from etconfig.facts.detector import Detector, FunctionDetector, Reading
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.facts.system import System
from etconfig.method import (
    DelegateHost,
    DelegateRun,
    Executor,
    ExecutorProgram,
    MethodRequest,
    OptionChanges,
    ProgramRequest,
    RunnableMethod,
)
from etconfig.plugin.deprecation import deprecated_names
from etconfig.plugin.hookspecs import (
    BackendRequest,
    ConformanceContribution,
    ConformanceRequest,
    ExecutorContribution,
    ExecutorRequest,
    FactsContribution,
    FactsRequest,
    KernelsContribution,
    KernelsRequest,
    LoweringRequest,
    hookimpl,
)
from etconfig.scalar_types import ScalarType
from etconfig.schema import (
    ApiRange,
    Applies,
    BackendOptions,
    BackendSpec,
    CompileSpecEncoding,
    CompileSpecInfo,
    Scope,
    Unit,
    Wire,
    model_validator,
    option,
)
from etconfig.schema.constraints import Ge, Gt, Le, Len, Lt, MultipleOf
from etconfig.transport import EXECUTORCH, WireOption, wire_options

__all__ = [
    "EXECUTORCH",
    "Allocator",
    "ApiRange",
    "Applies",
    "Availability",
    "Backend",
    "BackendOptions",
    "BackendRequest",
    "BackendSpec",
    "BackendUnavailableError",
    "BoundBackend",
    "Capabilities",
    "CompileSpecEncoding",
    "CompileSpecInfo",
    "ConformanceContribution",
    "ConformanceRequest",
    "DelegateError",
    "DelegateHost",
    "DelegateRun",
    "Detector",
    "Diagnostic",
    "EtconfigError",
    "ExecuteContext",
    "Executor",
    "ExecutorContribution",
    "ExecutorProgram",
    "ExecutorRequest",
    "FactInfo",
    "FactType",
    "FactsContribution",
    "FactsRequest",
    "FunctionDetector",
    "Ge",
    "Gt",
    "InitContext",
    "KernelsContribution",
    "KernelsRequest",
    "Le",
    "Len",
    "LoweringRequest",
    "Lt",
    "MethodRequest",
    "MissingOperatorError",
    "MultipleOf",
    "OptionChanges",
    "OptionError",
    "Processed",
    "ProgramRequest",
    "Reading",
    "RunnableMethod",
    "RuntimeFailedError",
    "ScalarType",
    "Scope",
    "System",
    "Tracer",
    "Unit",
    "UpdateContext",
    "Value",
    "Volatility",
    "Wire",
    "WireOption",
    "hookimpl",
    "model_validator",
    "option",
    "wire_options",
]

if not TYPE_CHECKING:  # a type checker shall refuse a name that is not there
    __getattr__ = deprecated_names(__name__)
