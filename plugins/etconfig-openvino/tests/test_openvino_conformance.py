"""The conformance kit on delegates of OpenVINO, as vendors run it."""

from __future__ import annotations

import pytest
from etconfig_openvino.conformance import EVIDENCE, GOLDEN
from etconfig_openvino.options import OpenvinoOptions

from etconfig.conformance import BackendConformance


@pytest.mark.engines
class TestOpenvino(BackendConformance):
    """`OpenvinoBackend` reaches the highest level without an expected failure."""

    backend = "OpenvinoBackend"


def test_every_option_has_evidence() -> None:
    assert set(EVIDENCE) == set(OpenvinoOptions.option_infos())


def test_the_golden_programs_are_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.glob("*.pte")) < 200_000
