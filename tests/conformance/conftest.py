"""What tests of checks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from etconfig_reference.plugin import SPECS


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the reference CPU backend declare something else, by the fields of its `BackendSpec`."""
    cpu = "ReferenceCpuBackend"

    def change(**fields: Any) -> None:
        monkeypatch.setitem(SPECS, cpu, replace(SPECS[cpu], **fields))  # type: ignore[arg-type]  # a dict

    return change
