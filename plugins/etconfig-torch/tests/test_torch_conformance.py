"""The conformance kit on `TorchBackend`, as vendors run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from etconfig.conformance import BackendConformance

pytest.importorskip("torch")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


class TestTorch(BackendConformance):
    """`TorchBackend` reaches the highest level, with one stated exception."""

    backend = "TorchBackend"
    xfails = Path(__file__).parent / "xfails.txt"
