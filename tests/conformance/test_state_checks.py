"""The checks of state that methods share: behavior that their mutants do not show."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kit_checks import NativeSubject, subject

from etconfig.conformance.checks import option_effects
from etconfig.conformance.checks.no_globals import no_globals
from etconfig.conformance.checks.option_effects import execute_update, option_leak
from etconfig.conformance.kit.outcomes import NotApplicableError, NotDelegatedError
from etconfig.conformance.process.vendor_state import VendorState, package_of
from etconfig.plugin import EntryPoint
from etconfig.plugin.v1 import BackendOptions, option

PACKAGE = """
import functools, os
class Settings:
    table = {"a": [1]}
    class Inner:
        seen = set()
class Device:
    def __init__(self):
        self.count = 0
@functools.lru_cache
def cached(number):
    return number
device = Device()
"""


def vendor_module(monkeypatch: pytest.MonkeyPatch, name: str, source: str = "") -> Any:
    """Make and import a module of a vendor."""
    module = ModuleType(name)
    module.__file__ = f"{name}.py"
    exec(source, vars(module))
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A vendor's package with all kinds of variables."""
    module = vendor_module(monkeypatch, "acme", PACKAGE)
    module.numbers = [1, 2, float("nan")]
    module.queue, module.array, module.raw = deque([1]), np.zeros(2), bytearray(2)
    module.itself = [module.numbers]
    module.itself.append(module.itself)
    module.weak, module.level, module.other = weakref.WeakSet(), 0, SimpleNamespace(x=1)
    module.Imported = type("Imported", (), {"seen": [], "__module__": "other"})
    return module


CHANGES: dict[str, Callable[[Any], object]] = {
    "acme.Settings.table": lambda acme: acme.Settings.table["a"].append(2),
    "acme.Settings.Inner.seen": lambda acme: acme.Settings.Inner.seen.add(1),
    "acme.Settings.added": lambda acme: setattr(acme.Settings, "added", 1),
    "acme.device": lambda acme: setattr(acme.device, "count", 1),
    "acme.level": lambda acme: setattr(acme, "level", 1),
    "acme.queue": lambda acme: acme.queue.append(2),
    "acme.array": lambda acme: acme.array.fill(1),
    "acme.raw": lambda acme: acme.raw.append(1),
    "acme.other": lambda acme: setattr(acme, "other", SimpleNamespace(x=1)),
    "acme.new": lambda acme: setattr(acme, "new", None),
    "acme.weak": lambda acme: delattr(acme, "weak"),
}
"""Changes, and the variable that each changes."""

IGNORED: dict[str, Callable[[Any], object]] = {
    "caches of functions": lambda acme: acme.cached(3),
    "weak containers": lambda acme: acme.weak.add(acme.Device()),
    "objects of others": lambda acme: setattr(acme.other, "x", 2),
    "classes that are imported": lambda acme: acme.Imported.seen.append(1),
    "submodules": lambda acme: setattr(acme, "sub", functools),
    "what Python keeps": lambda acme: setattr(acme, "__warningregistry__", {}),
}
"""Changes outside of the compared variables."""


class TestVendorState:
    """The variables of a package's modules and classes are compared one by one."""

    @pytest.mark.parametrize("name", CHANGES)
    def test_a_change_is_seen_and_named(self, name: str, acme: Any):
        state = VendorState("acme")
        assert state.changed() == ()
        CHANGES[name](acme)
        assert state.changed() == (name,)

    @pytest.mark.parametrize("what", IGNORED)
    def test_some_changes_are_ignored(self, what: str, acme: Any):
        state = VendorState("acme")
        IGNORED[what](acme)
        assert state.changed() == ()

    def test_an_object_may_not_be_replaced_by_an_equal_one(self, acme: Any):
        state = VendorState("acme")
        acme.Settings.table = {"a": [1]}
        assert state.changed() == ("acme.Settings.table",)

    def test_later_imports_and_other_packages_are_ignored(self, acme: Any, monkeypatch: pytest.MonkeyPatch):
        other = vendor_module(monkeypatch, "acme_other", "values = []")
        part = vendor_module(monkeypatch, "acme.part", "values = []")
        state = VendorState("acme")
        vendor_module(monkeypatch, "acme.late", "values = []")
        other.values.append(1)
        assert state.changed() == ()
        part.values.append(1)
        assert state.changed() == ("acme.part.values",)

    @pytest.mark.parametrize(
        ("value", "package"),
        [("acme.plugin:hook", "acme"), ("space.acme.plugin", "space.acme"), ("single", "single")],
    )
    def test_the_package_is_the_first_that_is_not_a_namespace(
        self, value: str, package: str, monkeypatch: pytest.MonkeyPatch
    ):
        for name in ("acme", "acme.plugin", "single", "space.acme", "space.acme.plugin"):
            vendor_module(monkeypatch, name)
        monkeypatch.setitem(sys.modules, "space", ModuleType("space"))
        entry = EntryPoint(group="g", name="n", value=value, distribution="d", version="1", location="")
        assert package_of(entry) == package


class PoorOptions(BackendOptions):
    """One option that may differ between methods, and one that may not."""

    shared: bool = option(False, doc="One for all.", applies="load", scope="process")
    fast: bool = option(False, doc="Faster.", applies="load")


class TestSharedState:
    """Nothing passes unseen."""

    @pytest.mark.parametrize("check", [no_globals, option_leak, execute_update], ids=lambda each: each.id)
    def test_none_passes_without_a_program(self, check: Any, tmp_path: Path):
        with pytest.raises(NotDelegatedError):
            check.run(subject(programs=str(tmp_path)))

    def test_variables_of_other_runtimes_are_hidden(self):
        with pytest.raises(NotApplicableError, match="its state is hidden"):
            no_globals.run(NativeSubject(subject().settings))

    @pytest.mark.parametrize("check", [option_leak, execute_update], ids=lambda each: each.id)
    def test_options_that_cannot_differ_cannot_leak(self, check: Any, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(option_effects, "other_values", lambda *_: ())
        with pytest.raises(NotApplicableError, match=r"reports no option .* (known values|could be changed)"):
            check.run(subject())

    def test_options_of_the_process_may_not_differ(self):
        spec = replace(subject().spec, options=PoorOptions)
        found = [(info.name, value) for info, value in option_effects._other_options(spec, PoorOptions())]
        assert found == [("fast", True)]
