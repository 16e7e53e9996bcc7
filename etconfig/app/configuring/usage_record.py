"""`UsageRecord`: the decision that a device used, and what came of it, as a line of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from types import NoneType
from typing import Any

from etconfig.base.parameters import check_type
from etconfig.base.plain_data import parse_json
from etconfig.base.records import record
from etconfig.facts.privacy import may_identify
from etconfig.facts.registry import HIDDEN_VALUE
from etconfig.models.variant_selection import ModelChoice
from etconfig.profile.usage_guards import DURATIONS
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining.difference import reported_values

VERSION, MAX_BYTES, MAX_FAILURE_BYTES = 1, 2048, 200
REASONS = ("matched", "fallback", "named", "fixed", "error")
"""The reasons for a decision, the same in each language."""
MAX_DURATION = 10**15
"""Durations are shorter, in microseconds: 31 years."""
DROPPED = ("rejected", "facts", "options")
"""The lists from whose ends entries are left out of a record that is too long, in this order."""
_KEY = "etconfig_usage"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_duration(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < MAX_DURATION


def _is_fact(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, (str, bool, int)) or (type(value) is float and isfinite(value))


def _objects(*texts: str, needs: str) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, (list, tuple))
        and all(
            isinstance(each, Mapping) and needs in each and all(_is_text(each.get(key)) for key in texts)
            for each in value
        )
    )


def _mapping(is_right: Callable[[Any], bool], keys: Sequence[str] | None = None) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Mapping) and all(is_right(value[key]) for key in keys or value if key in value)
    )


_TEXT, _COUNT = (_is_text, "a text that is not empty"), (_is_count, "a whole number, 0 or more")
_are_durations, _have_runs = _mapping(_is_duration, DURATIONS), _mapping(_is_count, ("runs",))
_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "device": _TEXT,
    "at": _COUNT,
    "bundle": _TEXT,
    "revision": _COUNT,
    "profile": _TEXT,
    "reason": (lambda value: value in REASONS, f"one of {', '.join(REASONS)}"),
    "model": _TEXT,
    "variant": _TEXT,
    "rejected": (
        _objects("variant", "reason", needs="reason"),
        "a list of objects with the texts variant and reason",
    ),
    "options": (_objects("path", "source", needs="value"), "a list of objects with path, value and source"),
    "facts": (_mapping(_is_fact), "an object with the values of facts"),
    "durations_us": (
        lambda value: _are_durations(value) and _have_runs(value),
        f"an object with {', '.join(DURATIONS)} (below 10^15) and runs, 0 or more",
    ),
    "failure": (
        lambda value: isinstance(value, str) and len(value.encode(errors="replace")) <= MAX_FAILURE_BYTES,
        f"a text of at most {MAX_FAILURE_BYTES} bytes",
    ),
    "left_out": (_mapping(_is_count, DROPPED), "an object with the numbers of entries that did not fit"),
}


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
    rejected: Sequence[Mapping[str, str]] | None = None
    options: Sequence[Mapping[str, Any]] | None = None
    facts: Mapping[str, Any] | None = None
    durations_us: Mapping[str, float] | None = None
    failure: str | None = None
    left_out: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        for name, (is_right, expected) in _FIELDS.items():
            value = getattr(self, name)
            if value is not None and not is_right(value):
                raise ValueError(f"{name}: expected {expected}, given {_shown(value)}")

    @classmethod
    def of(
        cls, resolution: Resolution | None, choice: ModelChoice | None = None, **given: Any
    ) -> UsageRecord:
        """Return the record of a resolution, and of the variant of a model.

        Facts that may identify the device or its user are left out; in texts, their values are hidden.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> etconfig.UsageRecord.of(etconfig.resolve(program), device="phone-17").device
            'phone-17'

        Args:
            resolution: The options in force; None if nothing was resolved.
            choice: The variant that is used, as `select_model` returns it.
            given: What only the application knows: `device`, `at`, `bundle`, `revision`, `durations_us`, and
                `failure`, the reason why nothing was resolved or loaded, which is cut after 200 bytes.

        Raises:
            TypeError: there is no such field, or an argument is of the wrong type.
            ValueError: a value is not one that the field has.
        """
        check_type("resolution", resolution, (Resolution, NoneType), "what etconfig.resolve returns, or None")
        check_type("choice", choice, (ModelChoice, NoneType), "what select_model returns, or None")
        if isinstance(given.get("failure"), str):
            failure = _without(given["failure"], resolution)
            given["failure"] = failure.encode(errors="replace")[:MAX_FAILURE_BYTES].decode(errors="ignore")
        has_failure = given.get("failure") is not None
        reason = "error" if resolution is None or has_failure else "named"
        if resolution is not None:
            reason = "matched" if reason == "named" and resolution.selection is not None else reason
            reason = "fixed" if reason == "named" and resolution.profile is None else reason
            options = [
                {
                    "path": str(path),
                    "value": _without(each.value, resolution),
                    "source": each.origin.split(" ")[0],
                }
                for path, each in reported_values(resolution).items()
            ]
            options.sort(key=lambda each: each["source"] == "default")  # these are left out first
            given |= {"profile": resolution.profile, "options": options, "facts": _facts(resolution, choice)}
        if choice is not None:
            earlier = [each for each in choice.rejected if each.variant.number < choice.variant.number]
            has_failed = any(each.error or each.reasons[0].startswith("its load failed") for each in earlier)
            reason = "fallback" if has_failed and reason != "error" else reason
            given |= {"model": choice.name, "variant": choice.variant.file.target}
            given["rejected"] = [
                {"variant": each.variant.file.target, "reason": _without("; ".join(each.reasons), resolution)}
                for each in earlier
            ]
        return cls(reason=reason, **given)

    def to_json(self) -> str:
        """Return the record as one line of JSON, at most 2,048 bytes with the end of the line.

        Of one that is longer, entries at the end of `rejected`, then of `facts`, then of `options` are left
        out, and counted in `left_out`.

        Raises:
            ValueError: it is too long without these, or a value is not plain data.
        """
        data: dict[str, Any] = {_KEY: VERSION, **{name: getattr(self, name) for name in _FIELDS}}
        left_out = data["left_out"] = dict(self.left_out or {})
        for name in DROPPED:
            while data[name] and len(_line(data)) >= MAX_BYTES:
                kept = data[name]
                data[name] = dict([*kept.items()][:-1]) if isinstance(kept, Mapping) else kept[:-1]
                left_out[name] = left_out.get(name, 0) + 1
        line = _line(data)
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
            TypeError: it is not a text.
            ValueError: it is not a record, or of another version; the message names the field.
        """
        check_type("text", text, (str, bytes), "a line of JSON, as str or bytes")
        size = len((text if isinstance(text, bytes) else text.encode(errors="surrogatepass")).rstrip()) + 1
        if size > MAX_BYTES:
            raise ValueError(f"a usage record takes at most {MAX_BYTES:,} bytes")
        try:
            data = parse_json(text)
            if b"\\u" in text if isinstance(text, bytes) else "\\u" in text:
                json.dumps(data, ensure_ascii=False).encode()  # half a character is not text
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not a line of JSON: {error}") from error
        if not isinstance(data, dict) or _KEY not in data:
            raise ValueError(f"a usage record is a JSON object with {_KEY!r}")
        if type(data[_KEY]) is not int or data[_KEY] != VERSION:
            raise ValueError(
                f"{_KEY}: version {_shown(data[_KEY])} is not known; this etconfig reads {VERSION}"
            )
        given = {"reason": data.get("reason"), **{name: data[name] for name in _FIELDS if name in data}}
        for name, value in given.items():
            if value is None:
                raise ValueError(f"{name}: expected {_FIELDS[name][1]}")
        return cls(**given)


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _line(data: Mapping[str, Any]) -> bytes:
    """Return the line without its end, and without what is empty.

    Raises:
        ValueError: a value is not plain data, or not text in UTF-8.
    """
    given = {key: value for key, value in data.items() if value not in (None, [], (), {})}
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a value is not plain data: {error}") from error


def _without(value: Any, resolution: Resolution | None) -> Any:
    """Return a value in whose text no value of a fact is left that may identify the device."""
    if resolution is None or not isinstance(value, str):
        return value
    get, known = resolution.facts.registry.get, resolution.facts.values.items()
    hidden = {each for name, each in known if isinstance(each, str) and each and may_identify(get(name))}
    for each in sorted(hidden, key=len, reverse=True):
        value = re.sub(rf"(?<!\w){re.escape(each)}(?!\w)", HIDDEN_VALUE, value)
    return value


def _facts(resolution: Resolution, choice: ModelChoice | None) -> dict[str, Any]:
    """Return the facts on which the profile, the options and the variant depend."""
    conditions = [] if resolution.selection is None else [resolution.selection.profile.match]
    if choice is not None:
        judged = (choice.variant, *(each.variant for each in choice.rejected))
        conditions += [each.when for each in judged if each.number <= choice.variant.number]
    names = {name for each in conditions if each is not None for name in each.facts} | {
        *resolution.facts_used()
    }
    known, registry = resolution.facts.values, resolution.facts.registry
    shown = (name for name in sorted(names) if name in known and not may_identify(registry.get(name)))
    return {name: list(found) if isinstance(found := known[name], tuple) else found for name in shown}
