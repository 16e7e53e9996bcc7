"""The conformance kit on delegates of OpenVINO, as vendors run it."""

from __future__ import annotations

from pathlib import Path

import pytest
from etconfig_openvino.conformance import EVIDENCE, GOLDEN
from etconfig_openvino.options import OpenvinoOptions

from etconfig.conformance import BackendConformance

XFAILS = Path(__file__).with_name("xfails.txt")


@pytest.mark.engines
class TestOpenvino(BackendConformance):
    """`OpenvinoBackend` passes all checks but the one in xfails.txt."""

    backend = "OpenvinoBackend"
    xfails = XFAILS


def test_every_option_has_evidence() -> None:
    assert set(EVIDENCE) == set(OpenvinoOptions.option_infos())


def test_the_golden_programs_are_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.glob("*.pte")) < 200_000
