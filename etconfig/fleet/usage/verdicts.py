"""Verdicts: the use of a device beside the decision for it, by patterns that many devices share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from etconfig.base.option_path import OptionPath, parse_option_path
from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.fleet.deciding.outcome import ResolvedOption
from etconfig.fleet.running.moved_devices import NOTHING
from etconfig.resolver.deciding.arguments import ANY_METHOD

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
"""The outcomes of decisions, with the words of reports."""
NOT_YET = ("old_revision", "other_profile", "option_not_in_force")
"""The outcomes of devices that do not run the decision: they say nothing about a rollout."""


@record(frozen=True)
class UsedPattern:
    """Records that agree in all but the device, the time and the durations; fields as in a record."""

    bundle: str | None
    revision: int | None
    profile: str | None
    reason: str
    variant: str | None
    has_failed: bool
    has_all_options: bool
    options: Mapping[str, str]


@record(frozen=True)
class UsageDifference:
    """A difference between a decision and its use.

    Attributes:
        why: A key of `OUTCOMES`, or the path of an option.
        decided: The decision: a value as JSON text, a profile or a revision.
        used: What was used.
    """

    why: str
    decided: str
    used: str


def use_verdict(
    profile: str | None,
    options: Sequence[ResolvedOption] | None,
    used: UsedPattern | None,
    revision: int,
) -> tuple[str, tuple[UsageDifference, ...]]:
    """Return the outcome of a decision, a key of `OUTCOMES`, and the differences.

    Args:
        profile: The profile that is decided.
        options: The options that are decided; None if none are.
        used: The last record of the device; None if there is none.
        revision: The revision that devices should have; 0 for any.
    """
    if used is None:
        return "no_record", ()
    if used.has_failed or used.reason == "error":
        return _differs("failed", None, used.variant)
    if used.revision is not None and used.revision < revision:
        return _differs("old_revision", str(revision), str(used.revision))
    if used.reason == "fallback":
        return _differs("fallback", None, used.variant)
    if options is None:
        return _differs("nothing_decided", None, used.profile)
    if used.profile is not None and used.profile != profile:
        return _differs("other_profile", profile, used.profile)
    found = tuple(_option_differences(options, used))
    return ("option_not_in_force" if found else "as_decided"), found


def _differs(why: str, decided: str | None, used: str | None) -> tuple[str, tuple[UsageDifference, ...]]:
    return why, (UsageDifference(why, decided or NOTHING, used or NOTHING),)


def _option_differences(decided: Sequence[ResolvedOption], used: UsedPattern) -> Iterator[UsageDifference]:
    """Yield the options with another value, and those that lack one, unless it is their default."""
    met: set[OptionPath] = set()
    for text, value in used.options.items():
        try:
            path = parse_option_path(text)
        except ValueError:
            continue
        meant = [each for each in decided if _may_be_same(each.path, path)]
        met.update(each.path for each in meant)
        if meant and not any(_is_same(each.value, value) for each in meant):
            yield UsageDifference(text, meant[0].value, value)
    if used.options and used.has_all_options:
        for each in decided:
            if each.path not in met and not each.origin.startswith(OriginKind.DEFAULT.value):
                yield UsageDifference(str(each.path), each.value, NOTHING)


def _may_be_same(decided: OptionPath, used: OptionPath) -> bool:
    """Return True if two paths may mean one option: without a method, any is meant."""
    is_any = bool({decided.method, used.method} & {ANY_METHOD, None})
    is_same = (decided.method, decided.instance) == (used.method, used.instance)
    return (decided.backend, decided.option) == (used.backend, used.option) and (is_any or is_same)


def _is_same(decided: str, used: str) -> bool:
    """Return True if two JSON texts have one value; 1 and 1.0 are one, 1 and true are not."""
    one, other = json.loads(decided), json.loads(used)
    return decided == used or (bool not in (type(one), type(other)) and bool(one == other))
