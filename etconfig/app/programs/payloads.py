"""Descriptions of payloads, as the plugins of their backends give them, and their comparison with facts."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating
from etconfig.base.compile_specs import CompileSpecs
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import (
    DelegateInvalidCompatibilityError,
    InvalidPayloadError,
    PluginCallError,
    PluginError,
    ProfileError,
)
from etconfig.expression import ExpressionType, Fault, Unknown, parse_expression
from etconfig.facts.registry import FactRegistry
from etconfig.facts.sheet import FactSheet, fact_text
from etconfig.schema.guarded_calls import failing_as
from etconfig.schema.payload_description import PayloadDescription, PayloadNeed
from etconfig.schema.spec import BackendSpec

_LIMIT_S = 10.0
"""The time limit of one description, in seconds."""

_MAX_SHOWN = 120
"""The longest condition that a message repeats; `inspect --json` shows the others."""

_HELP = "raise InvalidPayloadError for bytes that it cannot read, else return a PayloadDescription"


@record(frozen=True)
class PayloadReading:
    """What the plugin of its backend says about one payload.

    Attributes:
        description: The description; None if there is none.
        problem: Why there is none, a sentence; None if there is one, or the backend describes no payloads.
        is_plugins: True if the plugin is to blame for the problem, and not the bytes.
    """

    description: PayloadDescription | None = None
    problem: str | None = None
    is_plugins: bool = False


def read_payload(
    spec: BackendSpec, payload: bytes, compile_specs: CompileSpecs, registry: FactRegistry
) -> PayloadReading:
    """Return what a backend says about a payload, whatever its function does with the bytes.

    Args:
        spec: The backend.
        payload: The payload, or the file of a model that the backend builds.
        compile_specs: What was fixed ahead of time.
        registry: The facts that needs may name.
    """
    if spec.describe_payload is None:
        return PayloadReading()
    try:
        with failing_as(spec.id, "describe_payload", _HELP):
            found = _within_limit(spec, payload, compile_specs)
            if not isinstance(found, PayloadDescription):
                raise TypeError(f"it returned a {type(found).__name__}, not a PayloadDescription")
            for need in found.needs:
                _check_need(need, registry)
    except PluginCallError as error:
        cause = error.__cause__
        if isinstance(cause, (InvalidPayloadError, DelegateInvalidCompatibilityError)):
            return PayloadReading(problem=f"it cannot be described: {cause.cause}")
        return PayloadReading(problem=error.message, is_plugins=True)
    return PayloadReading(found)


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
    thread.join(_LIMIT_S)
    if raised and isinstance(raised[0], KeyboardInterrupt):
        raise RuntimeError("KeyboardInterrupt, though nobody pressed Ctrl-C") from raised[0]
    if raised:
        raise raised[0]
    if not found:
        raise TimeoutError(f"it did not finish within {_LIMIT_S:g} s")
    return found[0]


def _check_need(need: PayloadNeed, registry: FactRegistry) -> None:
    """Raise ValueError if a need is not written in the condition language."""
    try:
        parse_expression(need.condition, registry, expect=ExpressionType.BOOL)
        if need.found is not None:
            parse_expression(need.found, registry, expect=ExpressionType.STRING)
    except ProfileError as error:
        raise ValueError(f"a need is wrong: {error.diagnostics[0].message}") from error


def read_payloads(program: OpenedProgram, method: str) -> tuple[PayloadReading, ...]:
    """Return what the installed plugins say about the payloads of a method, each read once."""
    if method not in program.payloads:
        installation, readings = program.installation, []
        for delegate in program.program.plan(method).delegates:
            try:
                known = delegate.id in installation.backend_ids
                spec = installation.plugins.backend_spec(delegate.id) if known else None
            except PluginError:  # `doctor` reports it
                spec = None
            if spec is None or spec.describe_payload is None:
                readings.append(PayloadReading())
                continue
            payload = bytes(program.program.delegate_data(delegate))
            specs = CompileSpecs(delegate.compile_specs)
            readings.append(read_payload(spec, payload, specs, installation.fact_registry))
        program.payloads[method] = tuple(readings)
    return program.payloads[method]


def payload_problems(program: Delegating | None, facts: FactSheet) -> Iterator[Diagnostic]:
    """Yield an error for each payload that does not fit a device, and a note where a fact is unknown.

    A payload that cannot be described is a warning, since the engine decides in the end.
    """
    for each in program.programs if isinstance(program, SeveralPrograms) else (program,):
        if not isinstance(each, OpenedProgram):
            continue
        for method in each.method_names:
            delegates = each.program.plan(method).delegates
            for index, reading in enumerate(read_payloads(each, method)):
                payload = f"{method}: the payload of {delegates[index].id} #{index}"
                if reading.problem is not None:
                    yield Diagnostic(
                        code="broken-plugin" if reading.is_plugins else "payload-mismatch",
                        message=f"{payload}: {reading.problem}",
                        help="update the backend's plugin, or export the program again",
                        severity=Severity.WARNING,
                    )
                for need in () if reading.description is None else reading.description.needs:
                    found = _unmet(need, payload, facts, each.installation.fact_registry)
                    if found is not None:
                        yield found


def _unmet(need: PayloadNeed, payload: str, facts: FactSheet, registry: FactRegistry) -> Diagnostic | None:
    condition = parse_expression(need.condition, registry, expect=ExpressionType.BOOL)
    result = condition.evaluate(facts.values)
    if result is True:
        return None
    if isinstance(result, (Unknown, Fault)):
        missing = result.missing if isinstance(result, Unknown) else ()
        why = (
            result.reason
            if isinstance(result, Fault)
            else f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not known"
        )
        return Diagnostic(
            code="undecided-condition",
            message=f"{payload} may not fit this device: {need.reason}, and {why}",
            help=f"give {' '.join(f'--fact {name}=VALUE' for name in missing)}" if missing else None,
            severity=Severity.NOTE,
        )
    return Diagnostic(
        code="payload-mismatch",
        message=f"{payload} does not fit this device: {need.reason}, and "
        f"{_device_text(need, condition.facts, facts, registry)}",
        notes=(f"it needs {need.condition}",) if len(need.condition) <= _MAX_SHOWN else (),
        help="export the program for this device, or choose another variant for it",
    )


def _device_text(need: PayloadNeed, names: frozenset[str], facts: FactSheet, registry: FactRegistry) -> str:
    """Return what the device has instead."""
    if need.found is not None:
        found = parse_expression(need.found, registry).evaluate(facts.values)
        if isinstance(found, str):
            return f"the device has {found}"
    known = facts.shown_values
    texts = {name: fact_text(known[name]) if name in known else "not known" for name in sorted(names)}
    return " and ".join(f"{name} is {text}" for name, text in texts.items())
