"""A check that the evidence of profiles is about the models and engines that are locked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etconfig.app.configuring.several_programs import programs_in
from etconfig.app.configuring.tuned_models import models_of
from etconfig.app.installation.engine_version import stale_engine, stale_evidence
from etconfig.app.locking.lock_contents import ResolvedForLock
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ConfigError
from etconfig.profile.evidence import TuningEvidence
from etconfig.profile.selector import ConcernsModel


def check_evidence(resolved: Sequence[ResolvedForLock]) -> None:
    """Check that profiles with evidence were measured with these programs and versions of engines.

    A program is compared always, and an engine's model if the models file says where its file is. The engine
    is compared if its version on the device is known.

    Raises:
        ConfigError: evidence is about another model, or about another version of its engine.
    """
    concerns = models_of(lambda: [p for each in resolved for p in programs_in(each.configuration.program)])
    problems = [
        problem
        for each in resolved
        for profile in each.configuration.chain
        if profile.evidence is not None
        for problem in _problems(profile.name, profile.evidence, concerns, each)
    ]
    if problems:
        raise ConfigError(diagnostics=tuple(dict.fromkeys(problems)))


def _problems(
    name: str, evidence: TuningEvidence, concerns: ConcernsModel, resolved: ResolvedForLock
) -> Iterator[Diagnostic]:
    """Yield what is stale in the evidence of a profile."""
    if concerns(evidence) is False:
        yield stale_evidence(evidence, f"the options of profile {name!r} were measured with another model")
    yield from stale_engine(name, evidence, resolved.configuration.facts)
