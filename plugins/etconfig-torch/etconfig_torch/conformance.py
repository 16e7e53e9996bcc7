"""The contribution to the conformance kit: golden programs, and the function that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from etconfig.plugin.v1 import (
    ApiRange,
    ConformanceContribution,
    ConformanceRequest,
    LoweringRequest,
    Observed,
    Unobservable,
    hookimpl,
)
from etconfig_torch.options import TorchOptions

GOLDEN = Path(__file__).parent / "golden"
"""The golden programs."""

_SETTING = Unobservable("PyTorch reports the value; its effect needs other hardware or a larger model")

EVIDENCE: Mapping[str, Observed | Unobservable] = {
    **dict.fromkeys(TorchOptions.option_infos(), _SETTING),
    "autocast": Observed("output", values=("none", "bfloat16")),
}
"""The observable that changes with each option."""


def _lower(case: LoweringRequest) -> bytes:
    from etconfig_torch.aot import lower_methods

    return lower_methods(case.methods)


@hookimpl
def etconfig_conformance(request: ConformanceRequest) -> ConformanceContribution:
    """Return the golden programs, and the function that makes them."""
    return ConformanceContribution(
        api=ApiRange(min=1, built=1), programs=GOLDEN, lower=_lower, evidence=EVIDENCE
    )
