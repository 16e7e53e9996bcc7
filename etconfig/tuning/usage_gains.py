"""`read_usage_gains`: the rollouts that made devices faster, as profiles with evidence."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etconfig.base.paired_ratio import PairedRatio
from etconfig.errors import TuningError
from etconfig.profile.evidence import gain_text
from etconfig.tuning.tuned_profile import TunedProfile

_METRICS = ("p50", "p95", "load", "first_run")
"""The durations; the first one with a claim is the objective."""


def read_usage_gains(path: Path, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return what was found of each rollout in a profile, and the profiles of the faster ones, by label.

    Other comparisons do not count as evidence: their devices differ for other reasons than a lot.

    Args:
        path: The output of `etconfig fleet compare --json`.
        name: The name of the profile to write.

    Raises:
        TuningError: the file cannot be read, or is something else.
    """
    verdicts, texts = {}, {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        for rollout in data["rollouts"]:
            label = f"{rollout['rollout']} in {rollout['profile']}"
            rows = [each for each in data["latency"] if (each["by"], each["label"]) == ("rollout", label)]
            failing = [each for each in data["failures"] if (each["label"], each["claim"]) == (label, "more")]
            verdicts[label], row = _verdict(rollout, rows, failing)
            if row is not None:
                texts[label] = _profile(rollout, row, name).text()
    except OSError as error:
        raise TuningError(problem=f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        help = "write it with `etconfig fleet compare INVENTORY --usage FILES --json`"
        problem = f"{path} is not a whole comparison of usage: {error!r:.200}"
        raise TuningError(problem=problem, help=help) from error
    return verdicts, texts


def _verdict(
    rollout: Mapping[str, Any], rows: list[dict[str, Any]], failing: list[dict[str, Any]]
) -> tuple[str, Mapping[str, Any] | None]:
    """Return what the comparisons of a rollout say, and the one that is evidence."""
    if failing:
        return "nothing better: more of its devices fail; lower its bound", None
    claims = sorted((row for row in rows if row["claim"]), key=lambda row: _METRICS.index(row["metric"]))
    if not claims:
        return "nothing better: no interval lacks 1", None
    first, slower = claims[0], [row["metric"] for row in claims if row["claim"] != "faster"]
    if slower:
        return f"nothing better: slower by {', '.join(slower)}; lower its bound", None
    if rollout["problem"] is not None:
        return f"faster by {first['metric']}, but no evidence for its options: {rollout['problem']}", None
    low, high = first["interval"]
    return f"{gain_text(first['ratio'], '')} [{1 / high:.2f}, {1 / low:.2f}] by {first['metric']}", first


def _profile(rollout: Mapping[str, Any], row: Mapping[str, Any], name: str) -> TunedProfile:
    low, high = row["interval"]
    devices = min(row["devices"], row["others"])
    return TunedProfile(
        name=name,
        extends=rollout["profile"],
        scope="when.",
        options=rollout["options"],
        made=datetime.date.today(),
        objective=row["metric"],
        whole=PairedRatio(ratio=row["ratio"], low=low, high=high, pairs=devices),
        match=rollout["match"],
        when=rollout["when"],
        rollout=rollout["rollout"],
        comment=[
            "The rollout drew its devices by lot; nothing was measured here. Failed devices took no part."
        ],
    )
