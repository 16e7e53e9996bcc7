"""A distribution can declare its plugins in a file: then they need not be imported. The file must be true."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from plugin_data import forget_modules_below, write_distribution
from write_declarations import declared_files

from etconfig.app.installation.installation import Installation
from etconfig.errors import PluginLoadError
from etconfig.facts.sheet import FactSheet
from etconfig.plugin import FACTS

FACT = {"name": "acme.cores", "type": "int", "doc": "Cores.", "volatility": "boot", "minimum": 1}
FACTS_MODULE = """
from etconfig.plugin.v1 import *

def fact(name, volatility=Volatility.BOOT):
    return FactInfo(name=name, type=FactType.INT, doc="Cores.", volatility=volatility, minimum=1)

@hookimpl
def etconfig_facts(request):
    detector = FunctionDetector("acme", ({names}), lambda system: [Reading("acme.cores", 4, "driver")])
    return FactsContribution(api=ApiRange(1, 1), facts=({facts},), detectors=(detector,))
"""
BACKEND_MODULE = """
from etconfig.plugin.v1 import *

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc="A.", options=Options, api=ApiRange(1, 1), {factory})

class Options(BackendOptions):
    pass
"""

Install = Callable[..., Installation]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install distributions: the name, the text of the module, the entry points and the declarations."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, module: str, groups: dict[str, str], declared: object) -> Installation:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(module)
        if declared is not None:
            text = declared if isinstance(declared, str) else json.dumps(declared)
            (tmp_path / name / "declared.json").write_text(text)
            groups = {**groups, "etconfig.declared": f"{name} = {name}:declared.json"}
        entries = "".join(f"[{group}]\n{line}\n" for group, line in groups.items())
        write_distribution(tmp_path, f"{name}-1.0.dist-info", entries, f"Name: {name}\nVersion: 1.0\n")
        return Installation(search_path=[str(tmp_path)])

    yield write
    forget_modules_below(tmp_path)


def facts_plugin(
    install: Install,
    *,
    facts: str = 'fact("acme.cores")',
    names: str = '"acme.cores",',
    declared: object = None,
    module: str = FACTS_MODULE,
) -> Installation:
    """Install a plugin of facts, by default one whose declaration is right."""
    text = module.replace("{facts}", facts).replace("{names}", names)
    declared = {"etconfig_declarations": 1, "facts": {"acme": [FACT]}} if declared is None else declared
    return install("acme", text, {"etconfig.facts": "acme = acme"}, declared or None)


class TestFacts:
    """Declared facts are known without importing the plugin, and detected when something asks for them."""

    def test_a_plugin_that_ends_the_process_reaches_only_those_who_need_its_facts(self, install):
        installation = facts_plugin(install, module="import os; os._exit(7)")
        sheet = installation.detect_facts()
        assert sheet["os.name"].is_known
        assert installation.fact_registry.get("acme.cores").minimum == 1
        assert installation.fact_registry.get("acme.cres") is None
        assert [*installation.fact_registry.names][-1] == "acme.cores"
        saved = FactSheet.from_json(
            '{"etconfig_fact_sheet": 1, "facts": {"acme.cores": {"value": 2}}}',
            "sheet",
            installation.fact_registry,
        )
        assert [*saved.values.items()] == [("acme.cores", 2)]
        assert sheet.with_overrides({"acme.cores": 3}).values["acme.cores"] == 3

    def test_a_plugin_that_declares_nothing_is_not_imported_for_facts_of_others(self, install):
        installation = facts_plugin(install, module="import os; os._exit(7)", declared=False)
        registry = installation.fact_registry
        assert registry.get("os.name") is not None
        assert [name in registry for name in ("os.nam", "arm64", "Pixel 8")] == [False] * 3
        sheet = FactSheet.from_values({"os.name": "linux"}, registry=registry)
        assert (dict(sheet.values), "os.name" in sheet.values) == ({"os.name": "linux"}, True)
        assert dict(FactSheet.empty(registry).values) == {}
        assert installation.profiles.names

    def test_declared_facts_are_detected_when_they_are_read_and_have_the_same_place(self, install):
        declared = facts_plugin(install).detect_facts()
        assert declared.values["acme.cores"] == 4
        assert "acme.model" not in declared.values
        assert str(declared["acme.cores"].origin) == "detected driver"
        assert [*declared.values][-1] == "acme.cores"
        assert [*declared.facts] == [name for name in declared.registry.plain_names if name in declared]
        assert len(declared) == len(declared.facts)

    def test_live_facts_are_detected_at_once(self, install, monkeypatch):
        live = {"etconfig_declarations": 1, "facts": {"acme": [{**FACT, "volatility": "live"}]}}
        installation = facts_plugin(install, facts='fact("acme.cores", Volatility.LIVE)', declared=live)
        sheet = installation.detect_facts()
        assert type(sheet.facts) is dict
        assert sheet.values["acme.cores"] == 4
        assert installation.redetect_facts(sheet).values["acme.cores"] == 4

    @pytest.mark.parametrize(
        ("facts", "names", "cause"),
        [
            ('fact("acme.other")', '"acme.other",', "first 'acme.cores'"),
            ('fact("acme.cores"), fact("acme.other")', '"acme.cores",', "first 'acme.other'"),
            ('fact("acme.cores")', '"acme.cores", "gpu.<n>.name"', "provides 'gpu.<n>.name'"),
        ],
    )
    def test_a_plugin_with_other_facts_than_it_declares_is_broken(self, install, facts, names, cause):
        installation = facts_plugin(install, facts=facts, names=names)
        fact = installation.detect_facts()["acme.cores"]
        assert not fact.is_known
        (failure,) = installation.plugins.failures
        assert (failure.group, failure.name) == (FACTS, "acme")
        assert cause in failure.cause
        assert failure.cause in (fact.reason or "")

    @pytest.mark.parametrize("text", ["{", "[]", '{"etconfig_declarations": 1, "facts": {"acme": [{}]}}'])
    def test_a_declaration_that_cannot_be_read_is_reported_and_the_plugin_imported(self, install, text):
        installation = facts_plugin(install, declared=text)
        assert installation.detect_facts().values["acme.cores"] == 4
        (failure,) = installation.plugins.failures
        assert "acme:declared.json cannot be read" in failure.cause

    def test_a_declaration_of_another_version_counts_as_none(self, install):
        installation = facts_plugin(install, declared={"etconfig_declarations": 2, "facts": 3})
        assert installation.detect_facts().values["acme.cores"] == 4
        assert installation.plugins.failures == ()

    def test_facts_in_a_namespace_of_the_core_are_refused_as_without_a_declaration(self, install):
        declared = {"etconfig_declarations": 1, "facts": {"acme": [{**FACT, "name": "cpu.acme"}]}}
        installation = facts_plugin(install, facts='fact("cpu.acme")', names='"cpu.acme",', declared=declared)
        assert "cpu.acme" not in installation.detect_facts()
        (failure,) = installation.plugins.failures
        assert "the namespace 'cpu', which is taken" in failure.cause


class TestBackends:
    """The choice among several plugins of one backend needs none of them, if they declare what they are."""

    def test_the_only_implementation_is_used_without_importing_its_rivals(self, install):
        for name, is_complete in (("acme", True), ("other", False)):
            declared = {
                "etconfig_declarations": 1,
                "backends": {"NpuBackend": {"has_implementation": is_complete}},
            }
            installation = install(
                name, "import os; os._exit(7)", {"etconfig.backends": f"NpuBackend = {name}"}, declared
            )
        assert installation.plugins.backend_entry("NpuBackend").distribution == "acme"

    def test_a_backend_that_is_not_as_declared_is_broken(self, install):
        declared = {"etconfig_declarations": 1, "backends": {"NpuBackend": {"has_implementation": True}}}
        installation = install(
            "acme",
            BACKEND_MODULE.replace("{factory}", ""),
            {"etconfig.backends": "NpuBackend = acme"},
            declared,
        )
        with pytest.raises(PluginLoadError, match="has_implementation: true, but it has none"):
            installation.plugins.backend_spec("NpuBackend")


def test_the_plugins_of_this_repository_declare_what_they_have() -> None:
    files = declared_files()
    assert len(files) >= 5
    wrong = [str(path) for path, text in files.items() if path.read_text(encoding="utf-8") != text]
    assert not wrong, "run tools/write_declarations.py"
