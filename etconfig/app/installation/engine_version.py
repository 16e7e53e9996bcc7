"""The version of the engine that runs a backend, which evidence of a measurement names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etconfig.app.installation.installation import Installation
from etconfig.base.provenance import OriginKind
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.facts.sheet import FactSheet
from etconfig.profile.evidence import TuningEvidence
from etconfig.schema.spec import BackendSpec

_HELP = "measure again: `etconfig tune MODEL --output FILE`, or remove the options and [evidence]"


def engine_text(installation: Installation, spec: BackendSpec, facts: FactSheet) -> str:
    """Return the engine of a backend with its version on a device, as `onnxruntime 1.32.0`."""
    for name in spec.engine:
        version = version_on(facts, name)
        if version is not None:
            return f"{name} {version}"
    entry = installation.plugins.backend_entry(spec.id)
    return f"{entry.distribution} {entry.version}"


def version_on(facts: FactSheet, engine: str) -> str | None:
    """Return the version of an engine on a device; None if the device is another one and its facts lack it.

    Args:
        facts: The facts of the device.
        engine: The name of a distribution.
    """
    for name in _facts_of(engine):
        fact = facts.get(name)
        if fact is not None and fact.is_known:
            return str(fact.value)
    here = facts.get("runtime.python")
    is_here = here is not None and here.origin.kind is OriginKind.DETECTED
    return installed_version(engine) if is_here else None


def installed_version(distribution: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    from importlib import metadata  # its import takes longer than most commands

    try:
        return metadata.version(distribution)
    except (metadata.PackageNotFoundError, ValueError):  # an empty name is refused
        return None


def stale_engine(
    name: str, evidence: TuningEvidence, facts: FactSheet, severity: Severity = Severity.ERROR
) -> Iterator[Diagnostic]:
    """Yield a problem if the engine on a device has another version than evidence says, if that is known."""
    engine, _, version = evidence.engine.rpartition(" ")
    now = version_on(facts, engine)
    if now is not None and now != version:
        message = f"the options of profile {name!r} were measured with {evidence.engine}; now it is {now}"
        yield stale_evidence(evidence, message, severity)


def stale_evidence(evidence: TuningEvidence, message: str, severity: Severity = Severity.ERROR) -> Diagnostic:
    """Return a problem of evidence."""
    spans = (evidence.find_span(),)
    return Diagnostic(code="stale-evidence", message=message, spans=spans, help=_HELP, severity=severity)


def _facts_of(engine: str) -> Sequence[str]:
    return (f"{engine}.version", f"runtime.{engine}")
