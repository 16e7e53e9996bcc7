"""`etconfig.profiles` entry points name a directory of data; nothing is imported to find it."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import pytest
from plugin_data import PLUGIN_DATA, search_path

from etconfig.errors import PluginLoadError
from etconfig.plugin import (
    PROFILES,
    EntryPoint,
    discover_plugins,
    profile_directories,
    resolve_profile_directory,
)

ENTRY = EntryPoint(
    group=PROFILES,
    name="acme",
    value="acme_profiles:boards",
    distribution="acme-npu",
    version="2.1",
    location=".",
)


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN_DATA / "acme-npu"))


class TestResolveProfileDirectory:
    """`package:directory` is found without importing the package."""

    def test_the_directory_is_found(self):
        directory = resolve_profile_directory(ENTRY)
        assert [path.name for path in directory.iterdir()] == ["a.toml"]
        assert "acme_profiles" not in sys.modules

    @pytest.mark.parametrize(
        "value",
        [
            "acme_profiles",
            "acme_profiles:",
            ":boards",
            "acme_profiles:/etc",
            "acme_profiles:../x",
            "acme_profiles:boards/../..",
            "acme_profiles:.git",
            "acme..profiles:boards",
            ".acme:boards",
            "acme_profiles:a b",
        ],
    )
    def test_a_value_that_leaves_the_package_or_is_malformed_is_refused(self, value):
        with pytest.raises(PluginLoadError) as caught:
            resolve_profile_directory(replace(ENTRY, value=value))
        assert caught.value.cause == f"its entry point has the value {value!r}"
        assert caught.value.help == "write PACKAGE:DIRECTORY"

    def test_a_directory_of_an_inner_package_is_found_without_an_import(self, tmp_path, monkeypatch):
        (tmp_path / "outer" / "npu" / "boards").mkdir(parents=True)
        (tmp_path / "outer" / "__init__.py").write_text("1 / 0")
        monkeypatch.syspath_prepend(str(tmp_path))
        directory = resolve_profile_directory(replace(ENTRY, value="outer.npu:boards"))
        assert directory == tmp_path / "outer" / "npu" / "boards"

    @pytest.mark.parametrize(
        ("value", "cause"),
        [
            ("acme_missing:boards", "there is no package acme_missing"),
            ("acme_npu:boards", "there is no package acme_npu"),
            ("acme_profiles:phones", "package acme_profiles has no directory phones"),
            ("acme_profiles:boards/a.toml", "package acme_profiles has no directory boards/a.toml"),
            ("specless:boards", "there is no package specless"),
        ],
    )
    def test_a_missing_directory_is_reported(self, value, cause, monkeypatch):
        monkeypatch.setitem(sys.modules, "specless", ModuleType("specless"))
        with pytest.raises(PluginLoadError) as caught:
            resolve_profile_directory(replace(ENTRY, value=value))
        assert str(caught.value) == (
            f"plugin 'acme' (etconfig.profiles) of acme-npu 2.1 failed: {cause}; "
            "reinstall acme-npu: pip install --force-reinstall --no-deps acme-npu"
        )
        assert caught.value.author_help == (
            "correct the entry point acme in pyproject.toml, and install it again"
        )


class TestProfileDirectories:
    """A broken one is left out and listed."""

    def test_all_usable_directories_and_failures_are_returned(self):
        index = discover_plugins(search_path("acme-npu"))
        missing = replace(ENTRY, name="gone", value="acme_profiles:gone")
        index = replace(index, installed=(*index.installed, missing))
        directories, failures = profile_directories(index)
        assert [(entry.name, path.name) for entry, path in directories.items()] == [("acme", "boards")]
        assert [(failure.name, failure.cause) for failure in failures] == [
            ("gone", "package acme_profiles has no directory gone")
        ]
