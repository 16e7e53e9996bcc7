"""Isolated checks: the end of their process is an outcome, and affects no other process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kit_checks import (
    clinging,
    crashing,
    failing,
    greedy,
    hanging,
    leaving,
    lingering,
    littering,
    made,
    passing,
    subject,
)

from etconfig.conformance.checks.check import Check
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.outcomes import Outcome, Result
from etconfig.conformance.process import forking_worker
from etconfig.conformance.process.forking_worker import ForkingWorker
from etconfig.conformance.runner import runner

LATER = 20.0

RUN = """
import kit_checks, sys
from etconfig.conformance.runner import isolated_process
isolated_process.EXIT_SECONDS = {exit_seconds}
isolated_process.all_checks = lambda: [kit_checks.made(getattr(kit_checks, {name!r}))]
isolated_process.run_requested_check()
"""


FORKING = """
import kit_checks, sys
from etconfig.conformance.runner import forking, isolated_process
isolated_process.EXIT_SECONDS = {exit_seconds}
isolated_process.all_checks = lambda: [kit_checks.made(getattr(kit_checks, {name!r}))]
forking.serve_orders()
"""


@pytest.fixture(params=["new", "forked"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Run a check of `kit_checks` in a process that knows it: a new one, or the child of a kept one."""

    def in_process(
        function: Callable[..., None], timeout_seconds: float = LATER, exit_seconds: float = 5
    ) -> object:
        command = (sys.executable, "-c", RUN.format(name=function.__name__, exit_seconds=exit_seconds))
        monkeypatch.setattr(runner, "WORKER", command)
        check: Check = made(function, isolated=True, timeout_seconds=timeout_seconds)
        if request.param == "new":
            result = runner.run_isolated(check, subject())
        else:
            result = forked(function.__name__, exit_seconds, check)
        return result.outcome, result.message

    def forked(name: str, exit_seconds: float, check: Check) -> Result:
        forking = (sys.executable, "-c", FORKING.format(name=name, exit_seconds=exit_seconds))
        monkeypatch.setattr(forking_worker, "WORKER", forking)
        monkeypatch.setattr(runner, "ask_process", None)  # a new process would hide what is wrong
        with ForkingWorker() as worker:
            first = runner.run_isolated(check, subject(), worker)
            again = runner.run_isolated(check, subject(), worker)
            assert again.outcome is first.outcome
            return again

    return in_process


def is_running(pid: int) -> bool:
    """Check whether a process exists that is not a zombie."""
    answer = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()[:1] not in {"", "Z"}


class TestOrphans:
    """A process whose parent is gone still ends."""

    def test_its_own_time_limit_ends_it(self):
        request = {
            "check": "made",
            "settings": subject().settings.to_jsonable(),
            "memory_limit_bytes": runner.MEMORY_LIMIT_BYTES,
            "timeout_seconds": 0.1,
        }
        done = subprocess.run(
            [sys.executable, "-c", RUN.format(name=hanging.__name__, exit_seconds=0)],
            input=json.dumps(request),
            text=True,
            capture_output=True,
            timeout=LATER,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
        assert done.returncode == 1
        assert "in hanging" in done.stderr


class TestIsolation:
    """The process may answer, crash, leave, hang or run out of memory."""

    def test_its_answer_counts(self, run: Callable[..., object]) -> None:
        assert run(passing) == (Outcome.PASSED, None)
        assert run(failing) == (Outcome.FAILED, "seen 2, expected 1")

    @pytest.mark.posix
    def test_a_crash_is_reported_with_the_last_output(self, run: Callable[..., object]) -> None:
        message = "its process ended with signal SIGABRT; its last output: last words"
        outcome, said = run(crashing)  # type: ignore[misc]
        assert outcome is Outcome.CRASHED
        assert said.startswith(message)

    def test_leaving_without_an_answer_is_a_crash(self, run: Callable[..., object]) -> None:
        assert run(leaving) == (Outcome.CRASHED, "its process ended with exit status 7")

    @pytest.mark.skipif(not hasattr(os, "killpg"), reason="only POSIX groups processes")
    def test_leftover_files_are_removed_and_processes_ended(self, run: Callable[..., object]) -> None:
        outcome, said = run(littering)  # type: ignore[misc]
        path, pid = said.rsplit(maxsplit=1)
        assert outcome is Outcome.FAILED
        assert not Path(path).parent.exists()
        assert any(not is_running(int(pid)) for _ in range(100))

    def test_a_hanging_process_is_killed(self, run: Callable[..., object]) -> None:
        assert run(hanging, 1.5) == (Outcome.TIMED_OUT, "it did not end within 1.5 s")

    def test_threads_that_keep_it_from_ending_are_named(self, run: Callable[..., object]) -> None:
        outcome, said = run(lingering, exit_seconds=0.1)  # type: ignore[misc]
        assert outcome is Outcome.CRASHED
        assert said.startswith(
            "its process ended with exit status 1; its last output: the check has ended, and its process "
            "must end within 0.1 s, but threads still run: acme-poll | Timeout (0:00:00.100000)! | Thread "
            "(most recent call first): "
        )

    def test_a_failure_is_reported_even_if_the_process_does_not_end(self, run: Callable[..., object]) -> None:
        assert run(clinging, exit_seconds=0.1) == (Outcome.FAILED, "a thread is left")

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
    def test_memory_is_limited(self, run: Callable[..., object]) -> None:
        assert run(greedy) == (Outcome.FAILED, "MemoryError: ")


def seeing(what: str) -> str:
    """Return the source of a check that fails with what it sees."""
    return f"""
import os, sys, tempfile, threading
from etconfig.conformance.kit.outcomes import CheckFailedError
from etconfig.conformance.runner import forking, isolated_process
import kit_checks
def see(subject):
    raise CheckFailedError(str({what}))
isolated_process.all_checks = lambda: [kit_checks.made(see)]
forking.serve_orders()
"""


@pytest.mark.skipif(not forking_worker.CAN_FORK, reason="the kit forks on Linux only")
class TestKeptWorker:
    """A forked child is a process of its own, which begins like a new one."""

    def seen(self, monkeypatch: pytest.MonkeyPatch, what: str, times: int = 1) -> list[str | None]:
        monkeypatch.setattr(forking_worker, "WORKER", (sys.executable, "-c", seeing(what)))
        check = made(failing, isolated=True, timeout_seconds=LATER)
        with ForkingWorker() as worker:
            return [runner.run_isolated(check, subject(), worker).message for _ in range(times)]

    def test_it_has_nothing_of_a_vendor(self, monkeypatch: pytest.MonkeyPatch):
        what = "[name for name in sys.modules if name.startswith('etconfig_reference')]"
        assert self.seen(monkeypatch, what) == ["[]"]

    def test_each_child_is_another_process_in_a_session_of_its_own(self, monkeypatch: pytest.MonkeyPatch):
        seen = self.seen(
            monkeypatch, "(os.getpid(), os.getsid(0) == os.getpid(), threading.active_count())", 2
        )
        assert len(set(seen)) == 2
        assert all((each or "").endswith(", True, 1)") for each in seen)

    def test_it_has_the_environment_and_directory_of_now(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ACME_HOME", "/opt/acme")
        what = "(os.getcwd(), os.environ['ACME_HOME'], tempfile.gettempdir() == os.environ['TMPDIR'])"
        assert self.seen(monkeypatch, what) == [str((str(tmp_path), "/opt/acme", True))]

    def test_a_child_that_kills_the_worker_costs_its_own_check_only(self, monkeypatch: pytest.MonkeyPatch):
        what = "os.kill(os.getppid(), 9) or __import__('time').sleep(0.2)"
        monkeypatch.setattr(forking_worker, "WORKER", (sys.executable, "-c", seeing(what)))
        check = made(failing, isolated=True, timeout_seconds=3.0)
        with ForkingWorker() as worker:
            result = runner.run_isolated(check, subject(), worker)
            assert result.outcome is Outcome.CRASHED
            assert result.message == "it ended the process that had started it"
            monkeypatch.setattr(forking_worker, "WORKER", (sys.executable, "-c", seeing("1 + 1")))
            assert runner.run_isolated(check, subject(), worker).message == "2"

    def test_without_a_worker_a_new_process_does(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(forking_worker, "WORKER", (sys.executable, "-c", "raise SystemExit(1)"))
        check = made(failing, "static-metadata", isolated=True, timeout_seconds=LATER)
        with ForkingWorker() as worker:
            assert runner.run_isolated(check, subject(), worker).outcome is Outcome.PASSED

    def test_checks_of_imports_get_new_processes(self):
        fresh = {check.id for check in all_checks() if check.is_fresh}
        assert fresh == {"static-metadata", "import-pure", "missing-sdk"}
