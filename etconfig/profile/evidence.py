"""`[evidence]` of a profile: what was measured when `etconfig tune` wrote its options."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from etconfig.base.records import record
from etconfig.diagnostics import Span
from etconfig.profile.table import TomlTable

_INTERVAL_HELP = "write the least and the greatest ratio: interval = [0.56, 0.60]"
_MEASURED_KEYS = ("ratio", "interval", "pairs")
_REQUIRED = ("made", "model", "engine", "device", "noise")
_KEYS = (*_REQUIRED, "objective", *_MEASURED_KEYS, "options")


@record(frozen=True, kw_only=True)
class MeasuredGain:
    """A ratio of what was measured with options to what was measured without them.

    Attributes:
        option: `BACKEND.OPTION`, or the empty text for all options together.
        ratio: The ratio; below 1 is a gain.
        low: The lower end of its 95 % interval.
        high: The upper end.
        pairs: The number of paired measurements.
    """

    option: str
    ratio: float
    low: float
    high: float
    pairs: int


@record(frozen=True, kw_only=True)
class TuningEvidence:
    """The evidence for the options of a profile.

    Attributes:
        made: The day of the measurement.
        model: `sha256:` and the hash of the model's file.
        engine: The name of the engine's distribution and its version, such as `onnxruntime 1.32.0`.
        device: The facts of the device that it depends on.
        noise: The ratio of two equal configurations in the same run.
        objective: What was measured: `latency`, `throughput` or `memory`.
        whole: All options together.
        options: Each option, against all others without it.
        find_span: Finds the place of the table.
    """

    made: datetime.date
    model: str
    engine: str
    device: Mapping[str, object]
    noise: float
    objective: str
    whole: MeasuredGain
    options: tuple[MeasuredGain, ...]
    find_span: Callable[[], Span] = field(compare=False, repr=False)

    def sentence(self, option: str, today: datetime.date) -> str | None:
        """Return what was measured of an option, such as `measured 1.72 x on Xeon; 14 days old`."""
        found = next((each for each in self.options if each.option == option), None)
        if found is None:
            return None
        days = (today - self.made).days
        where = next((str(value) for name, value in self.device.items() if name.endswith(".model")), "")
        age = "made today" if days == 0 else f"{days} {'day' if days == 1 else 'days'} old"
        return f"measured {gain_text(found.ratio, self.objective)}{where and f' on {where}'}; {age}"


def gain_text(ratio: float, objective: str) -> str:
    """Return a ratio as users say it: `1.72 x` the speed, or `0.80 x the memory`."""
    return f"{ratio:.2f} x the memory" if objective == "memory" else f"{1 / ratio:.2f} x"


def read_evidence(root: TomlTable) -> TuningEvidence | None:
    """Read `[evidence]` below `root`; None if it is missing, or wrong, which is reported."""
    table = root.table("evidence")
    if table is None:
        return None
    before = len(table.problems)
    meant = table.check_keys(_KEYS, "evidence")
    for key in (each for each in _REQUIRED if each not in meant):
        table.require(key, "`etconfig tune` writes it; leave [evidence] out if nothing was measured")
    device = table.table("device")
    options = [_gain(each, ("option", *_MEASURED_KEYS)) for each in table.array_of_tables("options")]
    made = table.typed("made", (datetime.date,), "a date")
    model, engine = table.string("model"), table.string("engine")
    noise = _ratio(table, "noise")
    whole = _gain(table, ())
    objective = table.string("objective")
    if len(table.problems) > before or made is None or model is None or engine is None or noise is None:
        return None
    return TuningEvidence(
        made=made,
        model=model,
        engine=engine,
        device={} if device is None else device.data,
        noise=noise,
        objective=objective or "latency",
        whole=whole,
        options=tuple(options),
        find_span=partial(root.key_span, "evidence"),
    )


def _gain(table: TomlTable, keys: tuple[str, ...]) -> MeasuredGain:
    """Read a gain; what is missing or wrong in it is reported."""
    if keys:
        meant = table.check_keys(keys, "evidence")
        for key in (each for each in ("option", "ratio") if each not in meant):
            table.require(key, "`etconfig tune` writes it")
    ratio = _ratio(table, "ratio")
    low, high = _interval(table)
    return MeasuredGain(
        option=(table.string("option") if keys else None) or "",
        ratio=ratio or 1.0,
        low=low,
        high=high,
        pairs=table.typed("pairs", (int,), "an int") or 0,
    )


def _ratio(table: TomlTable, key: str) -> float | None:
    """Return a ratio, which is above 0."""
    found: Any = table.typed(key, (int, float), "a number")
    if found is not None and not 0 < found < float("inf"):
        table.report("wrong-type", f"{key!r} must be a ratio above 0, but is {found}", table.value_span(key))
        return None
    return None if found is None else float(found)


def _interval(table: TomlTable) -> tuple[float, float]:
    """Return an interval; from 0 to 0 if it is missing or wrong."""
    found = table.typed("interval", (list,), "an array of two numbers", _INTERVAL_HELP)
    if found is None:
        return 0.0, 0.0
    if len(found) != 2 or any(type(each) not in (int, float) for each in found) or found[0] > found[1]:
        message = "'interval' must be an array of two numbers, the lower one first"
        table.report("wrong-type", message, table.value_span("interval"), _INTERVAL_HELP)
        return 0.0, 0.0
    return float(found[0]), float(found[1])
