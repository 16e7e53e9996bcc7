"""Descriptions of payloads, as the plugins of their backends give them, and their comparison with facts."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating
from etconfig.app.installation.installation import Installation
from etconfig.base.compile_specs import CompileSpecs
from etconfig.base.number_text import format_bytes
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import (
    DelegateInvalidCompatibilityError,
    InvalidPayloadError,
    PluginCallError,
    PluginError,
    ProgramError,
)
from etconfig.expression import Expression, ExpressionType, Unknown, parse_expression
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet, fact_text
from etconfig.models.catalog import ModelVariant
from etconfig.models.needs import VariantNeeds
from etconfig.program.model import BackendDelegate
from etconfig.program.program import Verification, open_program
from etconfig.report.model import count_text
from etconfig.schema.guarded_calls import failing_as
from etconfig.schema.payload_description import PayloadDescription, PayloadNeed
from etconfig.schema.spec import BackendSpec

_LIMIT_S, _BYTES_PER_S = 10.0, 50 << 20
"""The time limit of one description in seconds, and how much of a payload makes it a second longer."""
_MAX_FILE_BYTES = 64 << 20
"""The size of the largest file of an engine that is described, since it is read whole."""
_HELP = "raise InvalidPayloadError for bytes that it cannot read, else return a PayloadDescription"


@record(frozen=True)
class PayloadReading:
    """The result of reading one payload with the plugin of its backend.

    Attributes:
        description: The description; None if there is none.
        problem: Why there is none; None if there is one, or the backend describes no payloads.
        is_plugins: True if the plugin is to blame for the problem, and not the bytes.
        needs: The needs of the description, each with its condition and the device's counterpart.
    """

    description: PayloadDescription | None = None
    problem: str | None = None
    is_plugins: bool = False
    needs: tuple[tuple[PayloadNeed, Expression, Expression | None], ...] = ()


VariantPayloads: TypeAlias = tuple[tuple[str, PayloadReading], ...]
"""What is known about each payload of a model's file, with its label; empty for the file itself."""


def read_payload(
    spec: BackendSpec, payload: bytes, compile_specs: CompileSpecs, registry: FactRegistry
) -> PayloadReading:
    """Return what a backend says about a payload or a model's file, whatever its function does."""
    if spec.describe_payload is None:
        return PayloadReading()
    try:
        with failing_as(spec.id, "describe_payload", _HELP):
            found = _within_limit(spec, payload, compile_specs)
            if not isinstance(found, PayloadDescription):
                raise TypeError(f"it returned a {type(found).__name__}, not a PayloadDescription")
            return PayloadReading(found, needs=tuple(_parsed(need, registry) for need in found.needs))
    except (PluginCallError, ProgramError) as error:
        cause = error.__cause__
        if isinstance(cause, (InvalidPayloadError, DelegateInvalidCompatibilityError)):
            return PayloadReading(problem=f"it cannot be described: {cause.cause}")
        return PayloadReading(problem=error.message, is_plugins=True)


def _within_limit(spec: BackendSpec, payload: bytes, compile_specs: CompileSpecs) -> object:
    """Describe in a thread, which is abandoned if it hangs: Python cannot end one."""
    found: list[object] = []
    raised: list[BaseException] = []

    def work() -> None:
        assert spec.describe_payload is not None
        try:
            found.append(spec.describe_payload(payload, compile_specs))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work, name="etconfig-payload", daemon=True)
    thread.start()
    limit_s = _LIMIT_S + len(payload) / _BYTES_PER_S
    thread.join(limit_s)
    for error in raised:
        if isinstance(error, KeyboardInterrupt):
            raise RuntimeError("KeyboardInterrupt, though nobody pressed Ctrl-C") from error
        raise error
    if not found:
        raise TimeoutError(f"it did not finish within {limit_s:.3g} s")
    return found[0]


def _parsed(need: PayloadNeed, registry: FactRegistry) -> tuple[PayloadNeed, Expression, Expression | None]:
    device = (
        None if need.found is None else parse_expression(need.found, registry, expect=ExpressionType.STRING)
    )
    return need, parse_expression(need.condition, registry, expect=ExpressionType.BOOL), device


def payload_readings(program: OpenedProgram, method: str) -> tuple[PayloadReading, ...]:
    """Return what the installed plugins say about the payloads of a method, each read once."""
    if method not in program.payloads:
        delegates = program.program.plan(method).delegates
        program.payloads[method] = tuple(_read(program, each) for each in delegates)
    return program.payloads[method]


def _read(program: OpenedProgram, delegate: BackendDelegate) -> PayloadReading:
    spec = _spec(program.installation, delegate.id)
    if spec is None:
        return PayloadReading()
    payload = b"" if spec.describe_payload is None else bytes(program.program.delegate_data(delegate))
    return read_payload(
        spec, payload, CompileSpecs(delegate.compile_specs), program.installation.fact_registry
    )


def _spec(installation: Installation, backend: str) -> BackendSpec | None:
    try:
        return installation.plugins.backend_spec(backend)
    except PluginError:  # it is not installed, or `doctor` reports it
        return None


def variant_payloads(
    variant: ModelVariant, needs: VariantNeeds, installation: Installation
) -> VariantPayloads:
    """Return what the plugins say about each payload of a variant, or about the file of an engine.

    Raises:
        OSError, ProgramError: a file cannot be read.
    """
    if variant.backend is None and needs.data_problem is None:
        with open_program(variant.path, data=needs.data, verification=Verification.Minimal) as program:
            opened = OpenedProgram(program, installation)
            return tuple(each for method in program.method_names for each in _labelled(opened, method))
    spec = None if variant.backend is None else _spec(installation, variant.backend.target)
    if spec is None or spec.describe_payload is None or variant.path.is_dir():
        return ()
    size_bytes = variant.path.stat().st_size
    if size_bytes > _MAX_FILE_BYTES:
        problem = f"not described: {format_bytes(size_bytes)} are more than {format_bytes(_MAX_FILE_BYTES)}"
        return (("", PayloadReading(problem=problem)),)
    contents = variant.path.read_bytes()
    return (("", read_payload(spec, contents, CompileSpecs(()), installation.fact_registry)),)


def _labelled(program: OpenedProgram, method: str) -> Iterator[tuple[str, PayloadReading]]:
    """Yield the readings of a method's payloads; those of one backend that say the same are one."""
    delegates = program.program.plan(method).delegates
    readings, alike = payload_readings(program, method), defaultdict[object, list[int]](list)
    for index, reading in enumerate(readings):
        described, needs = reading.description, tuple(need for need, *_ in reading.needs)
        said = (described and (described.target, described.sdk_version), reading.problem, needs)
        alike[delegates[index].id, said].append(index)
    for first, *others in alike.values():
        more = f" (and of {count_text(len(others), 'more delegate')})" if others else ""
        yield f"{method}: the payload of {delegates[first].id} #{first}{more}", readings[first]


def payload_problems(
    program: Delegating | None, facts: FactSheet, severity: Severity = Severity.ERROR
) -> Iterator[Diagnostic]:
    """Yield a problem for each payload that does not fit a device, and a note where a fact is unknown.

    Payloads of a method that have the same problem are one.
    A payload that cannot be described is a warning, since the engine decides in the end.
    """
    for each in program.programs if isinstance(program, SeveralPrograms) else (program,):
        for method in each.method_names if isinstance(each, OpenedProgram) else ():
            assert isinstance(each, OpenedProgram)
            start = "" if each.program.path is None else f"{each.program.path}: "
            for label, reading in _labelled(each, method):
                yield from description_problems(start + label, reading)
                yield from unmet_needs(start + label, reading, facts, severity)


def description_problems(label: str, reading: PayloadReading) -> Iterator[Diagnostic]:
    """Yield a warning if a payload cannot be described."""
    if reading.problem is not None:
        code = "broken-plugin" if reading.is_plugins else "payload-mismatch"
        fix = "update the plugin, or export the program again"
        yield Diagnostic(
            code=code,
            message=f"{label}: {reading.problem}",
            help=fix,
            severity=Severity.WARNING,
            subject=label,
        )


def unmet_needs(
    label: str, reading: PayloadReading, facts: FactSheet, severity: Severity = Severity.ERROR
) -> Iterator[Diagnostic]:
    """Yield a problem for each need that a device does not meet, and a note where a fact is unknown."""
    for need, condition, counterpart in reading.needs:
        result = condition.evaluate(facts.values)
        if isinstance(result, Unknown):
            missing = " or ".join(result.missing)
            yield Diagnostic(
                code="undecided-condition",
                message=f"{label} may not fit this device: {need.reason}, and {missing} is not known",
                help=f"give {' '.join(f'--fact {name}=VALUE' for name in result.missing)}",
                severity=Severity.NOTE,
                subject=f"{label}: {need.reason}",
            )
        elif result is not True:
            device = _device_text(condition, counterpart, facts)
            yield Diagnostic(
                code="payload-mismatch",
                message=f"{label} does not fit this device: {need.reason}, and {device}",
                help="export the program for this device, or choose another variant for it",
                severity=severity,
                subject=f"{label}: {need.reason}",
            )


def _device_text(condition: Expression, counterpart: Expression | None, facts: FactSheet) -> str:
    """Return what the device has instead."""
    found = None if counterpart is None else counterpart.evaluate(facts.values)
    if isinstance(found, str):
        return f"the device has {found}"
    known = facts.shown_values
    texts = (f"{n} is {fact_text(known[n]) if n in known else 'not known'}" for n in sorted(condition.facts))
    return " and ".join(texts)
