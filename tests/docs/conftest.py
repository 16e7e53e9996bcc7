"""Fixtures of the tests of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from plugin_data import forget_modules_below


@pytest.fixture
def clean_modules(tmp_path: Path) -> Iterator[None]:
    """Forget the modules that a page wrote."""
    yield
    forget_modules_below(tmp_path)
