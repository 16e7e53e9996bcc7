"""The check of `BackendSpec.describe_payload`: it answers for whole and damaged payloads."""

from __future__ import annotations

from collections.abc import Iterator

from etconfig.app.programs.payloads import PayloadReading, read_payload
from etconfig.base.compile_specs import CompileSpecs
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.payload_damage import damages
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.subject import Subject


@check(
    "payload-described",
    level=2,
    rests_on=("aot-id-match",),
    prevents="reports that fail on a damaged program",
    since="1.2",
    isolated=True,
)
def payload_described(subject: Subject) -> None:
    """`describe_payload` describes each golden payload, equally each time, and describes or refuses damaged
    ones: it raises nothing but `InvalidPayloadError` and `DelegateInvalidCompatibilityError`.
    """
    if subject.spec.describe_payload is None:
        raise NotApplicableError(f"{subject.backend_id} does not describe its payloads")
    for name, payload, specs in _payloads(subject):
        first, again = (_read(subject, name, payload, specs) for _ in range(2))
        if first != again:
            raise CheckFailedError(f"{name}: describe_payload describes one payload in two ways")
        if first.description is None:
            raise CheckFailedError(
                f"{name}: describe_payload refuses a whole payload: {first.problem}; read what the backend's "
                "partitioner writes"
            )
        changed = {"no bytes": b"", **{damage: change(payload) for damage, change in damages(name)}}
        for damage, damaged in changed.items():
            _read(subject, f"{name}, with {damage}", damaged, specs)


def _payloads(subject: Subject) -> Iterator[tuple[str, bytes, CompileSpecs]]:
    """Yield the payloads of this backend in golden programs, each once."""
    seen = set()
    for case in subject.cases():
        with subject.open(case) as program:
            for delegate in program.program.plan(case.method).delegates:
                payload = bytes(program.program.delegate_data(delegate))
                if delegate.id == subject.backend_id and payload not in seen:
                    seen.add(payload)
                    yield case.name, payload, CompileSpecs(delegate.compile_specs)


def _read(subject: Subject, where: str, payload: bytes, specs: CompileSpecs) -> PayloadReading:
    reading = read_payload(subject.spec, payload, specs, subject.installation.fact_registry)
    if reading.is_plugins:
        raise CheckFailedError(
            f"{where}: {reading.problem}; raise InvalidPayloadError for bytes that it cannot read"
        )
    return reading
