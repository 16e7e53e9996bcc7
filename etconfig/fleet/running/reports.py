"""Reports on the outcomes of a fleet: coverage, histograms, problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from etconfig.base.option_path import OptionPath
from etconfig.base.provenance import OriginKind
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.fleet.running.part_result import PartResult
from etconfig.report.model import Table

_CAUSES = {
    "no-matching-profile": "no profile matches",
    "ambiguous-profile": "several profiles match",
    "invalid-fact-value": "a fact that decides has a wrong value",
    "unnamed-device": "the device has no name",
    "broken-line": "the line or sheet is not a JSON object",
}

_MEMORY = {
    "fits": "fit",
    "too_little": "need more than there is",
    "unknown": "nothing is known of the memory",
}


def coverage_data(result: PartResult, plan: FleetPlan) -> dict[str, Any]:
    """Return the coverage of a fleet as plain data."""
    matches, profiles = result.matches, result.profiles
    names = sorted(plan.selector.conditions) if plan.is_auto else sorted(profiles)
    causes: Counter[str] = Counter()
    for cause, _, _, devices, _ in result.problems():
        causes[cause] += devices
    return {
        "devices": result.devices,
        "resolved": result.resolved,
        "share": result.resolved / result.devices if result.devices else 0.0,
        "resolutions": len(result.resolutions),
        "groups": result.groups,
        "causes": dict(causes.most_common()),
        "profiles": [
            {"profile": name, "matches": matches[name], "devices": profiles[name]} for name in names
        ],
        "unmatched_profiles": [name for name in names if plan.is_auto and not matches[name]],
        "options_never_set": never_set(result),
        **({"memory": _memory_data(result)} if plan.with_memory else {}),
        **({"variants": _variant_data(result, plan)} if plan.variants else {}),
    }


def _variant_data(result: PartResult, plan: FleetPlan) -> list[dict[str, Any]]:
    return [
        {"model": model.name, "variant": number, "file": file, "devices": result.variants[model.name, number]}
        for model in (each.model for each in plan.variants)
        for number, file in [*((each.number, str(each)) for each in model.variants), (None, None)]
    ]


def _memory_data(result: PartResult) -> dict[str, Any]:
    fits = result.fits
    share = fits[True] / result.devices if result.devices else 0.0
    return {"fits": fits[True], "too_little": fits[False], "unknown": fits[None], "share": share}


def coverage_tables(data: dict[str, Any], problems: Sequence[Table]) -> list[Table]:
    """Return the tables of a coverage: devices by cause, profiles, and what is never used."""
    total = data["devices"]
    rows: list[tuple[str | int, ...]] = [("resolved", data["resolved"], share_text(data["resolved"], total))]
    rows += [
        (_CAUSES.get(cause, f"cannot be resolved: {cause}"), count, share_text(count, total))
        for cause, count in data["causes"].items()
    ]
    memory = [
        (text, data["memory"][key], share_text(data["memory"][key], total))
        for key, text in _MEMORY.items()
        if "memory" in data
    ]
    used = [row for row in data["profiles"] if row["matches"] or row["devices"]]
    used.sort(key=lambda row: (-row["devices"], row["profile"]))
    return [
        Table(caption="Devices", headers=("OUTCOME", "DEVICES", "SHARE"), rows=rows),
        Table(caption="Memory", headers=("PROGRAMS", "DEVICES", "SHARE"), rows=memory),
        Table(
            caption="Variants",
            headers=("MODEL", "VARIANT", "FILE", "DEVICES", "SHARE"),
            rows=[
                (
                    *(row[key] or "none" for key in ("model", "variant", "file")),
                    row["devices"],
                    share_text(row["devices"], total),
                )
                for row in data.get("variants", ())
            ],
        ),
        *problems,
        Table(
            caption="Profiles",
            headers=("PROFILE", "DEVICES", "SHARE", "MATCHES"),
            rows=[
                (row["profile"], row["devices"], share_text(row["devices"], total), row["matches"])
                for row in used
            ],
        ),
        Table(
            caption="Profiles that match no device",
            headers=("PROFILE",),
            rows=[(name,) for name in data["unmatched_profiles"]],
        ),
        Table(
            caption="Options that nothing sets on any device",
            headers=("OPTION",),
            rows=[(path,) for path in data["options_never_set"]],
        ),
    ]


def never_set(result: PartResult) -> list[str]:
    """Return the options that have their default on every device."""
    all_options: dict[str, bool] = {}
    default = OriginKind.DEFAULT.value
    for each in result.counts:
        for option in each.outcome.options:
            path = str(option.path)
            all_options[path] = all_options.get(path, False) or option.origin.split(" ")[0] != default
    return sorted(path for path, is_set in all_options.items() if not is_set)


def problem_table(result: PartResult, *, with_ids: bool) -> Table:
    """Return the problems, problems of most devices first."""
    headers = ("CAUSE", "PROBLEM", "PROFILE", "DEVICES", *(("FIRST DEVICE",) if with_ids else ()))
    rows = [
        (cause, message, profile or "", devices, *((example or "",) if with_ids else ()))
        for cause, message, profile, devices, example in result.problems()
    ]
    return Table(caption="Problems", headers=headers, rows=rows)


def option_histogram(result: PartResult, path: OptionPath) -> dict[str, Counter[str]]:
    """Return the number of devices of each value of the options that a path names, by the whole path."""
    found: dict[str, Counter[str]] = {}
    for each in result.counts:
        for option in each.outcome.options:
            if _is_named(path, option.path):
                found.setdefault(str(option.path), Counter())[option.value] += each.devices
    return found


def _is_named(path: OptionPath, option: OptionPath) -> bool:
    if (path.backend, path.option) != (option.backend, option.option):
        return False
    if path.method is None:
        return True
    return path.method == option.method and path.instance in (None, option.instance)


def share_text(count: int, total: int) -> str:
    """Return a part of a whole in percent; nothing but all is 100 %, nothing but none is 0 %."""
    if not total or count in (0, total):
        return "100 %" if total and count else "0 %"
    percent = min(max(100 * count / total, 0.001), 99.999)
    return f"{percent:.5g} %" if percent > 99 else f"{percent:.3g} %"
