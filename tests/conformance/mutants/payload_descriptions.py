"""Mutants of the check of described payloads."""

from __future__ import annotations

from itertools import count

from etconfig.plugin.v1 import CompileSpecs, InvalidPayloadError, PayloadDescription, PayloadNeed
from mutants.mutant import Mutant

_calls = count()


def changing(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Describe the number of calls."""
    return PayloadDescription(notes=[f"call {next(_calls)}"])


def trusting(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Read a byte that may not be there."""
    return PayloadDescription(operators={"byte": payload[40]})


def refusing(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Refuse every payload."""
    raise InvalidPayloadError(cause="it is of no known version")


def misspelling(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Need a fact that nothing declares."""
    return PayloadDescription(needs=[PayloadNeed("cpu.archs == 'arm64'", reason="it is compiled for arm64")])


CHANGES = Mutant(
    "payload-described",
    "describes one payload in two ways",
    declared={"describe_payload": changing},
)
TRUSTS = Mutant(
    "payload-described",
    "with no bytes: .*IndexError: .*raise InvalidPayloadError for bytes",
    declared={"describe_payload": trusting},
)
REFUSES = Mutant(
    "payload-described",
    "refuses what the partitioner wrote: it cannot be described: it is of no known version",
    declared={"describe_payload": refusing},
)
MISSPELLS = Mutant(
    "payload-described",
    "no fact is called 'cpu.archs'",
    declared={"describe_payload": misspelling},
)
RETURNS_TEXT = Mutant(
    "payload-described",
    "it returned a str, not a PayloadDescription",
    declared={"describe_payload": lambda payload, compile_specs: "conv"},
)
