"""Random usage records, right ones and wrong ones, as plain data."""

from __future__ import annotations

import json
from random import Random
from typing import Any

TEXTS = ("a", "phone 1", "Gerät €𝄞", "x" * 40, "tab\tand\nline", 'quote" and \\')
WRONG: tuple[object, ...] = (
    None,
    "",
    0,
    -1,
    1.5,
    True,
    [],
    {},
    "x",
    [1],
    [None],
    {"a": None},
    2**63,
    1e15,
    -0.5,
    "1",
)


def random_record(random: Random) -> dict[str, Any]:
    """A right record."""
    data: dict[str, Any] = {"etconfig_usage": 1, "reason": random.choice(REASONS)}
    for name in ("device", "bundle", "profile", "model", "variant"):
        if random.random() < 0.6:
            data[name] = random.choice(TEXTS)
    for name in ("at", "revision"):
        if random.random() < 0.6:
            data[name] = random.choice((0, 7, 2**63 - 1))
    some = range(random.randrange(4))
    if random.random() < 0.6:
        data["options"] = [
            {
                "path": f"forward:A.o{n}",
                "value": random.choice((1, None, "a", [1], {"b": 2.5})),
                "source": "profile",
            }
            for n in some
        ]
    if random.random() < 0.5:
        data["rejected"] = [{"variant": random.choice(TEXTS), "reason": "it failed"} for _ in some]
    if random.random() < 0.5:
        data["facts"] = {
            f"os.name{n}": random.choice((1, -2, 0.5, True, "", "x", [], ["a", "b"])) for n in some
        }
    if random.random() < 0.7:
        names = ("load", "first_run", "p50", "p95")
        data["durations_us"] = {
            name: random.choice((0, 3, 2.5, 1e9)) for name in names if random.random() < 0.6
        }
        data["durations_us"] |= {"runs": 7} if random.random() < 0.5 else {}
    if random.random() < 0.2:
        data["failure"] = random.choice(TEXTS)
    if random.random() < 0.2:
        data["left_out"] = {"facts": 3}
    if random.random() < 0.2:
        data["further"] = random.choice(WRONG)
    return data


REASONS = ("matched", "fallback", "named", "fixed", "error")


def broken(random: Random, record: dict[str, Any]) -> dict[str, Any]:
    """A record in which one value, at some depth, is another one or gone; it may be right all the same."""
    copy: dict[str, Any] = json.loads(json.dumps(record))
    places: list[tuple[Any, Any]] = []

    def collect(each: Any) -> None:
        for key in each if isinstance(each, dict) else range(len(each)):
            places.append((each, key))
            if isinstance(each[key], (dict, list)):
                collect(each[key])

    collect(copy)
    holder, key = random.choice(places)
    if random.random() < 0.3:
        del holder[key]
    else:
        holder[key] = random.choice(WRONG)
    return copy
