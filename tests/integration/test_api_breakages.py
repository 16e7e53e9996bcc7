"""The breakages of PyTorch's out-of-tree devices, replayed: each is absorbed, or refused with a reason.

PyTorch's RFC-0037 counts them: what broke devices that live outside, in about four months. Here a *newer
core* is this one with another version, another contract or another type; nothing answers in its stead.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from delegating_programs import delegating_program
from newer_core import become_newer

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.backend import Backend, InitContext
from etconfig.backend.contract import HandleT, OptionsT
from etconfig.base.records import record
from etconfig.base.scalar_types import ScalarType
from etconfig.errors import (
    BackendUnavailableError,
    DelegateError,
    KernelArgumentError,
    PluginLoadError,
    ProgramError,
)
from etconfig.kernel.memory import Scratch
from etconfig.kernel.tensor import Tensor
from etconfig.method import delegate
from etconfig.plugin import v1
from etconfig.plugin.backends import BACKEND_CONTRACTS, BackendContract

X = np.array([1, -2], np.float32)
VENDOR = """
from etconfig.plugin.v1 import ApiRange, Backend, BackendOptions, BackendSpec, Capabilities, hookimpl, option
{imports}

class Options(BackendOptions):
    scale: float = option(2.0, applies="execute", doc="What to multiply with.")

class VendorBackend(Backend):
    def init(self, context, processed, compile_specs):
        {init}
    def execute(self, context, handle, args):
        {execute}
        args[1][...] = context.options.scale * args[0]
    def update(self, context, handle, changed):
        {update}
    {more}

@hookimpl
def etconfig_backend(request):
    {hook}
    return BackendSpec(
        id="Vendor", doc="A.", options=Options, api=ApiRange({api}), factory=VendorBackend,
        capabilities=Capabilities({capabilities}),
    )
"""


def vendor(
    *, api: str = "1, 1", capabilities: str = "", imports: str = "", more: str = "", **bodies: str
) -> str:
    """Return the plugin of a vendor; each of `bodies` is a statement of a method or hook."""
    statements = {name: bodies.get(name, "pass") for name in ("init", "execute", "update", "hook")}
    return VENDOR.format(api=api, capabilities=capabilities, imports=imports, more=more, **statements)


def load(installation: Installation, data: bytes = delegating_program("Vendor")) -> etconfig.Method:
    return etconfig.load_program(data, installation=installation).load_method("forward")


def refusal(installation: Installation, backend_id: str = "Vendor") -> PluginLoadError:
    """Return the error that refuses a backend before any program is loaded."""
    with pytest.raises(PluginLoadError) as caught:
        installation.plugins.create_backend(backend_id)
    return caught.value


def two_versions(adapt: Any, **more_calls: tuple[str, ...]) -> Mapping[int, BackendContract]:
    """Return the contracts of a core whose second version makes other calls."""
    calls = BACKEND_CONTRACTS[1].calls
    return {1: BackendContract(calls=calls, adapt=adapt), 2: BackendContract(calls={**calls, **more_calls})}


class Forwarding(Backend[Any, Any]):
    """An adapter that calls a backend of plugin API 1 in its own way, and adds what it lacks."""

    def __init__(self, inner: Backend[Any, Any]) -> None:
        self.inner = inner

    def init(self, context, processed, compile_specs):
        return self.inner.init(context, processed, compile_specs)

    def execute(self, context, handle, args, stream=None):
        self.inner.execute(context, handle, args)

    def prefetch(self, handle):
        return f"nothing to fetch for {handle}"


class TestChangedOverrideSignature:
    """A call gets one more argument: older plugins are adapted, a wrong override is refused when found."""

    STREAMS = two_versions(Forwarding, execute=("context", "handle", "args", "stream"))

    def test_a_plugin_of_the_older_api_is_adapted(self, api1_site, monkeypatch):
        become_newer(monkeypatch, self.STREAMS)
        backend: Any = Installation(search_path=[str(api1_site)]).plugins.create_backend("Api1Minimal")
        outputs = np.zeros_like(X)
        backend.execute(None, None, [X, outputs], "stream 1")
        assert outputs.tolist() == [2, -4]

    def test_a_plugin_that_falsely_claims_the_newer_api_is_refused(self, install_vendor, monkeypatch):
        become_newer(monkeypatch, self.STREAMS)
        error = refusal(install_vendor(vendor(api="2, 2")))
        assert re.fullmatch(
            r"vendor_plugin\.py:\d+: VendorBackend\.execute cannot take the call "
            r"execute\(context, handle, args, stream\): too many positional arguments",
            error.cause,
        )
        assert error.help == "write: def execute(self, context, handle, args, stream)"

    def test_an_override_that_the_vendor_changed_is_refused(self, install_vendor):
        error = refusal(install_vendor(vendor(more="def destroy(self, handle, force): pass")))
        assert re.fullmatch(
            r"vendor_plugin\.py:\d+: VendorBackend\.destroy cannot take the call destroy\(handle\): "
            r"missing a required argument: 'force'",
            error.cause,
        )
        assert error.help == "write: def destroy(self, handle)"

    def test_a_new_field_of_a_context_breaks_no_plugin(self, api1_site, monkeypatch):
        @record(frozen=True, kw_only=True)
        class NewerContext(InitContext[Any]):
            """A context with one more field."""

            stream: str = "stream 1"

        monkeypatch.setattr(delegate, "InitContext", NewerContext)
        installation = Installation(search_path=[str(api1_site)])
        for backend_id in ("Api1Minimal", "Api1_Sloppy-2"):
            with load(installation, delegating_program(backend_id)) as method:
                assert method.execute([X])[0].shape == X.shape


class TestChangedConstness:
    """A backend cannot write to its arguments: a plugin that does so fails by name, and alone."""

    @pytest.mark.parametrize(
        ("statement", "reason"),
        [
            ("context.options = None", "FrozenInstanceError: cannot assign to field 'options'"),
            ("del context.tracer", "FrozenInstanceError: cannot delete field 'tracer'"),
            ("processed.data[:1] = b'x'", "TypeError: cannot modify read-only memory"),
            (
                "context.named_data['a'] = b''",
                "TypeError: 'KeptData' object does not support item assignment",
            ),
        ],
    )
    def test_writing_in_init_fails(self, install_vendor, statement, reason):
        with pytest.raises(DelegateError) as caught:
            load(install_vendor(vendor(init=statement)), delegating_program("Vendor", b"abc"))
        assert str(caught.value) == f"backend 'Vendor' failed in init of method 'forward': {reason}"

    @pytest.mark.parametrize("field", ["options", "temporary", "parallel_for", "resource"])
    def test_writing_in_execute_fails(self, install_vendor, field):
        reason = f"FrozenInstanceError: cannot assign to field '{field}'$"
        method = load(install_vendor(vendor(execute=f"context.{field} = None")))
        with method, pytest.raises(DelegateError, match=reason):
            method.execute([X])

    def test_writing_in_update_fails_and_keeps_the_options_in_force(self, install_vendor):
        with load(install_vendor(vendor(update="context.previous = None"))) as method:
            with pytest.raises(
                DelegateError, match=r"FrozenInstanceError: cannot assign to field 'previous'$"
            ):
                method.update({"Vendor.scale": 5.0})
            assert method.execute([X])[0].tolist() == [2, -4]

    def test_writing_to_options_fails(self, install_vendor):
        method = load(install_vendor(vendor(execute="context.options.scale = 9.0")))
        with method, pytest.raises(DelegateError, match=r"(?s)scale.*Instance is frozen"):
            method.execute([X])

    def test_writing_to_a_request_fails(self, install_vendor):
        error = refusal(install_vendor(vendor(hook="request.name = 'Other'")))
        assert (
            error.cause
            == "vendor_plugin.py:20: etconfig_backend raised FrozenInstanceError: cannot assign to "
            "field 'name'"
        )


class TestNewAbstractMethod:
    """Backends must have one more method: older plugins get it, or are refused by its name when found."""

    PREFETCH = two_versions(Forwarding, prefetch=("handle",))

    def test_a_plugin_of_the_older_api_gets_the_method(self, api1_site, monkeypatch):
        become_newer(monkeypatch, self.PREFETCH)
        backend: Any = Installation(search_path=[str(api1_site)]).plugins.create_backend("Api1Minimal")
        assert backend.prefetch("handle 1") == "nothing to fetch for handle 1"

    def test_without_an_adapter_the_plugin_is_refused_by_its_name(self, api1_site, monkeypatch):
        class NewerBackend(Backend[Any, Any]):
            """The method as a careless core would add it."""

            @abc.abstractmethod
            def prefetch(self, handle: object) -> None: ...

        monkeypatch.setattr(v1, "Backend", NewerBackend)
        become_newer(monkeypatch, {1: two_versions(Forwarding, prefetch=("handle",))[2]}, current=1)
        error = refusal(Installation(search_path=[str(api1_site)]), "Api1Minimal")
        assert re.fullmatch(
            r"api1_minimal\.py:\d+: MinimalBackend lacks prefetch, which a Backend needs", error.cause
        )
        assert error.help == "write: def prefetch(self, handle)"

    def test_a_method_with_a_default_breaks_no_plugin(self, api1_site, monkeypatch):
        class NewerBackend(Backend[OptionsT, HandleT]):
            """The method as a careful core would add it."""

            def prefetch(self, handle: object) -> str:
                return "nothing to fetch"

        monkeypatch.setattr(v1, "Backend", NewerBackend)
        become_newer(monkeypatch, {1: two_versions(Forwarding, prefetch=("handle",))[2]}, current=1)
        installation = Installation(search_path=[str(api1_site)])
        for backend_id in ("Api1Minimal", "Api1Full", "Api1_Sloppy-2"):
            backend: Any = installation.plugins.create_backend(backend_id)
            assert backend.prefetch(None) == "nothing to fetch"


class TestMovedSymbol:
    """A helper is renamed or moved: a plugin that imports it from its old place is refused."""

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (
                "from etconfig.backend.helpers import pack",
                "ModuleNotFoundError: No module named 'etconfig.backend.helpers'",
            ),
            (
                "from etconfig.backend import pack",
                "ImportError: cannot import name 'pack' from 'etconfig.backend'",
            ),
            (
                "from etconfig.plugin.v1 import Telemetry",
                "ImportError: cannot import name 'Telemetry' from 'etconfig.plugin.v1'",
            ),
        ],
    )
    def test_a_missing_name_is_refused_with_its_place(self, install_vendor, line, reason):
        error = refusal(install_vendor(vendor(imports=line)))
        assert error.cause.startswith(f"vendor_plugin.py:3: its import raised {reason}")
        assert error.help == "upgrade etconfig, or install a version of vendor that fits this one"


class TestNewDtype:
    """A type unknown to a plugin is refused before the plugin meets it."""

    def test_a_method_with_a_dtype_that_the_backend_does_not_declare_is_refused(self, api1_site):
        data = delegating_program("Api1Full", scalar_type=ScalarType.BFLOAT16)
        with pytest.raises(BackendUnavailableError) as caught:
            load(Installation(search_path=[str(api1_site)]), data)
        assert str(caught.value) == (
            "backend 'Api1Full' cannot run here: forward passes it tensors of bfloat16, but it declares "
            "float32; lower the model to what it declares, or install a version of its plugin that "
            "declares more"
        )

    def test_a_backend_that_declares_the_dtype_gets_it(self, install_vendor):
        data = delegating_program("Vendor", scalar_type=ScalarType.BFLOAT16)
        plugin = vendor(capabilities="dtypes=frozenset({'bfloat16'})")
        with load(install_vendor(plugin), data) as method:
            assert method.execute([X.astype(ml_dtypes.bfloat16)])[0].tolist() == [2, -4]

    def test_a_backend_without_capabilities_is_not_checked(self, api1_site):
        data = delegating_program("Api1Minimal", scalar_type=ScalarType.BFLOAT16)
        load(Installation(search_path=[str(api1_site)]), data).close()

    def test_a_backend_of_another_runtime_is_not_checked(self, install_vendor):
        data = delegating_program("Vendor", scalar_type=ScalarType.BFLOAT16)
        installation = install_vendor(vendor().replace("factory=VendorBackend,", ""))
        program = etconfig.load_program(data, installation=installation)
        assert "Vendor" in program.bind("forward", etconfig.resolve(program).arguments("forward"))

    def test_dtypes_of_the_future_may_be_declared(self, install_vendor):
        plugin = vendor(capabilities="dtypes=frozenset({'float32', 'float2_e1m0'})")
        with load(install_vendor(plugin)) as method:
            assert method.execute([X])[0].tolist() == [2, -4]


class TestNewScalarType:
    """An element type unknown to this core or a kernel is a named error, never an assertion."""

    def test_a_program_with_an_unknown_type_is_refused_when_opened(self, install_vendor):
        with pytest.raises(ProgramError, match="this version does not know scalar_type 99"):
            load(install_vendor(vendor()), delegating_program("Vendor", scalar_type=99))

    def test_a_kernel_refuses_types_that_it_does_not_support(self, api1_site):
        kernel = Installation(search_path=[str(api1_site)]).kernels["api1::clip.out"]
        tensors = [Tensor(ScalarType.UINT64, (2,), (0,), memoryview(bytearray(16))) for _ in range(2)]
        with pytest.raises(KernelArgumentError, match=r"^api1::clip\.out: self "):
            kernel.bind("api1::clip.out", Scratch(), [tensors[0], 0, tensors[1]])
