"""Subjects in processes of their own, for options of a whole process and for exact memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from etconfig.errors import MeasurementError
from etconfig.measuring.subjects import LoadedSubject, MeasuredSubject
from etconfig.measuring.worker import END_S, decode_values, describe, encode_values
from etconfig.measuring.workplace import SubjectRequest, Workplace


def make_subject(workplace: Workplace, request: SubjectRequest, *, in_own_process: bool) -> MeasuredSubject:
    """Load a configuration, here or in a process of its own.

    Raises:
        MeasurementError: loading failed in another process, with the reason there.
        Exception: what opening, resolving and loading raise here.
    """
    return (ProcessSubject if in_own_process else LoadedSubject)(workplace, request)


class ProcessSubject(MeasuredSubject):
    """A configuration that is loaded in a process of its own.

    Raises:
        MeasurementError: the process cannot load it.
    """

    def __init__(self, workplace: Workplace, request: SubjectRequest) -> None:
        self.label = request.label
        self.peak_bytes = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "etconfig.measuring.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=workplace.installation.environ,
            start_new_session=True,  # Ctrl-C is for the process that measures
        )
        try:
            found = self._ask("load", describe(workplace, request))
        except BaseException:
            self.close()
            raise
        self.load_s, self.input_names = found["load_s"], tuple(found["input_names"])
        self.open_inputs = tuple(found["open_inputs"])

    def generate(self, seed: int) -> list[Any]:
        """Make up inputs that fit. Raises MeasurementError."""
        return decode_values(self._ask("generate", seed))

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run once, and keep the inputs for `time_block`; return the outputs. Raises MeasurementError."""
        try:
            values = encode_values(inputs)
        except ValueError as error:
            raise MeasurementError(label=self.label, reason=f"its inputs: {error}") from error
        found = self._ask("run", values)
        if self.peak_bytes is None:
            self.peak_bytes = found["peak_bytes"]
        return decode_values(found["outputs"])

    def time_block(self, count: int) -> Sequence[int]:
        """Run a number of times; return the time of each run in nanoseconds. Raises MeasurementError."""
        times: list[int] = self._ask("time", count)
        return times

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, operation: str, data: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps([operation, data]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise MeasurementError(label=self.label, reason=f"its process ended with status {self._ended()}")
        answer = json.loads(line)
        if "failure" in answer:
            raise MeasurementError(label=self.label, reason=answer["failure"])
        return answer["result"]

    def _ended(self) -> int:
        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
