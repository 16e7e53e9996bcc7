"""`PartResult`: the outcomes of the devices of one file, as a small table that is written as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from etconfig.app.configuring.project_tests import TestOutcome
from etconfig.base.records import record
from etconfig.fleet.deciding.outcome import (
    DeviceOutcome,
    ResolvedOption,
    options_from_jsonable,
    options_to_jsonable,
)


@record(frozen=True, kw_only=True)
class OutcomeCount:
    """The devices of one file that get the same.

    Attributes:
        outcome: What they get.
        devices: The number of devices.
        example: The name of the first one, in alphabetical order; None if they have none.
    """

    outcome: DeviceOutcome
    devices: int
    example: str | None


@record(frozen=True, kw_only=True)
class PartResult:
    """The outcomes of the devices of one or more files.

    Attributes:
        counts: The devices of each outcome.
        groups: The number of groups in which they were resolved.
    """

    counts: tuple[OutcomeCount, ...] = field(default=())
    groups: int = 0

    @property
    def devices(self) -> int:
        """The number of devices."""
        return sum(each.devices for each in self.counts)

    @property
    def resolved(self) -> int:
        """The number of devices that get options."""
        return sum(each.devices for each in self.counts if each.outcome.resolution is not None)

    @property
    def fits(self) -> Counter[bool | None]:
        """The number of devices with options whose memory suffices, by `DeviceOutcome.fits`."""
        found: Counter[bool | None] = Counter()
        for each in self.counts:
            if each.outcome.resolution is not None:
                found[each.outcome.fits] += each.devices
        return found

    @property
    def tests(self) -> Counter[tuple[str, TestOutcome]]:
        """The number of devices of each test and outcome."""
        found: Counter[tuple[str, TestOutcome]] = Counter()
        for each in self.counts:
            for test in each.outcome.tests:
                found[test] += each.devices
        return found

    @property
    def variants(self) -> Counter[tuple[str, int | None]]:
        """The number of devices of each variant of models, as in `DeviceOutcome.variants`."""
        found: Counter[tuple[str, int | None]] = Counter()
        for each in self.counts:
            for variant in each.outcome.variants:
                found[variant] += each.devices
        return found

    @property
    def profiles(self) -> Counter[str]:
        """The number of devices that get each profile, resolvable or not."""
        found: Counter[str] = Counter()
        for each in self.counts:
            if each.outcome.profile is not None:
                found[each.outcome.profile] += each.devices
        return found

    @property
    def matches(self) -> Counter[str]:
        """The number of devices on which the condition of each profile holds."""
        found: Counter[str] = Counter()
        for each in self.counts:
            for name in each.outcome.matched:
                found[name] += each.devices
        return found

    @property
    def resolutions(self) -> dict[str, DeviceOutcome]:
        """An outcome for each distinct set of options, from the first profile by name."""
        ordered = sorted(self.counts, key=lambda each: (each.outcome.profile or "", each.outcome.signature))
        found: dict[str, DeviceOutcome] = {}
        for each in ordered:
            if each.outcome.resolution is not None:
                found.setdefault(each.outcome.resolution, each.outcome)
        return found

    def problems(self) -> list[tuple[str, str, str | None, int, str | None]]:
        """Return the problems: cause, message, profile, devices and example, most devices first."""
        found: dict[tuple[str, str, str | None], tuple[int, str | None]] = {}
        for each in self.counts:
            cause = each.outcome.cause
            if cause is not None:
                key = (cause, each.outcome.message or "", each.outcome.profile)
                devices, example = found.get(key, (0, None))
                found[key] = (devices + each.devices, _first(example, each.example))
        rows = [(*key, *value) for key, value in found.items()]
        return sorted(rows, key=lambda row: (-row[3], row[0], row[1], row[2] or ""))

    def to_jsonable(self) -> dict[str, Any]:
        """Return the result as plain data."""
        numbers: dict[tuple[ResolvedOption, ...], int] = {}
        counts = [
            {
                "devices": each.devices,
                "example": each.example,
                "options": numbers.setdefault(each.outcome.options, len(numbers)),
                **each.outcome.to_jsonable(),
            }
            for each in self.counts
        ]
        options = [options_to_jsonable(each) for each in numbers]
        return {"groups": self.groups, "options": options, "counts": counts}

    @classmethod
    def from_jsonable(cls, data: dict[str, Any]) -> PartResult:
        """Return the result that `to_jsonable` described."""
        options = [options_from_jsonable(rows) for rows in data["options"]]
        counts = (
            OutcomeCount(
                outcome=DeviceOutcome.from_jsonable(row, options[row["options"]]),
                devices=row["devices"],
                example=row["example"],
            )
            for row in data["counts"]
        )
        return cls(counts=tuple(counts), groups=data["groups"])


def merged_results(results: Iterable[PartResult]) -> PartResult:
    """Return the outcomes of several files together."""
    found: dict[DeviceOutcome, tuple[int, str | None]] = {}
    groups = 0
    for result in results:
        groups += result.groups
        for each in result.counts:
            devices, example = found.get(each.outcome, (0, None))
            found[each.outcome] = (devices + each.devices, _first(example, each.example))
    counts = [
        OutcomeCount(outcome=outcome, devices=devices, example=example)
        for outcome, (devices, example) in found.items()
    ]
    return PartResult(counts=tuple(sorted(counts, key=_order)), groups=groups)


def _order(each: OutcomeCount) -> tuple[object, ...]:
    outcome = each.outcome
    return (
        -each.devices,
        outcome.profile or "",
        outcome.resolution or "",
        outcome.message or "",
        outcome.signature,
        outcome.matched,
    )


def _first(left: str | None, right: str | None) -> str | None:
    return min((each for each in (left, right) if each is not None), default=None)
