"""`UsageRecord`: the decision that a device used, and what came of it, as a line of JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from sys import float_info
from typing import Any

from etconfig.base.plain_data import parse_json
from etconfig.base.records import record
from etconfig.diagnostics import did_you_mean
from etconfig.facts.privacy import may_identify
from etconfig.facts.registry import HIDDEN_VALUE
from etconfig.facts.sheet import FactSheet
from etconfig.models.variant_selection import ModelChoice
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import reported_values

VERSION = 1
"""The version of the form, in the key `etconfig_usage`."""
MAX_BYTES = 2048
"""The most bytes of a record, with the end of its line."""
MAX_FAILURE_BYTES = 200
"""The most bytes of the text of a failure."""
REASONS = ("matched", "fallback", "named", "fixed", "error")
"""The reasons for a decision, the same in each language."""
DURATIONS = ("load", "first_run", "p50", "p95")
"""The durations, in microseconds."""
DROPPED = ("rejected", "facts", "options")
"""The lists from whose ends entries are left out of a record that is too long, in this order."""

_KEY = "etconfig_usage"
_MAX_INT = 2**63 - 1


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_INT


def _is_duration(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= float_info.max  # type: ignore[operator]  # a number


def _are_objects(value: object, texts: Sequence[str], others: Sequence[str] = ()) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(each, Mapping)
        and all(_is_text(each.get(key)) for key in texts)
        and all(key in each for key in others)
        for each in value
    )


def _are_durations(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and all(_is_duration(value[key]) for key in DURATIONS if key in value)
        and ("runs" not in value or _is_count(value["runs"]))
    )


def _are_facts(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_fact, value.values()))


def _is_fact(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _is_failure(value: object) -> bool:
    return isinstance(value, str) and len(value.encode(errors="surrogatepass")) <= MAX_FAILURE_BYTES


def _are_counts(value: object) -> bool:
    return isinstance(value, Mapping) and all(_is_count(value[key]) for key in DROPPED if key in value)


_TEXT, _COUNT = (_is_text, "a text that is not empty"), (_is_count, "a whole number, 0 or more")
_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "device": _TEXT,
    "at": _COUNT,
    "bundle": _TEXT,
    "revision": _COUNT,
    "profile": _TEXT,
    "reason": (lambda value: value in REASONS, f"one of {', '.join(REASONS)}"),
    "model": _TEXT,
    "variant": _TEXT,
    "rejected": (
        lambda value: _are_objects(value, ("variant", "reason")),
        "a list of objects with the texts variant and reason",
    ),
    "options": (
        lambda value: _are_objects(value, ("path", "source"), ("value",)),
        "a list of objects with path, value and source",
    ),
    "facts": (_are_facts, "an object with the values of facts"),
    "durations_us": (_are_durations, f"an object with {', '.join(DURATIONS)} and runs, 0 or more"),
    "failure": (_is_failure, f"a text of at most {MAX_FAILURE_BYTES} bytes"),
    "left_out": (_are_counts, "an object with the numbers of entries that did not fit"),
}
_LISTS = (*DROPPED, "durations_us", "left_out")


@record(frozen=True, kw_only=True)
class UsageRecord:
    """The decision that a device used, and what came of it.

    Nothing is recorded unless the application makes a record, and nothing is sent: the application delivers
    the line of `to_json` itself. `etconfig fleet compare` reads such lines.

    Attributes:
        reason: `matched`, `fallback`, `named`, `fixed` or `error`.
        device: The application's id of the device.
        at: The time in milliseconds since 1970.
        bundle: The id of the bundle.
        revision: The revision of the bundle.
        profile: The name of the profile.
        model: The name of the model.
        variant: The file of the variant of the model.
        rejected: The variants before it, as mappings with `variant` and `reason`.
        options: The options in force, as mappings with `path`, `value` and `source`.
        facts: The facts that decided.
        durations_us: The microseconds of `load`, `first_run`, `p50` and `p95`, and the number of `runs`.
        failure: The failure, in at most 200 bytes.
        left_out: The number of entries of `rejected`, `facts` and `options` that did not fit.

    Raises:
        ValueError: a value is not one that the field has.
    """

    reason: str
    device: str | None = None
    at: int | None = None
    bundle: str | None = None
    revision: int | None = None
    profile: str | None = None
    model: str | None = None
    variant: str | None = None
    rejected: Sequence[Mapping[str, str]] = ()
    options: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, Any] | None = None
    durations_us: Mapping[str, float] | None = None
    failure: str | None = None
    left_out: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        for name, value in self._given().items():
            is_right, expected = _FIELDS[name]
            if not is_right(value):
                raise ValueError(f"{name}: expected {expected}, given {_shown(value)}")

    def _given(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of(
        cls,
        resolution: Resolution | None,
        *,
        choice: ModelChoice | None = None,
        device: str | None = None,
        at: int | None = None,
        bundle: str | None = None,
        revision: int | None = None,
        durations_us: Mapping[str, float] | None = None,
        failure: str | None = None,
    ) -> UsageRecord:
        """Return the record of a resolution, and of the variant of a model.

        Facts that may identify the device or its user are left out, and their values are hidden in all texts.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> record = etconfig.UsageRecord.of(etconfig.resolve(program), device="phone-17")
            >>> record.reason, record.device
            ('matched', 'phone-17')

        Args:
            resolution: The options in force; None if nothing was resolved.
            choice: The variant that is used, as `select_model` returns it.
            device: The application's id of the device, as the inventory has it.
            at: The time in milliseconds since 1970.
            bundle: The id of the bundle.
            revision: Its revision.
            durations_us: The microseconds of `load`, `first_run`, `p50`, `p95`, and the number of `runs`.
            failure: The reason why nothing was resolved or loaded; it is cut after 200 bytes.

        Raises:
            ValueError: a value is not one that the field has.
        """
        sheet = None if resolution is None else resolution.facts
        hidden = None if sheet is None else _identifying(sheet)
        earlier = (
            [each for each in choice.rejected if each.variant.number < choice.variant.number]
            if choice
            else []
        )
        has_failed = any(each.error or each.reasons[0].startswith("its load failed") for each in earlier)
        return cls(
            reason=_reason(resolution, has_failed=has_failed, failure=failure),
            device=device,
            at=at,
            bundle=bundle,
            revision=revision,
            profile=None if resolution is None else resolution.profile,
            model=None if choice is None else choice.name,
            variant=None if choice is None else choice.variant.file.target,
            rejected=[
                {"variant": each.variant.file.target, "reason": _without("; ".join(each.reasons), hidden)}
                for each in earlier
            ]
            or (),
            options=() if resolution is None else _options(resolution, hidden),
            facts=None if resolution is None else _facts(resolution, choice),
            durations_us=durations_us,
            failure=None if failure is None else _cut(_without(failure, hidden)),
        )

    def to_json(self) -> str:
        """Return the record as one line of JSON, at most 2,048 bytes with the end of the line.

        Of one that is longer, entries at the end of `rejected`, then of `facts`, then of `options` are left
        out, and counted in `left_out`.

        Raises:
            ValueError: it is too long without these, or a value is not plain data.
        """
        data: dict[str, Any] = {_KEY: VERSION, **self._given()}
        left_out = dict(data.pop("left_out", {}))
        data = {name: value for name, value in data.items() if value or name not in _LISTS}
        counts = {name: data.get(name, ()) for name in DROPPED}
        line = _line(data, left_out)
        for name, entries in counts.items():
            kept = list(entries.items()) if isinstance(entries, Mapping) else list(entries)
            while kept and len(line) >= MAX_BYTES:
                kept.pop()
                left_out[name] = left_out.get(name, 0) + 1
                data[name] = dict(kept) if isinstance(entries, Mapping) else kept
                line = _line({key: value for key, value in data.items() if key != name or kept}, left_out)
            if not kept:
                data.pop(name, None)
        if len(line) >= MAX_BYTES:
            raise ValueError(
                f"the record takes {len(line) + 1:,} bytes without rejected, facts and options, but at most "
                f"{MAX_BYTES:,} are allowed: shorten device, bundle, profile, model or variant"
            )
        return line.decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> UsageRecord:
        """Return the record that a line of JSON contains; fields that this version does not know are ignored.

        Raises:
            ValueError: it is not a record, or of another version; the message names the field.
        """
        size = len((text if isinstance(text, bytes) else text.encode(errors="surrogatepass")).rstrip()) + 1
        if size > MAX_BYTES:
            raise ValueError(f"a usage record takes at most {MAX_BYTES:,} bytes, but this takes {size:,}")
        try:
            data = parse_json(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"a usage record is a line of JSON: {error}") from error
        if not isinstance(data, dict) or _KEY not in data:
            raise ValueError(f"a usage record is a JSON object with {_KEY!r}, given {_shown(data)}")
        if type(data[_KEY]) is not int or data[_KEY] != VERSION:
            raise ValueError(
                f"{_KEY}: version {_shown(data[_KEY])} is not known; this etconfig reads version {VERSION}"
            )
        for name in _FIELDS:
            if name in data and data[name] is None:
                raise ValueError(f"{name}: expected {_FIELDS[name][1]}, given null; leave it out")
        if "reason" not in data:
            guess = did_you_mean("reason", [key for key in data if key not in _FIELDS])
            raise ValueError(f"reason: it is missing; {guess or _FIELDS['reason'][1]}")
        return cls(**{name: data[name] for name in _FIELDS if name in data})


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _line(data: Mapping[str, Any], left_out: Mapping[str, int]) -> bytes:
    """Return the line without its end.

    Raises:
        ValueError: a value is not plain data, or not text in UTF-8.
    """
    given = {**data, "left_out": dict(left_out)} if left_out else data
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a value is not plain data: {error}") from error


def _cut(text: str) -> str:
    return text.encode(errors="replace")[:MAX_FAILURE_BYTES].decode(errors="ignore")


def _reason(resolution: Resolution | None, *, has_failed: bool, failure: str | None) -> str:
    if resolution is None or failure is not None:
        return "error"
    if has_failed:
        return "fallback"
    if resolution.selection is not None:
        return "matched"
    return "fixed" if resolution.profile is None else "named"


def _identifying(sheet: FactSheet) -> re.Pattern[str] | None:
    """Return a pattern of the texts that may identify the device."""
    facts = ((value, may_identify(sheet.registry.get(name))) for name, value in sheet.values.items())
    found = {value for value, is_hidden in facts if is_hidden and isinstance(value, str) and value}
    longest_first = sorted(found, key=lambda text: (-len(text), text))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if found else None


def _without(value: Any, hidden: re.Pattern[str] | None) -> Any:
    """Return a value in whose text no hidden value is left."""
    return hidden.sub(HIDDEN_VALUE, value) if hidden is not None and isinstance(value, str) else value


def _options(resolution: Resolution, hidden: re.Pattern[str] | None) -> list[dict[str, Any]]:
    """Return the options in force; the ones that have their defaults come last, and are left out first."""
    found = [
        {"path": str(path), "value": _without(each.value, hidden), "source": each.origin.split(" ")[0]}
        for path, each in reported_values(resolution).items()
    ]
    return sorted(found, key=lambda each: each["source"] == "default")


def _facts(resolution: Resolution, choice: ModelChoice | None) -> dict[str, Any]:
    """Return the facts on which the profile, the options and the variant depend."""
    names = set(resolution.facts_used())
    chain = () if resolution.selection is None else resolution.selection.chain
    conditions = [profile.match for profile in chain[-1:]]
    if choice is not None:
        judged = [choice.variant, *(each.variant for each in choice.rejected)]
        conditions += [each.when for each in judged if each.number <= choice.variant.number]
    names.update(name for each in conditions if each is not None for name in each.facts)
    known = resolution.facts.values
    registry = resolution.facts.registry
    shown = (name for name in sorted(names) if name in known and not may_identify(registry.get(name)))
    return {name: list(found) if isinstance(found := known[name], tuple) else found for name in shown}
