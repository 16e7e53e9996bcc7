"""Verdicts: the use of a device beside the decision for it, by patterns that many devices share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from etconfig.base.option_path import OptionPath, parse_option_path
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.fleet.deciding.outcome import ResolvedOption
from etconfig.fleet.running.moved_devices import NOTHING
from etconfig.fleet.usage.expected import ExpectedOutcome
from etconfig.resolver.deciding.arguments import ANY_METHOD

_NUMBER = re.compile(r"-?\d{1,15}(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)
OUTCOMES: Mapping[str, str] = {
    "as_decided": "as decided",
    "old_revision": "old revision of the bundle",
    "failed": "failed",
    "fallback": "fell back to another variant",
    "other_profile": "other profile",
    "option_not_in_force": "an option is not in force",
    "nothing_decided": "nothing is decided for the device",
    "no_record": "no record",
    "unknown_device": "not in the inventory",
}
"""What may have come of a decision, with the words of reports."""


@record(frozen=True)
class UsedPattern:
    """Records that agree in all but the device, the time and the durations.

    Attributes:
        bundle: The id of the bundle, or None.
        revision: Its revision, or None.
        profile: The name of the profile, or None.
        reason: The reason for the decision.
        variant: The file of the variant, or None.
        has_failed: True if the record has a failure.
        has_all_options: True if no options are left out.
        options: The values of options as JSON text, by path.
    """

    bundle: str | None
    revision: int | None
    profile: str | None
    reason: str
    variant: str | None
    has_failed: bool
    has_all_options: bool
    options: tuple[tuple[str, str], ...]


@record(frozen=True)
class UsageDifference:
    """A difference between a decision and its use.

    Attributes:
        why: A key of `OUTCOMES`.
        path: The option; None for other differences.
        decided: The decision: a value, a profile or a revision.
        used: What was used.
    """

    why: str
    path: str | None
    decided: str
    used: str


def judge(
    expected: ExpectedOutcome | None, used: UsedPattern | None, newest: Mapping[str | None, int]
) -> tuple[str, tuple[UsageDifference, ...]]:
    """Return what came of a decision, a key of `OUTCOMES`, and the differences.

    Args:
        expected: The decision; None for a device that is not in the inventory.
        used: The last record of the device; None if there is none.
        newest: The revision that devices should have, by the id of the bundle.
    """
    if expected is None:
        return "unknown_device", ()
    if used is None:
        return "no_record", ()
    if used.has_failed or used.reason == "error":
        return "failed", (_difference("failed", used.variant, used.reason),)
    revision = newest.get(used.bundle)
    if used.revision is not None and revision is not None and used.revision < revision:
        return "old_revision", (_difference("old_revision", str(revision), str(used.revision)),)
    if used.reason == "fallback":
        return "fallback", (_difference("fallback", None, used.variant),)
    if expected.resolution is None:
        return "nothing_decided", (_difference("nothing_decided", None, used.profile),)
    if used.profile is not None and used.profile != expected.profile:
        return "other_profile", (_difference("other_profile", expected.profile, used.profile),)
    found = tuple(_option_differences(expected.options, used))
    return ("option_not_in_force" if found else "as_decided"), found


def _difference(why: str, decided: str | None, used: str | None) -> UsageDifference:
    return UsageDifference(why, None, decided or NOTHING, used or NOTHING)


def _option_differences(expected: Sequence[ResolvedOption], used: UsedPattern) -> Iterator[UsageDifference]:
    by_name: dict[tuple[str, str], list[ResolvedOption]] = {}
    for each in expected:
        by_name.setdefault((each.path.backend, each.path.option), []).append(each)
    met: set[OptionPath] = set()
    for text, value in used.options:
        path = option_path(text)
        meant = [] if path is None else by_name.get((path.backend, path.option), [])
        meant = [each for each in meant if path is not None and _may_be_same(each.path, path)]
        met.update(each.path for each in meant)
        shown = plain_value_text(value)
        if meant and not any(_is_same(each.value, shown) for each in meant):
            yield UsageDifference("option_not_in_force", text, meant[0].value, shown)
    if used.options and used.has_all_options:
        for each in expected:
            if each.path not in met and each.origin.split(" ")[0] != OriginKind.DEFAULT.value:
                yield UsageDifference("option_not_in_force", str(each.path), each.value, NOTHING)


def option_path(text: str) -> OptionPath | None:
    """Return the path of an option in a record; None if it is not one."""
    try:
        return parse_option_path(text)
    except ValueError:
        return None


def _may_be_same(decided: OptionPath, used: OptionPath) -> bool:
    """Return True if two paths of one option may mean the same: without a method, any is meant."""
    if {decided.method, used.method} & {ANY_METHOD, None}:
        return True
    return (decided.method, decided.instance) == (used.method, used.instance)


def _is_same(decided: str, used: str) -> bool:
    """Return True if two JSON texts have one value; 1 and 1.0 are one."""
    numbers = [float(text) for text in (decided, used) if _NUMBER.fullmatch(text)]
    return decided == used or (len(numbers) == 2 and numbers[0] == numbers[1])


def plain_value_text(value: str) -> str:
    """Return a value as JSON text in the form that decisions have."""
    try:
        return json.dumps(json.loads(value), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return value
