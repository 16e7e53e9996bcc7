"""The usage record that a device has to write, from Python's resolution and the rules of the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from etconfig.resolver.deciding.arguments import Arguments
from etconfig.resolver.deciding.resolution import Resolution

MAX_BYTES = 2048
HIDDEN = "(set, not shown)"
_TEXTS = ("device", "failure")
_DURATIONS = {
    "load_us": "load",
    "first_run_us": "first_run",
    "p50_us": "p50",
    "p95_us": "p95",
    "runs": "runs",
}
_ORDER = (
    *("etconfig_usage", "device", "at", "bundle", "revision", "profile", "reason", "model", "variant"),
    *("rejected", "options", "facts", "durations_us", "failure", "left_out"),
)
_PIECES = (
    b"a",
    b"phone 17",
    "é€😀".encode(),
    b'"\\/',
    bytes(range(1, 32)),
    b"\x7f\x80",
    b"\xed\xa0\x80",
    b"\xf0\x9f",
)


def random_given(random: Random) -> dict[str, Any]:
    """Return what an application might say of a use: some fields of `etconfig_usage`."""
    given: dict[str, Any] = {
        name: b"".join(random.choices(_PIECES, k=random.randrange(1, most)))
        for name, most in (("device", 9), ("failure", 40))
        if random.random() < (0.2 if name == "failure" else 0.6)
    }
    given |= {
        name: random.choice((0, 7, 2**53, 2**63 - 1)) for name in ("at_ms", "runs") if random.random() < 0.6
    }
    durations = (0.0, 3.0, 2.5, 1e-7, 1e15, 9007199254740992.0, 1.7976931348623157e308)
    given |= {name: random.choice(durations) for name in [*_DURATIONS][:4] if random.random() < 0.6}
    return given


def application_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that come from the application alone."""
    texts = {name: given[name].decode(errors="replace") for name in _TEXTS if given.get(name)}
    if "failure" in texts:
        texts["failure"] = texts["failure"].encode()[:200].decode(errors="ignore")
    durations = {_DURATIONS[name]: _shortest(given[name]) for name in _DURATIONS if name in given}
    found = {**texts, **({"at": given["at_ms"]} if "at_ms" in given else {})}
    return {**found, "durations_us": durations} if durations else found


def _shortest(number: float) -> float:
    return int(number) if number < 2**53 and number == int(number) else number


def decided_fields(
    resolution: Resolution, arguments: Arguments, read: Sequence[str], hidden: frozenset[str]
) -> dict[str, Any]:
    """Return the options and facts of one method instance; `read` are the facts of further conditions."""
    label = arguments.method + (f"@{arguments.instance}" if arguments.instance else "")
    options = [
        {
            "path": f"{label}:{backend}.{name}",
            "value": _shown(value, origin, hidden),
            "source": origin.split()[0],
        }
        for backend, resolved in arguments.backends.items()
        for name, value in resolved.options.to_jsonable().items()
        for origin in [str(arguments.origin(backend, name))]
    ]
    options.sort(key=lambda each: each["source"] == "default")
    names = set(read)
    for resolved in arguments.backends.values():
        names |= {*resolved.recommendation.basis}
        for each in resolved.candidates.values():
            in_bundle = replace(each, candidates=tuple(each.effective))  # without values that are hidden
            names |= in_bundle.facts
    known = resolution.facts.values
    facts = {
        name: list(value) if isinstance(value := known[name], tuple) else value
        for name in sorted(names & known.keys() - hidden)
    }
    return {"options": options, "facts": facts}


def _shown(value: object, origin: str, hidden: frozenset[str]) -> object:
    """Return the value, unless the expression or fact that it comes from may identify the device."""
    found = re.search(r"\((?:when .*; |)(?:expr|fact) (.*)\)$", origin)
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "", found[1]) if found else ""
    return HIDDEN if hidden & set(re.findall(r"[\w.]+", code)) else value


def expected_line(fields: Mapping[str, Any]) -> bytes | None:
    """Return the line with the entries that fit; None if nothing fits."""
    data = {name: value for name, value in {"etconfig_usage": 1, **fields}.items() if value not in ([], {})}
    left: dict[str, int] = {}
    while len(line := _line({**data, **({"left_out": left} if left else {})})) > MAX_BYTES:
        name = next((name for name in ("rejected", "facts", "options") if name in data), None)
        if name is None:
            return None
        kept = list(data[name].items()) if name == "facts" else data[name]
        data[name] = dict(kept[:-1]) if name == "facts" else kept[:-1]
        left[name] = left.get(name, 0) + 1
        if not data[name]:
            del data[name]
    return line


def _line(data: Mapping[str, Any]) -> bytes:
    ordered = {name: data[name] for name in _ORDER if name in data}
    assert ordered.keys() == data.keys()
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
