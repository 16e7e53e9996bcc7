"""Fixtures for the tests of checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.plugin import SPECS

from etconfig.plugin.registry import PluginRegistry


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the reference CPU backend declare something else, by the fields of its `BackendSpec`."""
    cpu = "ReferenceCpuBackend"

    def change(**fields: Any) -> None:
        if "options" in fields:  # its advice is about its own options
            fields.setdefault("advice", ())
        monkeypatch.setitem(SPECS, cpu, replace(SPECS[cpu], **fields))  # type: ignore[arg-type]  # a dict

    return change


@pytest.fixture
def native(declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the reference CPU backend look as if another runtime implemented it."""
    declare(factory=None)
    monkeypatch.setattr(PluginRegistry, "create_backend", lambda self, backend_id: ReferenceCpuBackend())
