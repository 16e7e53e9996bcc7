"""Plugins and cores of different plugin API versions: they work together, or an error names the older one."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import numpy as np
import pytest
from delegating_programs import delegating_program
from newer_core import become_newer

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.errors import PluginLoadError
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.contributions import EXECUTOR_HOOK

X = np.array([1, -2], np.float32)
UPGRADE = "see the plugin's notes on versions"
FUTURE = """
from etconfig.plugin.v1 import ApiRange, Backend, BackendOptions, BackendSpec, hookimpl

TOLD = []


class Options(BackendOptions):
    pass


class FutureBackend(Backend):
    def init(self, context, processed, compile_specs, *, device=None):
        return getattr(context, "device", "the only one")

    def execute(self, context, handle, args, stream=None):
        args[1][...] = 2 * args[0]

    def prefetch(self, handle):
        raise NotImplementedError("plugin API 1 has no such call")


@hookimpl
def etconfig_backend(request):
    TOLD.append(request.core_api)
    newer = {{"streams": 4}} if {condition} else {{}}
    api = ApiRange(min={min}, built={built})
    return BackendSpec(id="Vendor", doc="A.", options=Options, api=api, factory=FutureBackend, **newer)


@hookimpl
def etconfig_teleport(request):
    raise NotImplementedError("plugin API 1 has no such hook")
"""
"""Written for a plugin API in which specs declare streams and backends prefetch."""


def future(minimum: int = 1, built: int = CURRENT + 1, condition: str = "request.core_api > 1") -> str:
    return FUTURE.format(min=minimum, built=built, condition=condition)


def refusal(installation: Installation, backend_id: str = "Vendor") -> str:
    """Return the reason for which the backend is refused before a program is loaded."""
    with pytest.raises(PluginLoadError) as caught:
        installation.plugins.backend_spec(backend_id)
    return str(caught.value)


class TestNewerPlugin:
    """A plugin built for a newer plugin API works here, if it supports this one."""

    def test_it_gets_the_version_of_the_core_and_runs(self, install_vendor):
        installation = install_vendor(future())
        program = etconfig.load_program(delegating_program("Vendor"), installation=installation)
        with program, program.load_method("forward") as method:
            assert method.execute([X])[0].tolist() == [2, -4]
        assert sys.modules["vendor_plugin"].TOLD == [CURRENT]
        assert installation.plugins.failures == ()

    def test_a_plugin_that_needs_a_newer_core_is_refused_with_advice_to_upgrade_etconfig(
        self, install_vendor
    ):
        assert refusal(install_vendor(future(minimum=2))) == (
            "plugin 'Vendor' (etconfig.backends) of vendor 2.0 failed: "
            f"it needs plugin API 2 or newer, this etconfig has 1: upgrade etconfig; {UPGRADE}"
        )

    def test_a_plugin_that_uses_a_missing_name_without_checking_is_refused_by_that_name(self, install_vendor):
        assert refusal(install_vendor(future(condition="True"))) == (
            "plugin 'Vendor' (etconfig.backends) of vendor 2.0 failed: vendor_plugin.py:27: "
            "etconfig_backend raised TypeError: "
            "BackendSpec.__init__() got an unexpected keyword argument 'streams'; "
            "upgrade etconfig, or install a version of vendor that fits this one"
        )

    def test_a_mistake_of_its_own_is_not_blamed_on_the_version(self, install_vendor):
        mistake = "class Mine:\n    def __init__(self): ...\n\nMine(x=1)\n"
        assert refusal(install_vendor(mistake + future())).endswith(
            "Mine.__init__() got an unexpected keyword argument 'x'; "
            "upgrade or uninstall vendor, or report it to its author"
        )

    def test_a_plugin_that_imports_a_missing_name_is_refused_by_that_name(self, install_vendor):
        assert refusal(install_vendor("from etconfig.plugin.v1 import Stream\n" + future())) == (
            "plugin 'Vendor' (etconfig.backends) of vendor 2.0 failed: vendor_plugin.py:1: its "
            "import raised ImportError: cannot "
            "import name 'Stream' from 'etconfig.plugin.v1' "
            f"({Path(sys.modules['etconfig.plugin.v1'].__file__ or '')}); "
            "upgrade etconfig, or install a version of vendor that fits this one"
        )


class TestOlderPlugin:
    """A plugin built for an older plugin API works as long as the core supports that API."""

    def test_a_newer_core_runs_it_unchanged(self, api1_site, monkeypatch):
        become_newer(monkeypatch)
        installation = Installation(search_path=[str(api1_site)])
        program = etconfig.load_program(delegating_program("Api1Minimal"), installation=installation)
        with program, program.load_method("forward") as method:
            assert method.execute([X])[0].tolist() == [2, -4]

    def test_a_newer_core_passes_its_own_version(self, api1_site, monkeypatch, caplog):
        become_newer(monkeypatch, current=3)
        with caplog.at_level(logging.INFO, "api1_sloppy"):
            Installation(search_path=[str(api1_site)]).plugins.backend_spec("Api1_Sloppy-2")
        assert caplog.messages[-1] == "asked for Api1_Sloppy-2 by plugin API 3"

    def test_a_core_that_dropped_the_api_refuses_it_with_advice_to_upgrade_the_plugin(
        self, api1_site, monkeypatch
    ):
        become_newer(monkeypatch, oldest=2)
        installation = Installation(search_path=[str(api1_site)])
        assert refusal(installation, "Api1Minimal") == (
            "plugin 'Api1Minimal' (etconfig.backends) of api1-minimal 1.0 failed: it was built for plugin "
            f"API 1, this etconfig needs 2 or newer: upgrade the plugin; {UPGRADE}"
        )

    def test_its_facts_kernels_and_executor_are_refused_and_listed_too(self, api1_site, monkeypatch):
        become_newer(monkeypatch, oldest=2)
        installation = Installation(search_path=[str(api1_site)])
        assert "api1.cores" not in installation.fact_registry
        assert "api1::clip.out" not in installation.kernels
        with pytest.raises(PluginLoadError, match="upgrade the plugin"):
            installation.plugins.contribution(EXECUTOR_HOOK, "api1")
        given_up = {(each.group, each.name) for each in installation.plugins.failures}
        assert given_up == {
            ("etconfig.facts", "api1"),
            ("etconfig.facts", "a name with spaces"),
            ("etconfig.kernels", "api1"),
            ("etconfig.executors", "api1"),
        }
        assert {each.cause for each in installation.plugins.failures} == {
            "it was built for plugin API 1, this etconfig needs 2 or newer: upgrade the plugin"
        }
