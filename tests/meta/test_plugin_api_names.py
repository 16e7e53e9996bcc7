"""The public names that plugins and the core rely on: a change of the API is a line in this diff."""

from __future__ import annotations

import etconfig.plugin
from etconfig.plugin import v1, v1_c, v1_kernels

V1_NAMES = """
Advice Allocator ApiRange Applies Availability Backend BackendOptions BackendRequest BackendSpec
    BackendUnavailableError BoundBackend Capabilities CompileSpec CompileSpecEncoding CompileSpecInfo
    CompileSpecs Consumes
    ConformanceContribution ConformanceRequest DelegateError DelegateFacts DelegateHost
    DelegateInvalidCompatibilityError DelegateMemory DelegateRun Detector Diagnostic
    EffectiveOption EffectiveSource
    EXECUTORCH EtconfigError ExecuteContext ExecuteRequest Executor ExecutorContribution ExecutorProgram
    ExecutorRequest FactInfo FactType FactsContribution FactsRequest FunctionDetector Ge Gt InitContext
    InstructionLimitError
    ExecutorBackend ExecutorReport LibraryError LibraryGuard
    KernelsContribution KernelsRequest Le Len LoweringRequest Lt MethodRequest MissingOperatorError
    ModelInput ModelRunner
    MultipleOf NativeCall NativeRun Observable Observed OptionChanges OptionError OptionTable OutOfMemoryError
    PayloadDescription PayloadNeed Processed ProgramRequest Reading RunnableMethod Unobservable
    RuntimeFailedError ScalarType Scope System Tracer Unit UnsafeProgramError UpdateContext Value Volatility
    Wire WireOption cache_key hookimpl model_validator option wire_options write_own_file
    EngineRange Envelope HostConstraints InvalidPayloadError KnownKey TuneRange open_envelope
"""

V1_KERNELS_NAMES = """
    Array ArrayCall Bools Floats Ints Kernel KernelTable OptionalTensors Register Scalar Scratch Shape
    Step Tensor TensorAlias Tensors Unread broadcast_shape dimension dimensions kernel promote require
    require_dtype require_floating require_rank require_same_dtype
"""

V1_C_NAMES = "CBackend CBackendError include_dir"

PLUGIN_NAMES = """
    BACKENDS CONFORMANCE EXECUTORS FACTS GROUPS KERNELS PROFILES EntryPoint PluginFailure PluginIndex
    PluginPolicy discover_plugins profile_directories resolve_profile_directory
"""


class TestPublicNames:
    """Each public module's __all__ equals a checked-in list."""

    def test_a_plugin_may_import_these_names(self):
        assert sorted(v1.__all__) == sorted(V1_NAMES.split())

    def test_an_author_of_kernels_may_import_these_too(self):
        assert sorted(v1_kernels.__all__) == sorted(V1_KERNELS_NAMES.split())

    def test_an_author_of_a_backend_in_c_may_import_these_too(self):
        assert sorted(v1_c.__all__) == sorted(V1_C_NAMES.split())

    def test_the_core_may_import_these_names(self):
        assert sorted(etconfig.plugin.__all__) == sorted(PLUGIN_NAMES.split())

    def test_every_listed_name_is_there(self):
        for module in (v1, v1_c, v1_kernels, etconfig.plugin):
            assert [name for name in module.__all__ if not hasattr(module, name)] == []
