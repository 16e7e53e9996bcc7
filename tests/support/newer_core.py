"""The core of a later release, as far as plugins can notice: other versions, other contracts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from etconfig.plugin import backends, loader
from etconfig.plugin.api_version import negotiate
from etconfig.plugin.backends import BACKEND_CONTRACTS, BackendContract


def become_newer(
    monkeypatch: pytest.MonkeyPatch,
    contracts: Mapping[int, BackendContract] = BACKEND_CONTRACTS,
    *,
    oldest: int = 1,
    current: int = 2,
) -> None:
    """Let the core support the plugin API versions from `oldest` to `current`, for one test.

    Args:
        monkeypatch: Undoes it.
        contracts: The contract for backends of each version.
        oldest: The oldest supported version.
        current: The newest version.
    """
    monkeypatch.setitem(negotiate.__kwdefaults__, "oldest", oldest)
    monkeypatch.setitem(negotiate.__kwdefaults__, "current", current)
    monkeypatch.setitem(loader.load_plugin.__kwdefaults__, "core_api", current)
    for module in (loader, backends):
        monkeypatch.setattr(module, "CURRENT", current)
    monkeypatch.setattr(backends, "BACKEND_CONTRACTS", contracts)
