"""`TuneReport`: what a search found, as a table, as JSON, and as the text of a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from etconfig.base.number_text import format_bytes, format_seconds
from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.profile.evidence import gain_text
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text
from etconfig.schema.coerce import show_value
from etconfig.tuning.contest import MEMORY, Trial
from etconfig.tuning.space import Space, configuration_text
from etconfig.tuning.study import outcome_data
from etconfig.tuning.tuning import Found

REPORT_VERSION = 1
"""The version of the JSON form."""
_SHOWN = 10
HEADERS = ("RATIO", "INTERVAL", "PAIRS", "MEDIAN", "MEMORY", "ERROR", "OPTIONS")
"""The headers of the table of outcomes."""


@record(frozen=True, kw_only=True)
class TuneReport(HasView):
    """The result of `tune`.

    Attributes:
        model: The path of the model.
        sha256: `sha256:` and the hash of its content.
        method: The method, or the name of an engine's model.
        engine: The engine and its version.
        profile: The name of the profile in force.
        objective: `latency`, `throughput` or `memory`.
        space: The options and their values.
        found: What was found.
        outcomes: The last outcome of each configuration, the best first.
        control: What the better options do to another model; None if none was named.
        notes: What to know about the result, in sentences.
        profile_text: The profile with evidence, as TOML; None if nothing is better.
        study: The file with all outcomes, or None.
        resumed: The number of outcomes that were in it before.
    """

    model: str
    sha256: str
    method: str
    engine: str
    profile: str | None
    objective: str
    space: Space
    found: Found
    outcomes: Sequence[Trial]
    control: Trial | None = None
    notes: Sequence[str] = ()
    profile_text: str | None = None
    study: str | None = None
    resumed: int = 0

    @property
    def is_better(self) -> bool:
        """True if something is better than what is configured."""
        return self.found.whole is not None

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        whole = self.found.whole
        if whole is not None and whole.ratio is not None:
            return f"{shown_gain(whole.ratio, self.objective)}: {configuration_text(self.found.better)}"
        if self.found.is_interrupted:
            return "interrupted: nothing is confirmed"
        return "nothing better than what is configured"

    @property
    def lines(self) -> Sequence[str]:
        """The lines above the table: the work and its results."""
        return [*self._lines()]

    def _lines(self) -> Iterator[str]:
        count, failed = self.found.count, sum(each.failure is not None for each in self.outcomes)
        measured = f"{len(self.outcomes):,} of {count_text(count, 'configuration')} measured"
        yield f"{measured}, {failed} failed" if failed else measured
        if self.resumed:
            yield f"{count_text(self.resumed, 'outcome')} from {self.study}"
        noise = self.found.noise
        if noise is not None:
            yield f"noise: two equal ones differ by {abs(1 - noise.ratio):.1%} {noise.interval}"
        for each in self.found.unconfirmed:
            reason = each.failure or (each.ratio and f"{each.ratio.ratio:.3f} {each.ratio.interval}")
            yield f"not confirmed: {configuration_text(each.configuration)}: {reason}"
        if self.found.dropped:
            names = ", ".join(path.partition(".")[2] for path in self.found.dropped)
            yield f"left out, for they do not matter: {names}"
        for path, gain in self.found.options.items():
            shown = gain_text(gain.ratio, self.objective)
            yield f"{path} = {show_value(self.found.better[path])}: {shown} by itself"
        if self.control is not None:
            yield _control_text(self.control)
        if not self.found.is_reduced:
            yield "the time was over before each option was left out: some of them may not matter"
        if not self.found.is_complete:
            yield "the time was over before all were compared; run it again with a larger --budget"
        yield from self.notes

    def rows(self, limit: int | None = _SHOWN) -> list[tuple[str, ...]]:
        """Return the cells of the best outcomes, and of one for each reason of a failure, the simplest."""
        best = [each for each in self.outcomes if each.failure is None][:limit]
        failed = [each for each in self.outcomes if each.failure is not None]
        counts = Counter(each.failure for each in failed)
        simplest = {each.failure: each for each in sorted(failed, key=lambda each: -len(each.configuration))}
        rows = [_cells(each) for each in best]
        return [*rows, *(_cells(simplest[reason], count) for reason, count in counts.most_common(limit))]

    def to_jsonable(self) -> dict[str, Any]:
        """Return the report as plain data: the output of `etconfig tune --json`."""
        found = self.found
        return {
            "etconfig_tune": REPORT_VERSION,
            "model": {"path": self.model, "sha256": self.sha256, "method": self.method},
            "engine": self.engine,
            "profile": self.profile,
            "objective": self.objective,
            "space": {each.path: [each.incumbent, *each.values] for each in self.space.dimensions},
            "noise": None if found.noise is None else found.noise.to_jsonable(),
            "is_better": self.is_better,
            "is_complete": found.is_complete,
            "is_interrupted": found.is_interrupted,
            "better": dict(found.better),
            "confirmed": None if found.whole is None else outcome_data(found.whole),
            "options": [{"option": path, **gain.to_jsonable()} for path, gain in found.options.items()],
            "dropped": list(found.dropped),
            "unconfirmed": [outcome_data(each) for each in found.unconfirmed],
            "control": None if self.control is None else outcome_data(self.control),
            "notes": list(self.notes),
            "outcomes": [outcome_data(each) for each in self.outcomes],
            "study": self.study,
            "profile_text": self.profile_text,
        }

    def __repr__(self) -> str:
        return f"<TuneReport: {self.model}: {self.verdict}>"

    def _view(self) -> View:
        table = Table(headers=HEADERS, rows=self.rows())
        return View(title=f"{self.model}: {self.verdict}", lines=self.lines, tables=(table,))


def shown_gain(ratio: PairedRatio, objective: str) -> str:
    """Return a gain and its interval as users say it: `1.72 x [1.68, 1.78]`, or `0.80 x the memory [...]`."""
    shown = ratio if objective == MEMORY else ratio.inverse()
    return f"{gain_text(ratio.ratio, objective)} {shown.interval}"


def _control_text(outcome: Trial) -> str:
    ratio = outcome.ratio
    if ratio is None or outcome.failure is not None:
        return f"the control model fails with these options: {outcome.failure}"
    if ratio.low > 1:
        return f"the control model is worse with these options: {ratio.ratio:.3f} {ratio.interval}"
    effect = "better" if ratio.high < 1 else "not different"
    return f"the control model is {effect} with these options: {ratio.ratio:.3f} {ratio.interval}"


def _cells(outcome: Trial, count: int = 1) -> tuple[str, ...]:
    ratio, options = outcome.ratio, configuration_text(outcome.configuration)
    median = "" if outcome.latency_ns is None else format_seconds(outcome.latency_ns / 1e9)
    memory = "" if outcome.peak_bytes is None else format_bytes(outcome.peak_bytes)
    error = "" if outcome.error is None else f"{outcome.error:.1e}"
    if ratio is None or outcome.failure is not None:
        alike = "" if count == 1 else f" and {count_text(count - 1, 'other')}"
        return ("failed", "", "", median, memory, error, f"{options}{alike}: {outcome.failure}")
    interval = ratio.interval if ratio.pairs > 1 else ""
    return (f"{ratio.ratio:.3f}", interval, str(ratio.pairs), median, memory, error, options)
