"""The time that work takes by itself: sleep counts, other processes do not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from etconfig.conformance.process import import_probe
from etconfig.conformance.process.import_probe import Stopwatch


class Clocks:
    """The clocks of a process, set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, schedstat: Path | None) -> None:
        self.clock, self.worked, self._schedstat = 0.0, 0.0, schedstat
        monkeypatch.setattr(time, "perf_counter", lambda: self.clock)
        monkeypatch.setattr(time, "process_time", lambda: self.worked)
        monkeypatch.setattr(import_probe, "SCHEDULER", schedstat or Path("/no/such/file"))
        self.spend()

    def spend(self, *, working: float = 0.0, asleep: float = 0.0, queued: float = 0.0) -> None:
        self.clock += working + asleep + queued
        self.worked += working
        if self._schedstat is not None:
            before = float(self._schedstat.read_text().split()[1]) if self._schedstat.exists() else 0
            self._schedstat.write_text(f"0 {int(before + queued * 1e9)} 1")


class TestStopwatch:
    """The result is the clock without the time in the queue for a processor."""

    def test_sleep_counts_and_the_queue_does_not(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        clocks = Clocks(monkeypatch, tmp_path / "schedstat")
        watch = Stopwatch()
        clocks.spend(working=0.25, asleep=0.5, queued=8.0)
        assert watch.seconds_without_load(1.0) == pytest.approx(0.75)

    def test_processor_time_of_other_threads_counts(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        clocks = Clocks(monkeypatch, tmp_path / "schedstat")
        watch = Stopwatch()
        clocks.worked += 3.0
        clocks.spend(asleep=1.0)
        assert watch.seconds_without_load(1.0) == pytest.approx(3.0)

    def test_without_the_scheduler_the_load_is_estimated(self, monkeypatch: pytest.MonkeyPatch):
        clocks = Clocks(monkeypatch, None)
        before = Stopwatch()
        clocks.spend(working=0.1, queued=0.3)
        delay = before.delay
        assert delay == pytest.approx(4.0)
        watch = Stopwatch()
        clocks.spend(working=0.2, asleep=0.5, queued=0.6)
        assert watch.seconds_without_load(delay) == pytest.approx(0.7)

    def test_the_real_clocks_count_sleep(self):
        watch = Stopwatch()
        time.sleep(0.05)
        assert watch.seconds_without_load(1.0) > 0
