"""Checks of a vendor's detectors: they end in time, and their facts are valid and repeatable."""

from __future__ import annotations

from etconfig.conformance.checks.check import check
from etconfig.conformance.kit.outcome import CheckFailedError
from etconfig.conformance.subject.contributions import VendorFacts
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import FactError
from etconfig.facts.detecting.detection import DETECTOR_LIMIT_S
from etconfig.facts.registry import Volatility
from etconfig.facts.sheet import FactSheet


@check(
    "facts-bounded",
    level=0,
    rests_on=("signature-bind",),
    prevents="commands that hang because a driver does",
    isolated=True,
)
def facts_bounded(subject: Subject) -> None:
    """Every detector ends in time, and so does the process that ran it."""
    facts = VendorFacts(subject)
    facts.detect()
    for each in facts.detectors:
        if not each.has_ended:
            raise CheckFailedError(
                f"{each} did not end within {DETECTOR_LIMIT_S:g} s; read files and run commands through "
                "`system`, which limits their time, and call no driver that may hang"
            )


@check(
    "facts-serialisable",
    level=0,
    rests_on=("facts-bounded",),
    prevents="reports that cannot be saved or repeated",
)
def facts_serialisable(subject: Subject) -> None:
    """Detected facts are valid, can be saved and read back, and are found again unless they are live."""
    facts = VendorFacts(subject)
    sheet = facts.detect()
    facts.require_no_error("on this device")
    try:
        FactSheet.from_json(sheet.to_json(), "the sheet", facts.registry)
    except FactError as error:
        raise CheckFailedError(f"{subject.entry.source}: its facts cannot be saved: {error}") from error
    again = facts.detect()
    for name, fact in sheet.facts.items():
        repeated = again.get(name)
        if fact.volatility is not Volatility.LIVE and (repeated is None or repeated.value != fact.value):
            raise CheckFailedError(
                f"{subject.entry.source}: the fact {name} is {fact.volatility.value}, but was {fact.value!r} "
                f"and then {None if repeated is None else repeated.value!r}; declare it live, or report "
                "something that does not change"
            )


CHECKS = (facts_bounded, facts_serialisable)
"""The checks of this module, in the order of the report."""
