"""`PluginRegistry`: loaded when needed, once; a broken plugin hurts only itself, visibly."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from plugin_data import search_path

from etconfig.backend import Backend
from etconfig.errors import BackendUnavailableError, DuplicatePluginError, PluginLoadError, UnknownPluginError
from etconfig.execution import Executor
from etconfig.plugin import PluginFailure, PluginPolicy, discover_plugins
from etconfig.plugin.api_version import CURRENT, OLDEST, negotiate
from etconfig.plugin.registry import PluginRegistry
from etconfig.schema import ApiRange

UPGRADE = "upgrade or uninstall {}, or report it to its author"


def load_error(registry: PluginRegistry, backend_id: str) -> PluginLoadError:
    with pytest.raises(PluginLoadError) as caught:
        registry.backend_spec(backend_id)
    return caught.value


class TestLoading:
    """A plugin is imported when its id is needed, once."""

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

    def test_registries_do_not_share_what_they_loaded(self, registry_of):
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
    """Facts, kernels and executors come through the same door."""

    def test_facts_and_detectors_are_collected(self, registry_of):
        (contribution,) = registry_of("acme-npu").facts()
        assert [info.name for info in contribution.facts] == ["acme.cores"]
        assert [detector.name for detector in contribution.detectors] == ["acme"]

    def test_kernels_are_collected(self, registry_of):
        (contribution,) = registry_of("acme-npu").kernels(lambda table: None)
        assert contribution.table == ("aten::relu.out",)

    def test_an_executor_is_found_by_its_name(self, registry_of):
        assert type(registry_of("acme-npu").executor("acme")).__name__ == "AcmeExecutor"

    def test_a_broken_plugin_is_left_out_and_listed(self, registry_of):
        registry = registry_of("broken-answers", "acme-npu")
        assert len(registry.facts()) == 1
        assert [str(failure) for failure in registry.failures] == [
            "broken-answers 1.0: wrong (etconfig.facts): broken_answers.py:39: etconfig_facts "
            "returned a list, "
            "not a FactsContribution; return a FactsContribution"
        ]

    def test_a_refused_plugin_is_not_asked(self, registry_of):
        registry = registry_of("acme-npu", policy=PluginPolicy(deny=["acme"]))
        assert (registry.facts(), registry.kernels(lambda table: None)) == ((), ())
        assert "acme_facts" not in sys.modules


class TestBrokenImports:
    """An import that fails names distribution, version, cause and the fix."""

    @pytest.mark.parametrize(
        ("backend_id", "cause", "help_text"),
        [
            (
                "MissingDependency",
                "broken_missing_dependency.py:1: its import raised ModuleNotFoundError: "
                "No module named 'a_vendor_sdk_that_is_not_installed'",
                "install a_vendor_sdk_that_is_not_installed, or else "
                "reinstall broken-imports: pip install --force-reinstall broken-imports",
            ),
            (
                "NewerApi",
                "broken_newer_api.py:1: its import raised ImportError: cannot import name "
                "'a_name_of_the_future' from "
                "'etconfig.plugin.v1'",
                "upgrade etconfig, or install a version of broken-imports that fits this one",
            ),
            ("Exits", "broken_exit.py:1: its import raised SystemExit: 3", UPGRADE.format("broken-imports")),
            ("SyntaxError", "its import raised SyntaxError: ", UPGRADE.format("broken-imports")),
            (
                "NoModule",
                "its import raised ModuleNotFoundError: No module named 'broken_no_such_module'",
                "install broken_no_such_module, or else "
                "reinstall broken-imports: pip install --force-reinstall broken-imports",
            ),
            (
                "NoObject",
                "its import raised AttributeError: module 'broken_hooks_holder' has no attribute 'nothing'",
                UPGRADE.format("broken-imports"),
            ),
            (
                "Malformed",
                "its entry point has the value 'not a module!'",
                "write MODULE or MODULE:OBJECT in the plugin's pyproject.toml",
            ),
            (
                "BadSchema",
                "broken_schema.py:4: its import raised TypeError: Options.core must be declared "
                "with option(...)",
                UPGRADE.format("broken-imports"),
            ),
        ],
    )
    def test_it_becomes_a_load_error(self, registry_of, backend_id, cause, help_text):
        error = load_error(registry_of("broken-imports"), backend_id)
        assert error.cause.startswith(cause)
        assert (error.distribution, error.version, error.help) == ("broken-imports", "0.3", help_text)

    def test_the_message_says_it_all(self, registry_of):
        assert str(load_error(registry_of("broken-imports"), "Exits")) == (
            "plugin 'Exits' (etconfig.backends) of broken-imports 0.3 failed: "
            "broken_exit.py:1: its import raised SystemExit: 3; upgrade or uninstall "
            "broken-imports, or report it to its author"
        )

    def test_ctrl_c_passes_and_is_not_remembered(self, registry_of):
        registry = registry_of("broken-imports")
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                registry.backend_spec("Interrupts")
        assert registry.failures == ()

    def test_a_failure_is_remembered_and_raised_again(self, registry_of, monkeypatch):
        registry = registry_of("broken-imports")
        first = load_error(registry, "Exits")
        monkeypatch.setitem(sys.modules, "broken_exit", sys.modules[__name__])
        second = load_error(registry, "Exits")
        assert second is not first
        assert (str(second), second.__cause__) == (str(first), first.__cause__)
        assert isinstance(first.__cause__, SystemExit)
        assert registry.failures == (PluginFailure.of(first),)

    def test_64_threads_all_get_the_failure(self, registry_of):
        registry = registry_of("broken-imports")
        with ThreadPoolExecutor(64) as pool:
            errors = list(pool.map(lambda _: load_error(registry, "MissingDependency"), range(64)))
        assert len({str(error) for error in errors}) == 1
        assert len({id(error) for error in errors}) == 64
        assert len(registry.failures) == 1

    def test_the_error_pickles(self, registry_of):
        error = load_error(registry_of("broken-imports"), "Exits")
        assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def test_good_plugins_beside_broken_ones_still_load(self, registry_of):
        registry = registry_of("broken-imports", "broken-hooks", "broken-answers", "acme-npu", "twin-one")
        broken = [
            entry.name
            for entry in registry.index.entries("etconfig.backends")
            if entry.distribution.startswith("broken") and entry.name != "Interrupts"
        ]
        failed = [load_error(registry, name).name for name in broken]
        assert len(failed) == len(broken) == 29
        assert registry.backend_spec("AcmeNpu").id == "AcmeNpu"
        assert registry.backend_spec("TwinNpu").id == "TwinNpu"
        assert [failure.name for failure in registry.failures] == failed


class TestBrokenHooks:
    """Core binds the exact call it will make: failures name file, symbol, rule and fix."""

    WRITE = "write: def etconfig_backend(request)"
    MARK = "write: @hookimpl def etconfig_backend(request): ..."

    @pytest.mark.parametrize(
        ("backend_id", "cause", "help_text"),
        [
            (
                "NoHook",
                r"broken_hooks:no_hook has no etconfig_backend",
                MARK,
            ),
            (
                "Unmarked",
                r"broken_hooks:unmarked has an unmarked etconfig_backend",
                MARK,
            ),
            (
                "UnknownHook",
                r"broken_hooks:unknown_hook has no etconfig_backend, but etconfig_backends",
                MARK,
            ),
            (
                "AnotherHook",
                r"broken_hooks:another_hook implements an unknown hook etconfig_fact",
                "did you mean 'etconfig_facts'?",
            ),
            (
                "Async",
                r"broken_hooks\.py:\d+: etconfig_backend is async, "
                r"but the core calls it and uses its result at once",
                WRITE,
            ),
            (
                "Generator",
                r"broken_hooks\.py:\d+: etconfig_backend is a generator, but must return its result",
                WRITE,
            ),
            (
                "WrongName",
                r"Plugin .* for hook 'etconfig_backend' "
                r"hookimpl definition: etconfig_backend\((self, )?spec\) "
                r"Argument\(s\) \{'spec'\} are declared in the hookimpl but can not be found in the hookspec",
                "let each hook take the one argument request",
            ),
            ("KeywordOnly", r"broken_hooks\.py:\d+: etconfig_backend .*request.*", WRITE),
            ("Defaulted", r"broken_hooks\.py:\d+: etconfig_backend would not be given its request", WRITE),
            (
                "ExtraArgument",
                r"broken_hooks\.py:\d+: etconfig_backend cannot take the call etconfig_backend\(request\): "
                r"missing a required (keyword-only )?argument: 'extra'",
                WRITE,
            ),
            (
                "Raises",
                r"broken_hooks\.py:\d+: etconfig_backend raised KeyError: 'Raises'",
                UPGRADE.format("broken-hooks"),
            ),
            (
                "Class",
                r"broken_hooks:Raising is a class",
                "name a module or an instance in the entry point",
            ),
            (
                "HostileAttribute",
                r"broken_hooks\.py:\d+: its registration raised OSError: driver is gone",
                UPGRADE.format("broken-hooks"),
            ),
        ],
    )
    def test_it_becomes_a_load_error(self, registry_of, backend_id, cause, help_text):
        error = load_error(registry_of("broken-hooks"), backend_id)
        assert re.fullmatch(cause, error.cause), error.cause
        assert error.help == help_text


class TestBrokenAnswers:
    """A wrong answer is refused, with what was expected."""

    @pytest.mark.parametrize(
        ("backend_id", "cause", "help_text"),
        [
            ("ReturnsNone", "etconfig_backend returned None, not a BackendSpec", "return a BackendSpec"),
            ("ReturnsDict", "etconfig_backend returned a dict, not a BackendSpec", "return a BackendSpec"),
            (
                "OtherId",
                "its entry point is named 'OtherId', but its spec has the id 'Another'",
                "name both after the id that programs use",
            ),
            (
                "NoRange",
                "etconfig_backend returned a BackendSpec whose api is no ApiRange",
                "say api=ApiRange(min=..., built=...)",
            ),
            (
                "TooNew",
                f"it needs plugin API 98 or newer, this etconfig has {CURRENT}: upgrade etconfig",
                "see the plugin's notes on versions",
            ),
            (
                "BadCapabilities",
                "its spec's capabilities are a set",
                "give an etconfig.plugin.v1.Capabilities",
            ),
        ],
    )
    def test_it_becomes_a_load_error(self, registry_of, backend_id, cause, help_text):
        error = load_error(registry_of("broken-answers"), backend_id)
        assert re.fullmatch(rf"(broken_answers\.py:\d+: )?{re.escape(cause)}", error.cause), error.cause
        assert error.help == help_text

    def test_a_factory_and_a_recommendation_must_take_the_cores_call(self, registry_of):
        registry = registry_of("broken-answers")
        error = load_error(registry, "BadFactory")
        assert error.cause.endswith("factory is async, but the core calls it and uses its result at once")
        assert error.help == "let factory take the arguments ()"
        error = load_error(registry, "BadRecommend")
        assert error.cause.endswith(
            "recommend cannot take the call recommend(facts): too many positional arguments"
        )
        assert error.help == "let recommend take the arguments (facts)"


class TestCreateBackend:
    """A backend that was asked for and fails is an error, never a silent fallback."""

    def test_a_backend_is_made_by_its_factory(self, registry_of):
        registry = registry_of("acme-npu")
        backend = registry.create_backend("AcmeNpu")
        assert isinstance(backend, Backend)
        assert registry.create_backend("AcmeNpu") is not backend

    def test_a_schema_only_backend_cannot_run_here(self, registry_of):
        with pytest.raises(BackendUnavailableError) as caught:
            registry_of("acme-npu").create_backend("AcmeDsp")
        assert str(caught.value) == (
            "backend 'AcmeDsp' cannot run here: acme-npu 2.1 only declares its options, "
            "it holds no implementation; take an executor whose runtime holds it, such as 'executorch' of "
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
                "its factory made an object of dict, which is no Backend",
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


class TestFailures:
    """Listed with distribution, version, cause and the fix."""

    def test_broken_metadata_and_broken_plugins_are_listed_together(self, registry_of):
        registry = registry_of("broken-metadata", "broken-imports")
        load_error(registry, "Exits")
        assert [failure.distribution for failure in registry.failures] == ["broken-metadata"] * 5 + [
            "broken-imports"
        ]
        assert str(registry.failures[-1]) == (
            "broken-imports 0.3: Exits (etconfig.backends): broken_exit.py:1: its import raised "
            "SystemExit: 3; "
            "upgrade or uninstall broken-imports, or report it to its author"
        )


class TestNegotiation:
    """Core and plugin agree on the newest version both know; newer alone is no reason to refuse."""

    @pytest.mark.parametrize(
        ("plugin", "oldest", "current", "agreed"),
        [
            (ApiRange(1, 1), 1, 1, 1),
            (ApiRange(1, 9), 1, 3, 3),
            (ApiRange(2, 2), 1, 3, 2),
            (ApiRange(1, 2), 2, 3, 2),
        ],
    )
    def test_the_newest_common_version_is_spoken(self, plugin, oldest, current, agreed):
        assert negotiate(plugin, oldest=oldest, current=current) == agreed

    def test_a_plugin_that_needs_more_asks_for_a_newer_etconfig(self):
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

    def test_the_core_holds_a_range(self):
        assert 1 <= OLDEST <= CURRENT

    def test_a_plugin_built_for_a_newer_version_loads_with_hooks_that_are_unknown_here(self, registry_of):
        assert isinstance(registry_of("acme-npu").executor("acme"), Executor)


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
