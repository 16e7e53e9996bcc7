"""The checks of how a plugin is found: behavior that their mutants do not show."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from etconfig_reference.conformance import GOLDEN
from kit_checks import subject
from plugin_data import forget_modules_below, search_path, write_distribution

from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.metadata import aot_id_match, bad_sibling, static_metadata, unique_id
from etconfig.conformance.checks.missing_resources import no_device
from etconfig.conformance.checks.plugin_contract import api_range, signature_bind
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.runner.runner import run_isolated
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import DuplicatePluginError, PluginLoadError
from etconfig.plugin.v1 import BackendOptions, BackendRequest, hookimpl

CPU = "ReferenceCpuBackend"


def installed(directory: Path, entry_points: str, backend: str = "Acme") -> Subject:
    """Return a subject with a distribution that declares these entry points."""
    write_distribution(directory, "acme-1.0.dist-info", entry_points)
    return subject(backend, search_path=(str(directory),))


class TestMetadata:
    """Declared packages are installed, and are not imported before they are needed."""

    def test_a_package_that_is_imported_early_is_named(self):
        assert "etconfig_reference" in sys.modules
        message = f"etconfig_reference is imported before {CPU} is needed; remove the .pth file"
        with pytest.raises(CheckFailedError, match=message):
            static_metadata.run(subject())

    def test_a_package_that_is_not_installed_is_named(self, tmp_path: Path):
        acme = installed(tmp_path, "[etconfig.backends]\nAcme = acme_of_nowhere.plugin\n")
        message = "Acme = acme_of_nowhere.plugin: the package acme_of_nowhere is not installed; add it"
        with pytest.raises(CheckFailedError, match=message):
            static_metadata.run(acme)


class TestIds:
    """An id belongs to one distribution, and to the programs that it lowered."""

    def test_an_id_that_is_declared_twice_is_an_error(self):
        twins = subject("TwinNpu", search_path=tuple(search_path("twin-one", "twin-two")))
        with pytest.raises(DuplicatePluginError, match=r"claimed by twin-one 1\.0 and Twin\.Two 1\.1"):
            unique_id.run(twins)

    SPEC = """
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id="Engine", doc="An engine.", options=BackendOptions, api=ApiRange(1, 1){more})
"""

    def test_a_twin_that_only_declares_options_is_passed_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        for name, more in (("engine_works", ", build=print"), ("engine_schema", "")):
            points = f"[etconfig.backends]\nEngine = {name}\n"
            write_distribution(tmp_path, f"{name}-1.0.dist-info", points, f"Name: {name}\nVersion: 1.0\n")
            (tmp_path / f"{name}.py").write_text(self.SPEC.format(more=more))
        monkeypatch.syspath_prepend(str(tmp_path))
        twins = subject("Engine", search_path=(str(tmp_path),))
        assert twins.entry.distribution == "engine_works"
        unique_id.run(twins)
        static_metadata.run(twins)  # although etconfig imported both
        forget_modules_below(tmp_path)

    def test_without_programs_the_check_does_not_apply(self, tmp_path: Path):
        with pytest.raises(
            NotApplicableError, match=f"etconfig-reference .* has no golden programs of {CPU}"
        ):
            aot_id_match.run(subject(programs=str(tmp_path)))

    def test_programs_of_another_backend_do_not_count(self):
        message = "the golden programs delegate to ReferenceNpuBackend, expected ReferenceCpuBackend; lower"
        with pytest.raises(CheckFailedError, match=message):
            aot_id_match.run(subject(programs=str(GOLDEN / "ReferenceNpuBackend")))


class TestCalls:
    """The plugin accepts the core's calls, and works with other versions of the API."""

    def test_a_detector_that_does_not_accept_a_system_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (tmp_path / "acme_detecting.py").write_text(
            "from etconfig.plugin.v1 import ApiRange, FactsContribution, hookimpl\n"
            "from etconfig_reference.plugin import SPECS\n"
            "class Detector:\n"
            "    name, provides = 'acme', ()\n"
            "    def detect(self):\n"
            "        return []\n"
            "@hookimpl\n"
            "def etconfig_backend(request):\n"
            "    return SPECS[request.name]\n"
            "@hookimpl\n"
            "def etconfig_facts(request):\n"
            "    return FactsContribution(api=ApiRange(1, 1), detectors=(Detector(),))\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        entry_points = f"[etconfig.backends]\n{CPU} = acme_detecting\n[etconfig.facts]\na = acme_detecting\n"
        message = (
            r"acme_detecting.py:5: Detector.detect cannot take the call detect\(system\): .*; "
            r"let it take the argument \(system\)"
        )
        with pytest.raises(PluginLoadError, match=message):
            signature_bind.run(installed(tmp_path, entry_points, CPU))
        del sys.modules["acme_detecting"]

    def test_an_option_that_newer_cores_do_not_get_is_named(self, monkeypatch: pytest.MonkeyPatch):
        from etconfig_reference import plugin

        class NoOptions(BackendOptions):
            """Provide nothing."""

        @hookimpl
        def etconfig_backend(request: BackendRequest) -> object:
            spec = plugin.SPECS[request.name]
            return spec if request.core_api == 1 else replace(spec, options=NoOptions)

        monkeypatch.setattr(plugin, "etconfig_backend", etconfig_backend)
        message = "for a core with plugin API 2, does not declare the option accumulate, expected the same"
        with pytest.raises(CheckFailedError, match=message):
            api_range.run(subject())


class TestPluginsThatLoadNowhere:
    """If a plugin fails under ordinary conditions, no check blames the conditions that it has set up."""

    PLUGIN = "from etconfig.plugin.v1 import BackendOptions\n\nbroken = BackendOptions.oops\n"
    PROBLEM = r"acme_broken \(acme_broken.py:3\): its import raised AttributeError: .*oops"

    @pytest.fixture
    def broken(self, tmp_path: Path) -> Subject:
        (tmp_path / "acme_broken.py").write_text(self.PLUGIN)
        return installed(tmp_path, "[etconfig.backends]\nAcme = acme_broken\n")

    @pytest.mark.parametrize("check", [bad_sibling, no_device], ids=lambda each: each.id)
    def test_the_report_contains_only_the_plugins_own_problem(self, broken: Subject, check: Check):
        result = run_isolated(check, broken)
        assert result.message is not None
        assert re.match(self.PROBLEM, result.message)
        assert "next to" not in result.message
        assert "availability" not in result.message
