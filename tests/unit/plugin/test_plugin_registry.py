"""`PluginRegistry`: plugins are loaded once, when they are needed, and create what they declare."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from plugin_data import UPGRADE, search_path

from etconfig.backend import Backend
from etconfig.errors import BackendUnavailableError, DuplicatePluginError, PluginLoadError, UnknownPluginError
from etconfig.method import Executor
from etconfig.plugin import PluginFailure, PluginPolicy, discover_plugins
from etconfig.plugin.api_version import CURRENT, OLDEST, negotiate
from etconfig.plugin.contributions import EXECUTOR_HOOK, FACTS_HOOK, KERNELS_HOOK
from etconfig.plugin.registry import PluginRegistry
from etconfig.schema.spec import ApiRange


class TestLoading:
    """A plugin is imported once, when its id is needed."""

    def test_a_spec_is_loaded_by_its_id(self, registry_of):
        registry = registry_of("acme-npu")
        assert registry.backend_spec("AcmeNpu").id == "AcmeNpu"
        assert registry.backend_spec("AcmeDsp").id == "AcmeDsp"
        assert registry.failures == ()

    def test_an_object_of_a_module_can_be_the_plugin(self, registry_of):
        assert registry_of("acme-npu").backend_spec("AcmeObject").id == "AcmeObject"

    def test_making_a_registry_imports_no_plugin(self, registry_of):
        registry_of("acme-npu")
        assert "acme_npu" not in sys.modules

    def test_the_spec_is_the_same_each_time(self, registry_of):
        registry = registry_of("acme-npu")
        assert registry.backend_spec("AcmeObject") is registry.backend_spec("AcmeObject")

    def test_registries_do_not_share_loaded_plugins(self, registry_of):
        first, second = registry_of("acme-npu"), registry_of("acme-npu")
        assert first.backend_spec("AcmeObject") is not second.backend_spec("AcmeObject")

    def test_unknown_and_doubly_claimed_ids_are_errors(self, registry_of):
        registry = registry_of("twin-one", "twin-two")
        with pytest.raises(UnknownPluginError):
            registry.backend_spec("Nothing")
        with pytest.raises(DuplicatePluginError):
            registry.backend_spec("TwinNpu")

    def test_the_preferred_twin_is_loaded(self, registry_of):
        registry = registry_of("twin-one", "twin-two", policy=PluginPolicy(prefer={"TwinNpu": "twin-two"}))
        assert registry.backend_spec("TwinNpu").doc == "Twin two."
        assert "twin_one" not in sys.modules

    def test_64_threads_import_a_plugin_once_and_call_its_hook_once(self, tmp_path, monkeypatch):
        (tmp_path / "counted-1.0.dist-info").mkdir()
        (tmp_path / "counted-1.0.dist-info" / "entry_points.txt").write_text(
            "[etconfig.backends]\nCounted = counted_plugin\n"
        )
        (tmp_path / "counted_plugin.py").write_text(
            "import threading\n"
            "from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl\n"
            "EVENTS = ['import']\n"
            "class Options(BackendOptions):\n"
            "    pass\n"
            "@hookimpl\n"
            "def etconfig_backend(request):\n"
            "    EVENTS.append('call')\n"
            "    return BackendSpec(id='Counted', doc='A.', options=Options, api=ApiRange(1, 1))\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        registry = PluginRegistry(discover_plugins([str(tmp_path)]))
        barrier = threading.Barrier(64)

        def load(_):
            barrier.wait()
            return registry.backend_spec("Counted")

        with ThreadPoolExecutor(64) as pool:
            specs = list(pool.map(load, range(64)))
        assert all(spec is specs[0] for spec in specs)
        assert sys.modules.pop("counted_plugin").EVENTS == ["import", "call"]


class TestOtherGroups:
    """Facts, kernels and executors come through the same registry."""

    def test_facts_and_detectors_are_collected(self, registry_of):
        (contribution,) = registry_of("acme-npu").contributions(FACTS_HOOK)
        assert [info.name for info in contribution.facts] == ["acme.cores"]
        assert [detector.name for detector in contribution.detectors] == ["acme"]

    def test_kernels_are_collected(self, registry_of):
        (contribution,) = registry_of("acme-npu").contributions(KERNELS_HOOK)
        assert [each.operators for each in contribution.table.kernels] == [("acme::nothing",)]

    def test_an_executor_is_found_by_its_name(self, registry_of):
        assert (
            type(registry_of("acme-npu").contribution(EXECUTOR_HOOK, "acme").executor).__name__
            == "AcmeExecutor"
        )

    def test_a_broken_plugin_is_left_out_and_listed(self, registry_of):
        registry = registry_of("broken-answers", "acme-npu")
        assert len(registry.contributions(FACTS_HOOK)) == 1
        assert [str(failure) for failure in registry.failures] == [
            "broken-answers 1.0: wrong (etconfig.facts): broken_answers.py:42: etconfig_facts "
            "returned a list, "
            "not a FactsContribution; return a FactsContribution"
        ]

    def test_a_refused_plugin_is_not_imported(self, registry_of):
        registry = registry_of("acme-npu", policy=PluginPolicy(deny=["acme"]))
        assert (registry.contributions(FACTS_HOOK), registry.contributions(KERNELS_HOOK)) == ((), ())
        assert "acme_facts" not in sys.modules


class TestCreateBackend:
    """A backend that is needed and fails is an error, never a silent fallback."""

    def test_a_backend_is_created_by_its_factory(self, registry_of):
        registry = registry_of("acme-npu")
        backend = registry.create_backend("AcmeNpu")
        assert isinstance(backend, Backend)
        assert registry.create_backend("AcmeNpu") is not backend

    def test_a_schema_only_backend_cannot_run_here(self, registry_of):
        with pytest.raises(BackendUnavailableError) as caught:
            registry_of("acme-npu").create_backend("AcmeDsp")
        assert str(caught.value) == (
            "backend 'AcmeDsp' cannot run here: acme-npu 2.1 only declares its options and "
            "has no implementation; use an executor whose runtime has it, such as 'executorch' of "
            "etconfig-executorch; else resolve or pack for the device that has it"
        )

    def test_an_unavailable_backend_gives_its_reason_and_fix(self, registry_of):
        registry = registry_of("acme-npu")
        with pytest.raises(BackendUnavailableError) as caught:
            registry.create_backend("AcmeOffline")
        assert str(caught.value) == (
            "backend 'AcmeOffline' cannot run here: no /dev/acme0; load the acme kernel module"
        )
        assert registry.failures == ()

    @pytest.mark.parametrize(
        ("backend_id", "cause", "help_text"),
        [
            (
                "FactoryRaises",
                r"broken_backends\.py:46: its factory raised RuntimeError: no license",
                UPGRADE.format("broken-backends"),
            ),
            ("FactoryExits", "its factory raised SystemExit: no message", UPGRADE.format("broken-backends")),
            (
                "NotABackend",
                "its factory made an object of dict, which is not a Backend",
                "derive the class from etconfig.plugin.v1.Backend",
            ),
            (
                "Abstract",
                r"broken_backends\.py:\d+: Abstract lacks execute, which a Backend needs",
                "write: def execute(self, context, handle, args)",
            ),
            (
                "AsyncExecute",
                r"broken_backends\.py:\d+: AsyncExecute\.execute is async, "
                r"but the core calls it and uses its result at once",
                "write: def execute(self, context, handle, args)",
            ),
            (
                "ShortInit",
                r"broken_backends\.py:\d+: ShortInit\.init cannot take the call "
                r"init\(context, processed, compile_specs\): too many positional arguments",
                "write: def init(self, context, processed, compile_specs)",
            ),
            (
                "AvailabilityRaises",
                r"broken_backends\.py:37: its availability\(\) raised OSError: libacme\.so: cannot "
                r"open shared object file",
                UPGRADE.format("broken-backends"),
            ),
            (
                "AvailabilityIsBool",
                r"broken_backends\.py:\d+: its availability\(\) returned a bool",
                "return Availability.yes() or Availability.no(reason, fix)",
            ),
        ],
    )
    def test_a_backend_that_breaks_the_contract_is_refused_and_listed(
        self, registry_of, backend_id, cause, help_text
    ):
        registry = registry_of("broken-backends")
        for _ in range(2):
            with pytest.raises(PluginLoadError) as caught:
                registry.create_backend(backend_id)
        assert re.fullmatch(cause, caught.value.cause), caught.value.cause
        assert caught.value.help == help_text
        assert registry.failures == (PluginFailure.of(caught.value),)

    def test_a_failure_is_forgotten_once_it_works(self, registry_of, monkeypatch):
        registry = registry_of("broken-backends")
        with pytest.raises(PluginLoadError):
            registry.create_backend("AvailabilityRaises")
        monkeypatch.delattr(sys.modules["broken_backends"].AvailabilityRaises, "availability")
        registry.create_backend("AvailabilityRaises")
        assert registry.failures == ()


class TestNegotiation:
    """Core and plugin use the newest version that both know; a newer plugin is not refused for that."""

    @pytest.mark.parametrize(
        ("plugin", "oldest", "current", "agreed"),
        [
            (ApiRange(1, 1), 1, 1, 1),
            (ApiRange(1, 9), 1, 3, 3),
            (ApiRange(2, 2), 1, 3, 2),
            (ApiRange(1, 2), 2, 3, 2),
        ],
    )
    def test_the_newest_common_version_is_used(self, plugin, oldest, current, agreed):
        assert negotiate(plugin, oldest=oldest, current=current) == agreed

    def test_a_plugin_that_needs_a_newer_version_asks_for_a_newer_etconfig(self):
        with pytest.raises(
            ValueError, match=r"^it needs plugin API 3 or newer, this etconfig has 2: upgrade etconfig$"
        ):
            negotiate(ApiRange(3, 4), oldest=1, current=2)

    def test_a_plugin_that_is_too_old_must_be_upgraded(self):
        with pytest.raises(
            ValueError,
            match=r"^it was built for plugin API 1, this etconfig needs 2 or newer: upgrade the plugin$",
        ):
            negotiate(ApiRange(1, 1), oldest=2, current=3)

    def test_the_core_understands_a_range(self):
        assert 1 <= OLDEST <= CURRENT

    def test_a_plugin_built_for_a_newer_version_may_have_unknown_hooks(self, registry_of):
        assert isinstance(registry_of("acme-npu").contribution(EXECUTOR_HOOK, "acme").executor, Executor)


class TestColdProcess:
    """Plugins and the host may be imported in any order."""

    def test_a_plugin_imported_first_loads_no_numpy(self):
        program = (
            f"import sys; sys.path[:0] = {search_path('acme-npu')!r}\n"
            "import acme_npu\n"
            "from etconfig.plugin import discover_plugins\n"
            "from etconfig.plugin.registry import PluginRegistry\n"
            "assert PluginRegistry(discover_plugins()).backend_spec('AcmeNpu') is acme_npu.SPECS['AcmeNpu']\n"
            "assert 'numpy' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
