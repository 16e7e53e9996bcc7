from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from plugin_data import PLUGIN_DATA, search_path

from etconfig.plugin import PluginPolicy, discover_plugins
from etconfig.plugin.registry import PluginRegistry


@pytest.fixture
def registry_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., PluginRegistry]]:
    """Install fixture distributions for one test and return the registry of their plugins."""

    def install(*distributions: str, **options: PluginPolicy) -> PluginRegistry:
        paths = search_path(*distributions)
        for path in paths:
            monkeypatch.syspath_prepend(path)
        return PluginRegistry(discover_plugins(paths, **options))

    yield install
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(PLUGIN_DATA)):
            del sys.modules[name]
