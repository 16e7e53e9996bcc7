"""A broken plugin affects only itself, and is reported."""

from __future__ import annotations

import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from plugin_data import UPGRADE

from etconfig.errors import PluginLoadError
from etconfig.plugin import PluginFailure
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.registry import PluginRegistry


def load_error(registry: PluginRegistry, backend_id: str) -> PluginLoadError:
    with pytest.raises(PluginLoadError) as caught:
        registry.backend_spec(backend_id)
    return caught.value


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
                "reinstall broken-imports: pip install --force-reinstall --no-deps broken-imports",
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
                "reinstall broken-imports: pip install --force-reinstall --no-deps broken-imports",
            ),
            (
                "NoObject",
                "broken_hooks_holder has no 'nothing', which its entry point names",
                "name an object of that module in the entry point NoObject of pyproject.toml",
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
        assert len(failed) == len(broken) == 32
        assert registry.backend_spec("AcmeNpu").id == "AcmeNpu"
        assert registry.backend_spec("TwinNpu").id == "TwinNpu"
        assert [failure.name for failure in registry.failures] == failed


class TestBrokenHooks:
    """The core checks the exact call that it will make; failures name file, symbol, rule and fix."""

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
            ("Defaulted", r"broken_hooks\.py:\d+: etconfig_backend would not get its request", WRITE),
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
                "name both after the id that programs use; a module of several backends looks at "
                "request.name",
            ),
            (
                "NoRange",
                "etconfig_backend returned a BackendSpec whose api is not an ApiRange",
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
            (
                "BadAdvice",
                "its spec's advice is a dict, not a list of Advice",
                'write: advice=[Advice("OPTION", expr="...")]',
            ),
            (
                "OneAdvice",
                "its spec's advice is an Advice, not a list of Advice",
                'write: advice=[Advice("OPTION", expr="...")]',
            ),
            (
                "AdviceText",
                "its spec's advice contains a str, not only Advice",
                'write: advice=[Advice("OPTION", expr="...")]',
            ),
        ],
    )
    def test_it_becomes_a_load_error(self, registry_of, backend_id, cause, help_text):
        error = load_error(registry_of("broken-answers"), backend_id)
        assert re.fullmatch(rf"(broken_answers\.py:\d+: )?{re.escape(cause)}", error.cause), error.cause
        assert error.help == help_text

    def test_a_factory_and_a_recommendation_must_accept_the_cores_call(self, registry_of):
        registry = registry_of("broken-answers")
        error = load_error(registry, "BadFactory")
        assert error.cause.endswith("factory is async, but the core calls it and uses its result at once")
        assert error.help == "let factory take the arguments ()"
        error = load_error(registry, "BadRecommend")
        assert error.cause.endswith(
            "recommend cannot take the call recommend(facts): too many positional arguments"
        )
        assert error.help == "let recommend take the arguments (facts)"


class TestFailures:
    """Failures are listed with distribution, version, cause and fix."""

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
