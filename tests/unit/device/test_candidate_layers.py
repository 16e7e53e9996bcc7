"""The layer of a candidate decides whether anybody set the option."""

from __future__ import annotations

import pytest
from bundle_tables import changed

from etconfig.device.bundle.tables import CandidateLayer
from etconfig.device.deciding.decision import BundleDecision, DecidedOption


@pytest.mark.parametrize(
    ("layer", "is_default", "is_set"),
    [
        (CandidateLayer.DEFAULT, True, False),
        (CandidateLayer.PROGRAM, False, False),
        (CandidateLayer.RECOMMENDATION, False, False),
        (CandidateLayer.BUNDLED_PROFILE, False, False),
        (CandidateLayer.PROFILE, False, True),
        (CandidateLayer.OVERRIDE, False, True),
    ],
)
def test_only_what_somebody_wrote_is_set(layer: CandidateLayer, is_default: bool, is_set: bool) -> None:
    tables = changed("candidates", 0, layer=layer)
    (slot, _) = BundleDecision(tables, tables.profiles[0], {}).slots
    assert slot.backends["B"]["threads"] == DecidedOption(4, "a.toml:3:1", is_default, is_set)
