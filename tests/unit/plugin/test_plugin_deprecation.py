"""Deprecated names of the plugin API: warned about once a place, served for long, then refused by name."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import etconfig
from etconfig.errors import RemovedNameError
from etconfig.plugin import v1, v1_kernels
from etconfig.plugin.deprecation import DEPRECATIONS, Deprecation, deprecated_names
from etconfig.plugin.v1 import Tracer

OLD = Deprecation(
    module="acme_api",
    name="Recorder",
    home="etconfig.plugin.v1:Tracer",
    replacement="acme_api.Tracer",
    since="0.3",
    removal="0.6",
)
WARNING = "acme_api.Recorder is deprecated since etconfig 0.3 and goes in 0.6; write acme_api.Tracer"


@pytest.fixture
def api_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], types.ModuleType]:
    """Make `acme_api` importable, as that version of etconfig has it."""

    def make(core: str) -> types.ModuleType:
        module: Any = types.ModuleType("acme_api")
        module.__getattr__ = deprecated_names("acme_api", (OLD,), core)
        monkeypatch.setitem(sys.modules, "acme_api", module)
        return module

    return make


@pytest.fixture
def told() -> Iterator[list[warnings.WarningMessage]]:
    """The warnings that Python tells when nobody changed how."""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("default")
        yield messages


class TestWarning:
    """A name that goes away still works; each place that uses it is told once."""

    def test_the_name_still_works_and_the_warning_tells_what_to_write_and_until_when(self, api_of, told):
        assert api_of("0.4").Recorder is Tracer
        assert [str(each.message) for each in told] == [WARNING]
        assert told[0].category is DeprecationWarning

    def test_each_place_that_uses_it_is_told_once(self, api_of, told):
        api_of("0.4")
        source = "import acme_api\nfrom acme_api import Recorder\nfor _ in range(9):\n    acme_api.Recorder\n"
        namespace = {"__name__": "acme"}
        for _ in range(3):
            exec(compile(source, "acme.py", "exec"), namespace)
        assert [(each.filename, each.lineno) for each in told] == [("acme.py", 2), ("acme.py", 4)]

    @pytest.mark.parametrize("core", ["0.3", "0.4", "0.5", "0.5.9"])
    def test_it_is_served_for_three_minor_versions(self, api_of, told, core):
        assert api_of(core).Recorder is Tracer

    def test_another_name_is_an_attribute_error_without_a_warning(self, api_of, told):
        with pytest.raises(AttributeError, match=r"^module 'acme_api' has no attribute 'Recordre'$"):
            _ = api_of("0.4").Recordre
        assert told == []


class TestRemoval:
    """A name that is gone is refused by name, with what to write."""

    @pytest.mark.parametrize("core", ["0.6", "0.6.1", "0.7", "1.0"])
    def test_the_error_names_it_and_what_to_write(self, api_of, core):
        api_of(core)
        with pytest.raises(RemovedNameError) as caught:
            exec("from acme_api import Recorder")
        assert str(caught.value) == "acme_api.Recorder was removed in etconfig 0.6; write acme_api.Tracer"

    def test_code_may_fall_back_as_on_any_failed_import(self, api_of):
        api_of("0.6")
        source = "try:\n    from acme_api import Recorder\nexcept ImportError:\n    Recorder = None\n"
        namespace: dict[str, object] = {}
        exec(source, namespace)
        assert namespace["Recorder"] is None


class TestPolicy:
    """Nothing goes before it was deprecated for three minor versions."""

    @pytest.mark.parametrize(
        ("since", "removal"), [("0.3", "0.5"), ("0.3", "0.3"), ("0.3", "0.2"), ("0.9", "1.1"), ("1.4", "0.9")]
    )
    def test_a_removal_that_comes_too_early_is_refused(self, since, removal):
        with pytest.raises(ValueError, match=r"^a\.B is deprecated since .* keep it for 3 minor versions"):
            Deprecation(module="a", name="B", home="a:C", replacement="a.C", since=since, removal=removal)

    @pytest.mark.parametrize(("since", "removal"), [("0.3", "0.6"), ("0.3", "1.2"), ("1.0", "1.3")])
    def test_one_that_comes_late_enough_is_accepted(self, since, removal):
        Deprecation(module="a", name="B", home="a:C", replacement="a.C", since=since, removal=removal)

    def test_what_is_deprecated_stands_nowhere_else_and_can_be_found(self):
        modules = {"etconfig.plugin.v1": v1, "etconfig.plugin.v1_kernels": v1_kernels}
        for each in DEPRECATIONS:
            assert each.name not in vars(modules[each.module])
            assert not each.is_served_by(etconfig.__version__) or each.target() is not None

    @pytest.mark.parametrize("module", [v1, v1_kernels])
    def test_the_plugin_api_asks_the_table(self, module):
        with pytest.raises(AttributeError, match=f"^module '{module.__name__}' has no attribute 'Recorder'$"):
            _ = module.Recorder
