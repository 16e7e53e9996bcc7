"""`verify_tuned`: measure a tuned profile again, against the profile that it extends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from etconfig.app.configuring.profile_choice import choose_profile
from etconfig.app.installation.engine_version import version_on
from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.errors import TuningError
from etconfig.facts.sheet import FactSheet
from etconfig.measuring.processes import make_subject
from etconfig.measuring.subjects import MeasuredSubject
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.profile.evidence import TuningEvidence
from etconfig.tuning.contest import FRESH_LOADS, MEMORY, Contest, Trial
from etconfig.tuning.space import Combination
from etconfig.tuning.study import outcome_data
from etconfig.tuning.tune import TuneOptions, make_objective, resolve_model
from etconfig.tuning.tuned_profile import base_of
from etconfig.tuning.tuning import is_gain

_PAIRS = 100
_TUNED: Combination = {"profile": "tuned"}


@record(frozen=True, kw_only=True)
class EvidenceCheck:
    """The result of measuring a tuned profile again.

    Attributes:
        profile: The file.
        evidence: What it says.
        now: What was measured now, against the profile that it extends.
        noise: The ratio of two equal configurations.
        min_gain: The least gain that counts.
        stale: What is not as it was then, in sentences.
    """

    profile: str
    evidence: TuningEvidence
    now: Trial
    noise: PairedRatio
    min_gain: float
    stale: Sequence[str]

    @property
    def holds(self) -> bool:
        """True if the profile is still better."""
        return is_gain(self.now, self.noise, self.min_gain)

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data: the output of `etconfig tune --verify --json`."""
        made, whole = self.evidence.made.isoformat(), self.evidence.whole.to_jsonable()
        return {
            "profile": self.profile,
            "holds": self.holds,
            "then": {"made": made, "engine": self.evidence.engine, **whole},
            "now": outcome_data(self.now),
            "noise": self.noise.ratio,
            "stale": list(self.stale),
        }


def verify_tuned(
    workplace: Workplace, request: SubjectRequest, path: Path, options: TuneOptions
) -> EvidenceCheck:
    """Measure a tuned profile again.

    Args:
        workplace: The plugins and the device.
        request: The model; its profile does not matter.
        path: The file of the profile.
        options: The tolerance, the inputs, the reference and the limits.

    Raises:
        TuningError: the profile has no evidence.
        EtconfigError: it cannot be read, or the model cannot be loaded with the profile that it extends.
    """
    tuned = replace(request, profile=str(path), label=str(path))
    resolution, sha256 = resolve_model(workplace, tuned)
    profile = choose_profile(workplace.installation, path, resolution.facts).profile
    evidence = profile.evidence
    if evidence is None or evidence.rollout is not None:
        help = "`etconfig tune MODEL --output FILE` writes a profile with evidence"
        what = "no [evidence] to verify" if evidence is None else "its [evidence] from usage, not from here"
        raise TuningError(problem=f"{path} has {what}", help=help)
    if evidence.backend is not None and evidence.backend != request.backend:
        problem = f"{path} was measured with {evidence.backend}, and not with {request.backend}"
        raise TuningError(problem=problem, help="leave --backend out")
    below = replace(request, profile=base_of(profile, path), label="the profile that it extends")

    in_own_process = evidence.objective == MEMORY

    def make(configuration: Combination) -> MeasuredSubject:
        return make_subject(workplace, tuned if configuration else below, in_own_process=in_own_process)

    contest = Contest(
        make=make,
        objective=make_objective(evidence.objective, resolution.facts),
        tolerance=options.tolerance,
        inputs=options.inputs,
        reference=options.reference,
    )
    noise = contest.with_itself(_PAIRS, options.limits.seed)
    seed = options.limits.seed + FRESH_LOADS
    return EvidenceCheck(
        profile=str(path),
        evidence=evidence,
        now=contest.compare(_TUNED, _PAIRS, seed=seed, repeats=FRESH_LOADS),
        noise=noise,
        min_gain=options.limits.min_gain,
        stale=tuple(_stale(evidence, sha256, resolution.facts)),
    )


def _stale(evidence: TuningEvidence, sha256: str, facts: FactSheet) -> Iterator[str]:
    if evidence.model != sha256:
        yield "the model is another one"
    engine, _, version = evidence.engine.rpartition(" ")
    now = version_on(facts, engine)
    if now != version:
        yield f"it was measured with {evidence.engine}; now it is {now or 'not installed'}"
    for name, value in evidence.device.items():
        if facts.values.get(name) != value:
            yield f"{name} was {value}, and is {facts.values.get(name)}"
