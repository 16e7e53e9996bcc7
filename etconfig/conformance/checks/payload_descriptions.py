"""The check of `BackendSpec.describe_payload`: it answers for whole and damaged payloads."""

from __future__ import annotations

from etconfig.app.programs.payloads import PayloadReading, read_payload
from etconfig.base.compile_specs import CompileSpecs
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.payload_damage import damages
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.subject.subject import Subject


@check(
    "payload-described",
    level=2,
    rests_on=("answers",),
    prevents="reports that fail on a damaged program",
    since="1.1",
    isolated=True,
)
def payload_described(subject: Subject) -> None:
    """`describe_payload` describes each golden payload, equally each time, and describes or refuses damaged
    ones: it raises nothing but `InvalidPayloadError` and `DelegateInvalidCompatibilityError`.
    """
    if subject.spec.describe_payload is None:
        raise NotApplicableError(f"{subject.backend_id} does not describe its payloads")
    for case in subject.cases():
        with subject.open(case) as program:
            for delegate in program.program.plan(case.method).delegates:
                if delegate.id == subject.backend_id:
                    specs = CompileSpecs(delegate.compile_specs)
                    _check(subject, case.name, bytes(program.program.delegate_data(delegate)), specs)


def _check(subject: Subject, name: str, payload: bytes, specs: CompileSpecs) -> None:
    def read(given: bytes, damage: str = "no change") -> PayloadReading:
        reading = read_payload(subject.spec, given, specs, subject.installation.fact_registry)
        if reading.is_plugins:
            fix = "raise InvalidPayloadError for bytes that it cannot read"
            raise CheckFailedError(f"{name}, with {damage}: {reading.problem}; {fix}")
        return reading

    first = read(payload)
    if first != read(payload):
        raise CheckFailedError(f"{name}: describe_payload describes one payload in two ways")
    if first.description is None:
        raise CheckFailedError(
            f"{name}: describe_payload refuses what the partitioner wrote: {first.problem}"
        )
    read(b"", "no bytes")
    for damage, change in damages(name):
        read(change(payload), damage)
