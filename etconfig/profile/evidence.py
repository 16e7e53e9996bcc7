"""`[evidence]` of a profile: what was measured when `etconfig tune` wrote its options."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Severity, Span
from etconfig.profile.table import TomlTable
from etconfig.profile.usage_guards import DURATIONS

_INTERVAL_HELP = "write the least and the greatest ratio: interval = [0.56, 0.60]"
_MEASURED_KEYS = ("ratio", "interval", "pairs")
_REQUIRED = ("made", "model", "engine", "device", "noise")
_KEYS = (*_REQUIRED, "backend", "shapes", "objective", *_MEASURED_KEYS, "options")
USED = ("source", "made", "rollout", "objective", "devices", "ratio", "interval")
"""The keys of evidence from usage, which are all required; it may have `options`, too."""
OBJECTIVES = ("latency", "throughput", "memory")
"""What `etconfig tune` may have measured."""
MODEL = r"sha256:[0-9a-f]+"
"""The form of a model's hash."""
ENGINE = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])? \S+"
"""The form of an engine with its version."""
BACKEND = r"[A-Za-z_][A-Za-z0-9_-]*"
"""The form of a backend's id."""
OPTION = rf"{BACKEND}\.\S+"
"""The form of an option."""
SHAPE = r".+=\d{1,18}(,\d{1,18})*"
"""The form of an input's shape."""


@record(frozen=True, kw_only=True)
class TuningEvidence:
    """The evidence for the options of a profile.

    Attributes:
        made: The day of the measurement.
        model: `sha256:` and the hash of the model's file; empty from usage.
        engine: The name of the engine's distribution and its version, such as `onnxruntime 1.32.0`; empty
            from usage.
        backend: The id of the backend whose engine runs the model; None for a program.
        shapes: The shapes of inputs that were made up, as `NAME=1,3,48,192`.
        device: The facts of the device that it depends on.
        noise: The ratio of two equal configurations in the same run; 1 from usage.
        objective: What was measured: `latency`, `throughput` or `memory`; a duration from usage.
        whole: All options together. From usage, `pairs` are the devices of the smaller side.
        options: The ratio of each option to all others without it, by `BACKEND.OPTION`; from usage, `whole`.
        rollout: The rollout whose devices were compared, from usage; else None.
        find_span: Finds the place of the table.
    """

    made: datetime.date
    model: str
    engine: str
    device: Mapping[str, object]
    noise: float
    objective: str
    whole: PairedRatio
    options: Mapping[str, PairedRatio]
    backend: str | None = None
    shapes: tuple[str, ...] = ()
    rollout: str | None = None
    find_span: Callable[[], Span] = field(compare=False, repr=False)

    def sentence(self, option: str, today: datetime.date) -> str | None:
        """Return what was measured of an option, such as `measured 1.72 x on Xeon; 14 days old`."""
        found = self.options.get(option)
        if found is None:
            return None
        days = (today - self.made).days
        where = next((str(value) for name, value in self.device.items() if name.endswith(".model")), "")
        age = "made today" if days == 0 else f"{days} {'day' if days == 1 else 'days'} old"
        age = age if days >= 0 else f"made on {self.made}"
        gain = gain_text(found.ratio, self.objective)
        if self.rollout is not None:
            together = f" with {len(self.options) - 1} more" if len(self.options) > 1 else ""
            where = f"at least {found.pairs:,} devices on each side of {self.rollout}"
            return f"used: {self.objective} {gain}{together}, {where}; {age}"
        return f"measured {gain}{where and f' on {where}'}; {age}"

    def date_problems(self, today: datetime.date) -> Iterator[Diagnostic]:
        """Yield a warning if it is from the future; a day counts for clocks elsewhere."""
        if (self.made - today).days > 1:
            yield Diagnostic(
                code="stale-evidence",
                message=f"the options were measured in the future: on {self.made}",
                spans=(self.find_span(),),
                help="correct `made`, or the clock of this machine",
                severity=Severity.WARNING,
            )


def gain_text(ratio: float, objective: str) -> str:
    """Return a ratio as users say it: `1.72 x` the speed, or `0.80 x the memory`."""
    return f"{ratio:.2f} x the memory" if objective == "memory" else f"{1 / ratio:.2f} x"


def read_evidence(root: TomlTable) -> TuningEvidence | None:
    """Read `[evidence]` below `root`; None if it is missing, or wrong, which is reported."""
    table = root.table("evidence")
    if table is None:
        return None
    before = len(table.problems)
    is_used = "source" in table.data
    required, keys = (USED, (*USED, "options")) if is_used else (_REQUIRED, _KEYS)
    meant = table.check_keys(keys, "evidence")
    for key in (each for each in required if each not in meant):
        table.require(key, "`etconfig tune` writes it; leave [evidence] out if nothing was measured")
    device = table.table("device")
    whole = _gain(table, "devices" if is_used else "pairs")
    options = _options(table, whole if is_used else None)
    _text(table, "source", "usage", "usage; leave it out for what `etconfig tune` measured")
    made = table.typed("made", (datetime.date,), "a date")
    model = _text(table, "model", MODEL, "sha256: and the hash of the model's file")
    engine = _text(table, "engine", ENGINE, "NAME VERSION, such as onnxruntime 1.32.0")
    backend = _text(table, "backend", BACKEND, "the id of a backend")
    objectives = DURATIONS if is_used else OBJECTIVES
    objective = _text(table, "objective", "|".join(objectives), f"one of {', '.join(objectives)}")
    rollout = table.string("rollout")
    shapes = tuple(table.strings("shapes"))
    for index in (index for index, each in enumerate(shapes) if not re.fullmatch(SHAPE, each)):
        message = "'shapes' must be texts NAME=1,3,48,192"
        table.report("wrong-type", message, table.value_span("shapes", index))
    noise = _ratio(table, "noise")
    if len(table.problems) > before or made is None:
        return None
    return TuningEvidence(
        made=made,
        model=model or "",
        engine=engine or "",
        device={} if device is None else device.data,
        noise=noise or 1.0,
        objective=objective or "latency",
        whole=whole,
        options=options,
        backend=backend,
        shapes=shapes,
        rollout=rollout,
        find_span=partial(root.key_span, "evidence"),
    )


def _text(table: TomlTable, key: str, form: str, wanted: str) -> str | None:
    """Return a text of a form; another one is reported."""
    found = table.string(key)
    if found is not None and not re.fullmatch(form, found):
        table.report("wrong-type", f"{key!r} must be {wanted}", table.value_span(key))
    return found


def _options(table: TomlTable, whole: PairedRatio | None) -> dict[str, PairedRatio]:
    """Read the gain of each option, or their names if only `whole` is known; problems are reported."""
    keys = ("option", *_MEASURED_KEYS) if whole is None else ("option",)
    found: dict[str, PairedRatio] = {}
    for each in table.array_of_tables("options"):
        meant = each.check_keys(keys, "evidence")
        for key in (key for key in keys[:2] if key not in meant):
            each.require(key, "`etconfig tune` writes it")
        name = _text(each, "option", OPTION, "BACKEND.OPTION") or ""
        if name in found:
            each.report("wrong-type", f"{name!r} has its gain twice", each.value_span("option"))
        found[name] = whole or _gain(each)
    return found


def _gain(table: TomlTable, count: str = "pairs") -> PairedRatio:
    """Read a gain, with the number of pairs or devices; what is wrong in it is reported."""
    ratio, interval = _ratio(table, "ratio"), _interval(table)
    pairs = table.typed(count, (int,), "an int")
    if pairs is not None and pairs < 1:
        table.report("wrong-type", f"{count!r} must be 1 or more", table.value_span(count))
    if "ratio" not in table.data and "source" not in table.data and {"interval", "pairs"} & table.data.keys():
        table.require("ratio", "`etconfig tune` writes it")
    if interval is not None and ratio is not None and not interval[0] <= ratio <= interval[1]:
        message = "'interval' must contain the ratio"
        table.report("wrong-type", message, table.value_span("interval"), _INTERVAL_HELP)
    low, high = interval or (0.0, 0.0)
    return PairedRatio(ratio=ratio or 1.0, low=low, high=high, pairs=pairs or 0)


def _ratio(table: TomlTable, key: str) -> float | None:
    """Return a ratio, which is above 0."""
    found = table.typed(key, (int, float), "a number")
    if found is not None and not 0 < found < math.inf:
        table.report("wrong-type", f"{key!r} must be a ratio above 0, but is {found}", table.value_span(key))
        return None
    return None if found is None else float(found)


def _interval(table: TomlTable) -> tuple[float, float] | None:
    """Return an interval; None if it is missing or wrong."""
    found = table.typed("interval", (list,), "an array of two numbers", _INTERVAL_HELP)
    if found is None:
        return None
    is_right = len(found) == 2 and all(type(each) in (int, float) and 0 < each < math.inf for each in found)
    if not is_right or found[0] > found[1]:
        message = "'interval' must be an array of two numbers above 0, the lower one first"
        table.report("wrong-type", message, table.value_span("interval"), _INTERVAL_HELP)
        return None
    return float(found[0]), float(found[1])
